//! The vault file's outside: what tells a short, an altered and a foreign file apart before any key is used.
//! Pure. Layout: magic and version (8), key id (16), length of the body (8, little-endian), body, SHA-256 of all
//! before it (32).

use sha2::{Digest, Sha256};

/// What every vault begins with; the last byte is the version of the layout.
const MAGIC: &[u8; 8] = b"CORDNVT1";
/// Bytes before the body.
const HEAD: usize = 8 + 16 + 8;
/// Bytes of the checksum after the body.
const SUM: usize = 32;
/// The largest vault, bytes: 256 secrets of 16 KiB as base64, and room.
pub(crate) const VAULT_BOUND: u64 = 8 * 1024 * 1024;

/// Says which key a vault was made with, without saying anything about the key.
pub(crate) type KeyId = [u8; 16];

/// What is wrong with a vault file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum FormatFault {
    /// It does not begin as a vault does.
    #[error("it is not a vault of Cordon")]
    Foreign,
    /// It was written by another version.
    #[error("it was written by another version of Cordon")]
    Version,
    /// It ends too early.
    #[error("it is cut short: {have} of {want} bytes")]
    Short {
        /// Bytes there are.
        have: usize,
        /// Bytes there should be, as far as that can be known.
        want: usize,
    },
    /// Its checksum does not hold.
    #[error("it was altered: its checksum does not hold")]
    Altered,
    /// It is whole, but made with another key.
    #[error("it was made with another vault.key, so it belongs to another host or the key was replaced")]
    OtherKey,
}

/// The file of this body.
pub(crate) fn encode(key: &KeyId, body: &[u8]) -> Vec<u8> {
    let mut file = Vec::with_capacity(HEAD + body.len() + SUM);
    file.extend(MAGIC);
    file.extend(key);
    file.extend((body.len() as u64).to_le_bytes());
    file.extend(body);
    let sum = Sha256::digest(&file);
    file.extend(sum);
    file
}

/// The body of a file that is whole and made with this key.
pub(crate) fn decode<'a>(key: &KeyId, file: &'a [u8]) -> Result<&'a [u8], FormatFault> {
    check_magic(file)?;
    let have = file.len();
    let short = |want| FormatFault::Short { have, want };
    let length = file.get(24..HEAD).and_then(|bytes| bytes.try_into().ok()).ok_or(short(HEAD + SUM))?;
    let length = usize::try_from(u64::from_le_bytes(length)).unwrap_or(usize::MAX);
    let want = length.saturating_add(HEAD + SUM);
    // A length beyond any vault's is no length: then the bytes that state it were altered.
    if have < want && length as u64 <= VAULT_BOUND {
        return Err(short(want));
    }
    let (sealed, sum) =
        file.split_at_checked(have - SUM).filter(|_| have == want).ok_or(FormatFault::Altered)?;
    if Sha256::digest(sealed).as_slice() != sum {
        return Err(FormatFault::Altered);
    }
    let made_with = file.get(8..24).ok_or(FormatFault::Altered)?;
    if made_with != key {
        return Err(FormatFault::OtherKey);
    }
    sealed.get(HEAD..).ok_or(FormatFault::Altered)
}

fn check_magic(file: &[u8]) -> Result<(), FormatFault> {
    let start = file.get(..8).unwrap_or(file);
    if start == MAGIC {
        return Ok(());
    }
    if MAGIC.starts_with(start) {
        return Err(FormatFault::Short { have: file.len(), want: HEAD + SUM });
    }
    let family = MAGIC.get(..7).is_some_and(|family| start.starts_with(family));
    Err(if family { FormatFault::Version } else { FormatFault::Foreign })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const KEY: KeyId = [3; 16];

    #[test]
    fn each_fault_is_told_from_the_others() {
        let good = encode(&KEY, b"body");
        assert_eq!(decode(&KEY, &good), Ok(&b"body"[..]));
        assert_eq!(decode(&[4; 16], &good), Err(FormatFault::OtherKey));
        assert_eq!(decode(&KEY, b"SQLite format 3\0 and so on"), Err(FormatFault::Foreign));
        assert_eq!(decode(&KEY, b"CORDNVT2 and so on"), Err(FormatFault::Version));
        for length in 0..good.len() {
            let fault = decode(&KEY, &good[..length]).unwrap_err();
            assert!(matches!(fault, FormatFault::Short { have, .. } if have == length), "{length}: {fault}");
        }
        assert_eq!(decode(&KEY, &[&good[..], b"x"].concat()), Err(FormatFault::Altered));
    }

    #[test]
    fn a_changed_byte_anywhere_is_a_fault_and_never_another_key() {
        let good = encode(&KEY, &[9; 40]);
        for at in 0..good.len() {
            let mut bad = good.clone();
            bad[at] ^= 0x40;
            let fault = decode(&KEY, &bad).unwrap_err();
            assert!(fault != FormatFault::OtherKey, "{at}: {fault}");
            assert!(at < 8 || (24..32).contains(&at) || fault == FormatFault::Altered, "{at}: {fault}");
        }
    }

    proptest! {
        #[test]
        fn any_bytes_at_all_are_judged_without_panic(bytes: Vec<u8>, length: u64) {
            let _ = decode(&KEY, &bytes);
            let _ = decode(&KEY, &[&MAGIC[..], &KEY, &length.to_le_bytes(), &bytes].concat());
        }

        #[test]
        fn a_body_comes_back(body: Vec<u8>) {
            let file = encode(&KEY, &body);
            prop_assert_eq!(decode(&KEY, &file), Ok(body.as_slice()));
        }
    }
}
