//! The entries of a log's folder, one after the other, one bundle in memory at a time. It verifies nothing.

use crate::entry;
use crate::folder::Folder;
use crate::tile::{self, WIDTH};
use ipc_proto::audit::Record;
use std::path::Path;

/// An entry as it is stored, and its record.
pub(crate) type Entry = (Vec<u8>, Record);

/// The entries from an index on.
pub(crate) struct Entries {
    folder: Folder,
    /// The next index.
    pub(crate) next: u64,
    bundle: std::vec::IntoIter<Entry>,
}

impl Entries {
    pub(crate) fn from(folder: &Path, next: u64) -> Self {
        Self { folder: Folder::new(folder), next, bundle: Vec::new().into_iter() }
    }

    /// Reads on from `next`; whether there was anything, or the bundle is sealed and the next may have something.
    fn read(&mut self) -> bool {
        let index = self.next / WIDTH;
        let read = |path: &str| self.folder.read(path, 2 * tile::BUNDLE).ok().flatten();
        let full = tile::bundle_path(index);
        let Some(bytes) = read(&full).or_else(|| read(&tile::tail_path(index))).or_else(|| read(&full))
        else {
            let sealed = self.folder.has(&tile::path(0, index));
            self.next = if sealed { (index + 1) * WIDTH } else { self.next };
            return sealed;
        };
        let skip = usize::try_from(self.next % WIDTH).unwrap_or(0);
        let entries = tile::entries(&bytes).skip(skip).filter_map(|range| bytes.get(range));
        let entries = entries.filter_map(|entry| Some((entry.to_vec(), entry::decode(entry).ok()?)));
        self.bundle = entries.collect::<Vec<_>>().into_iter();
        self.bundle.len() > 0
    }
}

impl Iterator for Entries {
    type Item = Entry;

    fn next(&mut self) -> Option<Entry> {
        loop {
            if let Some(entry) = self.bundle.next() {
                self.next = entry.1.index + 1;
                return Some(entry);
            }
            if !self.read() {
                return None;
            }
        }
    }
}
