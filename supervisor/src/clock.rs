//! The wall clock, and the offset that tests of recovery give it: they step every process's clock back and forth while the host
//! runs, and never touch the machine's. A release build has no offset.
//!
//! The tests write the offset to a file, which agentd reads with every tick. Monotonic time is never changed.

use manifest::Process as Name;
use manifest::command::{Frame, Kind};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

/// The longest file that is read, bytes: a sign and the digits of an `i64`.
const BYTES: usize = 24;

/// The wall clock, unix ms.
pub(crate) fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

/// The offset of every process's wall clock from the machine's; 0 except in tests.
#[derive(Debug)]
pub(crate) struct ClockOffset {
    file: Option<PathBuf>,
    ms: i64,
}

impl ClockOffset {
    /// No offset yet. [`Self::update`] reads it from `file`; without a file it stays 0.
    pub(crate) const fn new(file: Option<PathBuf>) -> Self {
        Self { file, ms: 0 }
    }

    /// The offset as frames carry it.
    pub(crate) const fn word(&self) -> u64 {
        self.ms.cast_unsigned()
    }

    /// Reads the file; returns the new offset in ms if it changed.
    pub(crate) fn update(&mut self) -> Option<i64> {
        let ms = self.file.as_deref().and_then(read).filter(|ms| *ms != self.ms)?;
        self.ms = ms;
        Some(ms)
    }

    /// The frame that sets it in a process.
    pub(crate) fn frame(&self) -> Frame {
        Frame::new(Kind::Clock, Name::Agentd).with(&[self.word()])
    }
}

/// The number in the file; `None` while the file is being written.
fn read(path: &Path) -> Option<i64> {
    let text = std::fs::read_to_string(path).ok().filter(|text| text.len() <= BYTES)?;
    text.strip_suffix('\n')?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_whole_line_with_a_number_is_read_and_an_unfinished_one_is_not() {
        let path = std::env::temp_dir().join(format!("cordon-clock-{}", std::process::id()));
        for (text, expected) in [
            ("0\n", Some(0)),
            ("-86400000\n", Some(-86_400_000)),
            ("", None),
            ("12", None),
            ("x\n", None),
            ("99999999999999999999999999\n", None),
        ] {
            std::fs::write(&path, text).unwrap();
            assert_eq!(read(&path), expected, "{text:?}");
        }
        std::fs::remove_file(&path).unwrap();
        assert_eq!(read(&path), None);
    }
}
