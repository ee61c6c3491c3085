//! Many rules over one text at the speed of one pass: Aho-Corasick over all keywords, then only the rules of a
//! keyword that was seen, each only in a window around it.
//! Touches only the text it is given. It must never run a pattern over the whole text, and never use a `RegexSet`
//! (measured: 0.5 MB/s). Patterns are compiled when their keyword is first seen, so an idle scanner stays small.

use crate::published;
use crate::rules::{Family, Rule, Start, View};
use aho_corasick::{AhoCorasick, AhoCorasickBuilder, AhoCorasickKind};
use regex::bytes::{Regex, RegexBuilder};
use std::ops::Range;
use std::sync::OnceLock;

/// How far back a name may begin before the keyword in it.
const LONGEST_NAME: usize = 96;
/// A run of digits is tried as a number only if it holds this many in the next 24 bytes.
const FEWEST_DIGITS: usize = 9;

/// One match.
#[derive(Debug, Clone)]
pub(crate) struct Hit {
    pub(crate) rule: &'static Rule,
    /// The place of the secret itself, without its name.
    pub(crate) span: Range<usize>,
    /// All that the pattern took, so what streaming must not cut.
    pub(crate) whole: Range<usize>,
}

struct Compiled {
    rule: &'static Rule,
    regex: OnceLock<Option<Regex>>,
}

impl Compiled {
    fn anchored(&self) -> bool {
        !matches!(self.rule.start, Start::Before(_))
    }

    /// The compiled pattern. `None` cannot happen for a shipped rule: a test compiles every one.
    fn regex(&self) -> Option<&Regex> {
        let build = || {
            let pattern = self.rule.pattern;
            let pattern = if self.anchored() { format!("^(?:{pattern})") } else { pattern.to_owned() };
            RegexBuilder::new(&pattern)
                // Bytes, not code points: a Unicode word class is hundreds of ranges, and the folded text is mostly ASCII.
                .unicode(false)
                .size_limit(512 << 10)
                .dfa_size_limit(24 << 10)
                .build()
                .ok()
        };
        self.regex.get_or_init(build).as_ref()
    }
}

/// A set of rules over one view of the text.
pub(crate) struct Matcher {
    words: AhoCorasick,
    /// Rule numbers by keyword number.
    by_word: Vec<Vec<usize>>,
    /// Numbers of the rules that start at digits.
    by_digits: Vec<usize>,
    rules: Vec<Compiled>,
}

impl Matcher {
    /// A matcher for the rules of one view. `None` only if the keywords do not fit an automaton, which a test rules out.
    pub(crate) fn new(view: View) -> Option<Self> {
        let rules: Vec<Compiled> = crate::rules::all()
            .filter(|rule| rule.view == view)
            .map(|rule| Compiled { rule, regex: OnceLock::new() })
            .collect();
        let mut words: Vec<&'static str> =
            rules.iter().flat_map(|entry| entry.rule.keywords).copied().collect();
        words.sort_unstable();
        words.dedup();
        let uses = |word: &&str| {
            (0..)
                .zip(&rules)
                .filter(|(_, entry)| entry.rule.keywords.contains(word))
                .map(|(n, _)| n)
                .collect()
        };
        let by_word = words.iter().map(uses).collect();
        let at_digits = |entry: &Compiled| matches!(entry.rule.start, Start::Digits | Start::Country);
        let by_digits = (0..).zip(&rules).filter(|(_, entry)| at_digits(entry)).map(|(n, _)| n).collect();
        // The raw keywords are ASCII, so their DFA is small; those in other scripts would make one of several MiB.
        let kind = if view == View::Raw { AhoCorasickKind::DFA } else { AhoCorasickKind::ContiguousNFA };
        let words =
            AhoCorasickBuilder::new().ascii_case_insensitive(true).kind(Some(kind)).build(&words).ok()?;
        Some(Self { words, by_word, by_digits, rules })
    }

