//! The text that memory looks for: a bounded part of a text of any length, by one rule for every caller. Pure.

use crate::Text;

/// Bytes of the words of a question.
pub const WORDS: usize = 2048;
/// Bytes of the end of a word that are given up so that none is cut in two. What is longer is no word of any language
/// that has gaps between words.
const WORD: usize = 64;

/// The words of a question: the text, or of a longer one as much of its beginning as fits, cut between two words.
#[must_use]
pub fn words(text: &str) -> Text<WORDS> {
    let clipped = Text::<WORDS>::clip(text);
    let is_inside =
        |text: Option<&str>| text.and_then(|rest| rest.chars().next()).is_some_and(char::is_alphanumeric);
    if !is_inside(text.get(clipped.len()..)) {
        return clipped;
    }
    let whole = clipped.trim_end_matches(char::is_alphanumeric);
    if clipped.len() - whole.len() > WORD { clipped } else { Text::clip(whole) }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Holds B-131.
    #[test]
    fn a_long_question_ends_between_two_words_within_the_bound() {
        assert_eq!(words("which light?").as_str(), "which light?");
        let exact = "x".repeat(WORDS);
        assert_eq!(words(&exact).as_str(), exact, "what fits is whole");
        let lamps = "lamp ".repeat(1000);
        let cut = words(&lamps);
        assert!(cut.len() > WORDS - 8 && lamps.starts_with(cut.as_str()), "{}", cut.len());
        assert_eq!(cut.trim_end().rsplit(' ').next(), Some("lamp"));
        // A text without gaps is cut where it must be, between characters.
        for (endless, least) in [("x".repeat(3000), WORDS), ("灯".repeat(3000), WORDS - 2)] {
            assert_eq!(words(&endless).len(), least);
        }
    }

    proptest::proptest! {
        // Holds P3-26.
        #[test]
        fn any_text_at_all_is_a_question_that_begins_as_it_does(text in "(\\PC{0,40} ?){0,90}") {
            let words = words(&text);
            proptest::prop_assert!(text.starts_with(words.as_str()));
            proptest::prop_assert!(words.len() == text.len() || words.len() + WORD + 4 > WORDS);
        }
    }
}
