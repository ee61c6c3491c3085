//! Codes of pairings and of links. They are random, and stored hashed.

use ipc_proto::Name;
use ipc_proto::channel::PAIRING_CODE;
use ipc_proto::ids::MessageId;
use sha2::{Digest, Sha256};

/// The symbols of a pairing code: digits and capitals without `0`, `1`, `I` and `O`.
const SYMBOLS: &[u8; 32] = b"23456789ABCDEFGHJKLMNPQRSTUVWXYZ";

/// Random bytes: those of a random id that are not fixed by its version.
fn random() -> impl Iterator<Item = u8> {
    let bytes = MessageId::random().bytes().into_iter().enumerate();
    bytes.filter(|(at, _)| !matches!(at, 6 | 8)).map(|(_, byte)| byte)
}

/// A new pairing code: 40 bits.
pub(crate) fn pairing() -> Name {
    let mut bits = random().fold(0_u128, |bits, byte| bits << 8 | u128::from(byte));
    let mut code = String::with_capacity(PAIRING_CODE);
    for _ in 0..PAIRING_CODE {
        let at = usize::try_from(bits & 31).unwrap_or_default();
        code.push(SYMBOLS.get(at).copied().map_or('2', char::from));
        bits >>= 5;
    }
    Name::clip(&code)
}

/// A new code of a link: 128 bits, in hexadecimal.
pub(crate) fn link() -> Name {
    let bytes = random().chain(random()).take(16);
    Name::clip(&bytes.map(|byte| format!("{byte:02x}")).collect::<String>())
}

/// The nonce of a button: 128 random bits.
pub(crate) fn nonce() -> [u8; 16] {
    let mut nonce = [0; 16];
    nonce.iter_mut().zip(random().chain(random())).for_each(|(slot, byte)| *slot = byte);
    nonce
}

/// The hash that a code is stored as. Case and surrounding space do not count.
pub(crate) fn hash(code: &str) -> [u8; 32] {
    Sha256::digest(code.trim().to_ascii_uppercase().as_bytes()).into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    // Holds P11-03.
    #[test]
    fn pairing_codes_have_eight_symbols_without_those_that_look_alike() {
        let codes: BTreeSet<String> = (0..1000).map(|_| pairing().into_string()).collect();
        assert_eq!(codes.len(), 1000);
        let all: BTreeSet<char> = codes.iter().flat_map(|code| code.chars()).collect();
        assert!(codes.iter().all(|code| code.len() == PAIRING_CODE));
        assert_eq!(all.len(), 32);
        assert!("01IO".chars().all(|symbol| !all.contains(&symbol)));
    }

    #[test]
    fn codes_of_links_are_128_random_bits_and_hash_the_same_in_any_case() {
        let code = link();
        assert!(code.len() == 32 && code != link());
        assert_eq!(hash(&code), hash(&format!(" {} ", code.to_ascii_uppercase())));
        assert_ne!(hash(&code), hash(&link()));
    }
}
