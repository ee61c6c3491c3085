//! Reading a backup from its beginning to its end: it is opened, and every member is compared with the manifest, in
//! order. Wanted members are written below one folder, as new files and folders and nothing else.
//!
//! Each piece of the file is authenticated before it is used, so members read before a fault are as they were sealed,
//! and a fault says how many they are. A name that is too long for a tar header comes in a member of its own, and a file
//! with holes has a pax header; both are read with a bound. Every other kind of tar member is refused.

use super::contents::{BOUND, Contents, Kind, Member, NAME, PATH};
use super::keys::OpenWith;
use super::sparse::{self, Target};
use super::write::{PIECE, hashed};
use crate::failure::Failure;
use crate::failure::backup::{Broken, Fault};
use crate::in_place::{self, Counted, Unit};
use crate::text;
use age::Decryptor;
use std::cell::Cell;
use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use tar::{Archive, Entry, EntryType};

/// Bytes of a pax header: a path, a size and their keys.
const PAX: u64 = PATH as u64 + 256;
/// How every age file begins, and no other.
const MAGIC: &[u8] = b"age-encryption.org/v1";

/// Where a member is written, below the folder; `None` for one that is only checked.
pub(super) type Wanted<'a> = &'a dyn Fn(&Contents, &Member) -> Option<PathBuf>;

/// The sealed file, and how far it has been read.
struct Sealed {
    file: Counted<File>,
    at: Rc<Cell<u64>>,
}

impl Read for Sealed {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let length = self.file.read(buffer)?;
        self.at.set(self.at.get() + length as u64);
        Ok(length)
    }
}

/// The opened file. It notes the first failure to open a piece, since later errors say less.
struct Opened<R> {
    inner: R,
    failed: Rc<Cell<Option<ErrorKind>>>,
}

impl<R: Read> Read for Opened<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.inner.read(buffer).inspect_err(|error| {
            if self.failed.get().is_none() {
                self.failed.set(Some(error.kind()));
            }
        })
    }
}

/// How far reading came.
#[derive(Default)]
struct Progress {
    contents: Option<Contents>,
    /// Members that were read, were as listed, and were written.
    whole: usize,
}

impl Progress {
    fn trustworthy(&self) -> String {
        let Some(contents) = &self.contents else { return "nothing of it".to_owned() };
        let last = self.whole.checked_sub(1).and_then(|last| contents.members.get(last));
        let upto = last.map(|last| format!(", up to {}", text::line(&last.path))).unwrap_or_default();
        format!("its manifest and the first {} of its {} members{upto}", self.whole, contents.members.len())
    }
}

/// Reads all of `file`, writes the wanted members below `folder`, and returns the manifest.
///
/// # Errors
/// It cannot be opened, or does not hold.
pub(super) fn read(
    file: &Path,
    with: &OpenWith,
    folder: &Path,
    wanted: Wanted<'_>,
) -> Result<Contents, Failure> {
    let unreadable = |cause| Failure::File { path: file.to_owned(), cause };
    let sealed = File::open(file).map_err(unreadable)?;
    let length = sealed.metadata().map_err(unreadable)?.len();
    begins(&sealed).map_err(unreadable)??;
    let shown = in_place::Progress::new(false, "reading", Unit::Bytes, Some(length));
    let sealed = Counted::new(sealed, shown);
    let (at, failed) = (Rc::new(Cell::new(0)), Rc::new(Cell::new(None)));
    let head = Decryptor::new(Sealed { file: sealed, at: Rc::clone(&at) }).map_err(head)?;
    let inner = with.key(head.is_scrypt())?.open(head)?;
    let (mut progress, opened) = (Progress::default(), Opened { inner, failed: Rc::clone(&failed) });
    let done = walk(opened, folder, wanted, &mut progress);
    match (done, progress.contents.take()) {
        (Ok(()), Some(contents)) => Ok(contents),
        (Ok(()), None) => Err(Fault::NotABackup("it is empty").into()),
        (Err(Stop::Disk(path, cause)), _) => Err(Failure::File { path, cause }),
        (Err(Stop::Fault(fault)), contents) => {
            progress.contents = contents;
            let fault = match failed.get() {
                Some(ErrorKind::UnexpectedEof) => Fault::CutShort,
                Some(_) if at.get() >= length => Fault::CutShort,
                Some(_) => Fault::Changed("a piece of it does not hold"),
                None => fault,
            };
            Err(Broken { fault, trustworthy: Some(progress.trustworthy()) }.into())
        }
    }
}

