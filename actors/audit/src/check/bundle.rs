//! One bundle as it is found: its entries, its tile, and its partial tiles. A host may be writing the last one while it
//! is read.

use crate::folder::Folder;
use crate::hash::{self, Hash};
use crate::tile::{self, TILE};
use std::time::Duration;

/// How often a last write that is not whole is looked at again, in case a host is writing it.
const AGAIN: u32 = 5;
/// How long is waited before that.
const PAUSE: Duration = Duration::from_millis(20);

/// A bundle as it is found.
pub(crate) struct Bundle {
    pub(crate) bytes: Vec<u8>,
    /// It is the one that grows.
    pub(crate) is_tail: bool,
}

impl Bundle {
    /// The bundle with this index; `None` if it is not there. The one that grows becomes a full one by a rename, so
    /// it is looked for under both names, and again under the first.
    pub(crate) fn read(folder: &Folder, index: u64) -> Option<Self> {
        let (full, tail) = (tile::bundle_path(index), tile::tail_path(index));
        let read = |path: &str| folder.read(path, 2 * tile::BUNDLE).ok().flatten();
        let grows = || {
            let mut bytes = read(&tail)?;
            bytes.truncate(tile::written(&bytes));
            Some(bytes)
        };
        let whole = |bytes| Self { bytes, is_tail: false };
        if let Some(bytes) = read(&full) {
            return Some(whole(bytes));
        }
        let mut found = grows();
        for _ in 0..AGAIN {
            match &found {
                Some(bytes) if ends_whole(bytes) => break,
                None => return read(&full).map(whole),
                Some(_) => std::thread::sleep(PAUSE),
            }
            found = grows();
        }
        found.map_or_else(|| read(&full).map(whole), |bytes| Some(Self { bytes, is_tail: true }))
    }

    /// Its entries that are whole.
    pub(crate) fn entries(&self) -> impl Iterator<Item = &[u8]> {
        tile::entries(&self.bytes).filter_map(|range| self.bytes.get(range))
    }

    /// Bytes after the last entry that is whole.
    pub(crate) fn rest(&self) -> usize {
        self.bytes.len() - tile::entries(&self.bytes).last().map_or(0, |range| range.end)
    }
}

fn ends_whole(bytes: &[u8]) -> bool {
    tile::entries(bytes).last().map_or(0, |range| range.end) == bytes.len()
}

/// The hashes of a full tile; `None` if it is not there or not whole.
pub(crate) fn full_tile(folder: &Folder, level: usize, index: u64) -> Option<Vec<Hash>> {
    folder
        .read(&tile::path(level, index), TILE as u64)
        .ok()
        .flatten()
        .and_then(|bytes| tile::decode(&bytes, 256))
}

/// Every partial tile of this index that is there: its width and its hashes, none if it is not whole.
pub(crate) fn partials(folder: &Folder, level: usize, index: u64) -> Vec<(usize, Option<Vec<Hash>>)> {
    let path = tile::path(level, index);
    let widths = folder.names(&tile::partial_folder(&path)).unwrap_or_default();
    let widths = widths.iter().filter_map(|name| name.parse::<usize>().ok());
    let read = |width| {
        let bytes = folder.read(&tile::partial_path(&path, width), TILE as u64).ok().flatten();
        (width, bytes.and_then(|bytes| tile::decode(&bytes, width)))
    };
    widths.map(read).collect()
}

/// The stored hash of the entry at this place, by its tile or by a partial tile.
pub(crate) fn stored_hash(folder: &Folder, index: u64) -> Option<Hash> {
    let (tile, at) = (index / tile::WIDTH, usize::try_from(index % tile::WIDTH).ok()?);
    let hashes = full_tile(folder, 0, tile).or_else(|| {
        partials(folder, 0, tile).into_iter().filter_map(|(_, hashes)| hashes).max_by_key(Vec::len)
    });
    hashes?.get(at).copied()
}

/// Every partial bundle of this index that is there.
pub(crate) fn partial_bundles(folder: &Folder, index: u64) -> Vec<Vec<u8>> {
    let path = tile::partial_folder(&tile::bundle_path(index));
    let names = folder.names(&path).unwrap_or_default();
    let names = names.iter().filter(|name| name.parse::<usize>().is_ok());
    names.filter_map(|name| folder.read(&format!("{path}/{name}"), tile::BUNDLE).ok().flatten()).collect()
}

/// The leaf hashes of a bundle: of its entries, or of its tile where they are sealed.
pub(crate) fn leaves(folder: &Folder, index: u64) -> Vec<Hash> {
    match Bundle::read(folder, index) {
        Some(bundle) => bundle.entries().map(hash::leaf).collect(),
        None => full_tile(folder, 0, index).unwrap_or_default(),
    }
}

/// The end of the whole entries that these bytes begin with.
pub(super) fn end(bytes: &[u8]) -> usize {
    tile::entries(bytes).last().map_or(0, |range| range.end)
}
