//! The databases of the host and the version of each that this program works with, so that a state directory can be
//! judged before an upgrade, without the database's own library and without opening it for work.

use crate::process::Process;

/// Where the version stands in a database's first page, and how the page begins
/// (<https://www.sqlite.org/fileformat.html>, section 1.3).
const USER_VERSION: usize = 60;
const MAGIC: &[u8] = b"SQLite format 3\0";
/// Bytes of a log's head, of a frame's head, and the magic number, whose last bit says only how sums are made (the same
/// page, section 4.1).
const LOG_HEAD: usize = 32;
const FRAME_HEAD: usize = 24;
const LOG_MAGIC: u32 = 0x377f_0682;

/// Bytes of a database that are looked at.
pub const HEAD: usize = 100;

/// A database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Database {
    /// The process that owns the database.
    pub process: Process,
    /// Its name in that process's folder.
    pub file: &'static str,
    /// The version that this program makes of an older one, and the newest that it opens.
    pub version: u32,
}

/// Every database. The test `a_fresh_hosts_databases_are_of_the_versions_that_the_table_says` holds the numbers.
pub const DATABASES: &[Database] = &[
    Database { process: Process::Memory, file: "memory.db", version: 1 },
    Database { process: Process::Router, file: "queue.db", version: 1 },
    Database { process: Process::Model, file: "ledger.db", version: 1 },
    Database { process: Process::Curator, file: "jobs.db", version: 1 },
];

impl Database {
    /// Its path below the state directory.
    #[must_use]
    pub fn path(&self) -> String {
        format!("{}/{}", self.process.name(), self.file)
    }
}

/// The version of a database, by its first [`HEAD`] bytes and its write-ahead log, which may hold a newer first page;
/// `None` if that is no database. One that nothing was written to yet is of version 0.
///
/// The log's sums are not checked: the answer tells a person what a start would do, and the start itself checks them.
#[must_use]
pub fn version(head: &[u8], log: &[u8]) -> Option<u32> {
    let page = newest_first_page(log).unwrap_or(head);
    if page.is_empty() {
        return Some(0);
    }
    if page.starts_with(MAGIC) { word(page, USER_VERSION) } else { None }
}

/// The first page as the last transaction of the log left it. Frames of another generation of the log are leftovers.
fn newest_first_page(log: &[u8]) -> Option<&[u8]> {
    if word(log, 0)? & !1 != LOG_MAGIC {
        return None;
    }
    let size = usize::try_from(word(log, 8)?).ok().filter(|size| (512..=65_536).contains(size))?;
    let generation = log.get(16..24)?;
    let (mut newest, mut pending) = (None, None);
    for frame in log.get(LOG_HEAD..)?.chunks_exact(FRAME_HEAD + size) {
        if frame.get(8..16) != Some(generation) {
            break;
        }
        if word(frame, 0) == Some(1) {
            pending = frame.get(FRAME_HEAD..);
        }
        // The frame that ends a transaction says how large the database is then.
        if word(frame, 4) != Some(0) {
            newest = pending.or(newest);
        }
    }
    newest
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    let four = bytes.get(at..at.checked_add(4)?)?;
    Some(u32::from_be_bytes(four.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: usize = 512;

    /// Page, database's size, generation, bytes.
    type Frame<'a> = (u32, u32, u8, &'a [u8]);

    fn page(version: u32) -> Vec<u8> {
        let mut page = vec![0; PAGE];
        page[..16].copy_from_slice(MAGIC);
        page[USER_VERSION..USER_VERSION + 4].copy_from_slice(&version.to_be_bytes());
        page
    }

    fn log(frames: &[Frame<'_>]) -> Vec<u8> {
        let mut log = [LOG_MAGIC.to_be_bytes(), [0; 4], 512_u32.to_be_bytes(), [0; 4]].concat();
        log.extend([7; 8]);
        log.extend([0; 8]);
        for (number, size, generation, page) in frames {
            log.extend([number.to_be_bytes(), size.to_be_bytes()].concat());
            log.extend([*generation; 8]);
            log.extend([0; 8]);
            log.extend(*page);
        }
        log
    }

    #[test]
    fn the_version_is_the_last_transaction_s_in_the_file_or_in_its_log() {
        let (old, new, newest) = (page(1), page(2), page(3));
        let cases: [(&[Frame<'_>], u32); 5] = [
            (&[], 1),
            (&[(1, 5, 7, &new)], 2),
            (&[(1, 0, 7, &new), (2, 5, 7, &old), (1, 0, 7, &newest)], 2),
            (&[(1, 5, 7, &new), (1, 5, 8, &newest)], 2),
            (&[(2, 5, 7, &newest)], 1),
        ];
        for (frames, version_of) in cases {
            assert_eq!(version(&old[..HEAD], &log(frames)), Some(version_of), "{frames:?}");
        }
    }

    #[test]
    fn what_is_no_database_has_no_version_and_an_empty_one_has_the_version_0() {
        assert_eq!(version(b"a text", &[]), None);
        assert_eq!(version(&page(4)[..40], &[]), None);
        assert_eq!(version(&[], &[]), Some(0));
        let cut = &log(&[(1, 5, 7, &page(2))])[..300];
        assert_eq!(version(&page(1), cut), Some(1));
    }
}
