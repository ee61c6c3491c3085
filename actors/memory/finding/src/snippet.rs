//! The part of a text that best shows why it was found: some words around the terms of the question, with `[` `]` about
//! each of these. Pure; linear in the text.

use crate::lexicon::{Lexicon, pieces, words};
use crate::question::Question;
use std::ops::Range;

/// Words that a snippet has.
const AROUND: usize = 24;
/// Words of a text that are looked at.
const MOST_WORDS: usize = 4096;

/// A word of the text: where it is, and which of the question's terms it stands for.
struct Seen {
    at: Range<usize>,
    term: Option<usize>,
}

/// Some words of `text` around those that the question looks for, most of them at once; none if it has none of them.
#[must_use]
pub fn snippet(text: &str, question: &Question, lexicon: &Lexicon) -> Option<String> {
    let seen: Vec<Seen> = pieces(text)
        .take(MOST_WORDS)
        .map(|at| Seen { term: text.get(at.clone()).and_then(|piece| sought(piece, question, lexicon)), at })
        .collect();
    seen.iter().any(|word| word.term.is_some()).then(|| marked(text, &seen, best(&seen)))
}

/// The index of the term of the question that a piece of the text holds.
fn sought(piece: &str, question: &Question, lexicon: &Lexicon) -> Option<usize> {
    let mut terms = words(piece).into_iter().map(|word| lexicon.term(&word.plain));
    terms.find_map(|term| question.terms.iter().position(|wanted| *wanted == term))
}

/// The first window with the most different terms; of a text that is short the whole.
fn best(seen: &[Seen]) -> Range<usize> {
    let different = |window: &[Seen]| {
        let terms = window.iter().filter_map(|word| word.term);
        // There are at most 64 terms.
        terms
            .fold(0_u64, |bits, term| bits | 1_u64.checked_shl(u32::try_from(term).unwrap_or(0)).unwrap_or(0))
            .count_ones()
    };
    let windows = seen.windows(AROUND.min(seen.len()).max(1)).map(different).enumerate();
    let best = windows.fold((0, 0), |best, (at, terms)| if terms > best.1 { (at, terms) } else { best });
    // The last term of that window is at the end: the text after it is worth more than the text before the first.
    let first = seen.iter().skip(best.0).position(|word| word.term.is_some()).unwrap_or_default();
    let from = (best.0 + first.min(AROUND / 3)).min(seen.len().saturating_sub(AROUND));
    from..(from + AROUND).min(seen.len())
}

fn marked(text: &str, seen: &[Seen], window: Range<usize>) -> String {
    let shown = seen.get(window.clone()).unwrap_or_default();
    let (Some(first), Some(last)) = (shown.first(), shown.last()) else { return String::new() };
    // At an end of the text, the characters before its first word and behind its last belong to it.
    let from = if window.start == 0 { 0 } else { first.at.start };
    let to = if window.end == seen.len() && seen.len() < MOST_WORDS { text.len() } else { last.at.end };
    let mut marked = String::from(if from == 0 { "" } else { "…" });
    let mut told = from;
    for word in shown.iter().filter(|word| word.term.is_some()) {
        let (before, found) = (text.get(told..word.at.start), text.get(word.at.clone()));
        marked.extend([before.unwrap_or_default(), "[", found.unwrap_or_default(), "]"]);
        told = word.at.end;
    }
    marked.push_str(text.get(told..to).unwrap_or_default());
    if to < text.len() {
        marked.push('…');
    }
    marked
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn of(text: &str, question: &str) -> Option<String> {
        let lexicon = Lexicon::new();
        snippet(text, &Question::of(question, 0, &lexicon), &lexicon)
    }

    #[test]
    fn what_was_looked_for_is_marked_in_every_form_of_it() {
        assert_eq!(of("(She went home.)", "Where did she go?").as_deref(), Some("(She [went] home.)"));
        assert_eq!(of("Anna's cats, a cat", "cat of Anna").as_deref(), Some("[Anna's] [cats], a [cat]"));
        assert_eq!(of("nothing", "cat"), None);
    }

    #[test]
    fn of_a_long_text_the_part_with_the_most_of_it_is_shown() {
        let text = format!("a cat {} the cat and the needle {}", "hay ".repeat(100), "straw ".repeat(100));
        let shown = of(&text, "cat needle").unwrap();
        assert!(shown.starts_with('…') && shown.ends_with('…'), "{shown}");
        assert!(shown.contains("the [cat] and the [needle] straw"), "{shown}");
        assert_eq!(shown.split_whitespace().count(), AROUND);
    }

    proptest! {
        #[test]
        fn without_its_marks_a_snippet_is_a_part_of_the_text(text in "[a-c .'é猫]{0,300}", question in "[a-c é猫]{0,9}") {
            if let Some(shown) = of(&text, &question) {
                let plain = shown.replace(['[', ']', '…'], "");
                prop_assert!(text.contains(&plain), "{shown}");
            }
        }
    }
}
