//! The places at which a text may be parted, the best one first.

use crate::rich::Rich;
use unicode_segmentation::UnicodeSegmentation;

/// The bytes beyond the limit that say if it is a bound of words or sentences.
const AHEAD: usize = 128;

/// The places after `from` and at most at `limit`: a paragraph, a line and a sentence in the second half of the range, a word
/// after its first quarter, and the limit itself, which lies between two characters.
pub(crate) fn before(rich: &Rich, from: usize, limit: usize) -> Vec<usize> {
    let text = rich.text();
    let Some(window) = text.get(from..limit) else { return vec![limit] };
    let after = text.get(limit..).unwrap_or_default();
    let wide = text.get(from..text.floor_char_boundary(limit + AHEAD)).unwrap_or(window);
    let (all, half, quarter) = (window.len(), window.len() / 2, window.len() / 4);
    let ends = |mark: &str| if after.starts_with(mark) { Some(all) } else { window.rfind(mark) };
    let mut found = Vec::new();
    found.extend(ends("\n\n").filter(|at| *at > half));
    found.extend(ends("\n").filter(|at| *at > half));
    if !rich.inside_block(limit) {
        found.extend(last(wide.split_sentence_bound_indices(), all).filter(|at| *at > half));
    }
    if after.starts_with(char::is_whitespace) {
        found.push(all);
    }
    found.extend(window.rfind(char::is_whitespace).filter(|at| *at > quarter));
    found.extend(last(wide.split_word_bound_indices(), all).filter(|at| *at > quarter));
    found.push(all);
    found.into_iter().map(|at| from + at).collect()
}

/// The last beginning at or before this byte.
fn last<'a>(parts: impl Iterator<Item = (usize, &'a str)>, until: usize) -> Option<usize> {
    parts.map(|(at, _)| at).take_while(|at| *at <= until).last()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn best(text: &str, limit: usize) -> &str {
        let rich = Rich::new(text.to_owned(), Vec::new());
        &text[..before(&rich, 0, limit)[0]]
    }

    #[test]
    fn a_paragraph_goes_before_a_line_before_a_sentence_before_a_word() {
        assert_eq!(best("one one\n\ntwo\nthree. four five", 20), "one one\n\ntwo");
        assert_eq!(best("one one one\n\ntwo\nthree. four five", 17), "one one one");
        assert_eq!(best("one one one. Two two two", 18), "one one one. ");
        assert_eq!(best("one one one two two two", 18), "one one one two");
        assert_eq!(best("oneoneonetwotwotwo", 9), "oneoneone");
    }
}
