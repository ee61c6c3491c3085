//! The date and time in words, for an agent's prompt. The host reads its clock in UTC.

const MS_A_DAY: u64 = 86_400_000;
const MS_A_MINUTE: u64 = 60_000;
/// Days from 1 March of the year 0 to 1 January 1970, in the Gregorian calendar.
const TO_EPOCH: u64 = 719_468;
/// Days of 400 years.
const ERA: u64 = 146_097;
/// From 1 January 1970.
const WEEKDAYS: [&str; 7] = ["Thursday", "Friday", "Saturday", "Sunday", "Monday", "Tuesday", "Wednesday"];

/// The sentence about a time in unix milliseconds.
pub(crate) fn sentence(ms: u64) -> String {
    let days = ms / MS_A_DAY;
    let (year, month, day) = civil(days);
    let minutes = ms % MS_A_DAY / MS_A_MINUTE;
    let weekday =
        usize::try_from(days % 7).ok().and_then(|day| WEEKDAYS.get(day)).copied().unwrap_or_default();
    format!(
        "This turn began on {weekday}, {year}-{month:02}-{day:02} at {:02}:{:02} UTC, which is this host's time zone.",
        minutes / 60,
        minutes % 60
    )
}

/// Year, month and day of a number of days since 1970. Years begin in March, so that a leap day is the last of its year.
fn civil(days: u64) -> (u64, u64, u64) {
    let days = days + TO_EPOCH;
    let (era, day_of_era) = (days / ERA, days % ERA);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let part = (5 * day_of_year + 2) / 153;
    let (day, month) = (day_of_year - (153 * part + 2) / 5 + 1, if part < 10 { part + 3 } else { part - 9 });
    (era * 400 + year_of_era + u64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    // Holds P5-70.
    #[test]
    fn dates_are_those_of_the_calendar() {
        for (ms, said) in [
            (0, "Thursday, 1970-01-01 at 00:00"),
            (951_782_400_000, "Tuesday, 2000-02-29 at 00:00"),
            (1_795_832_280_000, "Saturday, 2026-11-28 at 02:18"),
            (4_107_542_399_999, "Sunday, 2100-02-28 at 23:59"),
            (4_107_542_400_000, "Monday, 2100-03-01 at 00:00"),
        ] {
            let sentence = sentence(ms);
            assert!(sentence.contains(said), "{sentence}");
        }
    }
}
