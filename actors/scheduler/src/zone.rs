//! Time zones, and the moments of wall clocks. Names and rules of zones come with the program.

use ipc_proto::Text;
use ipc_proto::scheduler::SchedulerError;
use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::{AmbiguousOffset, TimeZone};

/// The zone of this name.
///
/// # Errors
/// There is none; the nearest name is given.
pub(crate) fn named(name: &str) -> Result<TimeZone, SchedulerError> {
    TimeZone::get(name).map_err(|_| {
        let written = name.to_lowercase();
        let names = jiff::tz::db().available().map(|it| it.as_str().to_owned());
        let nearest = names.min_by_key(|known| strsim::levenshtein(&written, &known.to_lowercase()));
        let nearest = nearest.unwrap_or_default();
        SchedulerError::NoZone(Text::clip(name), Text::clip(&nearest))
    })
}

/// The moment at which a wall clock of the zone shows this. A time that the clock skips is the moment right after the gap, and one
/// that it shows twice is the first.
pub(crate) fn moment(zone: &TimeZone, shown: DateTime) -> Option<Timestamp> {
    let ambiguous = zone.to_ambiguous_timestamp(shown);
    match ambiguous.offset() {
        AmbiguousOffset::Gap { before, .. } => {
            // By the old offset it lies after the jump, and less than the gap's length.
            let inside = before.to_timestamp(shown).ok()?;
            zone.preceding(inside.checked_add(jiff::Span::new().nanoseconds(1)).ok()?)
                .next()
                .map(|jump| jump.timestamp())
        }
        AmbiguousOffset::Unambiguous { offset } => offset.to_timestamp(shown).ok(),
        AmbiguousOffset::Fold { before, .. } => before.to_timestamp(shown).ok(),
    }
}

/// The moment as unix ms; none before 1970.
pub(crate) fn ms(moment: Timestamp) -> Option<u64> {
    u64::try_from(moment.as_millisecond()).ok()
}

/// The moment of these unix ms.
pub(crate) fn at(ms: u64) -> Option<Timestamp> {
    i64::try_from(ms).ok().and_then(|ms| Timestamp::from_millisecond(ms).ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_zone_is_answered_with_the_nearest_name() {
        for (wrong, right) in [
            ("Europe/Berln", "Europe/Berlin"),
            ("america/new-york", "America/New_York"),
            ("Australia/Lordhowe", "Australia/Lord_Howe"),
        ] {
            let Err(SchedulerError::NoZone(_, nearest)) = named(wrong) else { panic!("{wrong}") };
            assert_eq!(nearest.as_str(), right);
        }
        assert!(named("Pacific/Apia").is_ok() && named("UTC").is_ok());
    }
}
