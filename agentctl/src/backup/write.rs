//! Writing a backup: a copy of the state, summed, and put into one sealed file that is there whole or not at all.

use super::contents::{Contents, Kind, Member, NAME};
use super::fault::Fault;
use super::keys::Lock;
use crate::failure::Failure;
use crate::{text, whole};
use sha2::{Digest, Sha256};
use std::fs::File;
use std::io::{self, BufWriter, Read, Write};
use std::path::Path;
use tar::{Builder, EntryType, Header};

/// Bytes that are read at once.
pub(super) const PIECE: usize = 1 << 16;

/// Fills in the bytes and sums of what was copied.
///
/// # Errors
/// A copy cannot be read.
pub(super) fn sum(members: &mut [Member], staged: &Path) -> Result<(), Failure> {
    for member in members.iter_mut().filter(|member| member.kind == Kind::File) {
        let path = staged.join(&member.path);
        let failed = |cause| Failure::File { path: path.clone(), cause };
        let mut file = File::open(&path).map_err(failed)?;
        (member.size, member.sha256) = hashed(&mut file, &mut io::sink()).map_err(failed)?;
    }
    Ok(())
}

/// Passes everything on, and gives how much it was and its sum.
pub(super) fn hashed(from: &mut impl Read, to: &mut dyn Write) -> io::Result<(u64, String)> {
    let (mut hash, mut size, mut piece) = (Sha256::new(), 0, vec![0; PIECE]);
    loop {
        let length = match from.read(&mut piece) {
            Ok(0) => return Ok((size, text::hex(&hash.finalize()))),
            Ok(length) => length,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        let read = piece.get(..length).unwrap_or_default();
        hash.update(read);
        to.write_all(read)?;
        size += length as u64;
    }
}

/// Writes the backup; gives its bytes.
///
/// # Errors
/// The file is there already, or it or a copy cannot be written or read.
pub(super) fn write(file: &Path, lock: &Lock, contents: &Contents, staged: &Path) -> Result<u64, Failure> {
    let failed = |cause| Failure::File { path: file.to_owned(), cause };
    let mut new = whole::beside(file).map_err(failed)?;
    fill(new.as_file_mut(), file, lock, contents, staged)?;
    new.as_file().sync_all().map_err(failed)?;
    let made = new.persist_noclobber(file).map_err(|error| match error.error.kind() {
        io::ErrorKind::AlreadyExists => Fault::Exists(file.to_owned()).into(),
        _ => failed(error.error),
    })?;
    File::open(whole::folder_of(file)).and_then(|folder| folder.sync_all()).map_err(failed)?;
    Ok(made.metadata().map_err(failed)?.len())
}

/// Writes it into the file beside the one that was asked for, of which a failure is told: `new` is none that names itself.
fn fill(new: &mut File, file: &Path, lock: &Lock, contents: &Contents, staged: &Path) -> Result<(), Failure> {
    let failed = |cause| Failure::File { path: file.to_owned(), cause };
    let sealed = lock.encryptor()?.wrap_output(BufWriter::new(new)).map_err(failed)?;
    let mut archive = Builder::new(sealed);
    let manifest = serde_json::to_vec(contents).map_err(|error| failed(error.into()))?;
    let mut head = header(EntryType::Regular, 0o600, contents.made_ms / 1000, manifest.len() as u64);
    archive.append_data(&mut head, NAME, manifest.as_slice()).map_err(failed)?;
    for member in &contents.members {
        append(&mut archive, member, &staged.join(&member.path)).map_err(failed)?;
    }
    let mut file = archive.into_inner().and_then(|sealed| sealed.finish()).map_err(failed)?;
    file.flush().map_err(failed)
}

fn append(archive: &mut Builder<impl Write>, member: &Member, path: &Path) -> io::Result<()> {
    match member.kind {
        Kind::Folder => {
            let mut head = header(EntryType::Directory, member.mode, member.modified, 0);
            archive.append_data(&mut head, &member.path, io::empty())
        }
        Kind::File => {
            let mut head = header(EntryType::Regular, member.mode, member.modified, member.size);
            archive.append_data(&mut head, &member.path, File::open(path)?)
        }
    }
}

/// Of nobody: whose a member is follows from its place, and is looked up where it is restored.
fn header(kind: EntryType, mode: u32, modified: u64, size: u64) -> Header {
    let mut header = Header::new_gnu();
    header.set_entry_type(kind);
    header.set_mode(mode);
    header.set_uid(0);
    header.set_gid(0);
    header.set_mtime(modified);
    header.set_size(size);
    header
}
