//! The key that agentctl seals to. It opens one parcel and is then replaced, as it is at each start, and its secret half is
//! never written. So the carrier of a parcel cannot have it opened again, neither now nor after a restart. There is a key
//! while the vault is locked. This file may write `public.key`.

use crate::store::{PUBLIC, Store};
use crypto_box::SecretKey;
use data_encoding::HEXLOWER_PERMISSIVE as HEX;
use ipc_proto::credproxy::{CredError, Purpose, open_parcel};
use std::sync::Arc;
use zeroize::Zeroizing;

/// The key to seal to: 64 hexadecimal digits and a line end, 0644.
pub(crate) const PUBLIC_FILE: &str = "public.key";

/// Bytes of that file.
const PUBLIC_BYTES: u64 = 65;

/// The key pair whose public half is shown.
pub(crate) struct SealingKey {
    store: Arc<Store>,
    secret: SecretKey,
}

impl SealingKey {
    /// Makes a key and shows its public half. Where that cannot be written, secrets that are there are used all the same.
    pub(crate) fn open(store: &Arc<Store>) -> Self {
        let secret = SecretKey::generate(&mut crypto_box::aead::OsRng);
        if let Err(cause) = store.replace(PUBLIC_FILE, PUBLIC, line(&secret).as_bytes()) {
            tracing::error!(%cause, "public.key cannot be written: nothing can be sealed to this life");
        }
        Self { store: Arc::clone(store), secret }
    }

    /// Opens a sealed parcel, once: unless the next key can be shown, nothing is given out.
    pub(crate) fn unseal(&mut self, sealed: &[u8]) -> Result<Zeroizing<Vec<u8>>, CredError> {
        let plain = self.secret.unseal(sealed).map(Zeroizing::new).map_err(|_| CredError::NotSealed)?;
        let next = SecretKey::generate(&mut crypto_box::aead::OsRng);
        let shown = self.store.replace(PUBLIC_FILE, PUBLIC, line(&next).as_bytes());
        if let Err(cause) = shown {
            tracing::error!(%cause, "public.key cannot be replaced: what was sealed to it is refused");
            // It may be there all the same, and the last step have failed.
            let there = self.store.read(PUBLIC_FILE, PUBLIC_BYTES).ok().flatten();
            if there.is_some_and(|file| file.bytes == line(&next).as_bytes()) {
                self.secret = next;
            }
            return Err(CredError::Vault);
        }
        self.secret = next;
        Ok(plain)
    }

    /// The parts of a parcel that was sealed for this purpose.
    pub(crate) fn parcel<const N: usize>(
        &mut self,
        purpose: Purpose,
        sealed: &[u8],
    ) -> Result<[Zeroizing<Vec<u8>>; N], CredError> {
        let plain = self.unseal(sealed)?;
        let parts = open_parcel::<N>(purpose, &plain).ok_or(CredError::NotSealed)?;
        Ok(parts.map(|part| Zeroizing::new(part.to_vec())))
    }
}

fn line(secret: &SecretKey) -> String {
    format!("{}\n", HEX.encode(secret.public_key().as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use ipc_proto::credproxy::parcel;

    // Holds P4-22, P4-26.
    #[test]
    fn every_life_has_a_key_of_its_own_and_opens_nothing_of_another() {
        let folder = tempfile::tempdir().unwrap();
        let store = Arc::new(Store::open(folder.path()).unwrap());
        let mut one = SealingKey::open(&store);
        let shown = store.read(PUBLIC_FILE, 128).unwrap().unwrap();
        assert_eq!((shown.mode, shown.bytes.len()), (PUBLIC, 65));
        let seal = |sealing_key: &SealingKey| {
            let plain = parcel(Purpose::Unlock, &[b"a passphrase"]);
            sealing_key.secret.public_key().seal(&mut crypto_box::aead::OsRng, &plain).unwrap()
        };
        let [passphrase] = one.parcel(Purpose::Unlock, &seal(&one)).unwrap();
        assert_eq!(*passphrase, b"a passphrase");
        assert!(one.parcel::<1>(Purpose::Export, &seal(&one)).is_err());
        let mut other = SealingKey::open(&store);
        assert_ne!(store.read(PUBLIC_FILE, 128).unwrap().unwrap().bytes, shown.bytes);
        assert!(other.unseal(&seal(&one)).is_err());
    }

    // Holds P4-22.
    #[test]
    fn a_parcel_opens_once_and_only_if_the_next_key_can_be_shown() {
        let folder = tempfile::tempdir().unwrap();
        let store = Arc::new(Store::open(folder.path()).unwrap());
        let mut sealing_key = SealingKey::open(&store);
        let seal = |sealing_key: &SealingKey| {
            sealing_key.secret.public_key().seal(&mut crypto_box::aead::OsRng, b"a value").unwrap()
        };
        let (first, second) = (seal(&sealing_key), seal(&sealing_key));
        assert_eq!(*sealing_key.unseal(&first).unwrap(), b"a value");
        for again in [&first, &second] {
            assert_eq!(sealing_key.unseal(again).unwrap_err(), CredError::NotSealed);
        }
        let shown = store.read(PUBLIC_FILE, 128).unwrap().unwrap().bytes;
        assert_eq!(shown, line(&sealing_key.secret).as_bytes());
        // A folder in its place cannot be replaced.
        let third = seal(&sealing_key);
        std::fs::create_dir(folder.path().join("public.key.new")).unwrap();
        assert_eq!(sealing_key.unseal(&third).unwrap_err(), CredError::Vault);
        std::fs::remove_dir(folder.path().join("public.key.new")).unwrap();
        assert_eq!(*sealing_key.unseal(&third).unwrap(), b"a value");
    }
}
