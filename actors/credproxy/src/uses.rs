//! Counts of uses of each secret, with the time of the last, in the file `uses`. They are a convenience: the record proves a
//! use. A file of counts that is lost or damaged is begun again, and the vault is never touched.

use crate::store::{PRIVATE, Store};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::io;

/// The counts.
const FILE: &str = "uses";
/// The largest file of counts, bytes.
const BOUND: u64 = 64 * 1024;

/// Uses of one secret.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Uses {
    /// How often.
    pub(crate) count: u64,
    /// When last, unix ms; 0 if never.
    pub(crate) last_ms: u64,
}

/// Counts by name of the secret.
pub(crate) struct Counts {
    by_name: BTreeMap<String, Uses>,
    unsaved: bool,
}

impl Counts {
    /// The counts of the last life.
    pub(crate) fn open(store: &Store) -> Self {
        let file = store.read(FILE, BOUND).ok().flatten();
        let by_name = file.and_then(|file| serde_json::from_slice(&file.bytes).ok()).unwrap_or_default();
        Self { by_name, unsaved: false }
    }

    /// Counts one use.
    pub(crate) fn add(&mut self, name: &str, now_ms: u64) {
        let uses = self.by_name.entry(name.to_owned()).or_default();
        *uses = Uses { count: uses.count.saturating_add(1), last_ms: now_ms };
        self.unsaved = true;
    }

    /// Uses of a secret.
    pub(crate) fn of(&self, name: &str) -> Uses {
        self.by_name.get(name).copied().unwrap_or_default()
    }

    /// Forgets a secret's.
    pub(crate) fn forget(&mut self, name: &str) {
        self.unsaved |= self.by_name.remove(name).is_some();
    }

    /// Saves what has not been saved.
    pub(crate) fn save(&mut self, store: &Store) -> io::Result<()> {
        if std::mem::take(&mut self.unsaved) {
            store.replace(FILE, PRIVATE, &serde_json::to_vec(&self.by_name)?)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_outlive_a_restart_and_a_damaged_file_is_begun_again() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path()).unwrap();
        let mut counts = Counts::open(&store);
        counts.add("a", 5);
        counts.add("a", 6);
        counts.add("b", 7);
        counts.forget("b");
        counts.save(&store).unwrap();
        assert_eq!(Counts::open(&store).of("a"), Uses { count: 2, last_ms: 6 });
        assert_eq!(Counts::open(&store).of("b"), Uses::default());
        std::fs::write(folder.path().join(FILE), "{").unwrap();
        assert_eq!(Counts::open(&store).of("a"), Uses::default());
    }
}
