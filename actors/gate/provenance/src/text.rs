//! One text that vouches, in the forms values are looked for in, and the rule of where a value may stand in it.
//!
//! A value counts as held where it stands contiguous and ends where words end. What is folded away, and why that is
//! safe: compatibility forms (NFKC), the kind of quote and of dash, and runs of blanks, because none of them names
//! anything else; capitals, in values made of words and of numbers, because people do not keep to them. Capitals
//! stand in anything else (`1j1l-2k3j`, a path, a command), where they may name another thing. Lookalike letters of
//! other scripts are never folded: they are how another host or another person is passed off as this one. A line
//! break in a value is never a blank: in a command it begins another one.

use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

/// A text, prepared once.
#[derive(Clone)]
pub(crate) struct Text {
    raw: String,
    exact: String,
    folded: String,
    /// The text with glued sentences taken apart (`at shop.example.They said`), where there are any.
    parted: Option<(String, String)>,
}

impl Text {
    pub(crate) fn new(raw: &str) -> Self {
        let parted = part_sentences(raw).map(|parted| (exact(&parted), folded(&parted)));
        Self { raw: raw.to_owned(), exact: exact(raw), folded: folded(raw), parted }
    }

    /// Bytes held.
    pub(crate) fn len(&self) -> usize {
        self.raw.len()
    }

    /// The text as it reads, glued sentences apart.
    pub(crate) fn readings(&self) -> impl Iterator<Item = &str> {
        std::iter::once(self.exact.as_str()).chain(self.parted.iter().map(|(exact, _)| exact.as_str()))
    }

    /// Returns whether it holds the value as it stands.
    pub(crate) fn holds(&self, sought: &Sought<'_>) -> bool {
        let Sought { value, wanted } = sought;
        let Some(wanted) = wanted else {
            return !value.is_empty() && stand_in(&self.raw, value, true, |_, _| true);
        };
        if wanted.text.is_empty() {
            return false;
        }
        let parted = self.parted.as_ref().map(|(exact, folded)| (exact.as_str(), folded.as_str()));
        std::iter::once((self.exact.as_str(), self.folded.as_str()))
            .chain(parted)
            .any(|(exact, folded)| wanted.stands_in(exact, folded))
    }
}

/// A value that texts are looked through for, prepared once.
pub(crate) struct Sought<'a> {
    value: &'a str,
    /// Without a form where something in it cannot be seen: then only the very same bytes will do.
    wanted: Option<Wanted>,
}

impl<'a> Sought<'a> {
    pub(crate) fn new(value: &'a str) -> Self {
        let value = unquoted(value.trim());
        let unseen = value.chars().any(|char| char.is_control() || is_invisible(char));
        Self { value, wanted: (!unseen).then(|| Wanted::new(value)) }
    }
}

/// A value in the form it is looked for.
struct Wanted {
    text: String,
    words: bool,
    weak: bool,
}

impl Wanted {
    fn new(value: &str) -> Self {
        let exact = exact(value);
        let bare = exact.strip_prefix(['#', '@']).unwrap_or(&exact);
        if !is_words(bare) {
            return Self { text: exact, words: false, weak: false };
        }
        let bare = bare.trim_end_matches(['.', ',', ';', '!', '?']);
        if is_weak(bare) {
            return Self { text: bare.to_owned(), words: true, weak: true };
        }
        Self { text: folded(bare), words: true, weak: false }
    }

    fn stands_in(&self, exact: &str, folded: &str) -> bool {
        if !self.words {
            return stand_in(exact, &self.text, true, |_, _| true);
        }
        if !self.weak {
            return stand_in(folded, &self.text, false, |_, _| true);
        }
        let capital = self.text.chars().next().is_some_and(char::is_uppercase);
        stand_in(exact, &self.text, false, |before, after| {
            is_marked(before, after) || (capital && !begins_sentence(before))
        })
    }
}

