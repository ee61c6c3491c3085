//! The vault file's outside: what tells a short, an altered and a foreign file apart before any key is used, and says
//! what opens it. Pure. Numbers are little-endian.
//!
//! | bytes | what |
//! |---|---|
//! | 8 | magic; the last byte is the version of the layout |
//! | 16 | key id: of which key, without saying anything about the key |
//! | 16 | host id |
//! | 1 | what opens it: 0 a key file, 1 a passphrase, 2 a credential |
//! | 16, 4, 4, 4 | of a passphrase: salt, KiB of memory, passes, lanes; else zeros |
//! | 8 | length of the body |
//! | … | body |
//! | 32 | SHA-256 of all before it |

use ipc_proto::config::KeySource;
use sha2::{Digest, Sha256};

/// The first bytes of every vault, before its version, and the version that this program knows.
const FAMILY: &[u8; 7] = b"CORDNVT";
const VERSION: u8 = b'1';
/// Bytes before the length of the body.
const HEAD: usize = 8 + 16 + 16 + 1 + 16 + 3 * 4;
/// Bytes of the length.
const LENGTH: usize = 8;
/// Bytes of the checksum after the body.
const SUM: usize = 32;
/// The largest vault, bytes: 256 secrets of 16 KiB as base64, and room.
pub(crate) const VAULT_BOUND: u64 = 8 * 1024 * 1024;
/// The most memory that a passphrase may ask for, KiB: half of what the row allows.
const MOST_MEMORY: u32 = 128 * 1024;
/// The most passes over it, and lanes of it.
const MOST_PASSES: u32 = 16;

/// Says which key a vault was made with, without saying anything about the key.
pub(crate) type KeyId = [u8; 16];
/// The id of a host: random, made with the host's first vault.
pub(crate) type HostId = [u8; 16];

/// How a passphrase is made into a key: Argon2id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stretch {
    /// New with every passphrase.
    pub(crate) salt: [u8; 16],
    /// KiB.
    pub(crate) memory: u32,
    /// Over all of the memory.
    pub(crate) passes: u32,
    /// Lanes, which could be filled at once.
    pub(crate) lanes: u32,
}

/// The kind of key that opens a vault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Opener {
    /// The key file beside it.
    File,
    /// A passphrase.
    Passphrase(Stretch),
    /// The credential of agentd's unit.
    Systemd,
}

impl Opener {
    /// As the configuration calls it.
    pub(crate) const fn source(&self) -> KeySource {
        match self {
            Self::File => KeySource::File,
            Self::Passphrase(_) => KeySource::Passphrase,
            Self::Systemd => KeySource::Systemd,
        }
    }
}

/// The head of a vault's file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Head {
    /// The id of its key.
    pub(crate) key: KeyId,
    /// The id of its host.
    pub(crate) host: HostId,
    /// The kind of key that opens it.
    pub(crate) opener: Opener,
}

/// Why a vault file cannot be read.
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
    /// Its checksum does not hold, or its head asks for what no vault asks for.
    #[error("it was altered: its checksum does not hold")]
    Altered,
}

/// A file that is whole.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Whole<'a> {
    /// Its head.
    pub(crate) head: Head,
    /// The same as it is written; the body is bound to it.
    pub(crate) written: &'a [u8],
    /// The sealed body.
    pub(crate) body: &'a [u8],
}

impl Head {
    /// As it is written.
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(HEAD);
        bytes.extend(FAMILY);
        bytes.push(VERSION);
        bytes.extend(self.key);
        bytes.extend(self.host);
        let (kind, stretch) = match self.opener {
            Opener::File => (0, NO_STRETCH),
            Opener::Passphrase(stretch) => (1, stretch),
            Opener::Systemd => (2, NO_STRETCH),
        };
        bytes.push(kind);
        bytes.extend(stretch.salt);
        [stretch.memory, stretch.passes, stretch.lanes]
            .iter()
            .for_each(|number| bytes.extend(number.to_le_bytes()));
        bytes
    }

    fn decode(bytes: &[u8]) -> Option<Self> {
        let mut rest = bytes.get(8..)?;
        let (key, host) = (take(&mut rest)?, take(&mut rest)?);
        let [kind] = take(&mut rest)?;
        let salt = take(&mut rest)?;
        let mut number = || take(&mut rest).map(u32::from_le_bytes);
        let stretch = Stretch { salt, memory: number()?, passes: number()?, lanes: number()? };
        let opener = match kind {
            0 if stretch == NO_STRETCH => Opener::File,
            1 if stretch.is_sane() => Opener::Passphrase(stretch),
            2 if stretch == NO_STRETCH => Opener::Systemd,
            _ => return None,
        };
        Some(Self { key, host, opener })
    }
}

const NO_STRETCH: Stretch = Stretch { salt: [0; 16], memory: 0, passes: 0, lanes: 0 };

impl Stretch {
    /// Returns whether the key can be made within the row's limits. Who changes it makes another key of the passphrase, not a
    /// cheaper way to the same.
    const fn is_sane(&self) -> bool {
        let Self { memory, passes, lanes, .. } = *self;
        lanes >= 1
            && lanes <= 16
            && passes >= 1
            && passes <= MOST_PASSES
            && memory >= 8 * lanes
            && memory <= MOST_MEMORY
    }
}

fn take<const N: usize>(rest: &mut &[u8]) -> Option<[u8; N]> {
    let (first, after) = rest.split_first_chunk::<N>()?;
    *rest = after;
    Some(*first)
}

