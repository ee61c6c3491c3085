//! Files with holes. A hole takes no room on the disk, and none in a backup: the copy skips it, the archive lists the
//! data around it, and a restore makes it again.
//!
//! The archive holds such a file in the form 1.0 of GNU tar's sparse members: a pax header with the path and the size,
//! then a member whose content is a map of the data, padded to a block, and the data. GNU tar and bsdtar extract it.

use sha2::{Digest, Sha256};
use std::fs::{File, Metadata};
use std::io::{self, BufRead, BufReader, ErrorKind, Read, Seek, SeekFrom};
use std::os::unix::fs::{FileExt, MetadataExt};

use nix::errno::Errno;
use nix::unistd::{Whence, lseek};

/// The name of such a member's tar header; the path stands in the pax header.
pub(super) const NAME: &str = "GNUSparseFile.0/member";
/// Extents of one file at most. A file with more holds at least 4 GiB in single blocks, and its map takes 16 MiB.
const EXTENTS: usize = 1 << 20;
/// Bytes of a tar block, to which the map is padded.
const BLOCK: usize = 512;
/// Decimal digits of a number in the map at most: `u64::MAX`.
const DIGITS: u64 = 20;

/// A run of bytes that is data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Extent {
    /// Its offset in the file, in bytes.
    pub(super) start: u64,
    /// Its length in bytes.
    pub(super) length: u64,
}

/// The data of a file in ascending order, as the file system reports it. A file whose blocks can hold all of its
/// bytes is one extent, and so is every file where the file system knows no holes.
///
/// # Errors
/// The kernel's error, or [`ErrorKind::FileTooLarge`] for more than 2^20 extents.
pub(super) fn extents(file: &File, meta: &Metadata) -> io::Result<Vec<Extent>> {
    extents_up_to(file, meta, EXTENTS)
}

fn extents_up_to(file: &File, meta: &Metadata, most: usize) -> io::Result<Vec<Extent>> {
    let size = meta.len();
    let whole = vec![Extent { start: 0, length: size }];
    if size == 0 || meta.blocks().saturating_mul(BLOCK as u64) >= size {
        return Ok(whole);
    }
    let mut found = Vec::new();
    let mut at = 0;
    while at < size {
        let start = match seek(file, at, Whence::SeekData) {
            Ok(start) => start,
            Err(Errno::ENXIO) => break,
            Err(Errno::EINVAL) if found.is_empty() => return Ok(whole),
            Err(errno) => return Err(errno.into()),
        };
        let end = seek(file, start, Whence::SeekHole)?.min(size);
        if end <= start {
            break;
        }
        if found.len() == most {
            return Err(io::Error::new(ErrorKind::FileTooLarge, "more than 2^20 runs of data between holes"));
        }
        found.push(Extent { start, length: end - start });
        at = end;
    }
    Ok(found)
}

fn seek(file: &File, from: u64, whence: Whence) -> Result<u64, Errno> {
    let from = i64::try_from(from).map_err(|_| Errno::EOVERFLOW)?;
    lseek(file, from, whence).map(i64::cast_unsigned)
}

/// Returns true if extents leave a hole in a file of this size.
pub(super) fn has_hole(extents: &[Extent], size: u64) -> bool {
    extents.iter().map(|extent| extent.length).sum::<u64>() < size
}

/// A file as the archive holds it: the map, then the data.
pub(super) struct Body<'a> {
    file: &'a File,
    head: io::Cursor<Vec<u8>>,
    extents: std::slice::Iter<'a, Extent>,
    current: Extent,
    length: u64,
}

impl<'a> Body<'a> {
    /// The body of a file with these extents.
    pub(super) fn new(file: &'a File, extents: &'a [Extent], size: u64) -> Self {
        let map = map(extents, size);
        let data: u64 = extents.iter().map(|extent| extent.length).sum();
        Self {
            file,
            length: map.len() as u64 + data,
            head: io::Cursor::new(map),
            extents: extents.iter(),
            current: Extent { start: 0, length: 0 },
        }
    }

    /// All of its bytes.
    pub(super) const fn length(&self) -> u64 {
        self.length
    }
}

impl Read for Body<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let length = self.head.read(buffer)?;
        if length > 0 || buffer.is_empty() {
            return Ok(length);
        }
        while self.current.length == 0 {
            match self.extents.next() {
                Some(extent) => self.current = *extent,
                None => return Ok(0),
            }
        }
        let most = usize::try_from(self.current.length).unwrap_or(usize::MAX).min(buffer.len());
        let room = buffer.get_mut(..most).unwrap_or_default();
        let length = self.file.read_at(room, self.current.start)?;
        if length == 0 {
            return Err(ErrorKind::UnexpectedEof.into());
        }
        self.current.start += length as u64;
        self.current.length -= length as u64;
        Ok(length)
    }
}

