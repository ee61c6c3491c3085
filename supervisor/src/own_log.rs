//! agentd's own log: a line has time and level as those of other processes do, in the format that `[log] format` names. It goes to
//! standard error and to `agentd.log`; before there is a log folder, to standard error alone.

use crate::clock::now_ms;
use crate::exit;
use crate::logs::{Logs, escape};
use std::sync::OnceLock;

/// A day, ms.
const DAY: u64 = 86_400_000;

/// The file, once there is a folder for it.
static FILE: OnceLock<OwnLog> = OnceLock::new();

#[derive(Debug)]
struct OwnLog {
    logs: Logs,
    json: bool,
}

/// The level of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Level {
    Info,
    Warn,
    Error,
}

impl Level {
    const fn name(self) -> &'static str {
        match self {
            Self::Info => "INFO",
            Self::Warn => "WARN",
            Self::Error => "ERROR",
        }
    }
}

/// From now on lines go to this folder too, as JSON if `json` is set.
pub(crate) fn open(logs: Logs, json: bool) {
    // A second call would be of a second host in one process, which there is not.
    drop(FILE.set(OwnLog { logs, json }));
}

/// Logs an ordinary event.
pub(crate) fn info(text: &str) {
    write(Level::Info, text);
}

/// Logs an event that may need an operator.
pub(crate) fn warn(text: &str) {
    write(Level::Warn, text);
}

/// Logs a failure of agentd's own.
pub(crate) fn error(text: &str) {
    write(Level::Error, text);
}

fn write(level: Level, text: &str) {
    let own = FILE.get();
    let line = line(now_ms(), level, text, own.is_some_and(|own| own.json));
    exit::say(&format!("agentd: {line}"));
    if let Some(own) = own {
        own.logs.store("agentd", &line);
    }
}

fn line(at_ms: u64, level: Level, text: &str, json: bool) -> String {
    let at = stamp(at_ms);
    if json {
        let text = json_escape(text);
        return format!(
            "{{\"timestamp\":\"{at}\",\"level\":\"{}\",\"message\":\"{text}\",\"target\":\"agentd\"}}",
            level.name()
        );
    }
    // A path in the text may have control characters.
    format!("{at} {:>5} agentd: {}", level.name(), escape(text))
}

/// Escapes what a string of JSON cannot hold, and every other control character.
fn json_escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            _ if c.is_control() => out.push_str(&format!("\\u{:04x}", u32::from(c))),
            _ => out.push(c),
        }
    }
    out
}

/// A time of unix ms as RFC 3339 in UTC.
fn stamp(ms: u64) -> String {
    let (year, month, day) = civil(ms / DAY);
    let seconds = ms % DAY / 1000;
    let (hour, minute, second) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{:03}000Z", ms % 1000)
}

/// Year, month and day of the day after 1970-01-01: eras of 400 years, years that begin in March.
const fn civil(day: u64) -> (u64, u64, u64) {
    let shifted = day + 719_468;
    let (era, of_era) = (shifted / 146_097, shifted % 146_097);
    let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let march = (5 * of_year + 2) / 153;
    let month = if march < 10 { march + 3 } else { march - 9 };
    let year = year_of_era + era * 400 + if month <= 2 { 1 } else { 0 };
    (year, month, of_year - (153 * march + 2) / 5 + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    const AT: u64 = 1_795_831_413_043;

    // Holds P8-66.
    #[test]
    fn a_line_has_time_and_level_like_those_of_other_processes() {
        let text = "router ended: signal SIGKILL";
        assert_eq!(
            line(AT, Level::Warn, text, false),
            "2026-11-28T02:03:33.043000Z  WARN agentd: router ended: signal SIGKILL"
        );
        assert_eq!(
            line(AT, Level::Error, "a \"b\"\\", true),
            r#"{"timestamp":"2026-11-28T02:03:33.043000Z","level":"ERROR","message":"a \"b\"\\","target":"agentd"}"#
        );
    }

    // Holds B-09.
    #[test]
    fn control_characters_forge_no_line_in_either_format() {
        assert!(line(AT, Level::Info, "a\nb\u{1b}[2J", false).ends_with(r"agentd: a\nb\u{1b}[2J"));
        let json = line(AT, Level::Info, "a\nb\u{1b}\u{85}", true);
        assert!(json.contains(r#""message":"a\u000ab\u001b\u0085""#), "{json}");
    }

    #[test]
    fn leap_days_and_the_first_day_are_dated_right() {
        for (ms, date) in
            [(0, "1970-01-01"), (951_782_400_000, "2000-02-29"), (4_107_542_400_000, "2100-03-01")]
        {
            assert!(stamp(ms).starts_with(date), "{}", stamp(ms));
        }
    }
}
