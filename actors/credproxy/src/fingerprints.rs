//! Fingerprints of the live secrets for the scanner: keyed hashes, from which nobody gets a value back, with a key that is
//! new at each start. Pure but for the randomness of that key.

use crate::folding::{folded, has_characters, reversed};
use crate::login_value;
use crate::secret::Secret;
use hmac::{Hmac, Mac};
use ipc_proto::List;
use ipc_proto::credproxy::{Fingerprint, Fingerprints, WINDOW, window};
use sha2::Sha256;
use zeroize::Zeroizing;

/// Makes fingerprints, all with one key, and with a new version each time.
pub(crate) struct FingerprintMaker {
    key: Zeroizing<[u8; 32]>,
    version: u64,
}

impl FingerprintMaker {
    /// A maker with a key of its own. Its versions begin at a random number, so that a scanner that knows a version of an
    /// earlier life never takes a new one for it.
    pub(crate) fn new() -> Result<Self, getrandom::Error> {
        let mut key = Zeroizing::new([0; 32]);
        getrandom::fill(&mut *key)?;
        let mut first = [0; 4];
        getrandom::fill(&mut first)?;
        Ok(Self { key, version: u64::from(u32::from_le_bytes(first)) << 32 })
    }

    /// The fingerprints of these secrets.
    pub(crate) fn make(&mut self, secrets: &[Secret]) -> Fingerprints {
        self.version += 1;
        let parts = secrets.iter().flat_map(login_value::parts);
        let made = parts.flat_map(|part| forms(part.reveal())).filter_map(|form| self.one(&form));
        Fingerprints { version: self.version, key: *self.key, prints: List::clip(made) }
    }

    fn one(&self, value: &[u8]) -> Option<Fingerprint> {
        let mac = Hmac::<Sha256>::new_from_slice(&*self.key).ok()?.chain_update(value);
        Some(Fingerprint {
            length: u32::try_from(value.len()).ok()?,
            window: window(&self.key, value.get(..WINDOW)?.try_into().ok()?),
            whole: mac.finalize().into_bytes().into(),
        })
    }
}

/// The forms that the scanner compares texts with: forwards and backwards. One of mostly white space stays as it is.
fn forms(value: &[u8]) -> [Zeroizing<Vec<u8>>; 2] {
    let forms = [Zeroizing::new(value.to_vec()), reversed(value)];
    if has_characters(value) { forms.map(folded) } else { forms }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn secrets(values: &[&str]) -> Vec<Secret> {
        let secret = |value: &&str| Secret::new(Zeroizing::new(value.as_bytes().to_vec())).unwrap();
        values.iter().map(secret).collect()
    }

    #[test]
    fn a_fingerprint_depends_on_the_whole_value_and_on_the_key() {
        let mut maker = FingerprintMaker::new().unwrap();
        let made = maker.make(&secrets(&["hunter2-one", "hunter2-two", "hunter2-one"]));
        let (one, two, again) = (made.prints[0], made.prints[2], made.prints[4]);
        assert_eq!(one, again);
        assert!(one.whole != two.whole && one.window == two.window && one.length == 11);
        let other = FingerprintMaker::new().unwrap().make(&secrets(&["hunter2-one"]));
        assert!(other.key != made.key && other.prints[0].whole != one.whole);
    }

    #[test]
    fn a_value_has_one_fingerprint_in_any_case_and_spacing_and_one_backwards() {
        let mut maker = FingerprintMaker::new().unwrap();
        let made =
            maker.make(&secrets(&["Hunter2 One", "hunter2one", "eno2retnuh", "ab      C", "AB      C"]));
        let whole: Vec<[u8; 32]> = made.prints.iter().map(|print| print.whole).collect();
        assert_eq!(whole[0..2], whole[2..4]);
        assert_eq!([whole[0], whole[1]], [whole[5], whole[4]]);
        assert_ne!(whole[6..8], whole[8..10], "one of mostly white space is told by its bytes");
    }

    #[test]
    fn versions_grow_with_every_change_and_another_start_has_others() {
        let mut maker = FingerprintMaker::new().unwrap();
        let versions: Vec<u64> = (0..3).map(|_| maker.make(&[]).version).collect();
        assert!(versions.is_sorted_by(|one, next| one < next), "{versions:?}");
        let (one, other) = (FingerprintMaker::new().unwrap().make(&[]).version, maker.make(&[]).version);
        assert_ne!(one >> 32, other >> 32);
    }
}
