//! Sealing bytes under keys: XChaCha20-Poly1305, and envelopes whose random data key is wrapped by another key.
//! Pure but for the kernel's randomness. Keys and opened values are overwritten when dropped.

use chacha20poly1305::aead::{Aead, KeyInit, Payload};
use chacha20poly1305::{XChaCha20Poly1305, XNonce};
use hkdf::Hkdf;
use serde::{Deserialize, Serialize};
use sha2::Sha256;
use zeroize::Zeroizing;

/// Bytes of a key.
pub(crate) const KEY: usize = 32;
/// Bytes of a nonce, which stands before the ciphertext.
const NONCE: usize = 24;

/// Why something could not be sealed or opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum EnvelopeFault {
    /// The kernel gave no random bytes.
    #[error("the kernel gave no random bytes")]
    Random,
    /// It could not be sealed: only absurd lengths come to this.
    #[error("it cannot be sealed")]
    Seal,
    /// Another key, other associated data, or altered bytes.
    #[error("it does not open")]
    Open,
}

/// A symmetric key. It has no `Debug` and no `Clone`.
pub(crate) struct Key(Zeroizing<[u8; KEY]>);

impl Key {
    /// A new one.
    pub(crate) fn random() -> Result<Self, EnvelopeFault> {
        random().map(|bytes| Self(Zeroizing::new(bytes)))
    }

    /// The key with these bytes.
    pub(crate) fn from_slice(bytes: &[u8]) -> Option<Self> {
        bytes.try_into().ok().map(|bytes| Self(Zeroizing::new(bytes)))
    }

    /// The same key a second time.
    pub(crate) fn copy(&self) -> Self {
        Self(self.0.clone())
    }

    /// Its bytes.
    pub(crate) fn bytes(&self) -> &[u8; KEY] {
        &self.0
    }

    /// Another key for `purpose`, from which this one cannot be found.
    pub(crate) fn derive(&self, purpose: &str) -> Result<Self, EnvelopeFault> {
        let mut key = Zeroizing::new([0; KEY]);
        let expander = Hkdf::<Sha256>::new(None, self.0.as_slice());
        expander.expand(purpose.as_bytes(), key.as_mut_slice()).map_err(|_| EnvelopeFault::Seal)?;
        Ok(Self(key))
    }

    /// `plain` sealed, with `associated` as what it is bound to: nonce, then ciphertext.
    pub(crate) fn seal(&self, associated: &[u8], plain: &[u8]) -> Result<Vec<u8>, EnvelopeFault> {
        let nonce: [u8; NONCE] = random()?;
        let payload = Payload { msg: plain, aad: associated };
        let sealed = self.cipher().encrypt(XNonce::from_slice(&nonce), payload);
        Ok([&nonce[..], &sealed.map_err(|_| EnvelopeFault::Seal)?].concat())
    }

    /// Opens a sealed value.
    pub(crate) fn open(&self, associated: &[u8], sealed: &[u8]) -> Result<Zeroizing<Vec<u8>>, EnvelopeFault> {
        let (nonce, ciphertext) = sealed.split_at_checked(NONCE).ok_or(EnvelopeFault::Open)?;
        let payload = Payload { msg: ciphertext, aad: associated };
        let plain = self.cipher().decrypt(XNonce::from_slice(nonce), payload);
        plain.map(Zeroizing::new).map_err(|_| EnvelopeFault::Open)
    }

    fn cipher(&self) -> XChaCha20Poly1305 {
        XChaCha20Poly1305::new(self.0.as_slice().into())
    }
}

/// A value under a data key of its own, which is wrapped by the vault's key. Both are bound to the same data.
#[derive(Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Envelope {
    #[serde(with = "base64_text")]
    key: Vec<u8>,
    #[serde(with = "base64_text")]
    value: Vec<u8>,
}

impl Envelope {
    /// Seals `plain` under a fresh data key.
    pub(crate) fn seal(wrapping: &Key, associated: &[u8], plain: &[u8]) -> Result<Self, EnvelopeFault> {
        let data = Key::random()?;
        let key = wrapping.seal(&labelled(b"key", associated), data.0.as_slice())?;
        let value = data.seal(&labelled(b"value", associated), plain)?;
        Ok(Self { key, value })
    }

