//! Escapes of bytes within a URL, a form or JSON. Pure; the text may be a secret, so it is overwritten when dropped.

use zeroize::Zeroizing;

/// As a URL or a form holds it: all but unreserved characters as `%XX`, in capitals or not.
pub(crate) fn percent(bytes: &[u8], capitals: bool) -> Zeroizing<String> {
    percent_but(bytes, capitals, b"-._~")
}

/// As a path or a query holds it: a colon stays as it is (RFC 3986, `pchar`), as clients of bots' tokens send it.
pub(crate) fn percent_in_path(bytes: &[u8]) -> Zeroizing<String> {
    percent_but(bytes, true, b"-._~:")
}

/// Every byte as `%XX` but letters, digits and those of `kept`.
fn percent_but(bytes: &[u8], capitals: bool, kept: &[u8]) -> Zeroizing<String> {
    let mut text = Zeroizing::new(String::with_capacity(bytes.len() * 3));
    for byte in bytes {
        if byte.is_ascii_alphanumeric() || kept.contains(byte) {
            text.push(char::from(*byte));
        } else {
            text.push('%');
            text.extend(digits(*byte).map(|digit| if capitals { digit.to_ascii_uppercase() } else { digit }));
        }
    }
    text
}

/// As a URL may hold it too: every byte as `%XX`.
pub(crate) fn percent_all(bytes: &[u8]) -> Zeroizing<String> {
    let mut text = Zeroizing::new(String::with_capacity(bytes.len() * 3));
    for byte in bytes {
        text.push('%');
        text.extend(digits(*byte));
    }
    text
}

fn digits(byte: u8) -> [char; 2] {
    [byte >> 4, byte & 0xf].map(|value| char::from_digit(value.into(), 16).unwrap_or('0'))
}

/// As JSON holds printable ASCII where its encoder writes the characters of `escaped` as `\u00XX`.
pub(crate) fn json_unicode(bytes: &[u8], escaped: impl Fn(u8) -> bool) -> Zeroizing<String> {
    let mut text = Zeroizing::new(String::with_capacity(bytes.len() * 6));
    for byte in bytes {
        if escaped(*byte) {
            text.push_str("\\u00");
            text.extend(digits(*byte));
        } else {
            text.push_str(&json(&[*byte], false));
        }
    }
    text
}

/// As JSON holds printable ASCII within quotes; encoders differ over the slash.
pub(crate) fn json(bytes: &[u8], slash: bool) -> Zeroizing<String> {
    let mut text = Zeroizing::new(String::with_capacity(bytes.len() * 2));
    for byte in bytes {
        if matches!(byte, b'"' | b'\\') || (slash && *byte == b'/') {
            text.push('\\');
        }
        text.push(char::from(*byte));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_is_escaped_is_read_back_as_it_was(text in "[ -~]{0,40}", flag: bool) {
            let quoted = format!("\"{}\"", *json(text.as_bytes(), flag));
            prop_assert_eq!(serde_json::from_str::<String>(&quoted).unwrap(), text.clone());
            let escaped = json_unicode(text.as_bytes(), |byte| flag || byte == b'&');
            prop_assert_eq!(serde_json::from_str::<String>(&format!("\"{}\"", *escaped)).unwrap(), text.clone());
            let all = percent_all(text.as_bytes());
            prop_assert_eq!(all.len(), text.len() * 3);
            let percented = percent(text.as_bytes(), flag);
            prop_assert!(percented.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-._~%".contains(&byte)));
            let mut parts = percented.split('%');
            let mut read = parts.next().unwrap_or_default().to_owned();
            for part in parts {
                let (digits, rest) = part.split_at(2);
                read.push(char::from(u8::from_str_radix(digits, 16).unwrap()));
                read.push_str(rest);
            }
            prop_assert_eq!(read, text);
        }
    }
}
