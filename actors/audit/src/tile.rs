//! Tiles and bundles of entries as C2SP tlog-tiles has them: their paths and their content. It opens nothing.

use crate::hash::Hash;
use ipc_proto::audit::ENTRY;
use std::ops::Range;

/// Hashes of a full tile, and entries of a full bundle.
pub(crate) const WIDTH: u64 = 256;
/// Bytes of a full tile.
pub(crate) const TILE: usize = 256 * 32;
/// Bytes before an entry in a bundle: its length, big-endian.
const PREFIX: usize = 2;
/// The most bytes a bundle of whole entries has.
pub(crate) const BUNDLE: u64 = WIDTH * (PREFIX + ENTRY) as u64;

/// A number in groups of three digits, each but the last after an `x`: no folder has more than a thousand of them.
fn number(index: u64) -> String {
    let mut path = format!("{:03}", index % 1000);
    let mut rest = index / 1000;
    while rest > 0 {
        path = format!("x{:03}/{path}", rest % 1000);
        rest /= 1000;
    }
    path
}

/// Where tile `index` of a level is.
pub(crate) fn path(level: usize, index: u64) -> String {
    format!("tile/{level}/{}", number(index))
}

/// Where bundle `index` is.
pub(crate) fn bundle_path(index: u64) -> String {
    format!("tile/entries/{}", number(index))
}

/// Where the bundle that still grows is. Not a name of the format, whose bundles never change.
pub(crate) fn tail_path(index: u64) -> String {
    format!("tile/entries/{}.tail", number(index))
}

/// The folder of the partial forms of a tile or bundle.
pub(crate) fn partial_folder(path: &str) -> String {
    format!("{path}.p")
}

/// Where the first `width` of a tile or bundle that is not full are.
pub(crate) fn partial_path(path: &str, width: usize) -> String {
    format!("{path}.p/{width}")
}

/// The bytes of a tile.
pub(crate) fn encode(hashes: &[Hash]) -> Vec<u8> {
    hashes.concat()
}

/// The hashes of a tile of this width.
pub(crate) fn decode(bytes: &[u8], width: usize) -> Option<Vec<Hash>> {
    let (hashes, rest) = bytes.as_chunks::<32>();
    (rest.is_empty() && hashes.len() == width && width <= 256).then(|| hashes.to_vec())
}

/// Adds an entry to a bundle; `put` puts it, and if that fails nothing was added. An entry is at most [`ENTRY`] bytes, so
/// its length fits. Gives where the entry is.
pub(crate) fn push<E>(
    bundle: &mut Vec<u8>,
    put: impl FnOnce(&mut Vec<u8>) -> Result<(), E>,
) -> Result<Range<usize>, E> {
    let start = bundle.len();
    bundle.extend_from_slice(&[0; PREFIX]);
    if let Err(error) = put(bundle) {
        bundle.truncate(start);
        return Err(error);
    }
    let entry = start + PREFIX..bundle.len();
    let length = u16::try_from(entry.len()).unwrap_or(u16::MAX);
    if let Some(prefix) = bundle.get_mut(start..entry.start) {
        prefix.copy_from_slice(&length.to_be_bytes());
    }
    Ok(entry)
}

/// How many bytes of a growing bundle are not the room that was set aside for it: zeros at its end. No entry ends in one.
pub(crate) fn written(bundle: &[u8]) -> usize {
    bundle.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1)
}

/// The whole entries that a bundle begins with, as ranges of its bytes; the last range ends where they end.
pub(crate) fn entries(bundle: &[u8]) -> impl Iterator<Item = Range<usize>> + '_ {
    let mut at = 0;
    std::iter::from_fn(move || {
        let prefix = bundle.get(at..at + PREFIX)?.try_into().ok()?;
        let length = usize::from(u16::from_be_bytes(prefix));
        let entry = at + PREFIX..at + PREFIX + length;
        if length == 0 || length > ENTRY || entry.end > bundle.len() {
            return None;
        }
        at = entry.end;
        Some(entry)
    })
    .take(256)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn paths_are_those_of_the_format() {
        assert_eq!(path(0, 0), "tile/0/000");
        assert_eq!(path(1, 999), "tile/1/999");
        assert_eq!(path(0, 1_234_067), "tile/0/x001/x234/067");
        assert_eq!(bundle_path(1000), "tile/entries/x001/000");
        assert_eq!(partial_path(&path(2, 5), 17), "tile/2/005.p/17");
    }

    proptest! {
        #[test]
        fn a_bundle_reads_back(texts in prop::collection::vec("[a-z]{1,40}", 0..256)) {
            let mut bundle = Vec::new();
            for text in &texts {
                push(&mut bundle, |to| { to.extend_from_slice(text.as_bytes()); Ok::<(), ()>(()) }).unwrap();
            }
            let back: Vec<&[u8]> = entries(&bundle).map(|range| &bundle[range]).collect();
            prop_assert_eq!(back, texts.iter().map(|text| text.as_bytes()).collect::<Vec<_>>());
        }

        #[test]
        fn any_bytes_at_all_give_entries_within_them(bytes in prop::collection::vec(any::<u8>(), 0..2000)) {
            let mut end = 0;
            for range in entries(&bytes) {
                prop_assert_eq!(range.start, end + PREFIX);
                prop_assert!(range.end <= bytes.len() && !range.is_empty());
                end = range.end;
            }
        }

        #[test]
        fn a_tile_reads_back_and_no_other_length_is_one(hashes: Vec<[u8; 32]>, cut in 1_usize..32) {
            let bytes = encode(&hashes);
            prop_assert_eq!(decode(&bytes, hashes.len()), (hashes.len() <= 256).then(|| hashes.clone()));
            prop_assert_eq!(decode(&bytes, hashes.len() + 1), None);
            let shorter = &bytes[..bytes.len().saturating_sub(cut)];
            prop_assert!(hashes.is_empty() || decode(shorter, hashes.len()).is_none());
        }
    }
}
