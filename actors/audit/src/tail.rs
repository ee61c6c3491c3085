//! The bundle that still grows: the one file that an append writes and makes durable. What was written in part is cut
//! off again before anything else is written.

use crate::folder::Folder;
use crate::tile;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{FileExt, OpenOptionsExt};

/// The growing bundle.
#[derive(Debug)]
pub(crate) struct Tail {
    file: File,
    /// Bytes of it that are durable.
    length: u64,
    /// There may be more in the file than is durable.
    wounded: bool,
}

impl Tail {
    /// Opens the growing bundle with this index, or begins it.
    pub(crate) fn open(folder: &Folder, index: u64) -> io::Result<Self> {
        let path = folder.at(&tile::tail_path(index));
        let parent = path.parent().map(std::path::Path::to_owned).unwrap_or_default();
        std::fs::create_dir_all(&parent)?;
        let begins = !path.exists();
        let file = OpenOptions::new().read(true).append(true).create(true).mode(0o600).open(&path)?;
        if begins {
            // Durable before the first entry in it is said to be.
            File::open(&parent)?.sync_all()?;
        }
        let length = file.metadata()?.len();
        Ok(Self { file, length, wounded: false })
    }

    /// Everything that is in it.
    pub(crate) fn read(&self) -> io::Result<Vec<u8>> {
        let length = usize::try_from(self.length.min(tile::BUNDLE)).unwrap_or(0);
        let mut bytes = vec![0; length];
        self.file.read_exact_at(&mut bytes, 0)?;
        Ok(bytes)
    }

    /// Cuts it off after `length` bytes; how many that were.
    pub(crate) fn cut(&mut self, length: u64) -> io::Result<u64> {
        let cut = self.length.saturating_sub(length);
        if cut > 0 {
            self.file.set_len(length)?;
            self.file.sync_data()?;
            self.length = length;
        }
        Ok(cut)
    }

    /// Cuts off what a failed append may have left.
    pub(crate) fn mend(&mut self) -> io::Result<()> {
        if self.wounded {
            self.file.set_len(self.length)?;
            self.wounded = false;
        }
        Ok(())
    }

    /// Makes bytes durable at its end, or leaves it as it was.
    pub(crate) fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.mend()?;
        let written = self.file.write_all(bytes).and_then(|()| self.file.sync_data());
        match written {
            Ok(()) => self.length += bytes.len() as u64,
            // What was written in part is no entry: nobody has been told of it.
            Err(_) => self.wounded = self.file.set_len(self.length).is_err(),
        }
        written
    }
}