    /// The same under another wrapping key: its data key is wrapped anew, its value stays as it is.
    pub(crate) fn rewrap(&self, from: &Key, to: &Key, associated: &[u8]) -> Result<Self, EnvelopeFault> {
        let associated = labelled(b"key", associated);
        let data = from.open(&associated, &self.key)?;
        Ok(Self { key: to.seal(&associated, &data)?, value: self.value.clone() })
    }

    /// The value.
    pub(crate) fn open(
        &self,
        wrapping: &Key,
        associated: &[u8],
    ) -> Result<Zeroizing<Vec<u8>>, EnvelopeFault> {
        let data = wrapping.open(&labelled(b"key", associated), &self.key)?;
        let data = Key::from_slice(&data).ok_or(EnvelopeFault::Open)?;
        data.open(&labelled(b"value", associated), &self.value)
    }
}

/// A wrapped key must never open in the place of a value, nor the other way round.
fn labelled(label: &[u8], associated: &[u8]) -> Vec<u8> {
    [label, b":", associated].concat()
}

fn random<const N: usize>() -> Result<[u8; N], EnvelopeFault> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).map_err(|_| EnvelopeFault::Random)?;
    Ok(bytes)
}

/// Bytes as base64 text in JSON.
mod base64_text {
    use base64::Engine as _;
    use base64::engine::general_purpose::STANDARD;
    use serde::de::Error as _;
    use serde::{Deserialize, Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(bytes: &[u8], serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&STANDARD.encode(bytes))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<u8>, D::Error> {
        let text = String::deserialize(deserializer)?;
        STANDARD.decode(text).map_err(|_| D::Error::custom("not base64"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn an_envelope_opens_only_with_its_key_and_its_associated_data(
            plain: Vec<u8>, associated: Vec<u8>, other: Vec<u8>,
        ) {
            let (key, wrong) = (Key::random().unwrap(), Key::random().unwrap());
            let envelope = Envelope::seal(&key, &associated, &plain).unwrap();
            prop_assert_eq!(envelope.open(&key, &associated).unwrap().to_vec(), plain);
            prop_assert!(envelope.open(&wrong, &associated).is_err());
            prop_assert!(other == associated || envelope.open(&key, &other).is_err());
        }

        #[test]
        fn no_altered_byte_and_no_cut_goes_unseen(plain: Vec<u8>, at: prop::sample::Index, bit in 0..8_u8) {
            let key = Key::random().unwrap();
            let mut sealed = key.seal(b"bound", &plain).unwrap();
            let at = at.index(sealed.len());
            prop_assert!(key.open(b"bound", &sealed[..at]).is_err());
            sealed[at] ^= 1 << bit;
            prop_assert!(key.open(b"bound", &sealed).is_err());
        }
    }

    #[test]
    fn the_same_value_sealed_twice_shares_no_byte_run() {
        let key = Key::random().unwrap();
        let (one, other) =
            (Envelope::seal(&key, b"", &[7; 64]).unwrap(), Envelope::seal(&key, b"", &[7; 64]).unwrap());
        assert_ne!(one.key, other.key);
        assert!(one.value.windows(8).all(|run| !other.value.windows(8).any(|there| there == run)));
    }

    #[test]
    fn an_envelope_that_is_wrapped_anew_opens_with_the_new_key_alone() {
        let (old, new) = (Key::random().unwrap(), Key::random().unwrap());
        let envelope = Envelope::seal(&old, b"x", b"value").unwrap();
        let moved = envelope.rewrap(&old, &new, b"x").unwrap();
        assert_eq!(moved.open(&new, b"x").unwrap().to_vec(), b"value");
        assert!(moved.open(&old, b"x").is_err() && moved.value == envelope.value);
        assert!(envelope.rewrap(&new, &old, b"x").is_err() && envelope.rewrap(&old, &new, b"y").is_err());
    }

    #[test]
    fn a_wrapped_key_does_not_open_as_a_value() {
        let key = Key::random().unwrap();
        let envelope = Envelope::seal(&key, b"x", b"value").unwrap();
        let swapped = Envelope { key: envelope.key.clone(), value: envelope.key };
        assert!(swapped.open(&key, b"x").is_err());
        assert_ne!(key.derive("one").unwrap().bytes(), key.derive("two").unwrap().bytes());
    }
}
