//! The callers and their rights, as router reported them a moment ago, and the addresses that presented wrong keys.

use crate::lock::lock;
use ipc_proto::api::{Caller, Holder};
use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// How long a report of router holds.
const FRESH: Duration = Duration::from_secs(1);
/// Callers that are remembered.
const CALLERS: usize = 512;
/// Wrong keys of one address within a minute, before it is told to wait.
const FAILURES: u32 = 20;
/// Addresses whose refusals are counted.
const ADDRESSES: usize = 1024;
const MINUTE: Duration = Duration::from_secs(60);

/// The callers that are known.
#[derive(Default)]
pub(crate) struct KnownCallers {
    holders: Mutex<HashMap<Caller, (Instant, Arc<Holder>)>>,
    /// When router last failed to answer while a reply was under way.
    silent: Mutex<Option<Instant>>,
    failures: Mutex<HashMap<IpAddr, (Instant, u32)>>,
}

impl KnownCallers {
    /// The rights of a caller, if router reported them a moment ago.
    pub(crate) fn fresh(&self, caller: Caller) -> Option<Arc<Holder>> {
        let (when, holder) = lock(&self.holders).get(&caller).cloned()?;
        (when.elapsed() < FRESH).then_some(holder)
    }

    /// Forgets a caller without a user.
    pub(crate) fn forget(&self, caller: Caller) {
        lock(&self.holders).remove(&caller);
    }

    /// Router has not answered while a reply was under way.
    pub(crate) fn set_silent(&self) {
        *lock(&self.silent) = Some(Instant::now());
    }

    /// Returns true if router was asked about this caller, or did not answer, a moment ago.
    pub(crate) fn is_fresh(&self, caller: Caller) -> bool {
        let reported = lock(&self.holders).get(&caller).map(|(when, _)| *when);
        [reported, *lock(&self.silent)].into_iter().flatten().any(|when| when.elapsed() < FRESH)
    }

    pub(crate) fn remember(&self, caller: Caller, holder: &Arc<Holder>) {
        let mut holders = lock(&self.holders);
        if holders.len() >= CALLERS {
            holders.retain(|_, (when, _)| when.elapsed() < FRESH);
        }
        if holders.len() < CALLERS {
            holders.insert(caller, (Instant::now(), Arc::clone(holder)));
        }
    }

    /// Counts a wrong key of an address. Returns true if it has presented too many.
    pub(crate) fn failed(&self, address: IpAddr, now: Instant) -> bool {
        let mut failures = lock(&self.failures);
        let over = |since: Instant| now.saturating_duration_since(since) >= MINUTE;
        if failures.len() >= ADDRESSES {
            failures.retain(|_, (since, _)| !over(*since));
        }
        if failures.len() >= ADDRESSES && !failures.contains_key(&address) {
            return true;
        }
        let (since, count) = failures.entry(address).or_insert((now, 0));
        if over(*since) {
            (*since, *count) = (now, 0);
        }
        *count += 1;
        *count > FAILURES
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::Ipv4Addr;

    const LOCAL: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

    // Holds B-160.
    #[test]
    fn an_address_with_too_many_wrong_keys_is_told_to_wait_and_no_other_is() {
        let (known, now) = (KnownCallers::default(), Instant::now());
        for _ in 0..FAILURES {
            assert!(!known.failed(LOCAL, now));
        }
        assert!(known.failed(LOCAL, now));
        assert!(!known.failed(IpAddr::V4(Ipv4Addr::new(127, 0, 0, 2)), now));
        assert!(!known.failed(LOCAL, now + MINUTE), "the count begins again");
    }
}
