//! An engine's state of a session: the files of its home that its profile names, packed when it has answered and laid
//! out in the next turn's home. It takes regular files alone, each beneath the home; anything else in an archive is
//! skipped, since a jail wrote it.

use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use ipc_proto::Blob;
use ipc_proto::engine::STATE;
use nix::fcntl::OFlag;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Component, Path, PathBuf};

/// Bytes of all files together, before they are packed.
const WHOLE: u64 = 32 << 20;
/// Files of one state.
const FILES: usize = 1024;
/// Folders in folders.
const DEPTH: usize = 16;

/// Packs the files at these paths beneath `home`; none where they are larger than the bound, or cannot be read.
#[must_use]
pub fn pack<'a>(home: &Path, keeps: impl Iterator<Item = &'a str>) -> Option<Blob<STATE>> {
    let mut files = Vec::new();
    for path in keeps {
        find(home, Path::new(path), 0, &mut files)?;
    }
    // Places that lie in each other name a file twice; it is laid out once.
    files.sort();
    files.dedup();
    let packed = GzEncoder::new(Bounded(Vec::new()), Compression::default());
    let mut archive = tar::Builder::new(packed);
    let mut left = WHOLE;
    for path in files {
        let file = open(&home.join(&path))?;
        let length = file.metadata().ok()?.len();
        left = left.checked_sub(length)?;
        let mut header = tar::Header::new_gnu();
        header.set_size(length);
        header.set_mode(0o600);
        header.set_entry_type(tar::EntryType::Regular);
        // One that grows meanwhile is cut, and one that shrinks is a state that cannot be had.
        archive.append_data(&mut header, &path, (&file).take(length)).ok()?;
    }
    Blob::new(archive.into_inner().ok()?.finish().ok()?.0).ok()
}

/// The regular files at `path`, or beneath it; none if there are too many.
fn find(home: &Path, path: &Path, depth: usize, files: &mut Vec<PathBuf>) -> Option<()> {
    let Ok(meta) = fs::symlink_metadata(home.join(path)) else { return Some(()) };
    if meta.is_file() {
        files.push(path.to_owned());
        return (files.len() <= FILES).then_some(());
    }
    if !meta.is_dir() {
        return Some(());
    }
    if depth >= DEPTH {
        return None;
    }
    for entry in fs::read_dir(home.join(path)).ok()?.flatten() {
        find(home, &path.join(entry.file_name()), depth + 1, files)?;
    }
    Some(())
}

/// A file, and nothing that a program may have put in its place since: no link is followed, no FIFO waited for.
fn open(path: &Path) -> Option<File> {
    let flags = (OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK).bits();
    let file = OpenOptions::new().read(true).custom_flags(flags).open(path).ok()?;
    file.metadata().ok()?.is_file().then_some(file)
}

/// Lays a state out beneath `home`, in which nothing of a program's lies yet.
///
/// # Errors
/// It is no archive, it is larger than what is packed, or a file cannot be written.
pub fn unpack(home: &Path, state: &[u8]) -> io::Result<()> {
    let mut archive = tar::Archive::new(GzDecoder::new(state).take(WHOLE + (FILES as u64) * 2048));
    for (count, entry) in archive.entries()?.enumerate() {
        let mut entry = entry?;
        if count >= FILES {
            return Err(io::ErrorKind::InvalidData.into());
        }
        let path = entry.path()?.into_owned();
        let ordinary = path.components().all(|part| matches!(part, Component::Normal(_)));
        if !ordinary || path.as_os_str().is_empty() || entry.header().entry_type() != tar::EntryType::Regular
        {
            continue;
        }
        let path = home.join(path);
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)?;
        }
        let mut file = OpenOptions::new().write(true).create_new(true).open(path)?;
        io::copy(&mut entry, &mut file)?;
    }
    Ok(())
}

/// Takes as much as is kept, and no more.
struct Bounded(Vec<u8>);

impl Write for Bounded {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.0.len() + bytes.len() > STATE {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        self.0.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
