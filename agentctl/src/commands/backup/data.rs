//! Copying the data of one file: without its holes, in pieces, so that a copy of any size can be stopped in time.

use super::sparse;
use crate::failure::Failure;
use crate::failure::backup::Fault;
use crate::text;
use std::fs::{self, OpenOptions};
use std::io::{self, ErrorKind, Read, Seek, SeekFrom};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// Bytes that are copied between two checks if the copy is to stop.
const PIECE: u64 = 32 << 20;

/// Why a copy is to stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stop {
    /// A person pressed Ctrl-C.
    Interrupted,
    /// The processes cannot stand still for longer.
    Late,
}

/// The answer to "may the copy go on?", asked at each file and at each 32 MiB of one.
pub(super) type GoOn<'a> = &'a dyn Fn() -> Result<(), Stop>;

/// Why a file was not copied.
pub(super) enum Error {
    /// The copy is to stop.
    Stop(Stop),
    /// The kernel's error.
    Io(io::Error),
}

impl From<io::Error> for Error {
    fn from(cause: io::Error) -> Self {
        Self::Io(cause)
    }
}

/// The file with the most data so far.
#[derive(Default)]
pub(super) struct Largest {
    path: PathBuf,
    bytes: u64,
}

impl Largest {
    /// Takes note of a file, by the data that it has on the disk.
    pub(super) fn see(&mut self, path: &Path, meta: &fs::Metadata) {
        let bytes = meta.blocks().saturating_mul(512).min(meta.len());
        if meta.is_file() && bytes >= self.bytes {
            *self = Self { path: path.to_owned(), bytes };
        }
    }

    /// The failure for `from`; it names the largest file where the size may be the reason.
    pub(super) fn failure(&self, from: &Path, error: Error) -> Failure {
        let largest = || {
            format!("the largest file is {}, {} bytes", text::line(&self.path.to_string_lossy()), self.bytes)
        };
        match error {
            Error::Stop(Stop::Interrupted) => Fault::Interrupted.into(),
            Error::Stop(Stop::Late) => {
                Fault::NotStill(format!("it takes longer than they can; {}", largest())).into()
            }
            Error::Io(cause) if cause.kind() == ErrorKind::StorageFull => Fault::NoRoom(largest()).into(),
            Error::Io(cause) => Failure::File { path: from.to_owned(), cause },
        }
    }
}

/// Copies a file's data, a piece at a time, and skips its holes. The file system shares the bytes if it can.
///
/// # Errors
/// The kernel's error, too many holes, or the copy is to stop.
pub(super) fn copy(from: &Path, to: &Path, meta: &fs::Metadata, go_on: GoOn<'_>) -> Result<(), Error> {
    let flags = nix::libc::O_NOFOLLOW | nix::libc::O_NONBLOCK;
    let mut source = OpenOptions::new().read(true).custom_flags(flags).open(from)?;
    let mut copy = OpenOptions::new().write(true).create_new(true).mode(0o600).open(to)?;
    // A file without holes, which most are, is neither sought in nor given a length: both cost much with many small files.
    let mut at = 0;
    for extent in sparse::extents(&source, meta)? {
        if extent.start != at {
            source.seek(SeekFrom::Start(extent.start))?;
            copy.seek(SeekFrom::Start(extent.start))?;
            at = extent.start;
        }
        let end = extent.start + extent.length;
        while at < end {
            go_on().map_err(Error::Stop)?;
            let piece = (end - at).min(PIECE);
            let copied = io::copy(&mut source.by_ref().take(piece), &mut copy)?;
            at += copied;
            // A program that does not stand still, as a detached one in mode flat, may have cut the file.
            if copied < piece {
                break;
            }
        }
    }
    if at < meta.len() {
        copy.set_len(meta.len())?;
    }
    Ok(copy.set_modified(meta.modified()?)?)
}
