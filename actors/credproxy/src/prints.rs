//! What the scanner is told of the live secrets: keyed hashes, from which nobody gets a value back, with a key that
//! is new at each start. Pure but for the randomness of that key.

use crate::login;
use crate::secret::Secret;
use hmac::{Hmac, Mac};
use ipc_proto::List;
use ipc_proto::credproxy::{Fingerprint, Fingerprints, WINDOW, window};
use sha2::Sha256;
use zeroize::Zeroizing;

/// Makes fingerprints, all with one key, each time of a new version.
pub(crate) struct Printer {
    key: Zeroizing<[u8; 32]>,
    version: u64,
}

impl Printer {
    /// A printer with a key of its own. Its versions begin at a random number, so that whoever knows those of an
    /// earlier life never takes a new one for what it has.
    pub(crate) fn new() -> Result<Self, getrandom::Error> {
        let mut key = Zeroizing::new([0; 32]);
        getrandom::fill(&mut *key)?;
        let mut first = [0; 4];
        getrandom::fill(&mut first)?;
        Ok(Self { key, version: u64::from(u32::from_le_bytes(first)) << 32 })
    }

    /// The fingerprints of these secrets.
    pub(crate) fn print(&mut self, secrets: &[Secret]) -> Fingerprints {
        self.version += 1;
        let prints = secrets.iter().flat_map(login::parts).filter_map(|part| self.one(part.reveal()));
        Fingerprints { version: self.version, key: *self.key, prints: List::clip(prints) }
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

#[cfg(test)]
mod tests {
    use super::*;

    fn secrets(values: &[&str]) -> Vec<Secret> {
        let secret = |value: &&str| Secret::new(Zeroizing::new(value.as_bytes().to_vec())).unwrap();
        values.iter().map(secret).collect()
    }

    #[test]
    fn a_fingerprint_depends_on_the_whole_value_and_on_the_key() {
        let mut printer = Printer::new().unwrap();
        let made = printer.print(&secrets(&["hunter2-one", "hunter2-two", "hunter2-one"]));
        let (one, two, again) = (made.prints[0], made.prints[1], made.prints[2]);
        assert_eq!(one, again);
        assert!(one.whole != two.whole && one.window == two.window && one.length == 11);
        let other = Printer::new().unwrap().print(&secrets(&["hunter2-one"]));
        assert!(other.key != made.key && other.prints[0].whole != one.whole);
    }

    #[test]
    fn versions_grow_with_every_change_and_another_start_has_others() {
        let mut printer = Printer::new().unwrap();
        let versions: Vec<u64> = (0..3).map(|_| printer.print(&[]).version).collect();
        assert!(versions.is_sorted_by(|one, next| one < next), "{versions:?}");
        let (one, other) = (Printer::new().unwrap().print(&[]).version, printer.print(&[]).version);
        assert_ne!(one >> 32, other >> 32);
    }
}
