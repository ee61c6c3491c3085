//! Where the vault's key comes from: a key file, a passphrase, a credential. It may read and replace the key files of
//! the own folder. It never makes a key where a vault is that another one opens.

use super::fault::VaultFault;
use crate::envelope::Key;
use crate::format::{KeyId, Stretch};
use crate::store::{PRIVATE, Store};
use argon2::{Algorithm, Argon2, Block, Params, Version};
use data_encoding::HEXLOWER_PERMISSIVE as HEX;
use ipc_proto::config::KeySource;
use sha2::{Digest, Sha256};
use std::fs::File;
use std::io::Read;
use zeroize::{Zeroize, Zeroizing};

/// The key file: 64 hexadecimal digits and a line end, 0600.
pub(crate) const KEY_FILE: &str = "vault.key";
/// The key that is about to take its place.
pub(crate) const NEXT_KEY_FILE: &str = "vault.key.next";
/// Bytes of a credential, at least and at most.
const CREDENTIAL: (usize, usize) = (32, 1024);
/// Argon2id for a new passphrase (RFC 9106, section 4, the second choice): 64 MiB, three passes, four lanes.
const STRETCH: (u32, u32, u32) = (64 * 1024, 3, 4);

/// The sources of keys that the configuration and agentd give.
pub(crate) struct Sources {
    /// The source for a new vault, and for one that is rotated.
    pub(crate) want: KeySource,
    /// The key of the credential, if there is one.
    pub(crate) credential: Option<Key>,
}

impl Sources {
    /// Reads the credential, where one was handed over.
    pub(crate) fn new(want: KeySource, credential: Option<File>) -> Result<Self, VaultFault> {
        let credential = credential.map(|file| {
            let mut bytes = Zeroizing::new(Vec::with_capacity(CREDENTIAL.1 + 2));
            let read = file.take(CREDENTIAL.1 as u64 + 2).read_to_end(&mut bytes);
            read.map_err(|cause| VaultFault::File("the credential", cause))?;
            of_credential(&bytes)
        });
        // A bad credential that opens nothing, and is to open nothing, is no error.
        let credential = match credential {
            Some(Err(_)) if want != KeySource::Systemd => None,
            other => other.transpose()?,
        };
        Ok(Self { want, credential })
    }
}

/// The id of a key, which says nothing else about it.
pub(super) fn id(key: &Key) -> Result<KeyId, VaultFault> {
    let mut id = KeyId::default();
    let named = key.derive("cordon vault: key id").map_err(VaultFault::Envelope)?;
    id.iter_mut().zip(named.bytes()).for_each(|(to, from)| *to = *from);
    Ok(id)
}

/// The key in this file, if the file is there.
pub(super) fn read(store: &Store, name: &'static str) -> Result<Option<Key>, VaultFault> {
    let file = store.read(name, 128).map_err(|cause| VaultFault::File(name, cause))?;
    let Some(file) = file else { return Ok(None) };
    let text = Zeroizing::new(file.bytes);
    if file.mode & 0o077 != 0 {
        return Err(VaultFault::OpenKey(file.mode));
    }
    of_digits(&text).ok_or(VaultFault::BadKey(name)).map(Some)
}

/// Writes a key to this file.
pub(super) fn write(store: &Store, name: &'static str, key: &Key) -> Result<(), VaultFault> {
    let line = Zeroizing::new(format!("{}\n", *Zeroizing::new(HEX.encode(key.bytes()))));
    store.replace(name, PRIVATE, line.as_bytes()).map_err(|cause| VaultFault::File(name, cause))
}

/// The key that 64 hexadecimal digits are.
pub(super) fn of_digits(text: &[u8]) -> Option<Key> {
    Key::from_slice(&Zeroizing::new(HEX.decode(text.trim_ascii_end()).ok()?))
}

