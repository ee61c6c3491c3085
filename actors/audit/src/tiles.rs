//! The Merkle tree over its tiles: full ones in files, the right edge in memory, so that memory does not grow with
//! the log. Roots and proofs are those of RFC 9162 (2.1.3, 2.1.4).

use crate::folder::Folder;
use crate::hash::{self, Hash};
use crate::tile::{self, TILE, WIDTH};
use std::io::{self, ErrorKind};

/// Levels of tiles that a tree of 2^64 entries has.
const LEVELS: usize = 8;

/// The tree.
#[derive(Debug)]
pub(crate) struct Tiles {
    folder: Folder,
    /// Full tiles of leaves.
    pub(crate) closed: u64,
    /// Per level the hashes of the tile that is not full yet.
    pub(crate) edge: Vec<Vec<Hash>>,
}

impl Tiles {
    /// The tree of `closed` full tiles of leaves. A tile that is missing or cut short is made again from the level
    /// below, and written with `heal`.
    pub(crate) fn load(folder: &Folder, closed: u64, heal: bool) -> io::Result<Self> {
        let mut tiles = Self { folder: folder.clone(), closed, edge: vec![Vec::new()] };
        let mut count = closed;
        for level in 1..LEVELS {
            if count == 0 {
                break;
            }
            let first = count - count % WIDTH;
            let hashes = (first..count).map(|index| Ok(hash::root(&tiles.tile(level - 1, index, heal)?)));
            let hashes: io::Result<Vec<Hash>> = hashes.collect();
            tiles.edge.push(hashes?);
            count /= WIDTH;
        }
        Ok(tiles)
    }

    /// Leaves in all.
    pub(crate) fn size(&self) -> u64 {
        self.closed * WIDTH + self.leaves().len() as u64
    }

    /// The leaves of the tile that is not closed yet.
    pub(crate) fn leaves(&self) -> &[Hash] {
        self.edge.first().map_or(&[], Vec::as_slice)
    }

    /// Adds a leaf to a tile that has room for it.
    pub(crate) fn push(&mut self, leaf: Hash) {
        if let Some(leaves) = self.edge.first_mut() {
            leaves.push(leaf);
        }
    }

    /// Returns whether the tile of leaves is full and waits to be closed.
    pub(crate) fn is_full(&self) -> bool {
        self.leaves().len() as u64 >= WIDTH
    }

    /// Writes the full tile of leaves, and those above that it fills; nothing in memory changes, and a lost tile is
    /// made again from the level below.
    pub(crate) fn write_full(&self) -> io::Result<()> {
        let mut filled = self.leaves().to_vec();
        for level in 0..LEVELS {
            let index = self.closed >> (8 * level);
            self.folder.write(&tile::path(level, index), &tile::encode(&filled), false)?;
            let above = self.edge.get(level + 1).map_or(&[][..], Vec::as_slice);
            if above.len() as u64 + 1 < WIDTH {
                break;
            }
            filled = above.iter().copied().chain([hash::root(&filled)]).collect();
        }
        Ok(())
    }

    /// Closes the full tile of leaves, which was written: the next leaf is the first of another.
    pub(crate) fn close(&mut self) {
        for level in 0..LEVELS {
            let Some(hashes) = self.edge.get_mut(level).filter(|hashes| hashes.len() as u64 >= WIDTH) else {
                break;
            };
            let root = hash::root(&std::mem::take(hashes));
            match self.edge.get_mut(level + 1) {
                Some(above) => above.push(root),
                None => self.edge.push(vec![root]),
            }
        }
        self.closed += 1;
    }

    /// A full tile.
    fn tile(&self, level: usize, index: u64, heal: bool) -> io::Result<Vec<Hash>> {
        let path = tile::path(level, index);
        let bytes = self.folder.read(&path, TILE as u64)?;
        if let Some(hashes) = bytes.and_then(|bytes| tile::decode(&bytes, 256)) {
            return Ok(hashes);
        }
        let hashes: Vec<Hash> = if level == 0 {
            self.bundle(index)?
        } else {
            let below = (0..WIDTH).map(|n| Ok(hash::root(&self.tile(level - 1, index * WIDTH + n, heal)?)));
            below.collect::<io::Result<_>>()?
        };
        if heal {
            self.folder.write(&path, &tile::encode(&hashes), true)?;
        }
        Ok(hashes)
    }

    fn bundle(&self, index: u64) -> io::Result<Vec<Hash>> {
        let bundle = self.folder.read(&tile::bundle_path(index), tile::BUNDLE)?.unwrap_or_default();
        let entries = tile::entries(&bundle).filter_map(|range| bundle.get(range));
        let leaves: Vec<Hash> = entries.map(hash::leaf).collect();
        let whole = leaves.len() as u64 == WIDTH;
        whole.then_some(leaves).ok_or_else(|| missing(&tile::path(0, index)))
    }

    /// The root of the full subtree of 2^`height` leaves with this index among those of its height.
    fn subtree(&self, height: u32, index: u64) -> io::Result<Hash> {
        let (level, within) = ((height / 8) as usize, height % 8);
        let first = index << within;
        let number = first / WIDTH;
        let at = usize::try_from(first % WIDTH).unwrap_or(0);
        let at = at..at + (1 << within);
        let full = self.closed >> (8 * level);
        if number < full {
            let tile = self.tile(level, number, false)?;
            return tile.get(at).map(hash::root).ok_or_else(|| missing(&tile::path(level, number)));
        }
        let found = self.edge.get(level).and_then(|edge| edge.get(at));
        found.map(hash::root).ok_or_else(|| missing(&tile::path(level, number)))
    }