/// Words that stand in any text, so that a text that has one has not named anything with it. A few of each kind: an
/// account that is called so is rare, and one made for the purpose is what this refuses.
const COMMON: &str = "a about account add address after all also always and any anyone are as ask at be before both but by can \
    channel check could create date day delete do each email every everybody everyone file find first for \
    from get give group have he help her here hey hi him his how i if in is it its last like list look mail \
    make me message month most my name need new next not now of on or our out please read send she should so \
    some tell that the their them then there they this to today up us user was we week what when where which \
    who will with";

/// Values so short or so common that standing in a text says little: they have to be marked there, by quotes or a
/// sigil, or to stand as a name does, capitalised in the middle of a sentence.
fn is_weak(value: &str) -> bool {
    let letters = value.chars().all(char::is_alphabetic);
    let folded = folded(value);
    letters && (value.chars().count() <= 2 || COMMON.split(' ').any(|word| word == folded))
}

fn is_marked(before: &str, after: &str) -> bool {
    let quote = |char: Option<char>| matches!(char, Some('\'' | '"' | '`'));
    let sigil = before.ends_with(['#', '@']);
    sigil || (quote(before.chars().next_back()) && quote(after.chars().next()))
}

fn begins_sentence(before: &str) -> bool {
    before.trim_end().chars().next_back().is_none_or(|char| matches!(char, '.' | '!' | '?' | ':'))
}

/// Letters, numbers, blanks and what stands inside names; no number with letters in it.
fn is_words(value: &str) -> bool {
    let plain =
        |char: char| is_word(char) || matches!(char, ' ' | '-' | '\'' | '.' | ',' | '&' | '!' | '?' | ';');
    let mixed = |chunk: &str| chunk.chars().any(char::is_numeric) && chunk.chars().any(char::is_alphabetic);
    value.chars().all(plain)
        && value.starts_with(is_word)
        && !value.split(|char: char| !char.is_alphanumeric()).any(mixed)
}

/// Compatibility forms, quotes, dashes and blanks made one.
pub(crate) fn exact(text: &str) -> String {
    // Nothing in ASCII has another compatibility form.
    if text.is_ascii() { plain(text.chars()) } else { plain(text.nfkc()) }
}

fn plain(text: impl Iterator<Item = char>) -> String {
    let mut out = String::new();
    for char in text {
        match char {
            '\u{2018}'..='\u{201b}' => out.push('\''),
            '\u{201c}'..='\u{201f}' | '«' | '»' => out.push('"'),
            '\u{2010}'..='\u{2014}' | '\u{2212}' => out.push('-'),
            char if char.is_whitespace() => {
                if !out.ends_with(' ') {
                    out.push(' ');
                }
            }
            char => out.push(char),
        }
    }
    out.trim().to_owned()
}

/// The same in small letters; letter by letter, so that what stands around a letter never changes it.
pub(crate) fn folded(text: &str) -> String {
    let exact = exact(text);
    if exact.is_ascii() {
        return exact.to_ascii_lowercase();
    }
    exact.chars().flat_map(char::to_lowercase).nfkc().collect()
}

/// One layer of like quotes taken off.
fn unquoted(value: &str) -> &str {
    ['"', '\'', '`']
        .iter()
        .find_map(|quote| value.strip_prefix(*quote)?.strip_suffix(*quote))
        .filter(|inner| !inner.trim().is_empty())
        .unwrap_or(value)
}

/// Invisible characters: they join what they stand next to, so that nothing ends at one.
pub(crate) fn is_invisible(char: char) -> bool {
    matches!(char, '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
        | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
        | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}'
        | '\u{e0000}'..='\u{e0fff}')
}

pub(crate) fn is_word(char: char) -> bool {
    char.is_alphanumeric() || char == '_' || is_combining_mark(char) || is_invisible(char)
}

