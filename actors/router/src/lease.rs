//! Leases: a runner has its turn for as long as something is heard of it. What the gate asks of router about a turn
//! is a sign of life, and so is the beat that it sends while a turn is under way and nothing else is to be said. The
//! clock is this process's own; a router that comes back gives every turn a new lease.

use crate::desk::{Desk, Live, Phase};
use crate::falling::Fall;
use crate::launch::GRACE;
use ipc_proto::ids::TurnId;
use std::time::{Duration, Instant};

/// How long a turn that is under way may go without a sign of life. The gate beats far more often.
pub(crate) const LEASE: Duration = Duration::from_secs(45);
/// A desk that did not get to look for so long was not there to hear anybody: stopped, or starved.
const STALLED: Duration = Duration::from_secs(5);

/// How long a runner has its turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lease {
    /// Until then, unless something is heard before.
    Held(Instant),
    /// It ran out, and agentd is to end the runner. One of which it does not say so until then is given up: it may
    /// never have been launched.
    Lapsed(Instant),
}

/// What a look at a lease comes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Found {
    Holds,
    HasLapsed,
    IsGone,
}

impl Lease {
    /// A new one.
    pub(crate) fn from(now: Instant) -> Self {
        Self::Held(now + LEASE)
    }

    /// A sign of life. It comes too late for a lease that ran out: the runner is being ended.
    fn renew(&mut self, now: Instant) {
        if matches!(self, Self::Held(_)) {
            *self = Self::from(now);
        }
    }

    fn look(&mut self, now: Instant) -> Found {
        match *self {
            Self::Held(until) if until <= now => {
                *self = Self::Lapsed(now + GRACE);
                Found::HasLapsed
            }
            Self::Lapsed(until) if until <= now => Found::IsGone,
            Self::Held(_) | Self::Lapsed(_) => Found::Holds,
        }
    }

    /// Returns whether the runner was ended for want of a sign of life.
    pub(crate) const fn has_lapsed(&self) -> bool {
        matches!(self, Self::Lapsed(_))
    }
}

impl Desk {
    /// Something was heard of a turn.
    pub(crate) fn heard_of(&mut self, turn: TurnId) {
        let now = self.now.at;
        if let Some(Live { phase: Phase::Running(lease), .. }) = self.live_turn(turn) {
            lease.renew(now);
        }
    }

    /// Ends runners of which nothing was heard for too long. Their turns are taken up again once agentd says that
    /// they have ended, so that nobody runs twice at once.
    pub(crate) fn look_at_leases(&mut self) {
        let now = self.now.at;
        let stalled = now.saturating_duration_since(std::mem::replace(&mut self.looked, now)) >= STALLED;
        for seq in self.live_where(|live| matches!(live.phase, Phase::Running(_))) {
            let Some(Live { head, phase: Phase::Running(lease), .. }) = self.live(seq) else { continue };
            if stalled {
                lease.renew(now);
            }
            let turn = head.turn;
            match lease.look(now) {
                Found::Holds => {}
                Found::HasLapsed => {
                    tracing::warn!(%turn, "nothing is heard of a runner; it is ended");
                    self.kill(turn);
                }
                Found::IsGone => self.fall(seq, Fall { why: UNHEARD.into(), lost: false, began: true }),
            }
        }
    }
}

/// Why a turn is taken up again whose lease ran out.
pub(crate) const UNHEARD: &str = "nothing was heard of its runner for 45 s, and it was ended";

#[cfg(test)]
mod tests {
    use super::*;

    // Holds P7-61.
    #[test]
    fn a_lease_holds_from_the_last_sign_of_life_and_ends_for_good() {
        let now = Instant::now();
        let second = Duration::from_secs(1);
        let mut lease = Lease::from(now);
        assert_eq!(lease.look(now + LEASE - second), Found::Holds);
        lease.renew(now + LEASE - second);
        assert_eq!(lease.look(now + LEASE + second), Found::Holds);
        let over = now + LEASE + LEASE;
        assert_eq!(lease.look(over), Found::HasLapsed);
        lease.renew(over);
        assert!(lease.has_lapsed(), "a sign that comes too late changes nothing");
        assert_eq!(lease.look(over + GRACE - second), Found::Holds);
        assert_eq!(lease.look(over + GRACE), Found::IsGone);
    }
}