/// Checks that the file begins as an age file, as far as it goes.
fn begins(file: &File) -> io::Result<Result<(), Fault>> {
    let mut first = [0; MAGIC.len()];
    let length = file.read_at(&mut first, 0)?;
    let same = first.get(..length).is_some_and(|first| MAGIC.starts_with(first));
    let other = Fault::NotABackup("it does not begin as an age file");
    Ok(if same && length > 0 { Ok(()) } else { Err(other) })
}

fn head(error: age::DecryptError) -> Fault {
    match error {
        age::DecryptError::Io(error) if error.kind() == ErrorKind::UnexpectedEof => Fault::CutShort,
        _ => Fault::Changed("its head is not one of age's"),
    }
}

/// Why reading stopped.
enum Stop {
    Fault(Fault),
    /// Here, rather than there.
    Disk(PathBuf, io::Error),
}

impl From<Fault> for Stop {
    fn from(fault: Fault) -> Self {
        Self::Fault(fault)
    }
}

/// The fault of a malformed archive. If reading the sealed file failed, the caller reports that instead.
fn malformed(_: io::Error) -> Stop {
    Fault::NotABackup("it holds no tar file").into()
}

fn walk(opened: impl Read, folder: &Path, wanted: Wanted<'_>, progress: &mut Progress) -> Result<(), Stop> {
    let mut archive = Archive::new(opened);
    let mut name: Option<String> = None;
    let mut pax: Option<Vec<u8>> = None;
    for entry in archive.entries().map_err(malformed)?.raw(true) {
        let mut entry = entry.map_err(malformed)?;
        if entry.header().entry_type() == EntryType::GNULongName && name.is_none() {
            name = Some(long_name(&mut entry)?);
            continue;
        }
        if entry.header().entry_type() == EntryType::XHeader && pax.is_none() {
            pax = Some(bounded(&mut entry, PAX, "a pax header in it is too long")?);
            continue;
        }
        let found = name.take().unwrap_or_else(|| lossy(&entry.header().path_bytes()));
        match &progress.contents {
            None => progress.contents = Some(manifest(&mut entry, &found)?),
            Some(contents) => {
                let listed = contents.members.get(progress.whole);
                let listed = listed.ok_or_else(|| misplaced(&found, "the end"))?;
                let found = sparse_path(&found, listed, pax.take().as_deref())?;
                take(&mut entry, found, listed, folder, wanted(contents, listed))?;
                progress.whole += 1;
            }
        }
    }
    let rest = progress.contents.as_ref().and_then(|contents| contents.members.get(progress.whole));
    if let Some(missing) = rest {
        // The end of the file may have been what took it away.
        end(archive.into_inner())?;
        return Err(Fault::Missing(text::line(&missing.path)).into());
    }
    end(archive.into_inner())
}

/// Reads to the very end, where it is certain that nothing is missing. Only zeros may follow.
fn end(mut opened: impl Read) -> Result<(), Stop> {
    let mut piece = vec![0; PIECE];
    loop {
        match opened.read(&mut piece).map_err(malformed)? {
            0 => return Ok(()),
            length if piece.iter().take(length).all(|byte| *byte == 0) => {}
            _ => return Err(Fault::Changed("something follows its last member").into()),
        }
    }
}

