//! Model calls of each session in an hour. They are kept in memory: a restart of the gate forgives, and never forbids.

use ipc_proto::ids::SessionId;
use std::collections::{HashMap, VecDeque};
use std::time::{Duration, Instant};

const HOUR: Duration = Duration::from_secs(3600);

/// Sessions remembered; those not used for an hour are forgotten first.
const SESSIONS: usize = 4096;

/// The calls of the last hour, by session.
#[derive(Debug, Default)]
pub(crate) struct Quotas(HashMap<SessionId, VecDeque<Instant>>);

impl Quotas {
    /// Takes one call; returns false if the quota is used up.
    pub(crate) fn take(&mut self, session: SessionId, limit: u32, now: Instant) -> bool {
        if self.0.len() > SESSIONS {
            self.0.retain(|_, calls| calls.back().is_some_and(|last| now.duration_since(*last) < HOUR));
        }
        let calls = self.0.entry(session).or_default();
        while calls.front().is_some_and(|first| now.duration_since(*first) >= HOUR) {
            calls.pop_front();
        }
        let room = calls.len() < usize::try_from(limit).unwrap_or(usize::MAX);
        if room {
            calls.push_back(now);
        }
        room
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Holds B-15.
    #[test]
    fn a_session_has_its_calls_an_hour_and_no_more_and_gets_them_back() {
        let (mut quotas, session, start) = (Quotas::default(), SessionId::random(), Instant::now());
        assert!(quotas.take(session, 2, start) && quotas.take(session, 2, start));
        assert!(!quotas.take(session, 2, start));
        assert!(quotas.take(SessionId::random(), 2, start));
        assert!(quotas.take(session, 2, start + HOUR));
    }
}
