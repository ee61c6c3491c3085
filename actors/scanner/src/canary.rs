//! Canaries: a mark put into a turn's hidden text whose appearance anywhere else proves a leak.
//! Touches only the text and the canary it is given. Half of a canary is a leak already, in any letter case,
//! reversed, rotated by 13 letters, set apart by any signs, or encoded as base64 or hexadecimal. An empty canary is never found.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;

/// The prefix of every canary.
pub const PREFIX: &str = "CANARY-";
/// Hexadecimal digits after the prefix.
const DIGITS: usize = 32;
/// Characters of the canary that must be seen together: 64 bits, so chance does not matter.
const PART: usize = 16;
/// A trailing piece of a pattern shorter than this is not held back for.
const SHORTEST_TAIL: usize = 3;

/// The canary of one turn, from 16 random bytes: `CANARY-` and 32 hexadecimal digits.
#[must_use]
pub fn new(random: [u8; 16]) -> String {
    random.iter().fold(String::from(PREFIX), |text, byte| text + &format!("{byte:02x}"))
}

/// Everything to look for on behalf of one canary, made once a scan.
#[derive(Debug, Default)]
pub(crate) struct Patterns {
    /// Looked for among the letters and digits of the text, in lower case.
    squeezed: Vec<String>,
    /// Looked for among the base64 characters of the text, case kept.
    base64: Vec<String>,
}

impl Patterns {
    /// The patterns of `canary`. A canary with fewer than 16 letters and digits is no canary and is never found.
    pub(crate) fn new(canary: Option<&str>) -> Self {
        let body: String = canary.unwrap_or_default().chars().filter(char::is_ascii_alphanumeric).collect();
        let body = body.get(body.len().saturating_sub(DIGITS)..).unwrap_or_default().to_ascii_lowercase();
        if body.len() < PART {
            return Self::default();
        }
        let mut patterns = Self::default();
        for part in [body.get(..PART), body.get(body.len() - PART..)].into_iter().flatten() {
            let upper = part.to_ascii_uppercase();
            let reversed: String = part.chars().rev().collect();
            let rotated = part.chars().map(rotated).collect();
            patterns.squeezed.extend([
                hexadecimal(part),
                hexadecimal(&upper),
                part.to_owned(),
                reversed,
                rotated,
            ]);
            patterns.base64.extend(aligned(part).chain(aligned(&upper)));
        }
        patterns
    }

    /// Returns whether the text holds the canary in any of its forms.
    pub(crate) fn found(&self, text: &str) -> bool {
        if self.squeezed.is_empty() || text.len() < PART {
            return false;
        }
        let squeezed = squeeze(text);
        let encoded = encoded(text);
        self.squeezed.iter().any(|pattern| memchr::memmem::find(&squeezed, pattern.as_bytes()).is_some())
            || self.base64.iter().any(|pattern| memchr::memmem::find(&encoded, pattern.as_bytes()).is_some())
    }

    /// From where on the end of `text` may be the beginning of a canary; the text's length if it cannot be.
    pub(crate) fn tail(&self, text: &str) -> usize {
        let letters: Vec<(usize, u8)> = positions(text, u8::is_ascii_alphanumeric).collect();
        let encoded: Vec<(usize, u8)> = positions(text, |byte| in_base64(*byte)).collect();
        let lower: Vec<u8> = letters.iter().map(|(_, byte)| byte.to_ascii_lowercase()).collect();
        let cased: Vec<u8> = encoded.iter().map(|(_, byte)| standard(*byte)).collect();
        let squeezed = self.squeezed.iter().filter_map(|pattern| begun(&lower, pattern)).max();
        let base64 = self.base64.iter().filter_map(|pattern| begun(&cased, pattern)).max();
        let at = |list: &[(usize, u8)], length: usize| list.get(list.len() - length).map(|(at, _)| *at);
        let first = squeezed.and_then(|length| at(&letters, length));
        let second = base64.and_then(|length| at(&encoded, length));
        first.into_iter().chain(second).min().unwrap_or(text.len())
    }
}

/// The longest beginning of `pattern` that `text` ends with.
fn begun(text: &[u8], pattern: &str) -> Option<usize> {
    (SHORTEST_TAIL..pattern.len())
        .rev()
        .find(|length| pattern.as_bytes().get(..*length).is_some_and(|head| text.ends_with(head)))
}

