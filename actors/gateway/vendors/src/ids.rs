//! Identifiers as clients see them: a vendor's prefix and 32 hexadecimal digits. A client may bring ids of its own, so
//! each text stands for exactly one id, always the same.

use data_encoding::HEXLOWER_PERMISSIVE as HEX;
use ipc_proto::ids::CallId;
use sha2::{Digest, Sha256};

/// Prefixes under which the calls of both vendors come back.
const CALLS: [&str; 2] = ["call_", "toolu_"];

/// A new id with this prefix.
pub fn fresh(prefix: &str) -> String {
    shown(prefix, CallId::random())
}

/// A call as a client sees it.
pub fn shown(prefix: &str, id: CallId) -> String {
    format!("{prefix}{}", HEX.encode(&id.bytes()))
}

/// The call that a client means: one that was shown to it, or else one that follows from its own text.
pub fn call(text: &str) -> CallId {
    let shown = CALLS.iter().find_map(|prefix| text.strip_prefix(prefix));
    let bytes = shown
        .and_then(|digits| HEX.decode(digits.as_bytes()).ok())
        .and_then(|bytes| <[u8; 16]>::try_from(bytes).ok());
    CallId::from_bytes(bytes.unwrap_or_else(|| short_hash(text.as_bytes())))
}

/// The first half of a text's SHA-256.
pub fn short_hash(bytes: &[u8]) -> [u8; 16] {
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
    fn a_calls_id_comes_back_and_a_clients_own_maps_to_one_id() {
        let id = CallId::random();
        for prefix in CALLS {
            assert_eq!(call(&shown(prefix, id)), id);
        }
        assert_eq!(call("functions.read:0"), call("functions.read:0"));
        assert_ne!(call("functions.read:0"), call("functions.read:1"));
        assert_ne!(call("call_00"), call("call_0000"), "digits of another length are a text like any other");
    }
}
