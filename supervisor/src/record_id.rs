//! The id of this host's record: audit reports it at the first start, agentd stores it in a file of its own beside the lock, and
//! passes it to audit at every later start. Another host's record verifies by itself; its id shows that it is not this host's.
//! It touches only that file, and never replaces the first id.

use crate::exit::{Fault, at};
use crate::own_log;
use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// The file's name in the state directory.
const FILE: &str = "record.id";
/// Hexadecimal digits of a word in it.
const DIGITS: usize = 16;
/// Stands for no record yet.
const NONE: [u64; 4] = [0; 4];

/// The id of this host's record.
#[derive(Debug)]
pub(crate) struct RecordId {
    state: PathBuf,
    id: [u64; 4],
}

impl RecordId {
    /// Reads it; a host that never ran has none.
    pub(crate) fn read(state: &Path) -> Result<Self, Fault> {
        let file = state.join(FILE);
        let id = match fs::read(&file) {
            Ok(bytes) => {
                parse(bytes.trim_ascii_end()).ok_or_else(|| at("cannot make out", &file)(unclear()))?
            }
            Err(error) if error.kind() == ErrorKind::NotFound => NONE,
            Err(cause) => return Err(at("cannot read", &file)(cause)),
        };
        Ok(Self { state: state.to_owned(), id })
    }

    /// The words that pass it to audit.
    pub(crate) const fn words(&self) -> [u64; 4] {
        self.id
    }

    /// Stores the id of the record that audit has opened and verified, unless there is one.
    pub(crate) fn adopt(&mut self, id: [u64; 4]) {
        if self.id != NONE || id == NONE {
            return;
        }
        match self.write(id) {
            Ok(()) => self.id = id,
            Err(cause) => own_log::error(&format!("cannot store the id of this host's record: {cause}")),
        }
    }

    fn write(&self, id: [u64; 4]) -> io::Result<()> {
        let [a, b, c, d] = id;
        let (file, new) = (self.state.join(FILE), self.state.join("record.id.new"));
        let mut writing =
            OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&new)?;
        writing.write_all(format!("{a:016x}{b:016x}{c:016x}{d:016x}\n").as_bytes())?;
        writing.sync_all()?;
        fs::rename(&new, &file)?;
        File::open(&self.state)?.sync_all()
    }
}

fn parse(text: &[u8]) -> Option<[u64; 4]> {
    let (words, rest) = text.as_chunks::<DIGITS>();
    let word = |digits: &[u8; DIGITS]| {
        let digits = digits.iter().all(u8::is_ascii_hexdigit).then_some(digits)?;
        u64::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
    };
    let words: Option<Vec<u64>> = words.iter().map(word).collect();
    words?.try_into().ok().filter(|_| rest.is_empty())
}

fn unclear() -> io::Error {
    let remedy = "it holds no id of a record; remove it, and the next start adopts the record that is there";
    io::Error::new(ErrorKind::InvalidData, remedy)
}

#[cfg(test)]
mod tests {
    use super::*;

    // Holds P8-30.
    #[test]
    fn the_first_id_is_stored_and_no_other_replaces_it() {
        let state = tempfile::tempdir().unwrap();
        let mut record = RecordId::read(state.path()).unwrap();
        assert_eq!(record.words(), NONE);
        for (reported, stored) in
            [(NONE, NONE), ([1, 2, 3, u64::MAX], [1, 2, 3, u64::MAX]), ([9; 4], [1, 2, 3, u64::MAX])]
        {
            record.adopt(reported);
            assert_eq!((record.words(), RecordId::read(state.path()).unwrap().words()), (stored, stored));
        }
    }

    // Holds P8-30.
    #[test]
    fn a_file_without_an_id_is_refused_by_name() {
        let state = tempfile::tempdir().unwrap();
        let whole = "0".repeat(64);
        for text in ["", "x", &whole[1..], &format!("{whole}0"), &whole.replacen('0', "+", 1)] {
            fs::write(state.path().join(FILE), text).unwrap();
            let refused = RecordId::read(state.path()).unwrap_err().to_string();
            assert!(refused.contains("record.id") && refused.contains("remove it"), "{refused}");
        }
        for bytes in [&b"\xff\xfe"[..], &[0xc3; 64], &[0; 64]] {
            fs::write(state.path().join(FILE), bytes).unwrap();
            let refused = RecordId::read(state.path()).unwrap_err();
            assert!(refused.to_string().contains("remove it"), "{refused}");
            assert_eq!(crate::exit::of(Err(refused)), std::process::ExitCode::from(78));
        }
    }
}
