//! Undoes what hides a link from a filter and not from a person or a browser: compatibility forms and lookalike dots
//! and slashes, invisible characters, HTML entities, percent escapes, `hxxp`, `[.]`, `(dot)`. Bounded: each layer is
//! taken off once, in one pass.

use crate::text::is_invisible;
use unicode_normalization::UnicodeNormalization;

/// Ways to write a mark in words or brackets, and the mark. Looked for in small letters.
const MARKS: [(&str, &str); 27] = [
    ("[.]", "."),
    ("(.)", "."),
    ("{.}", "."),
    ("<.>", "."),
    ("[dot]", "."),
    ("(dot)", "."),
    ("{dot}", "."),
    ("<dot>", "."),
    ("[punkt]", "."),
    ("[d0t]", "."),
    (" dot ", "."),
    ("[:]", ":"),
    ("(:)", ":"),
    ("[://]", "://"),
    ("[/]", "/"),
    ("(/)", "/"),
    ("[slash]", "/"),
    ("(slash)", "/"),
    ("[at]", "@"),
    ("(at)", "@"),
    ("hxxp", "http"),
    ("hxtp", "http"),
    ("htxp", "http"),
    ("h**p", "http"),
    ("h__p", "http"),
    ("meow://", "http://"),
    ("\\/", "/"),
];
/// Named entities of the marks of an address.
const ENTITIES: [(&str, char); 12] = [
    ("period", '.'),
    ("colon", ':'),
    ("sol", '/'),
    ("bsol", '\\'),
    ("quest", '?'),
    ("equals", '='),
    ("num", '#'),
    ("commat", '@'),
    ("amp", '&'),
    ("lt", '<'),
    ("gt", '>'),
    ("quot", '"'),
];

/// The readings of a text: itself with forms made one, and where more hides something, that undone as well.
pub(super) fn unmask(text: &str) -> Vec<String> {
    layers(text, &[entities, percent, marks])
}

/// The same without the marks written in words or brackets.
pub(super) fn unescape(text: &str) -> Vec<String> {
    layers(text, &[entities, percent])
}

fn layers(text: &str, layers: &[fn(&str) -> String]) -> Vec<String> {
    let mut readings = vec![forms(text)];
    for layer in layers {
        let next = readings.last().map(|text| forms(&layer(text)));
        if let Some(next) = next.filter(|next| readings.last() != Some(next)) {
            readings.push(next);
        }
    }
    readings
}

/// Compatibility forms, dots and slashes that browsers or people take for such, and nothing that cannot be seen.
fn forms(text: &str) -> String {
    text.nfkc()
        .filter(|char| !is_invisible(*char))
        .map(|char| match char {
            '\u{3002}' | '\u{2024}' | '\u{a4f8}' | '\u{0701}' | '\u{0702}' => '.',
            '\u{2215}' | '\u{2044}' | '\u{29f8}' | '\u{2571}' | '\u{30ce}' => '/',
            '\u{2216}' | '\u{29f5}' | '\u{29f9}' => '\\',
            '\u{2236}' | '\u{a789}' | '\u{02d0}' | '\u{0589}' => ':',
            char => char,
        })
        .collect()
}

fn entities(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((head, tail)) = rest.split_once('&') {
        out.push_str(head);
        match entity(tail) {
            Some((char, behind)) => {
                out.push(char);
                rest = behind;
            }
            None => {
                out.push('&');
                rest = tail;
            }
        }
    }
    out.push_str(rest);
    out
}

/// One entity behind its `&`, and what follows it; the semicolon may be missing, as browsers have it.
fn entity(tail: &str) -> Option<(char, &str)> {
    if let Some(digits) = tail.strip_prefix('#') {
        let (radix, digits) = digits.strip_prefix(['x', 'X']).map_or((10, digits), |rest| (16, rest));
        let end = digits.find(|char: char| !char.is_digit(radix)).unwrap_or(digits.len());
        let char = char::from_u32(u32::from_str_radix(digits.get(..end)?, radix).ok()?)?;
        let behind = digits.get(end..)?;
        return Some((char, behind.strip_prefix(';').unwrap_or(behind)));
    }
    let (_, char) = ENTITIES
        .iter()
        .find(|(name, _)| tail.strip_prefix(name).is_some_and(|rest| rest.starts_with(';')))?;
    let (_, behind) = tail.split_once(';')?;
    Some((*char, behind))
}

/// Percent escapes of ASCII characters that can be seen.
fn percent(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((head, tail)) = rest.split_once('%') {
        out.push_str(head);
        let byte =
            tail.get(..2).and_then(|hex| u8::from_str_radix(hex, 16).ok()).filter(u8::is_ascii_graphic);
        match byte {
            Some(byte) => {
                out.push(char::from(byte));
                rest = tail.get(2..).unwrap_or_default();
            }
            None => {
                out.push('%');
                rest = tail;
            }
        }
    }
    out.push_str(rest);
    out
}

/// Marks written in words or brackets, and blanks around a bracketed one.
fn marks(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(char) = rest.chars().next() {
        let may = matches!(char, '[' | '(' | '{' | '<' | ' ' | 'h' | 'H' | 'm' | 'M' | '\\');
        let stands = |mask: &str| rest.get(..mask.len()).is_some_and(|head| head.eq_ignore_ascii_case(mask));
        let found = MARKS.iter().find(|(mask, _)| may && stands(mask));
        if let Some((mask, mark)) = found {
            let bracketed = mask.starts_with(['[', '(', '{', '<']);
            if bracketed {
                out.truncate(out.trim_end_matches(' ').len());
            }
            out.push_str(mark);
            rest = rest.get(mask.len()..).unwrap_or_default();
            rest = if bracketed { rest.trim_start_matches(' ') } else { rest };
        } else {
            out.push(char);
            rest = rest.get(char.len_utf8()..).unwrap_or_default();
        }
    }
    out
}