    fn tree(&self, start: u64, end: u64) -> io::Result<Hash> {
        let size = end - start;
        if size == 0 {
            return Ok(hash::root(&[]));
        }
        if size.is_power_of_two() && start.is_multiple_of(size) {
            return self.subtree(size.ilog2(), start / size);
        }
        let split = split(size);
        Ok(hash::node(&self.tree(start, start + split)?, &self.tree(start + split, end)?))
    }

    /// The root of the first `size` leaves.
    pub(crate) fn root(&self, size: u64) -> io::Result<Hash> {
        if size > self.size() {
            return Err(missing("leaf"));
        }
        self.tree(0, size)
    }

    /// Proof that leaf `index` is in the tree of `size` leaves, the leaf's sibling first.
    pub(crate) fn inclusion(&self, index: u64, size: u64) -> io::Result<Vec<Hash>> {
        let (mut start, mut end, mut proof) = (0, size, Vec::new());
        while end - start > 1 {
            let middle = start + split(end - start);
            if index < middle {
                proof.push(self.tree(middle, end)?);
                end = middle;
            } else {
                proof.push(self.tree(start, middle)?);
                start = middle;
            }
        }
        proof.reverse();
        Ok(proof)
    }

    /// Proof that the tree of `from` leaves, 1 at least, is the beginning of that of `size`.
    pub(crate) fn consistency(&self, from: u64, size: u64) -> io::Result<Vec<Hash>> {
        let (mut start, mut end, mut whole, mut proof) = (0, size, true, Vec::new());
        while from != end {
            let middle = start + split(end - start);
            if from <= middle {
                proof.push(self.tree(middle, end)?);
                end = middle;
            } else {
                proof.push(self.tree(start, middle)?);
                start = middle;
                whole = false;
            }
        }
        if !whole {
            proof.push(self.tree(start, end)?);
        }
        proof.reverse();
        Ok(proof)
    }
}

/// The greatest power of two below `size`, which is 2 at least.
const fn split(size: u64) -> u64 {
    1 << (size - 1).ilog2()
}

fn missing(what: &str) -> io::Error {
    io::Error::new(ErrorKind::InvalidData, format!("{what} is not there, or not whole"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hash::tests::naive;

    fn grown(folder: &Folder, leaves: &[Hash]) -> Tiles {
        let mut tiles = Tiles::load(folder, 0, false).unwrap();
        for leaf in leaves {
            tiles.push(*leaf);
            if tiles.is_full() {
                tiles.write_full().unwrap();
                tiles.close();
            }
        }
        tiles
    }

    /// RFC 9162, 2.1.3.2.
    fn root_by_inclusion(mut index: u64, size: u64, leaf: Hash, proof: &[Hash]) -> Hash {
        let (mut last, mut root) = (size - 1, leaf);
        for sibling in proof {
            if index & 1 == 1 || index == last {
                root = hash::node(sibling, &root);
                while index & 1 == 0 && index != 0 {
                    (index, last) = (index >> 1, last >> 1);
                }
            } else {
                root = hash::node(&root, sibling);
            }
            (index, last) = (index >> 1, last >> 1);
        }
        root
    }

    #[test]
    fn roots_and_proofs_of_a_deep_tree_follow_the_definition() {
        let folder = tempfile::tempdir().unwrap();
        let folder = Folder::new(folder.path());
        let leaves: Vec<Hash> = (0..66_000_u32).map(|n| hash::leaf(&n.to_be_bytes())).collect();
        let tiles = grown(&folder, &leaves);
        assert_eq!(tiles.size(), 66_000);
        for size in [0_usize, 1, 2, 255, 256, 257, 65_535, 65_536, 65_537, 65_999, 66_000] {
            assert_eq!(tiles.root(size as u64).unwrap(), naive(&leaves[..size]), "{size}");
        }
        for (index, size) in [(0, 1), (0, 2), (255, 256), (256, 300), (65_536, 65_537), (7, 66_000)] {
            let proof = tiles.inclusion(index, size).unwrap();
            let root = root_by_inclusion(index, size, leaves[usize::try_from(index).unwrap()], &proof);
            assert_eq!(root, naive(&leaves[..usize::try_from(size).unwrap()]), "{index} of {size}");
        }
        assert!(tiles.root(66_001).is_err());
    }

    #[test]
    fn a_tree_that_is_loaded_again_is_the_same_also_where_a_tile_is_lost() {
        let place = tempfile::tempdir().unwrap();
        let folder = Folder::new(place.path());
        let leaves: Vec<Hash> = (0..66_000_u32).map(|n| hash::leaf(&n.to_be_bytes())).collect();
        let tiles = grown(&folder, &leaves);
        folder.remove(&tile::path(1, 0)).unwrap();
        std::fs::write(folder.at(&tile::path(1, 0)), [0; 100]).unwrap();
        let loaded = Tiles::load(&folder, tiles.closed, true).unwrap();
        assert_eq!(loaded.edge[1..], tiles.edge[1..]);
        assert_eq!(std::fs::read(folder.at(&tile::path(1, 0))).unwrap().len(), TILE);
        folder.remove(&tile::path(0, 256)).unwrap();
        assert!(Tiles::load(&folder, tiles.closed, true).is_err());
    }
}
