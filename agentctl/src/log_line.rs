//! A line of a process's log: its time and its level, as far as it says them, in both formats that `[log] format` knows.

use crate::text;

/// How grave a line is, the gravest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, clap::ValueEnum)]
pub(crate) enum Level {
    /// A failure.
    Error,
    /// An event that may need an operator.
    Warn,
    /// An ordinary event.
    Info,
    /// For a developer.
    Debug,
    /// Everything.
    Trace,
}

impl Level {
    const ALL: [(&'static str, Self); 5] = [
        ("ERROR", Self::Error),
        ("WARN", Self::Warn),
        ("INFO", Self::Info),
        ("DEBUG", Self::Debug),
        ("TRACE", Self::Trace),
    ];

    /// Its name, as it stands in a log.
    pub(crate) fn name(self) -> &'static str {
        Self::ALL.iter().find(|(_, level)| *level == self).map_or("INFO", |(name, _)| name)
    }

    fn named(word: &str) -> Option<Self> {
        Self::ALL.iter().find(|(name, _)| *name == word).map(|(_, level)| *level)
    }
}

/// A line with its time and level. A line that has none continues the one before it, and has theirs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LogLine {
    /// Unix ms; 0 if no line so far had a time.
    pub(crate) at_ms: u64,
    /// Its level.
    pub(crate) level: Level,
    /// The whole line.
    pub(crate) text: String,
}

/// The lines of a piece of a log that is read alone.
pub(crate) fn lines(text: &str) -> Vec<LogLine> {
    LogReader::default().lines(text)
}

/// A reader of a log in pieces, each of whole lines: it knows time and level of the entry that a piece may go on with.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LogReader {
    at_ms: u64,
    level: Level,
}

impl Default for LogReader {
    fn default() -> Self {
        Self { at_ms: 0, level: Level::Info }
    }
}

impl LogReader {
    /// The lines of the next piece.
    pub(crate) fn lines(&mut self, text: &str) -> Vec<LogLine> {
        let line = |text: &str| {
            if let Some((at_ms, level)) = head(text) {
                *self = Self { at_ms, level };
            }
            LogLine { at_ms: self.at_ms, level: self.level, text: text.to_owned() }
        };
        text.lines().map(line).collect()
    }
}

/// Time and level of a line that begins an entry.
fn head(line: &str) -> Option<(u64, Level)> {
    if line.starts_with('{') {
        let entry: serde_json::Value = serde_json::from_str(line).ok()?;
        let of = |key: &str| entry.get(key).and_then(serde_json::Value::as_str);
        return Some((text::stamp(of("timestamp")?)?, Level::named(of("level")?)?));
    }
    let (time, rest) = line.split_once(' ')?;
    let word = rest.split_whitespace().next().unwrap_or_default();
    Some((text::stamp(time)?, Level::named(word).unwrap_or(Level::Info)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const AT: u64 = 1_795_831_413_043;

    #[test]
    fn both_formats_are_read_and_a_continuation_has_the_time_before_it() {
        let text = "lost\n2026-11-28T02:03:33.043866Z  WARN router: slow\n  at line 3\n\
            {\"timestamp\":\"2026-11-28T02:03:33.043000Z\",\"level\":\"ERROR\",\"message\":\"x\"}";
        let read: Vec<(u64, Level)> = lines(text).into_iter().map(|line| (line.at_ms, line.level)).collect();
        assert_eq!(read, [(0, Level::Info), (AT, Level::Warn), (AT, Level::Warn), (AT, Level::Error)]);
    }

    #[test]
    fn a_piece_that_goes_on_with_an_entry_has_the_entrys_time_and_level() {
        let mut reader = LogReader::default();
        assert_eq!(reader.lines("2026-11-28T02:03:33.043866Z  WARN router: slow\n").len(), 1);
        let read = reader.lines("  at line 3\n");
        assert_eq!(read.iter().map(|line| (line.at_ms, line.level)).collect::<Vec<_>>(), [(AT, Level::Warn)]);
    }

    #[test]
    fn the_gravest_level_comes_first() {
        assert!(Level::Error < Level::Warn && Level::Info < Level::Trace);
        assert_eq!(Level::Warn.name(), "WARN");
    }
}
