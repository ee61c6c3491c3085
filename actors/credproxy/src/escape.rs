//! How bytes are written within a URL, a form or JSON. Pure; what is written may be a secret, so it is overwritten when
//! dropped.

use zeroize::Zeroizing;

/// As a URL or a form holds it: all but unreserved characters as `%XX`, in capitals or not.
pub(crate) fn percent(bytes: &[u8], capitals: bool) -> Zeroizing<String> {
    let mut text = Zeroizing::new(String::with_capacity(bytes.len() * 3));
    for byte in bytes {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~') {
            text.push(char::from(*byte));
        } else {
            let digit = |value: u8| char::from_digit(value.into(), 16).unwrap_or('0');
            let digits = [digit(byte >> 4), digit(byte & 0xf)];
            text.push('%');
            text.extend(digits.map(|digit| if capitals { digit.to_ascii_uppercase() } else { digit }));
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
