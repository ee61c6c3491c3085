//! The characters of a text in lower case without white space, with the way back to the text.

use std::ops::Range;

/// Bytes of white space within one secret, at most.
const BLANKS: usize = 4096;

/// A text without its white space.
pub(super) struct Compact {
    bytes: Vec<u8>,
    /// The offset of each byte in the text.
    places: Vec<usize>,
}

impl Compact {
    /// The compact text; `None` if it is the text itself.
    pub(super) fn of(text: &str) -> Option<Self> {
        if !text.chars().any(|c| c.is_whitespace() || c.is_ascii_uppercase()) {
            return None;
        }
        let mut compact =
            Self { bytes: Vec::with_capacity(text.len()), places: Vec::with_capacity(text.len()) };
        for (at, character) in text.char_indices().filter(|(_, character)| !character.is_whitespace()) {
            let mut buffer = [0; 4];
            let encoded = character.to_ascii_lowercase().encode_utf8(&mut buffer).as_bytes();
            compact.bytes.extend_from_slice(encoded);
            compact.places.extend(at..at + encoded.len());
        }
        Some(compact)
    }

    /// Its bytes.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The offset in the text of one of its bytes.
    pub(super) fn place(&self, at: usize) -> Option<usize> {
        self.places.get(at).copied()
    }

    /// The range of the text that stands for some of its bytes; `None` if there is too much white space in it.
    pub(super) fn back(&self, range: Range<usize>) -> Option<Range<usize>> {
        let place = self.place(range.start)?..self.place(range.end.checked_sub(1)?)? + 1;
        (place.len() <= range.len() + BLANKS).then_some(place)
    }
}
