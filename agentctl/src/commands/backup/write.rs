//! Writing a backup: a copy of the state, summed, and put into one sealed file that is there whole or not at all.

use super::contents::{BOUND, Contents, Kind, Member, NAME};
use super::keys::Lock;
use super::sparse::{self, Body};
use crate::failure::Failure;
use crate::failure::backup::Fault;
use crate::in_place::{Counted, Progress, Unit};
use crate::{atomic_file, text};
use sha2::{Digest, Sha256};
use std::fs::File;
use std::io::{self, BufWriter, Read, Write};
use std::path::Path;
use tar::{Builder, EntryType, Header};

/// Bytes that are read at once.
pub(super) const PIECE: usize = 1 << 16;

/// Fills in the kind, the bytes and the sum of every file that was copied.
///
/// # Errors
/// A copy cannot be read.
pub(super) fn sum(members: &mut [Member], staged: &Path) -> Result<(), Failure> {
    for member in members.iter_mut().filter(|member| member.kind != Kind::Folder) {
        let path = staged.join(&member.path);
        sum_one(member, &path).map_err(|cause| Failure::File { path, cause })?;
    }
    Ok(())
}

fn sum_one(member: &mut Member, path: &Path) -> io::Result<()> {
    let mut file = File::open(path)?;
    let meta = file.metadata()?;
    let extents = sparse::extents(&file, &meta)?;
    member.size = meta.len();
    if sparse::has_hole(&extents, member.size) {
        member.kind = Kind::Sparse;
        let mut body = Body::new(&file, &extents, member.size);
        (member.stored, member.sha256) = hashed(&mut body, &mut io::sink())?;
    } else {
        (member.stored, member.sha256) = hashed(&mut file, &mut io::sink())?;
    }
    Ok(())
}

/// Copies all bytes, and returns their number and their SHA-256.
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
    let mut new = atomic_file::beside(file).map_err(failed)?;
    fill(new.as_file_mut(), file, lock, contents, staged)?;
    new.as_file().sync_all().map_err(failed)?;
    let made = new.persist_noclobber(file).map_err(|error| match error.error.kind() {
        io::ErrorKind::AlreadyExists => Fault::Exists(file.to_owned()).into(),
        _ => failed(error.error),
    })?;
    File::open(atomic_file::folder_of(file)).and_then(|folder| folder.sync_all()).map_err(failed)?;
    Ok(made.metadata().map_err(failed)?.len())
}

/// Writes it into the temporary file `new`. A failure names the requested file.
fn fill(new: &mut File, file: &Path, lock: &Lock, contents: &Contents, staged: &Path) -> Result<(), Failure> {
    let failed = |cause| Failure::File { path: file.to_owned(), cause };
    let whole = contents.members.iter().map(|member| member.stored).sum();
    let new = Counted::new(new, Progress::new(false, "backup", Unit::Bytes, Some(whole)));
    let sealed = lock.encryptor()?.wrap_output(BufWriter::new(new)).map_err(failed)?;
    let mut archive = Builder::new(sealed);
    let manifest = serde_json::to_vec(contents).map_err(|error| failed(error.into()))?;
    if manifest.len() as u64 > BOUND {
        return Err(Fault::TooMany(contents.members.len()).into());
    }
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
            let mut head = header(EntryType::Regular, member.mode, member.modified, member.stored);
            archive.append_data(&mut head, &member.path, File::open(path)?)
        }
        Kind::Sparse => append_sparse(archive, member, &File::open(path)?),
    }
}

fn append_sparse(archive: &mut Builder<impl Write>, member: &Member, file: &File) -> io::Result<()> {
    let extents = sparse::extents(file, &file.metadata()?)?;
    let body = Body::new(file, &extents, member.size);
    if body.length() != member.stored {
        return Err(io::Error::other("the file system reports other holes than before"));
    }
    // GNU tar reads a sparse file of this form only behind a header of POSIX.
    let posix = |kind, mode, size| filled(Header::new_ustar(), kind, mode, member.modified, size);
    let pax = sparse::header(&member.path, member.size);
    let mut head = posix(EntryType::XHeader, 0o600, pax.len() as u64);
    archive.append_data(&mut head, "PaxHeaders.0/member", pax.as_slice())?;
    let mut head = posix(EntryType::Regular, member.mode, member.stored);
    archive.append_data(&mut head, sparse::NAME, body)
}

/// A header without an owner: the owner follows from the path, and a restore looks it up.
fn header(kind: EntryType, mode: u32, modified: u64, size: u64) -> Header {
    filled(Header::new_gnu(), kind, mode, modified, size)
}

fn filled(mut header: Header, kind: EntryType, mode: u32, modified: u64, size: u64) -> Header {
    header.set_entry_type(kind);
    header.set_mode(mode);
    header.set_uid(0);
    header.set_gid(0);
    header.set_mtime(modified);
    header.set_size(size);
    header
}
