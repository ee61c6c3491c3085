//! The key that agentctl seals to. It is made at each start and its secret half is never written: what was sealed to a
//! life that is over opens for nobody any more, and there is one while the vault is locked. This file may write
//! `public.key`.

use crate::store::{PUBLIC, Store};
use crypto_box::SecretKey;
use data_encoding::HEXLOWER_PERMISSIVE as HEX;
use ipc_proto::credproxy::{CredError, Purpose, open_parcel};
use zeroize::Zeroizing;

/// The key to seal to: 64 hexadecimal digits and a line end, 0644.
pub(crate) const PUBLIC_FILE: &str = "public.key";

/// Opens what was sealed to this life.
pub(crate) struct Door {
    secret: SecretKey,
}

impl Door {
    /// Makes a key and shows its public half. Where that cannot be written, secrets that are there are used all the same.
    pub(crate) fn open(store: &Store) -> Self {
        let door = Self { secret: SecretKey::generate(&mut crypto_box::aead::OsRng) };
        let line = format!("{}\n", HEX.encode(door.secret.public_key().as_bytes()));
        if let Err(cause) = store.replace(PUBLIC_FILE, PUBLIC, line.as_bytes()) {
            tracing::error!(%cause, "public.key cannot be written: nothing can be sealed to this life");
        }
        door
    }

    /// What was sealed.
    pub(crate) fn unseal(&self, sealed: &[u8]) -> Result<Zeroizing<Vec<u8>>, CredError> {
        self.secret.unseal(sealed).map(Zeroizing::new).map_err(|_| CredError::NotSealed)
    }

    /// The parts of a parcel that was sealed for this purpose.
    pub(crate) fn parcel<const N: usize>(
        &self,
        purpose: Purpose,
        sealed: &[u8],
    ) -> Result<[Zeroizing<Vec<u8>>; N], CredError> {
        let plain = self.unseal(sealed)?;
        let parts = open_parcel::<N>(purpose, &plain).ok_or(CredError::NotSealed)?;
        Ok(parts.map(|part| Zeroizing::new(part.to_vec())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ipc_proto::credproxy::parcel;

    #[test]
    fn every_life_has_a_key_of_its_own_and_opens_nothing_of_another() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path()).unwrap();
        let one = Door::open(&store);
        let shown = store.read(PUBLIC_FILE, 128).unwrap().unwrap();
        assert_eq!((shown.mode, shown.bytes.len()), (PUBLIC, 65));
        let seal = |door: &Door| {
            let plain = parcel(Purpose::Unlock, &[b"a passphrase"]);
            door.secret.public_key().seal(&mut crypto_box::aead::OsRng, &plain).unwrap()
        };
        let [passphrase] = one.parcel(Purpose::Unlock, &seal(&one)).unwrap();
        assert_eq!(*passphrase, b"a passphrase");
        assert!(one.parcel::<1>(Purpose::Export, &seal(&one)).is_err());
        let other = Door::open(&store);
        assert_ne!(store.read(PUBLIC_FILE, 128).unwrap().unwrap().bytes, shown.bytes);
        assert!(other.unseal(&seal(&one)).is_err());
    }
}