/// The number of extents, then the start and the length of each, a decimal number a line. GNU tar gives a file that
/// ends in a hole its size by an empty extent at the end.
fn map(extents: &[Extent], size: u64) -> Vec<u8> {
    let end = extents.last().map_or(0, |extent| extent.start + extent.length);
    let last = (end < size).then_some(Extent { start: size, length: 0 });
    let mut text = format!("{}\n", extents.len() + usize::from(last.is_some()));
    for extent in extents.iter().chain(&last) {
        text.push_str(&format!("{}\n{}\n", extent.start, extent.length));
    }
    let mut bytes = text.into_bytes();
    bytes.resize(bytes.len().next_multiple_of(BLOCK), 0);
    bytes
}

/// The pax header of a member with this path and size.
pub(super) fn header(path: &str, size: u64) -> Vec<u8> {
    let size = size.to_string();
    let records = [
        ("GNU.sparse.major", "1"),
        ("GNU.sparse.minor", "0"),
        ("GNU.sparse.name", path),
        ("GNU.sparse.realsize", &size),
    ];
    records.iter().flat_map(|(key, value)| record(key, value).into_bytes()).collect()
}

/// A pax record: it begins with its own length in bytes.
fn record(key: &str, value: &str) -> String {
    let rest = key.len() + value.len() + 3;
    let mut length = rest + 1;
    while rest + length.to_string().len() != length {
        length = rest + length.to_string().len();
    }
    format!("{length} {key}={value}\n")
}

/// A reader that sums all that passes through it.
struct Summed<R> {
    inner: R,
    hash: Sha256,
}

impl<R: Read> Read for Summed<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let length = self.inner.read(buffer)?;
        self.hash.update(buffer.get(..length).unwrap_or_default());
        Ok(length)
    }
}

/// The destination of a member's data.
pub(super) trait Target: io::Write {
    /// Goes to this offset, past a hole.
    ///
    /// # Errors
    /// The kernel's error.
    fn skip_to(&mut self, offset: u64) -> io::Result<()>;

    /// Ends the file at this size.
    ///
    /// # Errors
    /// The kernel's error.
    fn end_at(&mut self, size: u64) -> io::Result<()>;
}

impl Target for io::Sink {
    fn skip_to(&mut self, _: u64) -> io::Result<()> {
        Ok(())
    }

    fn end_at(&mut self, _: u64) -> io::Result<()> {
        Ok(())
    }
}

impl Target for File {
    fn skip_to(&mut self, offset: u64) -> io::Result<()> {
        self.seek(SeekFrom::Start(offset)).map(drop)
    }

    fn end_at(&mut self, size: u64) -> io::Result<()> {
        self.set_len(size)
    }
}

/// Reads the body of a file of `size` bytes and writes its data in its place. Returns the SHA-256 of the body.
///
/// # Errors
/// The body cannot be read, its map leads out of the file or does not fit the body, or the target fails.
pub(super) fn unpack(body: impl Read, size: u64, to: &mut impl Target) -> io::Result<[u8; 32]> {
    let mut body = BufReader::new(Summed { inner: body, hash: Sha256::new() });
    for extent in read_map(&mut body, size)? {
        to.skip_to(extent.start)?;
        if io::copy(&mut (&mut body).take(extent.length), to)? != extent.length {
            return Err(ErrorKind::UnexpectedEof.into());
        }
    }
    to.end_at(size)?;
    if !body.fill_buf()?.is_empty() {
        return Err(invalid("more data than the map lists"));
    }
    Ok(body.into_inner().hash.finalize().into())
}

fn read_map(body: &mut impl BufRead, size: u64) -> io::Result<Vec<Extent>> {
    let mut length = 0;
    let count = number(body, &mut length)?;
    if count > EXTENTS as u64 + 1 {
        return Err(invalid("a map of more than 2^20 extents"));
    }
    let (mut extents, mut end) = (Vec::new(), 0);
    for _ in 0..count {
        let extent = Extent { start: number(body, &mut length)?, length: number(body, &mut length)? };
        let next = extent.start.checked_add(extent.length);
        end = next
            .filter(|next| extent.start >= end && *next <= size)
            .ok_or_else(|| invalid("a map that leads out of the file"))?;
        extents.push(extent);
    }
    let mut padding = vec![0; length.next_multiple_of(BLOCK) - length];
    body.read_exact(&mut padding)?;
    Ok(extents)
}

/// One line of the map; adds its bytes to `length`.
fn number(body: &mut impl BufRead, length: &mut usize) -> io::Result<u64> {
    let mut line = Vec::new();
    *length += body.by_ref().take(DIGITS + 1).read_until(b'\n', &mut line)?;
    let digits = line.strip_suffix(b"\n").and_then(|digits| std::str::from_utf8(digits).ok());
    digits.and_then(|digits| digits.parse().ok()).ok_or_else(|| invalid("a map with no number in a line"))
}

fn invalid(why: &'static str) -> io::Error {
    io::Error::new(ErrorKind::InvalidData, why)
}

#[cfg(test)]
mod tests {
    use super::*;

    const GIB: u64 = 1 << 30;

