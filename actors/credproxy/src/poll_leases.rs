//! Recorded uses that hold for a while: a channel waits for news with one request after the other, and its secret goes out with each.
//! The first is on the record before it is sent, and those of the next 60 seconds stand under it. Pure but for the clock.

use ipc_proto::Name;
use ipc_proto::dialer::HostPort;
use manifest::Process;
use std::cell::RefCell;
use std::collections::HashMap;
use std::time::{Duration, Instant};

/// How long one record holds.
pub(crate) const LEASE: Duration = Duration::from_secs(60);

/// Leases at once; while there are as many, every use is recorded.
const MOST: usize = 1024;

/// One use that is repeated.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Poll {
    /// The channel's process.
    pub(crate) caller: Process,
    /// Its account.
    pub(crate) account: Name,
    /// The secret that goes out.
    pub(crate) secret: Name,
    /// The other end.
    pub(crate) target: HostPort,
    /// The path, without a query.
    pub(crate) path: String,
}

/// The uses that are on the record, with the time of their record.
#[derive(Default)]
pub(crate) struct PollLeases(RefCell<HashMap<Poll, Instant>>);

impl PollLeases {
    /// Returns true if this use is on the record by now.
    pub(crate) fn holds(&self, poll: &Poll) -> bool {
        self.0.borrow().get(poll).is_some_and(|since| since.elapsed() < LEASE)
    }

    /// A use whose record began at `since`. Leases that are over are forgotten.
    pub(crate) fn begin(&self, poll: Poll, since: Instant) {
        let mut leases = self.0.borrow_mut();
        leases.retain(|_, since| since.elapsed() < LEASE);
        if leases.len() < MOST {
            leases.insert(poll, since);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn poll(account: &str, path: &str) -> Poll {
        Poll {
            caller: Process::Telegram,
            account: Name::clip(account),
            secret: Name::clip("token"),
            target: "a.test:443".parse().unwrap(),
            path: path.to_owned(),
        }
    }

    #[test]
    fn beyond_its_bound_every_use_is_recorded() {
        let (leases, now) = (PollLeases::default(), Instant::now());
        for number in 0..=MOST {
            leases.begin(poll("main", &number.to_string()), now);
        }
        assert!(leases.holds(&poll("main", "0")));
        assert!(!leases.holds(&poll("main", &MOST.to_string())));
    }

    #[test]
    fn a_record_holds_for_a_minute_and_for_the_same_use_alone() {
        let (leases, now) = (PollLeases::default(), Instant::now());
        assert!(!leases.holds(&poll("main", "/news")));
        leases.begin(poll("main", "/news"), now);
        assert!(leases.holds(&poll("main", "/news")));
        assert!(!leases.holds(&poll("work", "/news")) && !leases.holds(&poll("main", "/send")));
        let Some(before) = now.checked_sub(LEASE) else { return };
        leases.begin(poll("main", "/news"), before);
        assert!(!leases.holds(&poll("main", "/news")));
    }
}
