//! The bundle that still grows: the one file that an append writes and makes durable. Its room is set aside ahead, as
//! zeros that are on the disk already: a flush then writes nothing but the entries, while the flush of a file that
//! grows writes its length as well. A part that was written by a failed append is cut off before anything else is
//! written.

use crate::folder::Folder;
use crate::tile;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::{FileExt, OpenOptionsExt};

/// Bytes set aside for a bundle: the size of 256 entries of the usual length. A bundle that outgrows it grows as files
/// do.
const ROOM: usize = 128 * 1024;

/// The growing bundle.
#[derive(Debug)]
pub(crate) struct Tail {
    file: File,
    /// Bytes of it that are durable.
    length: u64,
    /// Bytes that the file has, as far as is known.
    size: u64,
    /// There may be more in the file than is durable, other than room.
    wounded: bool,
}

impl Tail {
    /// Opens the growing bundle with this index, or begins it; durable is then that it is there.
    pub(crate) fn open(folder: &Folder, index: u64) -> io::Result<Self> {
        let path = folder.at(&tile::tail_path(index));
        let parent = path.parent().map(std::path::Path::to_owned).unwrap_or_default();
        std::fs::create_dir_all(&parent)?;
        let begins = !path.exists();
        let file = options().open(&path)?;
        if begins {
            // The file is durable before its first entry is reported to be.
            File::open(&parent)?.sync_all()?;
        }
        let size = file.metadata()?.len();
        Ok(Self { file, length: size, size, wounded: false })
    }

    /// Begins the growing bundle with this index; when this returns, the file is durable. A file that may have its name
    /// already holds nothing.
    pub(crate) fn begin(folder: &Folder, index: u64) -> io::Result<Self> {
        let (tail, parent) = Self::anew(folder, index)?;
        parent.sync_all()?;
        Ok(tail)
    }

    /// Begins the bundle after the growing one, with its room; returns its folder too. Neither is durable until both
    /// are flushed. A file that a killed process left under that name holds nothing.
    pub(crate) fn ahead(folder: &Folder, index: u64) -> io::Result<(Self, File)> {
        let (mut tail, parent) = Self::anew(folder, index)?;
        tail.make_room()?;
        Ok((tail, parent))
    }

    /// An empty bundle and its folder; neither is durable yet.
    fn anew(folder: &Folder, index: u64) -> io::Result<(Self, File)> {
        let path = folder.at(&tile::tail_path(index));
        let parent = path.parent().map(std::path::Path::to_owned).unwrap_or_default();
        std::fs::create_dir_all(&parent)?;
        let parent = File::open(&parent)?;
        let file = options().truncate(true).open(&path)?;
        Ok((Self { file, length: 0, size: 0, wounded: false }, parent))
    }

    /// Sets room aside, durable once the whole file is flushed; it is dropped again where it cannot be had.
    pub(crate) fn make_room(&mut self) -> io::Result<()> {
        let room = (ROOM as u64).saturating_sub(self.size);
        let zeros = vec![0; usize::try_from(room).unwrap_or(0)];
        let written = self.file.write_all_at(&zeros, self.size);
        match written {
            Ok(()) => self.size += room,
            Err(_) => self.wounded = self.file.set_len(self.length).is_err(),
        }
        written
    }

    /// Everything that is in it, without room.
    pub(crate) fn read(&self) -> io::Result<Vec<u8>> {
        let length = usize::try_from(self.length.min(tile::BUNDLE)).unwrap_or(0);
        let mut bytes = vec![0; length];
        self.file.read_exact_at(&mut bytes, 0)?;
        bytes.truncate(tile::written(&bytes));
        Ok(bytes)
    }

    /// Cuts the file off after `length` bytes, which end an entry; returns the number of bytes cut that were not room.
    /// Room goes too: it may hold the end of a write whose beginning is missing.
    pub(crate) fn cut(&mut self, length: u64) -> io::Result<u64> {
        let torn = self.read()?.len() as u64;
        if self.size > length {
            self.file.set_len(length)?;
        }
        // A killed life may have written entries and not flushed them; from here on they count as durable.
        self.file.sync_data()?;
        (self.length, self.size) = (length, length);
        Ok(torn.saturating_sub(length))
    }

    /// Cuts off the remains of a failed append.
    pub(crate) fn mend(&mut self) -> io::Result<()> {
        if self.wounded {
            self.file.set_len(self.length)?;
            (self.size, self.wounded) = (self.length, false);
        }
        Ok(())
    }

    /// Gives the room back that was not needed, since a bundle that has its name has none; whether there was some.
    pub(crate) fn end(&mut self) -> io::Result<bool> {
        self.mend()?;
        let had_room = self.size > self.length;
        if had_room {
            self.file.set_len(self.length)?;
            self.size = self.length;
        }
        Ok(had_room)
    }

    /// Makes bytes durable at its end, or leaves it as it was.
    pub(crate) fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.write(bytes)?;
        let flushed = self.flush();
        self.settle(bytes.len(), flushed.is_ok());
        flushed
    }

    /// Flushes the written bytes.
    pub(crate) fn flush(&self) -> io::Result<()> {
        self.file.sync_data()
    }

    /// Writes bytes at its end, where nothing else is on its way; they are not durable yet.
    pub(crate) fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.mend()?;
        let written = self.file.write_all_at(bytes, self.length);
        if written.is_err() {
            self.settle(bytes.len(), false);
        }
        written
    }

    /// Settles the bytes at the end: they are durable, or they are written again. No caller has been answered yet.
    pub(crate) fn settle(&mut self, bytes: usize, durable: bool) {
        if durable {
            self.length += bytes as u64;
            self.size = self.size.max(self.length);
        } else {
            self.wounded = self.file.set_len(self.length).is_err();
            self.size = self.length;
        }
    }

    /// The file, to be flushed.
    pub(crate) fn file(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

fn options() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false).mode(0o600);
    options
}