    /// A file of 8 GiB with data at its start, in its middle and, if `full`, at its end.
    fn sparse(full: bool) -> File {
        let file = tempfile::tempfile().unwrap();
        file.set_len(8 * GIB).unwrap();
        file.write_all_at(b"first", 0).unwrap();
        file.write_all_at(&[7; 10_000], 3 * GIB + 1).unwrap();
        if full {
            file.write_all_at(b"last", 8 * GIB - 4).unwrap();
        }
        file
    }

    fn packed(file: &File) -> Vec<u8> {
        let meta = file.metadata().unwrap();
        let extents = extents(file, &meta).unwrap();
        assert!(has_hole(&extents, meta.len()));
        let mut body = Body::new(file, &extents, meta.len());
        let mut bytes = Vec::new();
        body.read_to_end(&mut bytes).unwrap();
        assert_eq!(body.length(), bytes.len() as u64);
        bytes
    }

    #[test]
    fn a_file_of_8_gib_of_holes_takes_kibibytes_and_comes_back() {
        for full in [true, false] {
            let bytes = packed(&sparse(full));
            assert!(bytes.len() < 64 << 10, "{}", bytes.len());
            let mut out = tempfile::tempfile().unwrap();
            let sum = unpack(bytes.as_slice(), 8 * GIB, &mut out).unwrap();
            assert_eq!(sum, <[u8; 32]>::from(Sha256::digest(&bytes)));
            let meta = out.metadata().unwrap();
            assert_eq!(meta.len(), 8 * GIB);
            assert!(meta.blocks() < 256, "{}", meta.blocks());
            for (at, length) in [(0, 5), (3 * GIB, 10_002), (8 * GIB - 4, 4)] {
                let (mut here, mut there) = (vec![0; length], vec![0; length]);
                out.read_exact_at(&mut here, at).unwrap();
                sparse(full).read_exact_at(&mut there, at).unwrap();
                assert_eq!(here, there, "{at}");
            }
        }
    }

    #[test]
    fn a_file_that_is_all_hole_comes_back() {
        let file = tempfile::tempfile().unwrap();
        file.set_len(GIB).unwrap();
        let bytes = packed(&file);
        assert!(bytes.starts_with(b"1\n1073741824\n0\n\0") && bytes.len() == BLOCK);
        let mut out = tempfile::tempfile().unwrap();
        unpack(bytes.as_slice(), GIB, &mut out).unwrap();
        assert_eq!(out.metadata().unwrap().len(), GIB);
    }

    // Holds B-170.
    #[test]
    fn a_file_of_more_runs_than_the_bound_is_refused() {
        let file = sparse(true);
        let meta = file.metadata().unwrap();
        let runs = extents(&file, &meta).unwrap().len();
        assert_eq!(extents_up_to(&file, &meta, runs).unwrap().len(), runs);
        let refused = extents_up_to(&file, &meta, runs - 1).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::FileTooLarge);
        let mut map = format!("{}\n", EXTENTS + 2).into_bytes();
        map.resize(BLOCK, 0);
        let refused = unpack(map.as_slice(), GIB, &mut io::sink()).unwrap_err();
        assert!(refused.to_string().contains("2^20"), "{refused}");
    }

    #[test]
    fn a_map_that_does_not_fit_the_file_is_refused() {
        for map in [
            "",
            "1\n",
            "x\n",
            "1\n0\n-1\n",
            "1\n0\n101\n",
            "1\n101\n0\n",
            "1\n18446744073709551615\n1\n",
            "2\n50\n10\n50\n10\n",
            "2000000\n",
            "99999999999999999999999\n",
        ] {
            let mut bytes = map.as_bytes().to_vec();
            bytes.resize(BLOCK, 0);
            bytes.extend([1; 101]);
            assert!(unpack(bytes.as_slice(), 100, &mut io::sink()).is_err(), "{map}");
        }
        let mut fits = map(&[Extent { start: 10, length: 4 }], 100);
        assert!(unpack(fits.as_slice(), 100, &mut io::sink()).is_err(), "too little data");
        fits.extend(b"data");
        assert!(unpack(fits.as_slice(), 100, &mut io::sink()).is_ok());
        fits.push(0);
        assert!(unpack(fits.as_slice(), 100, &mut io::sink()).is_err(), "too much data");
    }

    #[test]
    fn a_pax_record_counts_its_own_length() {
        assert_eq!(record("a", "b"), "6 a=b\n");
        assert_eq!(record("k", &"v".repeat(94)), format!("101 k={}\n", "v".repeat(94)));
        for length in 0..2_000 {
            let record = record("GNU.sparse.name", &"n".repeat(length));
            assert!(record.starts_with(&format!("{} ", record.len())), "{length}");
        }
    }

    proptest::proptest! {
        #[test]
        fn any_bytes_are_a_body_or_are_refused(bytes: Vec<u8>, size: u16) {
            let _ = unpack(bytes.as_slice(), size.into(), &mut io::sink());
        }
    }
}
