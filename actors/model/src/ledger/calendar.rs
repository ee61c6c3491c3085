//! Days and months of UTC, by which money is counted. Pure numbers: it reads no time zone and no clock.

/// Milliseconds of an hour.
pub(crate) const HOUR_MS: u64 = 3_600_000;
/// Milliseconds of a day.
pub(crate) const DAY_MS: u64 = 24 * HOUR_MS;
/// Days in four hundred years, after which the calendar is the same again.
const ERA: u64 = 146_097;
/// Days from the first of March of the year 0 to the first of January 1970. Years are counted from March, so that the
/// day that is sometimes there is the last of a year.
const BEFORE: u64 = 719_468;

/// Days since 1970-01-01.
pub(crate) const fn day(ms: u64) -> u64 {
    ms / DAY_MS
}

/// Year, month from 1 and day from 1 of a day since 1970-01-01.
pub(crate) fn date(day: u64) -> (u64, u64, u64) {
    let since = day.saturating_add(BEFORE);
    let (era, of_era) = (since / ERA, since % ERA);
    let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let from_march = (5 * of_year + 2) / 153;
    let day = of_year - (153 * from_march + 2) / 5 + 1;
    let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
    (era * 400 + year_of_era + u64::from(month <= 2), month, day)
}

/// The number of the month that a time is in, which no other month has.
pub(crate) fn month(ms: u64) -> u64 {
    let (year, month, _) = date(day(ms));
    year * 12 + month
}

/// Seconds to the next day.
pub(crate) fn to_next_day_s(ms: u64) -> u32 {
    seconds(DAY_MS - ms % DAY_MS)
}

/// Seconds to the next month.
pub(crate) fn to_next_month_s(ms: u64) -> u32 {
    let (today, this) = (day(ms), month(ms));
    // A month has 31 days at most.
    let first = (today + 1..=today + 31).find(|next| month(next.saturating_mul(DAY_MS)) != this);
    seconds(first.unwrap_or(today).saturating_mul(DAY_MS).saturating_sub(ms))
}

/// A day as it is written.
pub(crate) fn shown(day: u64) -> String {
    let (year, month, day) = date(day);
    format!("{year:04}-{month:02}-{day:02}")
}

fn seconds(ms: u64) -> u32 {
    u32::try_from(ms.div_ceil(1000)).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_have_the_dates_that_calendars_give_them() {
        for (day, text) in [
            (0, "1970-01-01"),
            (59, "1970-03-01"),
            (789, "1972-02-29"),
            (790, "1972-03-01"),
            (11_016, "2000-02-29"),
            (20_779, "2026-11-22"),
            (47_541, "2100-03-01"),
        ] {
            assert_eq!(shown(day), text);
        }
    }

    #[test]
    fn each_day_follows_the_one_before_it_through_four_hundred_years() {
        let mut before = date(0);
        for day in 1..=ERA {
            let (year, month, date) = date(day);
            let next = match (date, month) {
                (1, 1) => (year - 1, 12),
                (1, _) => (year, month - 1),
                _ => (year, month),
            };
            assert_eq!((before.0, before.1), next, "{day}");
            assert!(date == 1 && before.2 >= 28 || date == before.2 + 1, "{day}");
            before = (year, month, date);
        }
    }

    #[test]
    fn a_day_and_a_month_end_when_the_next_begins() {
        let noon = 20_779 * DAY_MS + DAY_MS / 2;
        assert_eq!(to_next_day_s(noon), 43_200);
        assert_eq!(to_next_month_s(noon), 43_200 + 8 * 86_400);
        assert_eq!(to_next_day_s(20_779 * DAY_MS), 86_400);
        assert_eq!(month(noon) + 1, month(noon + 9 * DAY_MS));
        assert_eq!(to_next_month_s(0), 31 * 86_400);
    }
}