/// The key of a credential: 64 hexadecimal digits, or any 32 bytes and more, of which the key is made. No passphrase:
/// nothing makes it slow to guess.
pub(super) fn of_credential(bytes: &[u8]) -> Result<Key, VaultFault> {
    if let Some(key) = of_digits(bytes) {
        return Ok(key);
    }
    if !(CREDENTIAL.0..=CREDENTIAL.1).contains(&bytes.len()) {
        return Err(VaultFault::BadCredential);
    }
    let digest = Zeroizing::new(<[u8; 32]>::from(Sha256::digest(bytes)));
    let key = Key::from_slice(&*digest).ok_or(VaultFault::BadCredential)?;
    key.derive("cordon vault: credential").map_err(VaultFault::Envelope)
}

impl Stretch {
    /// How a new passphrase is stretched.
    pub(super) fn fresh() -> Result<Self, VaultFault> {
        let mut salt = [0; 16];
        getrandom::fill(&mut salt).map_err(VaultFault::Random)?;
        let (memory, passes, lanes) = STRETCH;
        Ok(Self { salt, memory, passes, lanes })
    }

    /// The key of a passphrase. It takes a good part of a second and the memory that it states, which is overwritten.
    pub(super) fn key(&self, passphrase: &[u8]) -> Result<Key, VaultFault> {
        let refused = |_| VaultFault::Stretch;
        let params = Params::new(self.memory, self.passes, self.lanes, Some(32)).map_err(refused)?;
        let mut blocks = vec![Block::default(); params.block_count()];
        let mut key = Zeroizing::new([0; 32]);
        let argon2 = Argon2::new(Algorithm::Argon2id, Version::V0x13, params);
        let made =
            argon2.hash_password_into_with_memory(passphrase, &self.salt, key.as_mut_slice(), &mut blocks);
        blocks.iter_mut().for_each(Zeroize::zeroize);
        made.map_err(refused)?;
        Key::from_slice(key.as_slice()).ok_or(VaultFault::Stretch)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As Python's `cryptography` has it: `Argon2id(salt=b"somesalt16bytes!", length=32, iterations=2, lanes=1,
    /// memory_cost=256).derive(b"a passphrase")`.
    const KNOWN: &str = "b378afbb91d48c32b3df5b34202e7154bbf45f0686558da72e06e7fbfbfd586c";

    #[test]
    fn a_passphrase_gives_another_key_with_any_other_parameter() {
        let stretch = Stretch { salt: *b"somesalt16bytes!", memory: 256, passes: 2, lanes: 1 };
        let key = |stretch: Stretch, passphrase: &[u8]| *stretch.key(passphrase).unwrap().bytes();
        let one = key(stretch, b"a passphrase");
        assert_eq!(HEX.encode(&one), KNOWN);
        let others = [
            key(stretch, b"a passphrasf"),
            key(Stretch { salt: [1; 16], ..stretch }, b"a passphrase"),
            key(Stretch { memory: 257, ..stretch }, b"a passphrase"),
            key(Stretch { passes: 3, ..stretch }, b"a passphrase"),
            key(Stretch { lanes: 2, ..stretch }, b"a passphrase"),
        ];
        assert!(others.iter().all(|other| *other != one));
    }

    // Holds B-96.
    #[test]
    fn a_new_passphrase_is_stretched_over_64_mib_with_its_own_salt() {
        let (one, other) = (Stretch::fresh().unwrap(), Stretch::fresh().unwrap());
        assert_eq!((one.memory, one.passes, one.lanes), (65_536, 3, 4));
        assert_ne!(one.salt, other.salt);
        assert!(one.key(b"a passphrase").is_ok());
    }

    #[test]
    fn a_credential_is_digits_or_bytes_and_too_many_to_guess() {
        let digits = of_credential(format!("{}\n", "0f".repeat(32)).as_bytes()).unwrap();
        assert_eq!(digits.bytes(), &[0x0f; 32]);
        let (one, other) = (of_credential(&[7; 32]).unwrap(), of_credential(&[7; 33]).unwrap());
        assert!(one.bytes() != other.bytes() && one.bytes() != &[7; 32]);
        for bad in [&b""[..], b"short", &[7; 31], &[7; 1025]] {
            assert!(matches!(of_credential(bad), Err(VaultFault::BadCredential)), "{}", bad.len());
        }
    }
}
