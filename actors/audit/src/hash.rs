//! The hashes of the Merkle tree of RFC 9162 (2.1.1): SHA-256, where the first byte separates leaves from nodes. Pure
//! arithmetic: it opens nothing.

use sha2::{Digest, Sha256};

/// A SHA-256 hash.
pub(crate) type Hash = [u8; 32];

/// First byte of the input of a leaf hash.
const LEAF: [u8; 1] = [0];
/// First byte of the input of a node hash.
const NODE: u8 = 1;

/// The hash of an entry as it is stored.
pub(crate) fn leaf(entry: &[u8]) -> Hash {
    Sha256::new().chain_update(LEAF).chain_update(entry).finalize().into()
}

/// The hash of two subtrees side by side.
pub(crate) fn node(left: &Hash, right: &Hash) -> Hash {
    let mut bytes = [NODE; 65];
    let (_, hashes) = bytes.split_at_mut(1);
    let (first, second) = hashes.split_at_mut(32);
    first.copy_from_slice(left);
    second.copy_from_slice(right);
    of(&bytes)
}

/// SHA-256 of these bytes.
pub(crate) fn of(bytes: &[u8]) -> Hash {
    Sha256::digest(bytes).into()
}

/// The root over these leaves or equal subtrees; that of an empty tree without any.
pub(crate) fn root(hashes: &[Hash]) -> Hash {
    let mut range = Range::default();
    hashes.iter().for_each(|hash| range.push(*hash));
    range.root(None)
}

/// A tree that grows at its right edge, stored as the roots of its full subtrees, the largest first: as many hashes as
/// its size has one bits.
#[derive(Clone, Debug, Default)]
pub(crate) struct Range {
    units: u64,
    peaks: Vec<Hash>,
}

impl Range {
    /// Adds a leaf, or a subtree of the size that all others here have.
    pub(crate) fn push(&mut self, mut hash: Hash) {
        let mut units = self.units;
        while units & 1 == 1 {
            if let Some(left) = self.peaks.pop() {
                hash = node(&left, &hash);
            }
            units >>= 1;
        }
        self.peaks.push(hash);
        self.units += 1;
    }

    /// The root, with a smaller last subtree to the right of all where there is one.
    pub(crate) fn root(&self, last: Option<Hash>) -> Hash {
        let mut peaks = self.peaks.iter().rev();
        let Some(first) = last.or_else(|| peaks.next().copied()) else { return of(&[]) };
        peaks.fold(first, |right, left| node(left, &right))
    }
}

/// Lower-case hex.
pub(crate) fn hex(bytes: &[u8]) -> String {
    let mut text = Vec::with_capacity(2 * bytes.len());
    put_hex(&mut text, bytes);
    String::from_utf8(text).unwrap_or_default()
}

/// The same, appended to the bytes.
pub(crate) fn put_hex(to: &mut Vec<u8>, bytes: &[u8]) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digit = |value: u8| DIGITS.get(usize::from(value & 15)).copied().unwrap_or(b'0');
    to.extend(bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(*byte)]));
}

/// A hash as the words of a frame.
pub(crate) fn words(hash: Hash) -> [u64; 4] {
    let mut words = [0; 4];
    for (word, bytes) in words.iter_mut().zip(hash.as_chunks().0) {
        *word = u64::from_be_bytes(*bytes);
    }
    words
}

/// The hash that these words of a frame are.
pub(crate) fn of_words(words: [u64; 4]) -> Hash {
    let mut hash = [0; 32];
    for (bytes, word) in hash.as_chunks_mut().0.iter_mut().zip(words) {
        *bytes = word.to_be_bytes();
    }
    hash
}

/// A hash from 64 lower-case hex digits.
pub(crate) fn unhex(text: &str) -> Option<Hash> {
    if text.len() != 64 || text.bytes().any(|byte| !matches!(byte, b'0'..=b'9' | b'a'..=b'f')) {
        return None;
    }
    let bytes: Option<Vec<u8>> =
        (0..64).step_by(2).map(|at| u8::from_str_radix(text.get(at..at + 2)?, 16).ok()).collect();
    bytes?.try_into().ok()
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// The definition of RFC 9162, 2.1.1, word for word.
    pub(crate) fn naive(leaves: &[Hash]) -> Hash {
        match leaves {
            [] => of(&[]),
            [one] => *one,
            _ => {
                let split = leaves.len().next_power_of_two() / 2;
                node(&naive(&leaves[..split]), &naive(&leaves[split..]))
            }
        }
    }

    // Holds P6-01.
    #[test]
    fn the_root_of_every_size_to_300_is_that_of_the_definition() {
        let leaves: Vec<Hash> = (0..300_u32).map(|n| leaf(&n.to_be_bytes())).collect();
        for size in 0..=leaves.len() {
            assert_eq!(root(&leaves[..size]), naive(&leaves[..size]), "{size}");
        }
    }

    #[test]
    fn a_root_over_tiles_and_a_last_part_is_the_root_over_all_leaves() {
        let leaves: Vec<Hash> = (0..900_u32).map(|n| leaf(&n.to_be_bytes())).collect();
        for size in [1, 255, 256, 257, 511, 512, 700, 768, 900] {
            let mut range = Range::default();
            let tiles = leaves[..size].chunks_exact(256);
            let last = tiles.remainder();
            tiles.for_each(|tile| range.push(root(tile)));
            let last = (!last.is_empty()).then(|| root(last));
            assert_eq!(range.root(last), naive(&leaves[..size]), "{size}");
        }
    }

    #[test]
    fn the_words_of_a_frame_are_the_hash_again() {
        let hash = of(b"x");
        assert_eq!(of_words(words(hash)), hash);
    }

    #[test]
    fn hex_reads_back() {
        let hash = of(b"x");
        assert_eq!(unhex(&hex(&hash)), Some(hash));
        for wrong in ["", &"0".repeat(63), &"G".repeat(64), &"+0".repeat(32)] {
            assert_eq!(unhex(wrong), None);
        }
    }
}
