//! Output that is bounded while it is collected, and says where it was cut. Pure functions of text; must never cut
//! without a marker.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::path::Path;

/// Bytes of output one call may give the model; a little under the bound of a result on the bus.
pub const MAX_OUTPUT: usize = 1_000_000;

/// Bytes of which the first and the last are kept, so that both the cause and the end of a long output survive.
#[derive(Debug)]
pub(super) struct HeadTail {
    half: usize,
    head: Vec<u8>,
    tail: VecDeque<u8>,
    total: u64,
}

impl HeadTail {
    /// Keeps at most `bound` bytes.
    pub(super) const fn new(bound: usize) -> Self {
        Self { half: bound / 2, head: Vec::new(), tail: VecDeque::new(), total: 0 }
    }

    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.total = self.total.saturating_add(u64::try_from(bytes.len()).unwrap_or(u64::MAX));
        let room = self.half.saturating_sub(self.head.len()).min(bytes.len());
        let (first, rest) = bytes.split_at_checked(room).unwrap_or((bytes, &[]));
        self.head.extend_from_slice(first);
        let last = rest.get(rest.len().saturating_sub(self.half)..).unwrap_or_default();
        let over = (self.tail.len() + last.len()).saturating_sub(self.half);
        self.tail.drain(..over);
        self.tail.extend(last);
    }

    /// Bytes that were pushed.
    pub(super) const fn total(&self) -> u64 {
        self.total
    }

    /// Bytes that were not kept.
    pub(super) fn lost(&self) -> u64 {
        let kept = u64::try_from(self.head.len() + self.tail.len()).unwrap_or(u64::MAX);
        self.total.saturating_sub(kept)
    }

    /// The stored output, as text; bytes that are not UTF-8 become U+FFFD.
    pub(super) fn text(&self) -> String {
        let tail: Vec<u8> = self.tail.iter().copied().collect();
        if self.lost() == 0 {
            return String::from_utf8_lossy(&[self.head.as_slice(), &tail].concat()).into_owned();
        }
        let (head, tail) = (String::from_utf8_lossy(&self.head), String::from_utf8_lossy(&tail));
        format!("{head}{}{tail}", gap(self.lost()))
    }
}

fn gap(lost: u64) -> String {
    format!("\n[... {lost} bytes cut here ...]\n")
}

/// Room for the marker inside a bound.
const GAP: usize = 64;

/// The text, or its beginning and end with a marker between, in at most `bound` bytes.
pub(super) fn fit(text: String, bound: usize) -> String {
    if text.len() <= bound {
        return text;
    }
    let half = bound.saturating_sub(GAP) / 2;
    let head = text.get(..text.floor_char_boundary(half)).unwrap_or_default();
    let tail = text.get(text.ceil_char_boundary(text.len() - half)..).unwrap_or_default();
    let lost = u64::try_from(text.len() - head.len() - tail.len()).unwrap_or(u64::MAX);
    let mut fitted = format!("{head}{}{tail}", gap(lost));
    fitted.truncate(fitted.floor_char_boundary(bound));
    fitted
}

/// A line, or its first `bound` characters and how many more there are.
pub(super) fn clip_line(line: &str, bound: usize) -> Cow<'_, str> {
    match line.char_indices().nth(bound) {
        None => Cow::Borrowed(line),
        Some((end, _)) => {
            let (kept, lost) = line.split_at_checked(end).unwrap_or((line, ""));
            Cow::Owned(format!("{kept}[... {} more characters of this line cut]", lost.chars().count()))
        }
    }
}

/// A path as it is shown: a name with a line break or an escape in it can not pass for something else.
pub(super) fn shown(path: &Path) -> String {
    let text = path.to_string_lossy();
    if !text.contains(char::is_control) {
        return text.into_owned();
    }
    text.chars()
        .map(|c| if c.is_control() { c.escape_default().to_string() } else { c.to_string() })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_is_kept_does_not_depend_on_how_it_came(bytes in prop::collection::vec(any::<u8>(), 0..300), cut in 1usize..40) {
            let (mut whole, mut pieces) = (HeadTail::new(64), HeadTail::new(64));
            whole.push(&bytes);
            bytes.chunks(cut).for_each(|chunk| pieces.push(chunk));
            prop_assert_eq!(whole.text(), pieces.text());
            prop_assert_eq!(whole.total(), bytes.len() as u64);
            prop_assert_eq!(whole.lost(), bytes.len().saturating_sub(64) as u64);
        }

        // Holds B-40.
        #[test]
        fn fitted_text_is_within_its_bound_and_marked(text in "\\PC{0,400}", bound in 0usize..300) {
            let fitted = fit(text.clone(), bound);
            prop_assert!(fitted.len() <= bound);
            prop_assert!(fitted == text || bound < GAP || fitted.contains("bytes cut here"));
        }
    }

    #[test]
    fn the_first_and_the_last_bytes_are_kept() {
        let mut kept = HeadTail::new(8);
        kept.push(b"abcdefghijklmnop");
        assert_eq!(kept.text(), "abcd\n[... 8 bytes cut here ...]\nmnop");
    }

    #[test]
    fn a_name_cannot_forge_a_line() {
        assert_eq!(shown(Path::new("a\nb\u{1b}[0m")), "a\\nb\\u{1b}[0m");
    }

    #[test]
    fn a_long_line_says_how_much_is_missing() {
        assert_eq!(clip_line("äbcd", 2), "äb[... 2 more characters of this line cut]");
        assert_eq!(clip_line("äb", 2), "äb");
    }
}
