//! The date and time in words, for an agent's prompt.

use jiff::Timestamp;
use jiff::tz::TimeZone;

/// The sentence about a time in unix milliseconds, in a time zone. A time after the year 9999 is told as its last.
pub(crate) fn sentence(ms: u64, zone: &TimeZone) -> String {
    let at = i64::try_from(ms).ok().and_then(|ms| Timestamp::from_millisecond(ms).ok());
    let local = at.unwrap_or(Timestamp::MAX).to_zoned(zone.clone());
    let name = zone.iana_name().unwrap_or("UTC");
    let offset = if name == "UTC" { String::new() } else { format!(" (UTC{})", local.strftime("%:z")) };
    format!(
        "This turn began on {}{offset}. This host's time zone is {name}.",
        local.strftime("%A, %Y-%m-%d at %H:%M")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    // Holds P5-70.
    #[test]
    fn a_time_is_told_in_the_host_s_zone_with_its_summer_time() {
        for (ms, zone, told) in [
            (0, "UTC", "Thursday, 1970-01-01 at 00:00. This host's time zone is UTC."),
            (951_782_400_000, "UTC", "Tuesday, 2000-02-29 at 00:00."),
            (4_107_542_400_000, "UTC", "Monday, 2100-03-01 at 00:00."),
            (1_795_832_280_000, "Europe/Berlin", "Saturday, 2026-11-28 at 03:18 (UTC+01:00)."),
            (1_782_864_000_000, "Europe/Berlin", "Wednesday, 2026-07-01 at 02:00 (UTC+02:00)."),
            (1_795_832_280_000, "America/St_Johns", "Friday, 2026-11-27 at 22:48 (UTC-03:30)."),
            (u64::MAX, "UTC", "9999-12-30 at 22:00."),
        ] {
            let zone = TimeZone::get(zone).unwrap();
            let sentence = sentence(ms, &zone);
            assert!(sentence.contains(told), "{sentence}");
        }
    }
}
