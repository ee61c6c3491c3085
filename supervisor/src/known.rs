//! Which log is this host's: audit says it at the first start, agentd keeps it in a file of its own beside the lock, and tells it
//! to audit at every start after that. A whole log that is put in the place of this host's holds by itself; this shows that it is
//! another. It touches that file alone, and takes no other word for the first.

use crate::exit::{self, Fault};
use crate::places::at;
use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// Its name in the state directory.
const FILE: &str = "record.id";
/// Digits of a word in it.
const DIGITS: usize = 16;
/// No log yet.
const NONE: [u64; 4] = [0; 4];

/// The log that is this host's.
#[derive(Debug)]
pub(crate) struct Known {
    state: PathBuf,
    log: [u64; 4],
}

impl Known {
    /// Reads which it is; a host that never ran has none.
    pub(crate) fn read(state: &Path) -> Result<Self, Fault> {
        let file = state.join(FILE);
        let log = match fs::read(&file) {
            Ok(bytes) => {
                log_of(bytes.trim_ascii_end()).ok_or_else(|| at("cannot make out", &file)(unclear()))?
            }
            Err(error) if error.kind() == ErrorKind::NotFound => NONE,
            Err(cause) => return Err(at("cannot read", &file)(cause)),
        };
        Ok(Self { state: state.to_owned(), log })
    }

    /// The words that tell it to audit.
    pub(crate) const fn words(&self) -> [u64; 4] {
        self.log
    }

    /// Audit has opened this one, and it holds: it is this host's from here on, unless there is one.
    pub(crate) fn keep(&mut self, log: [u64; 4]) {
        if self.log != NONE || log == NONE {
            return;
        }
        match self.write(log) {
            Ok(()) => self.log = log,
            Err(cause) => exit::say(&format!("agentd: cannot keep which log is this host's: {cause}")),
        }
    }

    fn write(&self, log: [u64; 4]) -> io::Result<()> {
        let [a, b, c, d] = log;
        let (file, new) = (self.state.join(FILE), self.state.join("record.id.new"));
        let mut writing =
            OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&new)?;
        writing.write_all(format!("{a:016x}{b:016x}{c:016x}{d:016x}\n").as_bytes())?;
        writing.sync_all()?;
        fs::rename(&new, &file)?;
        File::open(&self.state)?.sync_all()
    }
}

fn log_of(text: &[u8]) -> Option<[u64; 4]> {
    let (words, rest) = text.as_chunks::<DIGITS>();
    let word = |digits: &[u8; DIGITS]| {
        let digits = digits.iter().all(u8::is_ascii_hexdigit).then_some(digits)?;
        u64::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
    };
    let words: Option<Vec<u64>> = words.iter().map(word).collect();
    words?.try_into().ok().filter(|_| rest.is_empty())
}

fn unclear() -> io::Error {
    let remedy = "it names no log; remove it, and the next start takes the log that is there for this host's";
    io::Error::new(ErrorKind::InvalidData, remedy)
}

#[cfg(test)]
mod tests {
    use super::*;

    // Holds P8-30.
    #[test]
    fn the_first_log_that_is_told_is_kept_and_no_other_takes_its_place() {
        let state = tempfile::tempdir().unwrap();
        let mut known = Known::read(state.path()).unwrap();
        assert_eq!(known.words(), NONE);
        for (told, kept) in
            [(NONE, NONE), ([1, 2, 3, u64::MAX], [1, 2, 3, u64::MAX]), ([9; 4], [1, 2, 3, u64::MAX])]
        {
            known.keep(told);
            assert_eq!((known.words(), Known::read(state.path()).unwrap().words()), (kept, kept));
        }
    }

    // Holds P8-30.
    #[test]
    fn a_file_that_names_no_log_is_refused_by_name() {
        let state = tempfile::tempdir().unwrap();
        let whole = "0".repeat(64);
        for text in ["", "x", &whole[1..], &format!("{whole}0"), &whole.replacen('0', "+", 1)] {
            fs::write(state.path().join(FILE), text).unwrap();
            let refused = Known::read(state.path()).unwrap_err().to_string();
            assert!(refused.contains("record.id") && refused.contains("remove it"), "{refused}");
        }
        for bytes in [&b"\xff\xfe"[..], &[0xc3; 64], &[0; 64]] {
            fs::write(state.path().join(FILE), bytes).unwrap();
            let refused = Known::read(state.path()).unwrap_err();
            assert!(refused.to_string().contains("remove it"), "{refused}");
            assert_eq!(crate::exit::of(Err(refused)), std::process::ExitCode::from(78));
        }
    }
}
