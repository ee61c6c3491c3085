//! Times as clients write and read them: ISO 8601 in UTC, to the millisecond. Pure.

use chrono::{DateTime, NaiveDateTime, SecondsFormat};

/// A time of unix ms.
pub(crate) fn written(ms: u64) -> String {
    let time = i64::try_from(ms).ok().and_then(DateTime::from_timestamp_millis);
    time.unwrap_or(DateTime::UNIX_EPOCH).to_rfc3339_opts(SecondsFormat::Millis, true)
}

/// The same read: with an offset, or as `SQLite` writes it, which is UTC.
pub(crate) fn read(text: &str) -> Option<u64> {
    let offset = DateTime::parse_from_rfc3339(text).map(|time| time.timestamp_millis());
    let plain = || NaiveDateTime::parse_from_str(text, "%Y-%m-%d %H:%M:%S%.f").map(|time| time.and_utc());
    let ms = offset.or_else(|_| plain().map(|time| time.timestamp_millis())).ok()?;
    u64::try_from(ms).ok()
}

/// Now, unix ms.
pub(crate) fn now() -> u64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    since.ok().and_then(|since| u64::try_from(since.as_millis()).ok()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_read_as_it_is_written_and_as_sqlite_writes_it() {
        assert_eq!(written(1_700_000_000_123), "2023-11-14T22:13:20.123Z");
        for text in ["2023-11-14T22:13:20.123Z", "2023-11-14T23:13:20.123+01:00", "2023-11-14 22:13:20.123"] {
            assert_eq!(read(text), Some(1_700_000_000_123), "{text}");
        }
        for wrong in ["", "yesterday", "2023-13-01T00:00:00Z", "1969-12-31T00:00:00Z"] {
            assert_eq!(read(wrong), None, "{wrong}");
        }
        let _ = written(u64::MAX);
    }
}
