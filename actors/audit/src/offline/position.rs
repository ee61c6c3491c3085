//! The position of a forwarder, stored in a file so that it continues where it stopped. It touches that file alone.
//!
//! The stored position never passes the log's checkpoint: an entry that was read before it was durable and then lost to
//! a power cut is followed by another of its index, which must be handed on too. So some entries are handed on twice,
//! and none is left out.

use super::OfflineFault;
use crate::folder::Folder;
use crate::log::CHECKPOINT;
use crate::note::Checkpoint;
use ipc_proto::audit::NOTE;
use std::fs::{self, File};
use std::io::{self, ErrorKind, Write};
use std::path::Path;

/// How far entries were handed on.
pub(super) struct Position {
    file: String,
    folder: Folder,
    /// The next entry.
    index: u64,
}

impl Position {
    /// Reads the file of a forwarder of this log; one that is not there yet begins with the first entry.
    pub(super) fn open(file: &str, log: &Path) -> Result<Self, OfflineFault> {
        let index = match fs::read_to_string(file) {
            Ok(text) => text.trim_end().parse().map_err(|_| fault(file)(ErrorKind::InvalidData.into()))?,
            Err(error) if error.kind() == ErrorKind::NotFound => 0,
            Err(error) => return Err(fault(file)(error)),
        };
        Ok(Self { file: file.to_owned(), folder: Folder::new(log), index })
    }

    pub(super) const fn index(&self) -> u64 {
        self.index
    }

    /// Every entry before `next` was handed on.
    pub(super) fn keep(&mut self, next: u64) -> Result<(), OfflineFault> {
        let note = self.folder.read_text(CHECKPOINT, NOTE).ok().flatten();
        let signed =
            note.and_then(|note| Checkpoint::unchecked(&note)).map_or(0, |checkpoint| checkpoint.size);
        let index = next.min(signed);
        if index > self.index {
            write(&self.file, index).map_err(fault(&self.file))?;
            self.index = index;
        }
        Ok(())
    }
}

fn fault(file: &str) -> impl FnOnce(io::Error) -> OfflineFault {
    move |cause| OfflineFault::File { file: file.to_owned(), cause }
}

/// Whole or not at all.
fn write(path: &str, index: u64) -> io::Result<()> {
    let new = format!("{path}.new");
    let mut file = File::create(&new)?;
    writeln!(file, "{index}")?;
    file.sync_data()?;
    fs::rename(new, path)
}
