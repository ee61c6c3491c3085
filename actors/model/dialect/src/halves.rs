//! Halves of characters in JSON. JSON writes a character beyond the first 65,536 as two escapes; a server that cuts text
//! between them sends one without the other, which no text can hold. Pure.

/// The text in the place of a half.
const MARK: &str = "\\ufffd";
/// Bytes of an escape.
const ESCAPE: usize = 6;
/// The second digits of first halves and of second ones; the first digit of all is the same.
const FIRST: &str = "89abAB";
const SECOND: &str = "cdefCDEF";

/// The same JSON with a mark for each half of a character; none if it has no such half.
pub(crate) fn without_halves(json: &str) -> Option<String> {
    let mut clean = String::with_capacity(json.len());
    let (mut rest, mut found) = (json, false);
    while let Some((before, escape)) = rest.find('\\').and_then(|at| rest.split_at_checked(at)) {
        clean.push_str(before);
        let whole = is_half(escape, FIRST) && escape.get(ESCAPE..).is_some_and(|next| is_half(next, SECOND));
        let alone = !whole && (is_half(escape, FIRST) || is_half(escape, SECOND));
        let length = match (whole, alone) {
            (true, _) => 2 * ESCAPE,
            (_, true) => ESCAPE,
            // The character after a backslash belongs to it, be it another one.
            _ => escape.chars().take(2).map(char::len_utf8).sum(),
        };
        let (taken, after) = escape.split_at_checked(length)?;
        clean.push_str(if alone { MARK } else { taken });
        (rest, found) = (after, found || alone);
    }
    clean.push_str(rest);
    found.then_some(clean)
}

/// Returns whether it begins with the escape of such a half.
fn is_half(escape: &str, kind: &str) -> bool {
    let digits = escape.strip_prefix("\\u").and_then(|rest| rest.get(..4));
    digits.is_some_and(|digits| {
        let mut digits = digits.chars();
        let first = digits.next().is_some_and(|digit| digit.eq_ignore_ascii_case(&'d'));
        let second = digits.next().is_some_and(|digit| kind.contains(digit));
        first && second && digits.all(|digit| digit.is_ascii_hexdigit())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_half_is_marked_and_a_whole_character_and_every_other_escape_stay() {
        for (json, expected) in [
            (r#"{"a":"x\ud83d"}"#, Some(r#"{"a":"x\ufffd"}"#)),
            (r#"{"a":"\uDE00y"}"#, Some(r#"{"a":"\ufffdy"}"#)),
            (r#"{"a":"\ud83d\ud83d\ude00"}"#, Some(r#"{"a":"\ufffd\ud83d\ude00"}"#)),
            (r#"{"a":"\ud83d\n"}"#, Some(r#"{"a":"\ufffd\n"}"#)),
            (r#"{"a":"\ud83d\ude00"}"#, None),
            (r#"{"a":"\\ud83d"}"#, None),
            (r#"{"a":"\\\ud83d"}"#, Some(r#"{"a":"\\\ufffd"}"#)),
            (r#"{"a":"\u00e9\ud7ff\ue000 é😀"}"#, None),
            (r"\ud8", None),
            (r"\", None),
            ("", None),
        ] {
            assert_eq!(without_halves(json).as_deref(), expected, "{json}");
        }
    }

    proptest! {
        #[test]
        fn what_was_text_but_for_halves_is_text_then(
            parts in prop::collection::vec(
                prop::sample::select(vec![r"\ud83d", r"\ude00", r"\\", r"\n", r"\u0041", "ud83d", "é"]), 0..12),
        ) {
            let json = format!("\"{}\"", parts.concat());
            let clean = without_halves(&json);
            let read: Result<String, _> = serde_json::from_str(clean.as_deref().unwrap_or(&json));
            prop_assert!(read.is_ok(), "{}", json);
        }

        #[test]
        fn anything_at_all_is_read_without_panic(json in "([\\\\ud83decf\"é]|\\PC){0,40}") {
            without_halves(&json);
        }
    }
}
