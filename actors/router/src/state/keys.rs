//! The keys of the API, in memory. Only the hash of a key is stored.

use crate::store::Key;
use ipc_proto::api::Presented;
use ipc_proto::ids::KeyId;
use sha2::{Digest, Sha256};
use std::collections::{BTreeSet, HashMap};
use std::time::{Duration, Instant};
use subtle::ConstantTimeEq;

/// All keys, and their uses that are not stored yet.
#[derive(Default)]
pub(crate) struct Keys {
    /// Newest first.
    pub(crate) all: Vec<Key>,
    /// Keys whose last use is not stored yet.
    pub(crate) touched: BTreeSet<KeyId>,
    pub(crate) refusals: Refusals,
}

/// Refusals in the current span of time: a client without rights must not fill the record.
#[derive(Default)]
pub(crate) struct Refusals {
    since: Option<Instant>,
    counts: HashMap<String, u32>,
}

impl Keys {
    pub(crate) fn new(all: Vec<Key>) -> Self {
        Self { all, ..Self::default() }
    }

    /// The key that this presents, revoked or not. Every key is compared in full: the time it takes does not show how near a guess came.
    pub(crate) fn presented(&mut self, presented: &Presented) -> Option<&mut Key> {
        let hash = hash_of(presented);
        self.all
            .iter_mut()
            .fold(None, |found, key| if bool::from(key.hash.ct_eq(&hash)) { Some(key) } else { found })
    }

    pub(crate) fn living(&self, name: &str) -> Option<&Key> {
        self.all.iter().find(|key| key.revoked_ms.is_none() && key.name.as_str() == name)
    }
}

impl Refusals {
    /// Refusals for one reason that go on the record in one span of time, and the number of different reasons.
    const MOST: (u32, usize) = (30, 64);
    const SPAN: Duration = Duration::from_secs(60);

    pub(crate) fn admits(&mut self, reason: &str, now: Instant) -> bool {
        if self.since.is_none_or(|since| now.saturating_duration_since(since) >= Self::SPAN) {
            self.since = Some(now);
            self.counts.clear();
        }
        let (most, reasons) = Self::MOST;
        if self.counts.len() >= reasons && !self.counts.contains_key(reason) {
            return false;
        }
        let count = self.counts.entry(reason.to_owned()).or_default();
        *count = count.saturating_add(1);
        *count <= most
    }
}

/// The hash by which a presented key is known.
pub(crate) fn hash_of(presented: &Presented) -> [u8; 32] {
    Sha256::digest(presented.0).into()
}