/// The file of this head and this body.
pub(crate) fn encode(head: &[u8], body: &[u8]) -> Vec<u8> {
    let mut file = Vec::with_capacity(head.len() + LENGTH + body.len() + SUM);
    file.extend(head);
    file.extend((body.len() as u64).to_le_bytes());
    file.extend(body);
    let sum = Sha256::digest(&file);
    file.extend(sum);
    file
}

/// Head and body of a file that is whole.
pub(crate) fn decode(file: &[u8]) -> Result<Whole<'_>, FormatFault> {
    check_version(file)?;
    let have = file.len();
    let short = |want| FormatFault::Short { have, want };
    let length = file.get(HEAD..HEAD + LENGTH).and_then(|bytes| bytes.try_into().ok());
    let length = u64::from_le_bytes(length.ok_or(short(HEAD + LENGTH + SUM))?);
    let length = usize::try_from(length).unwrap_or(usize::MAX);
    let want = length.saturating_add(HEAD + LENGTH + SUM);
    // A length beyond any vault's is no length: then the bytes that state it were altered.
    if have < want && length as u64 <= VAULT_BOUND {
        return Err(short(want));
    }
    let (sealed, sum) = file
        .split_at_checked(have.saturating_sub(SUM))
        .filter(|_| have == want)
        .ok_or(FormatFault::Altered)?;
    if Sha256::digest(sealed).as_slice() != sum {
        return Err(FormatFault::Altered);
    }
    let (written, rest) = sealed.split_at_checked(HEAD).ok_or(FormatFault::Altered)?;
    let body = rest.get(LENGTH..).ok_or(FormatFault::Altered)?;
    let head = Head::decode(written).ok_or(FormatFault::Altered)?;
    Ok(Whole { head, written, body })
}

fn check_version(file: &[u8]) -> Result<(), FormatFault> {
    let start = file.get(..FAMILY.len()).unwrap_or(file);
    if !FAMILY.starts_with(start) {
        return Err(FormatFault::Foreign);
    }
    match file.get(FAMILY.len()) {
        Some(&VERSION) => Ok(()),
        Some(_) => Err(FormatFault::Version),
        None => Err(FormatFault::Short { have: file.len(), want: HEAD + LENGTH + SUM }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const STRETCH: Stretch = Stretch { salt: [7; 16], memory: 65_536, passes: 3, lanes: 4 };

    fn head(opener: Opener) -> Head {
        Head { key: [3; 16], host: [9; 16], opener }
    }

    fn file(opener: Opener, body: &[u8]) -> Vec<u8> {
        encode(&head(opener).encode(), body)
    }

    #[test]
    fn each_fault_is_told_from_the_others() {
        for opener in [Opener::File, Opener::Passphrase(STRETCH), Opener::Systemd] {
            let good = file(opener, b"body");
            let whole = decode(&good).unwrap();
            assert_eq!((whole.head, whole.body), (head(opener), &b"body"[..]));
            assert_eq!(whole.written, head(opener).encode());
            for length in 0..good.len() {
                let fault = decode(&good[..length]).unwrap_err();
                let told = matches!(fault, FormatFault::Short { have, .. } if have == length);
                assert!(told, "{length}: {fault}");
            }
            assert_eq!(decode(&[&good[..], b"x"].concat()), Err(FormatFault::Altered));
        }
        assert_eq!(decode(b"SQLite format 3\0 and so on"), Err(FormatFault::Foreign));
        assert_eq!(decode(b"CORDNVT2 and so on"), Err(FormatFault::Version));
    }

    #[test]
    fn a_changed_byte_anywhere_is_a_fault() {
        let good = file(Opener::Passphrase(STRETCH), &[9; 40]);
        for at in 0..good.len() {
            let mut bad = good.clone();
            bad[at] ^= 0x40;
            let fault = decode(&bad).unwrap_err();
            let length = HEAD..HEAD + LENGTH;
            assert!(at < 8 || length.contains(&at) || fault == FormatFault::Altered, "{at}: {fault}");
        }
    }

    // Holds B-97.
    #[test]
    fn a_head_that_asks_for_more_than_the_row_allows_or_for_nothing_is_none() {
        let mut bad = vec![NO_STRETCH];
        bad.push(Stretch { memory: MOST_MEMORY + 1, ..STRETCH });
        bad.push(Stretch { passes: MOST_PASSES + 1, ..STRETCH });
        bad.push(Stretch { passes: 0, ..STRETCH });
        bad.push(Stretch { lanes: 0, ..STRETCH });
        bad.push(Stretch { lanes: 17, ..STRETCH });
        bad.push(Stretch { memory: 31, ..STRETCH });
        for stretch in bad {
            let file = file(Opener::Passphrase(stretch), b"body");
            assert_eq!(decode(&file), Err(FormatFault::Altered), "{stretch:?}");
        }
        let mut unused = head(Opener::File).encode();
        unused[50] = 1;
        assert_eq!(decode(&encode(&unused, b"body")), Err(FormatFault::Altered));
    }

    proptest! {
        #[test]
        fn any_bytes_at_all_are_judged_without_panic(bytes: Vec<u8>, length: u64, version in "[12]") {
            let _ = decode(&bytes);
            let start = [&FAMILY[..], version.as_bytes()].concat();
            let _ = decode(&[&start[..], &bytes].concat());
            let _ = decode(&[&start[..], &[0; HEAD - 8], &length.to_le_bytes(), &bytes].concat());
        }

        #[test]
        fn a_body_comes_back(body: Vec<u8>) {
            let file = file(Opener::Systemd, &body);
            prop_assert_eq!(decode(&file).unwrap().body, body.as_slice());
        }
    }
}
