//! Leases: a runner has its turn for as long as something is heard of it. Each request of the gate about a turn is a sign of life, and so
//! is the heartbeat that it sends while a turn runs and nothing else is to be said. The clock is this process's own; a router that
//! comes back gives every turn a new lease.

use std::time::{Duration, Instant};

/// How long after its deadline, or its lease, a runner is given up of which nothing is heard. agentd ends it much earlier.
pub(crate) const GRACE: Duration = Duration::from_secs(30);
/// How long a turn that is under way may go without a sign of life. The gate beats far more often.
pub(crate) const LEASE: Duration = Duration::from_secs(45);

/// Why a turn is retried after its lease ran out.
pub(crate) const UNHEARD: &str = "nothing was heard of its runner for 45 s, and it was ended";

/// How long a runner has its turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lease {
    /// Until then, unless something is heard before.
    Held(Instant),
    /// It ran out, and agentd is to end the runner. A runner whose end agentd does not report until then is given up: it may never
    /// have been launched.
    Lapsed(Instant),
}

/// The state of a lease when it is checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Found {
    Holds,
    HasLapsed,
    IsGone,
}

impl Lease {
    /// A new lease.
    pub(crate) fn from(now: Instant) -> Self {
        Self::Held(now + LEASE)
    }

    /// A sign of life. It comes too late for a lease that ran out: the runner is being ended.
    pub(crate) fn renew(&mut self, now: Instant) {
        if matches!(self, Self::Held(_)) {
            *self = Self::from(now);
        }
    }

    /// Checks whether it has run out by now.
    pub(crate) fn check(&mut self, now: Instant) -> Found {
        match *self {
            Self::Held(until) if until <= now => {
                *self = Self::Lapsed(now + GRACE);
                Found::HasLapsed
            }
            Self::Lapsed(until) if until <= now => Found::IsGone,
            Self::Held(_) | Self::Lapsed(_) => Found::Holds,
        }
    }

    /// Returns true if the runner was ended for want of a sign of life.
    pub(crate) const fn has_lapsed(&self) -> bool {
        matches!(self, Self::Lapsed(_))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Holds P7-61.
    #[test]
    fn a_lease_holds_from_the_last_sign_of_life_and_ends_for_good() {
        let now = Instant::now();
        let second = Duration::from_secs(1);
        let mut lease = Lease::from(now);
        assert_eq!(lease.check(now + LEASE - second), Found::Holds);
        lease.renew(now + LEASE - second);
        assert_eq!(lease.check(now + LEASE + second), Found::Holds);
        let over = now + LEASE + LEASE;
        assert_eq!(lease.check(over), Found::HasLapsed);
        lease.renew(over);
        assert!(lease.has_lapsed(), "a sign that comes too late changes nothing");
        assert_eq!(lease.check(over + GRACE - second), Found::Holds);
        assert_eq!(lease.check(over + GRACE), Found::IsGone);
    }
}