/// Returns whether the value stands somewhere in the text with an end on both sides, where `fits` holds of what stands
/// before and after it.
fn stand_in(text: &str, value: &str, strict: bool, fits: impl Fn(&str, &str) -> bool) -> bool {
    let (Some(first), Some(last)) = (value.chars().next(), value.chars().next_back()) else {
        return false;
    };
    text.match_indices(value).any(|(at, _)| {
        let (Some(before), Some(after)) = (text.get(..at), text.get(at + value.len()..)) else {
            return false;
        };
        let ends = if strict {
            opens(before) && closes(after)
        } else {
            begins(before, first) && finishes(after, last)
        };
        ends && fits(before, after)
    })
}

/// Before a value that is no plain word: a blank, a quote or a bracket, or nothing.
fn opens(before: &str) -> bool {
    before
        .chars()
        .next_back()
        .is_none_or(|char| char.is_whitespace() || matches!(char, '"' | '\'' | '`' | '(' | '[' | '{' | '<'))
}

/// Behind a value that is no plain word: the same, at most with the marks that end a clause before it.
pub(crate) fn closes(after: &str) -> bool {
    let rest = after.trim_start_matches(['.', ',', ';', ':', '!', '?']);
    let rest = rest.strip_prefix("'s").unwrap_or(rest);
    rest.chars()
        .next()
        .is_none_or(|char| char.is_whitespace() || matches!(char, '"' | '\'' | '`' | ')' | ']' | '}' | '>'))
}

fn is_joint(char: char) -> bool {
    matches!(char, '-' | '.' | '@' | '/' | '\\' | ':' | '=' | '&' | '#' | '+' | '~' | '%' | '?' | '$' | '*')
}

/// Returns whether a word may begin behind `before`: not inside another word, address, path, number or option.
fn begins(before: &str, own: char) -> bool {
    let mut back = before.chars().rev();
    let Some(char) = back.next() else { return true };
    let further = back.next();
    let joined = further.is_some_and(|char| is_word(char) || is_joint(char));
    match char {
        char if is_word(char) => false,
        '\'' => !further.is_some_and(is_word),
        '#' | '@' => !joined,
        '-' => !joined && !own.is_numeric(),
        '$' => own.is_numeric(),
        '*' => true,
        ',' => !(own.is_numeric() && further.is_some_and(char::is_numeric)),
        char => !is_joint(char),
    }
}

/// Returns whether a word may end before `after`: not inside another word, address, path or number; `'s` may follow.
fn finishes(after: &str, own: char) -> bool {
    let mut ahead = after.chars();
    let Some(char) = ahead.next() else { return true };
    let further = ahead.next();
    let joined = further.is_some_and(|char| is_word(char) || is_joint(char));
    match char {
        char if is_word(char) => false,
        '\'' if further == Some('s') => !ahead.next().is_some_and(is_word),
        '\'' => !further.is_some_and(is_word),
        '@' => false,
        '%' => !own.is_numeric(),
        '*' => true,
        '.' => !after.trim_start_matches('.').starts_with(|char| is_word(char) || is_joint(char)),
        ',' => !(own.is_numeric() && further.is_some_and(char::is_numeric)),
        char if is_joint(char) => !joined,
        _ => true,
    }
}

/// A full stop with a capitalised word right behind it, and a blank behind that, ends a sentence: people forget the
/// blank. Both readings vouch; no more than one word is ever gained by it.
fn part_sentences(text: &str) -> Option<String> {
    let mut out = String::with_capacity(text.len() + 8);
    let mut rest = text;
    while let Some((head, tail)) = rest.split_once('.') {
        out.push_str(head);
        out.push('.');
        let word = tail.find(|char: char| !char.is_alphabetic()).and_then(|end| tail.split_at_checked(end));
        let capital = tail.chars().next().is_some_and(char::is_uppercase);
        let small = tail.chars().nth(1).is_some_and(char::is_lowercase);
        let apart = word.is_some_and(|(_, behind)| behind.starts_with([' ', ',', '\'']));
        if head.ends_with(char::is_alphanumeric) && capital && small && apart {
            out.push(' ');
        }
        rest = tail;
    }
    out.push_str(rest);
    (out.len() > text.len()).then_some(out)
}