    /// Gives every match to `found`, by keyword position.
    pub(crate) fn find(&self, text: &str, mut found: impl FnMut(Hit)) {
        let mut settled = vec![0_usize; self.rules.len()];
        for word in self.words.find_overlapping_iter(text) {
            for number in self.by_word.get(word.pattern().as_usize()).into_iter().flatten() {
                self.attempt(*number, text, word.range(), &mut settled, &mut found);
            }
        }
        if !self.by_digits.is_empty() {
            for start in digit_runs(text.as_bytes()) {
                for number in &self.by_digits {
                    self.attempt(*number, text, start..start, &mut settled, &mut found);
                }
            }
        }
    }

    /// Where the end of the text may be the beginning of a keyword of several words; its length if it cannot be.
    pub(crate) fn half_keyword(&self, text: &str) -> usize {
        let tail =
            text.get(crate::span::ceil(text, text.len().saturating_sub(LONGEST_NAME))..).unwrap_or_default();
        let tail = tail.to_ascii_lowercase();
        let words = self.rules.iter().flat_map(|entry| entry.rule.keywords).copied();
        let parts = |word: &'static str| {
            let first = word.find(' ').map_or(word.len(), |space| space + 1);
            (first..word.len()).filter_map(move |end| word.get(..end))
        };
        text.len()
            - words.flat_map(parts).filter(|part| tail.ends_with(part)).map(str::len).max().unwrap_or(0)
    }

    /// Gives `found` the places of keywords after which a match may still be growing over white space.
    pub(crate) fn openings(&self, text: &str, mut found: impl FnMut(&'static Rule, usize)) {
        for word in self.words.find_overlapping_iter(text) {
            for number in self.by_word.get(word.pattern().as_usize()).into_iter().flatten() {
                if let Some(entry) = self.rules.get(*number).filter(|entry| entry.rule.crosses) {
                    found(entry.rule, word.start());
                }
            }
        }
    }

    fn attempt(
        &self,
        number: usize,
        text: &str,
        word: Range<usize>,
        settled: &mut [usize],
        found: &mut impl FnMut(Hit),
    ) {
        let (Some(entry), Some(settled)) = (self.rules.get(number), settled.get_mut(number)) else { return };
        if word.start < *settled {
            return;
        }
        let Some(start) = begin(entry.rule.start, text.as_bytes(), word.start, *settled) else { return };
        if entry.anchored() {
            let end = word.end.saturating_add(entry.rule.reach).min(text.len());
            if let Some(hit) = entry.anchored_at(text, start..end) {
                *settled = hit.whole.end;
                found(hit.covering(&word));
            }
            return;
        }
        // Twice the reach is searched, and the keywords of the first half are settled by it: so a text that is nothing
        // but keywords is read a few times, not once for each.
        let end = word.end.saturating_add(entry.rule.furthest()).min(text.len());
        *settled = word.start.saturating_add(entry.rule.reach);
        if let Some(hit) = entry.first_in(text, start..end) {
            *settled = hit.whole.end;
            found(hit.covering(&word));
        }
    }
}

impl Compiled {
    /// A match that begins where the window does and passes the rule's check.
    fn anchored_at(&self, text: &str, window: Range<usize>) -> Option<Hit> {
        let bytes = text.as_bytes().get(window.clone())?;
        let regex = self.regex()?;
        let whole = regex.find(bytes)?.range();
        let span = if regex.captures_len() > 1 { group(regex.captures(bytes)) } else { None };
        let span = span.unwrap_or_else(|| whole.clone());
        let shift = |range: Range<usize>| range.start + window.start..range.end + window.start;
        self.checked(text, shift(span), shift(whole))
    }

    /// The first match in the window that passes the rule's check.
    fn first_in(&self, text: &str, window: Range<usize>) -> Option<Hit> {
        let bytes = text.as_bytes().get(..window.end)?;
        let regex = self.regex()?;
        let mut from = window.start;
        loop {
            let whole = regex.find_at(bytes, from)?.range();
            let span = if regex.captures_len() > 1 { group(regex.captures_at(bytes, from)) } else { None };
            from = whole.end.max(from + 1);
            let hit = self.checked(text, span.unwrap_or_else(|| whole.clone()), whole);
            if hit.is_some() || from >= window.end {
                return hit;
            }
        }
    }

