//! JSON as programs write it whose texts are UTF-16: one half of a character there is a text, here it is none, and what
//! holds one is no JSON to any reader of ours. Pure.

/// The escape that stands for what is no character, as long as that of a half.
const REPLACEMENT: &[u8; 6] = b"\\ufffd";

/// Puts U+FFFD in the place of each escape of half a character; all else stays, also what is no JSON.
pub fn mend(json: &mut [u8]) {
    let mut at = 0;
    while let Some(found) = json.get(at..).and_then(|rest| rest.iter().position(|byte| *byte == b'\\')) {
        at += found;
        at += match (half(json, at), half(json, at + REPLACEMENT.len())) {
            (Some(Half::First), Some(Half::Second)) => 2 * REPLACEMENT.len(),
            (Some(_), _) => {
                if let Some(escape) = json.get_mut(at..at + REPLACEMENT.len()) {
                    escape.copy_from_slice(REPLACEMENT);
                }
                REPLACEMENT.len()
            }
            // The character after it is escaped, and may be another backslash.
            (None, _) => 2,
        };
    }
}

/// The bytes of a file without the mark that some programs put before its first character, if that is what they begin with.
#[must_use]
pub fn unmarked(bytes: &[u8]) -> &[u8] {
    bytes.strip_prefix("\u{feff}".as_bytes()).unwrap_or(bytes)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Half {
    First,
    Second,
}

/// The half of a character whose escape begins here.
fn half(json: &[u8], at: usize) -> Option<Half> {
    let digits = json.get(at..)?.strip_prefix(b"\\u")?.get(..4)?;
    match u16::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()? {
        0xD800..=0xDBFF => Some(Half::First),
        0xDC00..=0xDFFF => Some(Half::Second),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mended(json: &str) -> String {
        let mut bytes = json.as_bytes().to_vec();
        mend(&mut bytes);
        String::from_utf8(bytes).unwrap()
    }

    // Holds P3-24.
    #[test]
    fn half_a_character_is_replaced_and_whole_ones_stay() {
        for (json, expected) in [
            (r#""\ud83d\ude00""#, r#""\ud83d\ude00""#),
            (r#""a\ud83d""#, r#""a\ufffd""#),
            (r#""\uDE00z""#, r#""\ufffdz""#),
            (r#""\ud83d\ud83d\ude00""#, r#""\ufffd\ud83d\ude00""#),
            (r#""\\ud83d""#, r#""\\ud83d""#),
            (r#""\\\ud83d""#, r#""\\\ufffd""#),
            (r#""\u00e4\n""#, r#""\u00e4\n""#),
            (r"\ud8", r"\ud8"),
            ("\\", "\\"),
        ] {
            assert_eq!(mended(json), expected, "{json}");
        }
    }

    proptest::proptest! {
        #[test]
        fn any_bytes_at_all_keep_their_length_and_a_second_time_changes_nothing(mut bytes: Vec<u8>, tail in r"(\\|u|[dD][89abAB]|[0-9a-f]){0,40}") {
            bytes.extend(tail.bytes());
            let length = bytes.len();
            mend(&mut bytes);
            proptest::prop_assert_eq!(bytes.len(), length);
            let once = bytes.clone();
            mend(&mut bytes);
            proptest::prop_assert_eq!(bytes, once);
        }
    }
}
