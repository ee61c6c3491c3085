//! Identifiers as clients see them: a vendor's prefix and 32 hexadecimal digits. A client may bring ids of its own, so
//! each text stands for exactly one id, always the same.

use ipc_proto::ids::CallId;
use sha2::{Digest, Sha256};

/// Prefixes under which the calls of both vendors come back.
const CALLS: [&str; 2] = ["call_", "toolu_"];

/// Bytes as hexadecimal digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    let digit = |four: u8| char::from_digit(u32::from(four), 16).unwrap_or('0');
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}

/// The bytes of hexadecimal digits; `None` if there is anything else among them, or an odd number.
pub(crate) fn unhex(text: &str) -> Option<Vec<u8>> {
    let digits: Option<Vec<u8>> =
        text.chars().map(|c| c.to_digit(16).and_then(|four| u8::try_from(four).ok())).collect();
    let digits = digits?;
    let whole = digits.len().is_multiple_of(2);
    whole.then(|| {
        digits.chunks(2).map(|pair| pair.iter().fold(0_u8, |byte, four| (byte << 4) | four)).collect()
    })
}

/// A new id with this prefix.
pub(crate) fn fresh(prefix: &str) -> String {
    shown(prefix, CallId::random())
}

/// A call as a client sees it.
pub(crate) fn shown(prefix: &str, id: CallId) -> String {
    format!("{prefix}{}", hex(&id.bytes()))
}

/// The call that a client means: one that was shown to it, or else one that follows from its own text.
pub(crate) fn call(text: &str) -> CallId {
    let shown = CALLS.iter().find_map(|prefix| text.strip_prefix(prefix));
    let bytes = shown.and_then(unhex).and_then(|bytes| <[u8; 16]>::try_from(bytes).ok());
    CallId::from_bytes(bytes.unwrap_or_else(|| short_hash(text.as_bytes())))
}

/// The first half of a text's SHA-256.
pub(crate) fn short_hash(bytes: &[u8]) -> [u8; 16] {
    let mut short = [0; 16];
    for (to, from) in short.iter_mut().zip(Sha256::digest(bytes)) {
        *to = from;
    }
    short
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_that_was_shown_comes_back_as_itself_and_a_client_s_own_as_always_the_same() {
        let id = CallId::random();
        for prefix in CALLS {
            assert_eq!(call(&shown(prefix, id)), id);
        }
        assert_eq!(call("functions.read:0"), call("functions.read:0"));
        assert_ne!(call("functions.read:0"), call("functions.read:1"));
        assert_ne!(call("call_00"), call("call_0000"), "digits of another length are a text like any other");
    }

    proptest::proptest! {
        #[test]
        fn bytes_come_back_from_their_digits(bytes: Vec<u8>) {
            proptest::prop_assert_eq!(unhex(&hex(&bytes)), Some(bytes));
        }

        #[test]
        fn any_text_is_digits_or_none(text in ".{0,40}") {
            let back = unhex(&text).map(|bytes| hex(&bytes));
            proptest::prop_assert!(back.is_none_or(|back| back == text.to_ascii_lowercase()));
        }
    }
}