fn positions(text: &str, keep: impl Fn(&u8) -> bool) -> impl Iterator<Item = (usize, u8)> {
    text.bytes().enumerate().filter(move |(_, byte)| keep(byte))
}

fn squeeze(text: &str) -> Vec<u8> {
    text.bytes().filter(u8::is_ascii_alphanumeric).map(|byte| byte.to_ascii_lowercase()).collect()
}

fn encoded(text: &str) -> Vec<u8> {
    text.bytes().filter(|byte| in_base64(*byte)).map(standard).collect()
}

const fn in_base64(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'-' | b'_')
}

const fn standard(byte: u8) -> u8 {
    match byte {
        b'-' => b'+',
        b'_' => b'/',
        other => other,
    }
}

/// A lower-case letter moved by half the alphabet.
const fn rotated(c: char) -> char {
    match c {
        'a'..='m' => (c as u8 + 13) as char,
        'n'..='z' => (c as u8 - 13) as char,
        _ => c,
    }
}

fn hexadecimal(part: &str) -> String {
    part.bytes().fold(String::new(), |text, byte| text + &format!("{byte:02x}"))
}

/// The base64 of `part` at the three places it can have in a longer text, without the characters that depend on
/// what stands beside it.
fn aligned(part: &str) -> impl Iterator<Item = String> {
    let part = part.to_owned();
    (0..3_usize).filter_map(move |before| {
        let run = STANDARD_NO_PAD.encode("\0".repeat(before) + &part);
        let first = (before * 8).div_ceil(6);
        let last = (before + part.len()) * 8 / 6;
        run.get(first..last).map(str::to_owned)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use base64::engine::general_purpose::{STANDARD, URL_SAFE};

    const CANARY: &str = "CANARY-0123456789abcdef5a3c99e1f0b7d246";

    fn leaked(text: &str) -> bool {
        Patterns::new(Some(CANARY)).found(text)
    }

    #[test]
    fn a_canary_is_its_prefix_and_32_digits() {
        assert_eq!(new([0xab; 16]), format!("CANARY-{}", "ab".repeat(16)));
    }

    #[test]
    fn every_transformation_of_a_canary_is_found() {
        let reversed: String = CANARY.chars().rev().collect();
        let spaced: String = CANARY.chars().flat_map(|c| [c, ' ']).collect();
        let dashed: String = CANARY.chars().flat_map(|c| [c, '-', '\n']).collect();
        for text in [
            CANARY.to_owned(),
            CANARY.to_lowercase(),
            CANARY.to_uppercase(),
            reversed,
            spaced,
            dashed,
            hexadecimal(CANARY),
            CANARY.to_lowercase().chars().map(rotated).collect(),
            CANARY.chars().flat_map(|c| [c, '\u{200b}']).collect(),
        ] {
            assert!(leaked(&format!("so the word is {text}, fine")), "{text}");
        }
    }

    #[test]
    fn base64_is_found_at_every_alignment_and_alphabet() {
        for before in ["", "a", "ab", "abc"] {
            let text = format!("{before}{CANARY}zz");
            assert!(leaked(&STANDARD.encode(&text)), "{before}");
            assert!(leaked(&URL_SAFE.encode(text.to_uppercase())), "{before}");
        }
    }

    #[test]
    fn half_a_canary_is_a_leak_and_a_quarter_is_not() {
        assert!(leaked("0123456789abcdef") && leaked("5a3c99e1f0b7d246"));
        assert!(!leaked("01234567 and f0b7d246"));
    }

    #[test]
    fn an_empty_or_short_canary_is_never_found() {
        for canary in [None, Some(""), Some("CANARY-"), Some("CANARY-12")] {
            assert!(!Patterns::new(canary).found("CANARY- anything at all 12 CANARY-12"));
        }
    }

    #[test]
    fn the_beginning_of_a_canary_is_seen_at_the_end_of_a_text() {
        let patterns = Patterns::new(Some(CANARY));
        let text = "the key: 0 1 2 3 4 5 ";
        assert_eq!(patterns.tail(text), text.find('0').unwrap());
        assert_eq!(patterns.tail("nothing here"), 12);
    }
}
