//! Splits a stream into lines, however its pieces are cut. A line that is too long is skipped to its end.

/// Bytes of one line; a longer one is left out.
pub(super) const LINE: usize = 1 << 20;

/// A line that has come.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Line {
    /// Its bytes, without the end.
    Whole(Vec<u8>),
    /// It was too long.
    TooLong,
}

/// Lines in the making.
#[derive(Debug, Default)]
pub(super) struct Lines {
    pending: Vec<u8>,
    passing_over: bool,
}

impl Lines {
    /// Takes a piece; gives the lines that are whole by it.
    pub(super) fn push(&mut self, mut bytes: &[u8]) -> Vec<Line> {
        let mut lines = Vec::new();
        while let Some(at) = bytes.iter().position(|byte| *byte == b'\n') {
            let (head, rest) = bytes.split_at(at);
            self.take(head);
            lines.extend(self.end());
            bytes = rest.get(1..).unwrap_or_default();
        }
        self.take(bytes);
        lines
    }

    /// The line that had no end.
    pub(super) fn end(&mut self) -> Option<Line> {
        let line = std::mem::take(&mut self.pending);
        if std::mem::take(&mut self.passing_over) {
            return Some(Line::TooLong);
        }
        (!line.is_empty()).then_some(Line::Whole(line))
    }

    fn take(&mut self, bytes: &[u8]) {
        if self.passing_over || self.pending.len() + bytes.len() > LINE {
            self.passing_over = true;
            self.pending = Vec::new();
        } else {
            self.pending.extend_from_slice(bytes);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_the_same_however_its_pieces_are_cut() {
        let text = b"one\n\ntwo three\nfour";
        for size in 1..text.len() {
            let mut lines = Lines::default();
            let mut found: Vec<Line> = text.chunks(size).flat_map(|piece| lines.push(piece)).collect();
            found.extend(lines.end());
            let expected = [b"one".as_slice(), b"two three", b"four"];
            assert_eq!(found, expected.map(|line| Line::Whole(line.to_vec())), "{size}");
        }
    }

    // Holds B-80.
    #[test]
    fn a_line_that_is_too_long_is_left_out_and_the_next_one_is_not() {
        let mut lines = Lines::default();
        let piece = vec![b'x'; LINE / 2 + 1];
        assert!(lines.push(&piece).is_empty() && lines.push(&piece).is_empty());
        assert!(lines.pending.is_empty(), "nothing of it is held");
        assert_eq!(lines.push(b"y\nshort\n"), [Line::TooLong, Line::Whole(b"short".to_vec())]);
    }
}