fn lossy(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn misplaced(found: &str, listed: &str) -> Stop {
    Fault::Misplaced { found: text::line(found), listed: text::line(listed) }.into()
}

/// A name that the next member has, with the zero that ends it.
fn long_name(entry: &mut Entry<'_, impl Read>) -> Result<String, Stop> {
    let bytes = bounded(entry, PATH as u64 + 1, "a name in it is too long")?;
    Ok(lossy(bytes.strip_suffix(b"\0").unwrap_or(&bytes)))
}

/// All bytes of an entry; `why` is the complaint about one that has more than `most`.
fn bounded(entry: &mut Entry<'_, impl Read>, most: u64, why: &'static str) -> Result<Vec<u8>, Stop> {
    if entry.size() > most {
        return Err(Fault::NotABackup(why).into());
    }
    let mut bytes = Vec::new();
    entry.read_to_end(&mut bytes).map_err(malformed)?;
    Ok(bytes)
}

/// The path of a member: a file with holes has its own in a pax header, and no other member has one.
fn sparse_path<'a>(found: &'a str, listed: &'a Member, pax: Option<&[u8]>) -> Result<&'a str, Stop> {
    match (pax, listed.kind) {
        (None, Kind::File | Kind::Folder) => Ok(found),
        (Some(pax), Kind::Sparse)
            if found == sparse::NAME && pax == sparse::header(&listed.path, listed.size) =>
        {
            Ok(&listed.path)
        }
        _ => Err(Fault::Member(text::line(&listed.path)).into()),
    }
}

fn manifest(entry: &mut Entry<'_, impl Read>, found: &str) -> Result<Contents, Stop> {
    let other = "its first member is no manifest";
    if found != NAME || entry.header().entry_type() != EntryType::Regular {
        return Err(Fault::NotABackup(other).into());
    }
    Ok(Contents::read(&bounded(entry, BOUND, other)?)?)
}

/// Compares a member with its line of the manifest, and writes it to its place if it is wanted.
fn take(
    entry: &mut Entry<'_, impl Read>,
    found: &str,
    listed: &Member,
    folder: &Path,
    to: Option<PathBuf>,
) -> Result<(), Stop> {
    let expected = match listed.kind {
        Kind::File | Kind::Sparse => EntryType::Regular,
        Kind::Folder => EntryType::Directory,
    };
    if found.strip_suffix('/').unwrap_or(found) != listed.path {
        return Err(misplaced(found, &listed.path));
    }
    let member = || Stop::from(Fault::Member(text::line(&listed.path)));
    if entry.header().entry_type() != expected || entry.size() != listed.stored {
        return Err(member());
    }
    let to = to.map(|path| folder.join(path));
    if listed.kind == Kind::Folder {
        return to
            .map_or(Ok(()), |path| std::fs::create_dir_all(&path).map_err(|cause| Stop::Disk(path, cause)));
    }
    let Some(path) = to else {
        let sum = unpack(entry, listed, &mut io::sink()).map_err(|_| member())?;
        return if sum == listed.sha256 { Ok(()) } else { Err(member()) };
    };
    let mut options = OpenOptions::new();
    let file = options.write(true).create_new(true).mode(0o600).open(&path);
    let mut out = Out { file: file.map_err(|cause| Stop::Disk(path.clone(), cause))?, failed: None };
    let summed = unpack(entry, listed, &mut out);
    if let Some(cause) = out.failed {
        return Err(Stop::Disk(path, cause));
    }
    if summed.map_err(|_| member())? != listed.sha256 {
        return Err(member());
    }
    out.file.sync_all().map_err(|cause| Stop::Disk(path, cause))
}

/// Writes a file's bytes, with holes where it has some. Returns the SHA-256 of the stored bytes in hex digits.
fn unpack(entry: &mut Entry<'_, impl Read>, listed: &Member, to: &mut impl Target) -> io::Result<String> {
    match listed.kind {
        Kind::Sparse => Ok(text::hex(&sparse::unpack(entry, listed.size, to)?)),
        Kind::File | Kind::Folder => Ok(hashed(entry, to)?.1),
    }
}

/// An output file that notes its own errors, which are faults of this machine and not of the backup.
struct Out {
    file: File,
    failed: Option<io::Error>,
}

impl Out {
    fn noted<T>(&mut self, done: io::Result<T>) -> io::Result<T> {
        done.inspect_err(|error| self.failed = Some(io::Error::new(error.kind(), error.to_string())))
    }
}

impl Target for Out {
    fn skip_to(&mut self, offset: u64) -> io::Result<()> {
        let done = self.file.skip_to(offset);
        self.noted(done)
    }

    fn end_at(&mut self, size: u64) -> io::Result<()> {
        let done = self.file.end_at(size);
        self.noted(done)
    }
}

impl Write for Out {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let done = self.file.write(bytes);
        self.noted(done)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}
