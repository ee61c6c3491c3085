//! The times of a job: a rule that gives the next one after any moment. It follows from the job alone, so that it can be asked again
//! after any crash and under any clock.

use crate::cron::Expression;
use crate::zone::{at, moment, ms, named};
use ipc_proto::Text;
use ipc_proto::scheduler::{APART_S, INTERVAL_S, SchedulerError, When};
use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;

/// The times of a job.
#[derive(Clone, Debug)]
pub(crate) enum Rule {
    /// Those of an expression in a zone.
    Cron(Box<Expression>, TimeZone),
    /// One moment, unix ms.
    Once(u64),
    /// Every so many ms from a moment on.
    Every { from_ms: u64, ms: u64 },
}

impl Rule {
    /// The rule of a job that was added at this time.
    ///
    /// # Errors
    /// The mistake in it, and its place.
    pub(crate) fn of(when: &When, zone: &str, added_ms: u64) -> Result<Self, SchedulerError> {
        let zone = named(zone)?;
        match when {
            When::Cron(text) => Ok(Self::Cron(Box::new(Expression::read(text)?), zone)),
            When::At(text) => read_time(text, &zone).map(Self::Once),
            When::Every(seconds) if !(APART_S..=INTERVAL_S).contains(seconds) => {
                Err(SchedulerError::BadInterval(*seconds))
            }
            When::Every(seconds) => Ok(Self::Every { from_ms: added_ms, ms: u64::from(*seconds) * 1000 }),
        }
    }

    /// Its first time after this moment, unix ms.
    pub(crate) fn next(&self, after_ms: u64) -> Option<u64> {
        match self {
            Self::Cron(expression, zone) => expression.next(zone, at(after_ms)?).and_then(ms),
            Self::Once(time) => Some(*time).filter(|time| *time > after_ms),
            Self::Every { from_ms, ms } => {
                let gone = after_ms.saturating_sub(*from_ms) / ms;
                from_ms.checked_add(gone.checked_add(1)?.checked_mul(*ms)?)
            }
        }
    }
}

/// The times of a job in words, without the zone.
pub(crate) fn words(when: &When) -> String {
    match when {
        When::Cron(text) => Expression::read(text).map_or_else(|_| text.to_string(), |read| read.words()),
        When::At(_) => "once".to_owned(),
        When::Every(seconds) => format!("every {seconds} s"),
    }
}

/// A time with an offset, or as a wall clock of the zone shows it.
fn read_time(text: &str, zone: &TimeZone) -> Result<u64, SchedulerError> {
    if let Ok(moment) = text.parse::<Timestamp>() {
        return ms(moment).ok_or_else(|| SchedulerError::Past(Text::clip(text)));
    }
    let shown =
        text.parse::<DateTime>().map_err(|_| SchedulerError::BadTime(Text::clip(&format!("`{text}`"))))?;
    moment(zone, shown).and_then(ms).ok_or_else(|| SchedulerError::Past(Text::clip(text)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn rule(when: When, zone: &str) -> Rule {
        Rule::of(&when, zone, 0).unwrap()
    }

    fn cron(text: &str) -> When {
        When::Cron(Text::clip(text))
    }

    #[test]
    fn an_interval_keeps_to_its_beginning_and_does_not_drift() {
        let every = Rule::of(&When::Every(90), "UTC", 1_000).unwrap();
        assert_eq!(every.next(0), Some(91_000));
        assert_eq!(every.next(91_000), Some(181_000));
        assert_eq!(every.next(181_001), Some(271_000));
        assert_eq!(every.next(1_000 + 90_000 * 1_000_000), Some(1_000 + 90_000 * 1_000_001));
    }

    #[test]
    fn a_time_is_read_with_an_offset_and_as_the_zone_shows_it() {
        for (text, zone, moment) in [
            ("2026-12-01T08:00", "Europe/Berlin", "2026-12-01T07:00:00Z"),
            ("2026-12-01 08:00:30", "America/New_York", "2026-12-01T13:00:30Z"),
            ("2026-12-01T08:00+02:00", "Europe/Berlin", "2026-12-01T06:00:00Z"),
            ("2026-12-01T08:00Z", "Europe/Berlin", "2026-12-01T08:00:00Z"),
            // The clock skips it, and shows it twice.
            ("2026-03-29T02:30", "Europe/Berlin", "2026-03-29T01:00:00Z"),
            ("2026-10-25T02:30", "Europe/Berlin", "2026-10-25T00:30:00Z"),
        ] {
            let expected = ms(moment.parse().unwrap());
            assert_eq!(rule(When::At(Text::clip(text)), zone).next(0), expected, "{text}");
        }
        for text in ["", "tomorrow", "2026-13-01T00:00", "2026-02-30T08:00", "08:00"] {
            let read = Rule::of(&When::At(Text::clip(text)), "UTC", 0);
            assert!(matches!(read, Err(SchedulerError::BadTime(_))), "{text}");
        }
    }

    // Holds B-241.
    #[test]
    fn intervals_below_a_minute_and_over_a_year_are_refused() {
        for (seconds, good) in
            [(0, false), (59, false), (60, true), (INTERVAL_S, true), (INTERVAL_S + 1, false)]
        {
            assert_eq!(Rule::of(&When::Every(seconds), "UTC", 0).is_ok(), good, "{seconds}");
        }
    }

    proptest! {
        // Holds P12-41.
        #[test]
        fn the_next_time_is_later_and_two_times_are_a_minute_apart(
            minute in "(\\*|\\*/[1-9]|[0-5]?[0-9]|[0-2][0-9]-[3-5][0-9]|1,17,58)",
            hour in "(\\*|\\*/[1-9]|1?[0-9]|0-3|1-2|2)",
            day in "(\\*|[1-9]|L)",
            zone in prop::sample::select(vec!["UTC", "America/New_York", "Australia/Lord_Howe", "Pacific/Apia", "Europe/Berlin"]),
            after in 1_200_000_000_000_u64..2_000_000_000_000,
        ) {
            let rule = rule(cron(&format!("{minute} {hour} {day} * *")), zone);
            let mut before = after;
            for number in 0..20 {
                let next = rule.next(before).unwrap();
                prop_assert!(next > before);
                prop_assert!(number == 0 || next - before >= 60_000);
                // Any moment between two times gives the later one: nothing is due twice, and nothing is left out.
                prop_assert_eq!(rule.next(before + (next - before) / 2), Some(next));
                prop_assert_eq!(rule.next(next - 1), Some(next));
                before = next;
            }
        }
    }
}