    fn checked(&self, text: &str, span: Range<usize>, whole: Range<usize>) -> Option<Hit> {
        let outward =
            |range: Range<usize>| crate::span::floor(text, range.start)..crate::span::ceil(text, range.end);
        let hit = Hit { rule: self.rule, span: outward(span), whole: outward(whole) };
        let value = text.get(hit.span.clone())?;
        let good = self.rule.check.is_none_or(|check| check(value))
            && self.rule.named.is_none_or(|named| text.get(hit.whole.clone()).is_some_and(named))
            && !(self.rule.family == Family::Secret
                && published::sample(value.trim_matches(|c: char| !c.is_ascii_alphanumeric())));
        good.then_some(hit)
    }
}

impl Hit {
    /// The keyword belongs to the match even where the pattern begins behind it: without it there would be none.
    fn covering(mut self, word: &Range<usize>) -> Self {
        self.whole = self.whole.start.min(word.start)..self.whole.end.max(word.end);
        self
    }
}

/// The first group that took part in a match.
fn group(groups: Option<regex::bytes::Captures<'_>>) -> Option<Range<usize>> {
    groups?.iter().skip(1).flatten().next().map(|group| group.range())
}

/// Where the pattern of a rule is tried for a keyword at `at`; nothing if the keyword cannot begin a match there.
fn begin(start: Start, text: &[u8], at: usize, settled: usize) -> Option<usize> {
    match start {
        Start::Keyword => on_left_edge(text, at).then_some(at),
        Start::Before(bytes) => Some(at.saturating_sub(bytes).max(settled)),
        Start::Digits => Some(at),
        Start::Word => {
            let before = text.get(at.saturating_sub(LONGEST_NAME).max(settled)..at)?;
            let name = before.iter().rev().take_while(|byte| in_name(**byte)).count();
            Some(at - name)
        }
        Start::Country => {
            let letters = at.checked_sub(2)?;
            let capital = text.get(letters..at)?.iter().all(u8::is_ascii_uppercase);
            (capital && on_left_edge(text, letters)).then_some(letters)
        }
    }
}

const fn in_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.' | b'%' | b'+' | b'$')
}

/// Returns whether a token may begin at `at`: after the start, a sign, or an escape such as `\n` or `%20` whose last
/// character looks like part of a word.
fn on_left_edge(text: &[u8], at: usize) -> bool {
    let before = text.get(at.saturating_sub(3)..at).unwrap_or_default();
    match before {
        [.., last] if !last.is_ascii_alphanumeric() && *last != b'_' => true,
        [] | [.., b'\\', b'n' | b't' | b'r'] => true,
        [b'%', high, low] => high.is_ascii_hexdigit() && low.is_ascii_hexdigit(),
        _ => false,
    }
}

/// Starts of digit runs that may be the start of a long number.
fn digit_runs(text: &[u8]) -> impl Iterator<Item = usize> {
    let edge = |at: usize| match at.checked_sub(1).and_then(|before| text.get(before)) {
        Some(before) => !before.is_ascii_digit() && *before != b'.' && *before != b'-',
        None => true,
    };
    let enough = |at: usize| {
        let next = text.get(at..).unwrap_or_default().iter().take(24);
        let number = next.take_while(|b| {
            b.is_ascii_alphanumeric() || matches!(b, b' ' | b'-' | b'.' | b'(' | b')' | b'/')
        });
        number.filter(|b| b.is_ascii_digit()).count() >= FEWEST_DIGITS
    };
    (0..text.len())
        .filter(move |at| text.get(*at).is_some_and(u8::is_ascii_digit) && edge(*at) && enough(*at))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pattern_compiles_within_its_bound() {
        for view in [View::Raw, View::Folded] {
            let matcher = Matcher::new(view).unwrap();
            for entry in &matcher.rules {
                assert!(entry.regex().is_some(), "{}", entry.rule.id);
            }
        }
    }

    #[test]
    fn a_token_begins_at_an_edge_or_after_an_escape_but_not_inside_a_word() {
        for text in ["ghp_", " ghp_", "\"ghp_", "\\nghp_", "%20ghp_", "=ghp_"] {
            assert!(on_left_edge(text.as_bytes(), text.len() - 4), "{text}");
        }
        for text in ["aghp_", "_ghp_", "9ghp_", "nghp_"] {
            assert!(!on_left_edge(text.as_bytes(), text.len() - 4), "{text}");
        }
    }
}
