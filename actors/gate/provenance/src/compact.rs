//! Account and telephone numbers. People write them in groups, so blanks, hyphens and brackets between
//! the digits say nothing; all else does, a decimal mark above all: `+49…` is not `49…`, and a number cut short is another.

use crate::text::{closes, exact};

/// Characters of an account number: the shortest IBAN in use has 15, the longest allowed 34.
const IBAN: std::ops::RangeInclusive<usize> = 15..=34;
/// Digits of a telephone number; shorter ones are too easily found across two other numbers.
const PHONE: std::ops::RangeInclusive<usize> = 7..=15;
/// Most marks between two digits of a group, as in `(030) 12`.
const GAP: usize = 2;

/// A number without what stands between its groups, or nothing if the text is no such number.
pub(crate) fn compact(text: &str) -> Option<String> {
    let text = exact(text);
    let bare: String = text.chars().filter(|char| !is_gap(*char)).collect();
    (is_account(&bare) || is_phone(&bare)).then(|| bare.to_ascii_uppercase())
}

fn is_account(bare: &str) -> bool {
    let mut chars = bare.chars();
    IBAN.contains(&bare.len())
        && chars.by_ref().take(2).all(|char| char.is_ascii_alphabetic())
        && chars.by_ref().take(2).all(|char| char.is_ascii_digit())
        && chars.all(|char| char.is_ascii_alphanumeric())
}

fn is_phone(bare: &str) -> bool {
    let digits = bare.strip_prefix('+').unwrap_or(bare);
    PHONE.contains(&digits.len()) && digits.chars().all(|char| char.is_ascii_digit())
}

const fn is_gap(char: char) -> bool {
    matches!(char, ' ' | '-' | '(' | ')')
}

/// Returns whether the text holds the number, from the beginning of a word to the end of one. `text` in its exact form.
pub(crate) fn holds(text: &str, wanted: &str) -> bool {
    let mut before = ' ';
    for (at, char) in text.char_indices() {
        let begins = before.is_whitespace() || matches!(before, '"' | '\'' | '`' | '(' | ':' | '[' | '<');
        let tail = text.get(at..).filter(|_| begins && !is_gap(char));
        if tail.is_some_and(|tail| walks(tail, wanted)) {
            return true;
        }
        before = char;
    }
    false
}

fn walks(tail: &str, wanted: &str) -> bool {
    let mut left = wanted.chars();
    let mut next = left.next();
    let mut gap = 0;
    for (at, char) in tail.char_indices() {
        let Some(want) = next else {
            return tail.get(at..).is_some_and(closes_number);
        };
        if char.to_ascii_uppercase() == want {
            next = left.next();
            gap = 0;
        } else if is_gap(char) && gap < GAP {
            gap += 1;
        } else {
            return false;
        }
    }
    next.is_none()
}

/// Another group of digits behind it would make it a longer number.
fn closes_number(after: &str) -> bool {
    let more = after.trim_start_matches(is_gap).starts_with(|char: char| char.is_ascii_digit());
    closes(after) && !more
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_say_nothing() {
        let iban = compact("GB29 NWBK 6016 1331 9268 19").unwrap();
        assert_eq!(iban, "GB29NWBK60161331926819");
        assert!(holds("pay gb29-nwbk-6016-1331-9268-19, please", &iban));
        let phone = compact("+49 (30) 123-4567").unwrap();
        assert!(holds("call +49 30 1234567.", &phone));
    }

    #[test]
    fn a_part_or_a_neighbour_of_a_number_is_another_number() {
        for (text, value) in [
            ("pay GB29NWBK60161331926819", "GB29NWBK6016133192681"),
            ("pay GB29NWBK60161331926819", "GB29NWBK601613319268190"),
            ("pay XGB29NWBK60161331926819", "GB29NWBK60161331926819"),
            ("call +49 30 1234567", "49301234567"),
            ("call 030 1234567 89", "0301234567"),
            ("call 30 1234567", "+301234567"),
            ("pay 12345.67", "1234567"),
        ] {
            let wanted = compact(value).unwrap();
            assert!(!holds(text, &wanted), "{value} in {text}");
        }
        assert_eq!(compact("12 34"), None, "two numbers are not one");
    }
}
