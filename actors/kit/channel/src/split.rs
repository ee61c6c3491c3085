//! Formatted text parted into messages that a platform takes. A style that is cut ends with its part and begins again in the
//! next, within the limit.

use crate::breaks;
use crate::facts::Facts;
use crate::render::{Rendered, render};
use crate::rich::{Rich, Style};
use unicode_segmentation::UnicodeSegmentation;

/// The most characters that a grapheme is kept together with.
const MAX_GRAPHEME: usize = 32;

/// Parts a text into at most so many parts, each within the platform's limits once it is rendered. White space between parts
/// is left out, but for that of code; text beyond the last part is left over.
#[must_use]
pub fn split(rich: &Rich, facts: &Facts, most: usize) -> Vec<Rich> {
    let mut parts = Vec::new();
    let mut at = skip(rich, 0);
    while at < rich.text().len() && parts.len() < most {
        let end = next(rich, at, facts);
        let part = rich.slice(at..trimmed(rich, at, end));
        if !part.text().trim().is_empty() {
            parts.push(part);
        }
        at = skip(rich, end);
    }
    parts
}

/// Returns true if the rendered text is within the platform's limits.
pub(crate) fn fits(rendered: &Rendered, facts: &Facts) -> bool {
    let spans = match rendered {
        Rendered::Entities { entities, .. } => entities.len(),
        Rendered::Text(_) | Rendered::Html { .. } => 0,
    };
    spans <= facts.spans && rendered.length(facts.unit) <= facts.text
}

/// The end of the part that begins here. It is always beyond the beginning.
fn next(rich: &Rich, from: usize, facts: &Facts) -> usize {
    let fit = |end: usize| fits(&render(&rich.slice(from..trimmed(rich, from, end)), facts.dialect), facts);
    let ends = ends(rich.text().get(from..).unwrap_or_default(), from, facts);
    // The end before the point was tried, so it fits even where a longer text has a shorter form.
    let count = ends.partition_point(|end| fit(*end)).max(1);
    let Some(limit) = ends.get(count - 1).copied() else { return rich.text().len() };
    if limit == rich.text().len() {
        return limit;
    }
    breaks::before(rich, from, limit).into_iter().find(|end| *end > from && fit(*end)).unwrap_or(limit)
}

/// The ends of graphemes, as far as the text without marks is within the limit.
fn ends(text: &str, from: usize, facts: &Facts) -> Vec<usize> {
    let (mut all, mut at, mut units) = (Vec::new(), from, 0);
    for grapheme in text.graphemes(true) {
        let long = grapheme.chars().count() > MAX_GRAPHEME;
        let pieces: Vec<&str> = match long {
            true => grapheme
                .char_indices()
                .map(|(i, c)| grapheme.get(i..i + c.len_utf8()).unwrap_or(""))
                .collect(),
            false => vec![grapheme],
        };
        for piece in pieces {
            at += piece.len();
            units += facts.unit.count(piece);
            if units > facts.text {
                return all;
            }
            all.push(at);
        }
    }
    all
}

/// The first place that is shown, from here on: white space is left out, but in a block of code one line break at most.
fn skip(rich: &Rich, mut at: usize) -> usize {
    if rich.inside_block(at) {
        return if rich.text().get(at..).is_some_and(|rest| rest.starts_with('\n')) { at + 1 } else { at };
    }
    for character in rich.text().get(at..).unwrap_or_default().chars() {
        if !character.is_whitespace() || in_block(rich, at) {
            break;
        }
        at += character.len_utf8();
    }
    at
}

/// The end without the white space before it, of which a block of code keeps all but line breaks.
fn trimmed(rich: &Rich, from: usize, mut end: usize) -> usize {
    for character in rich.text().get(from..end).unwrap_or_default().chars().rev() {
        let before = end - character.len_utf8();
        if !character.is_whitespace() || (character != '\n' && in_block(rich, before)) {
            break;
        }
        end = before;
    }
    end
}

fn in_block(rich: &Rich, at: usize) -> bool {
    rich.spans().iter().any(|span| matches!(span.style, Style::Pre(_)) && span.covers(at))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::{DISCORD, TELEGRAM};
    use crate::parse::{Links, parse};

    fn small(facts: Facts, text: usize) -> Facts {
        Facts { text, ..facts }
    }

    fn shown(markdown: &str, facts: &Facts) -> Vec<String> {
        let parts = split(&parse(markdown, Links::Live), facts, 99);
        parts.iter().map(|part| render(part, facts.dialect).text().to_owned()).collect()
    }

    #[test]
    fn a_fence_ends_with_its_part_and_begins_again_in_the_next() {
        let parts = shown("```py\n  aaaa\n  bbbb\n  cccc\n```", &small(DISCORD, 24));
        assert_eq!(parts, ["```py\n  aaaa\n  bbbb\n```", "```py\n  cccc\n```"]);
    }

    #[test]
    fn the_limit_counts_utf16_units_of_the_text_alone() {
        let parts = shown("**😀😀😀**", &small(TELEGRAM, 4));
        assert_eq!(parts, ["😀😀", "😀"]);
    }

    #[test]
    fn a_message_has_at_most_the_platforms_number_of_entities() {
        let facts = Facts { spans: 2, ..TELEGRAM };
        let parts = split(&parse("**a** *b* **c** *d* **e**", Links::Live), &facts, 99);
        assert_eq!(parts.iter().map(|part| part.spans().len()).collect::<Vec<_>>(), [2, 2, 1]);
    }

    #[test]
    fn a_grapheme_without_end_is_parted_between_its_characters() {
        let parts = shown(&format!("a{}", "\u{301}".repeat(50)), &small(TELEGRAM, 20));
        assert_eq!(parts.iter().map(|part| part.chars().count()).sum::<usize>(), 51);
    }

    #[test]
    fn no_more_parts_are_made_than_were_asked_for() {
        let rich = parse(&"word ".repeat(1000), Links::Live);
        assert_eq!(split(&rich, &small(TELEGRAM, 20), 3).len(), 3);
    }
}
