//! Text that was rewritten (normalised, decoded) together with the way back to the bytes it came from.
//! It may touch only the strings it is given. It must never yield an offset outside the original text,
//! because redaction cuts the original at what comes back from here.

use std::ops::Range;

/// One piece of a rewritten text: from `at` on, up to the next piece, it stands for `from..to` of the original.
#[derive(Debug, Clone, Copy)]
struct Piece {
    at: usize,
    from: usize,
    to: usize,
    /// True if the bytes are the same, so that offsets inside the piece carry over one to one.
    same: bool,
}

/// A rewritten text and its map back.
#[derive(Debug, Default)]
pub(crate) struct Rewritten {
    pub(crate) text: String,
    pieces: Vec<Piece>,
}

impl Rewritten {
    /// A text all of which stands for `from..to` of the original, as a decoded base64 run does.
    pub(crate) fn whole(text: String, from: usize, to: usize) -> Self {
        Self { text, pieces: vec![Piece { at: 0, from, to, same: false }] }
    }

    /// The smallest range of the original that covers `range` of the rewritten text.
    pub(crate) fn back(&self, range: &Range<usize>) -> Range<usize> {
        let start = self
            .piece(range.start)
            .map_or(0, |p| if p.same { p.to.min(p.from + (range.start - p.at)) } else { p.from });
        let last = range.end.saturating_sub(1).max(range.start);
        let end = self
            .piece(last)
            .map_or(start, |p| if p.same { p.to.min(p.from + (last - p.at) + 1) } else { p.to });
        start..end.max(start)
    }

    fn piece(&self, offset: usize) -> Option<&Piece> {
        let after = self.pieces.partition_point(|piece| piece.at <= offset);
        self.pieces.get(after.checked_sub(1)?)
    }
}

/// Builds a [`Rewritten`] from left to right.
#[derive(Debug, Default)]
pub(crate) struct Writer {
    done: Rewritten,
    /// How far the original has been read, in bytes.
    position: usize,
    changed: bool,
}

impl Writer {
    /// A writer that stands at byte `position` of the original.
    pub(crate) fn at(position: usize) -> Self {
        Self { position, ..Self::default() }
    }

    /// Copies a stretch of the original unchanged.
    pub(crate) fn keep(&mut self, text: &str) {
        if text.is_empty() {
            return;
        }
        let (from, to) = (self.position, self.position + text.len());
        match self.done.pieces.last_mut() {
            Some(last) if last.same && last.to == from => last.to = to,
            _ => self.done.pieces.push(Piece { at: self.done.text.len(), from, to, same: true }),
        }
        self.done.text.push_str(text);
        self.position = to;
    }

    /// Puts `with` in the place of the next `length` bytes of the original; an empty `with` drops them.
    pub(crate) fn replace(&mut self, length: usize, with: &str) {
        let (from, to) = (self.position, self.position + length);
        if !with.is_empty() {
            self.done.pieces.push(Piece { at: self.done.text.len(), from, to, same: false });
            self.done.text.push_str(with);
        }
        self.position = to;
        self.changed = true;
    }

    /// The last character written so far.
    pub(crate) fn last(&self) -> Option<char> {
        self.done.text.chars().next_back()
    }

    /// The rewritten text, or nothing if all of it was kept.
    pub(crate) fn finish(self) -> Option<Rewritten> {
        self.changed.then_some(self.done)
    }
}

/// The nearest character boundary at or before `offset`.
pub(crate) fn floor(text: &str, offset: usize) -> usize {
    let mut at = offset.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

/// The nearest character boundary at or after `offset`.
pub(crate) fn ceil(text: &str, offset: usize) -> usize {
    let mut at = offset.min(text.len());
    while !text.is_char_boundary(at) {
        at += 1;
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_span_of_rewritten_text_covers_what_it_was_made_of() {
        let original = "ab\u{200b}c\u{ff21}d";
        let mut writer = Writer::default();
        writer.keep("ab");
        writer.replace(3, "");
        writer.keep("c");
        writer.replace(3, "A");
        writer.keep("d");
        let done = writer.finish().unwrap();
        assert_eq!(done.text, "abcAd");
        assert_eq!(&original[done.back(&(1..3))], "b\u{200b}c");
        assert_eq!(&original[done.back(&(3..4))], "\u{ff21}");
        assert_eq!(&original[done.back(&(0..5))], original);
        assert_eq!(&original[done.back(&(4..5))], "d");
    }

    #[test]
    fn a_text_that_was_only_kept_is_not_a_rewriting() {
        let mut writer = Writer::default();
        writer.keep("abc");
        assert!(writer.finish().is_none());
    }
}
