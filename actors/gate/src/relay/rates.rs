//! How much one client of the API may ask for: requests in a minute, and answers that come for it at once. Kept in
//! memory: a restart of the gate forgives, it never forbids. It knows ids and numbers and nothing of what is asked.

use ipc_proto::api::Holder;
use ipc_proto::config::RelayLimits;
use ipc_proto::gate::RelayError;
use ipc_proto::ids::{KeyId, UserId};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

const MINUTE: Duration = Duration::from_secs(60);
/// Answers that come for all clients together: model has room for 256, and agents are to find some of it.
pub(crate) const STREAMS: usize = 224;
/// Clients remembered; those that have not asked for a minute are forgotten first.
const CLIENTS: usize = 1024;

/// Whose requests are counted together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Whose {
    /// A key's.
    Key(KeyId),
    /// A user's that is known by the kernel's word.
    User(UserId),
    /// The background work for a user.
    Background(UserId),
}

impl Whose {
    /// Those of this client.
    pub(crate) fn of(holder: &Holder) -> Self {
        holder.key.map_or(Self::User(holder.user), Self::Key)
    }
}

/// What one client has asked for.
#[derive(Debug)]
struct Client {
    /// When everything it asked for so far would have been due at an even pace. It is ahead of now by at most a minute,
    /// which is how all requests of a minute can come at once.
    due: Instant,
    streams: usize,
}

#[derive(Debug, Default)]
struct Counts {
    clients: HashMap<Whose, Client>,
    streams: usize,
}

/// What all clients have asked for.
#[derive(Clone, Debug)]
pub(crate) struct Rates {
    limits: RelayLimits,
    counts: Arc<Mutex<Counts>>,
}

impl Rates {
    pub(crate) fn new(limits: RelayLimits) -> Self {
        Self { limits, counts: Arc::default() }
    }

    fn counts(&self) -> MutexGuard<'_, Counts> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes one request of this minute's.
    pub(crate) fn take(&self, whose: Whose, now: Instant) -> Result<(), RelayError> {
        let pace = MINUTE / self.limits.requests_per_minute.max(1);
        let mut counts = self.counts();
        if counts.clients.len() > CLIENTS {
            counts.clients.retain(|_, client| client.streams > 0 || client.due > now);
        }
        let client = counts.clients.entry(whose).or_insert(Client { due: now, streams: 0 });
        let due = client.due.max(now) + pace;
        let ahead = due.saturating_duration_since(now);
        if ahead > MINUTE {
            return Err(busy(ahead.saturating_sub(MINUTE)));
        }
        client.due = due;
        Ok(())
    }

    /// Takes a place among the answers that come at once; it is free again when what is given back is dropped.
    pub(crate) fn seat(&self, whose: Whose, now: Instant) -> Result<Seat, RelayError> {
        let mut counts = self.counts();
        if counts.streams >= STREAMS {
            return Err(busy(Duration::ZERO));
        }
        let client = counts.clients.entry(whose).or_insert(Client { due: now, streams: 0 });
        if client.streams >= usize::from(self.limits.streams_per_key) {
            return Err(busy(Duration::ZERO));
        }
        client.streams += 1;
        counts.streams += 1;
        drop(counts);
        Ok(Seat { rates: self.clone(), whose })
    }
}

/// Whole seconds, and never none: a client that is to wait no time at all asks again at once.
fn busy(wait: Duration) -> RelayError {
    let seconds = wait.as_millis().div_ceil(1000).max(1);
    RelayError::Busy { retry_s: u32::try_from(seconds).unwrap_or(u32::MAX) }
}

/// A place among the answers that come at once.
#[derive(Debug)]
pub(crate) struct Seat {
    rates: Rates,
    whose: Whose,
}

impl Drop for Seat {
    fn drop(&mut self) {
        let mut counts = self.rates.counts();
        counts.streams = counts.streams.saturating_sub(1);
        if let Some(client) = counts.clients.get_mut(&self.whose) {
            client.streams = client.streams.saturating_sub(1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rates(requests_per_minute: u32, streams_per_key: u16) -> Rates {
        Rates::new(RelayLimits { requests_per_minute, streams_per_key })
    }

    #[test]
    fn a_client_has_its_requests_of_a_minute_at_once_and_gets_them_back_evenly() {
        let (rates, whose, now) = (rates(60, 1), Whose::Key(KeyId::random()), Instant::now());
        assert_eq!((0..100).filter(|_| rates.take(whose, now).is_ok()).count(), 60);
        assert_eq!(rates.take(whose, now), Err(RelayError::Busy { retry_s: 1 }));
        assert!(rates.take(whose, now + Duration::from_secs(1)).is_ok());
        assert!(rates.take(whose, now + Duration::from_secs(1)).is_err());
        assert!(rates.take(Whose::User(UserId::random()), now).is_ok(), "another client has its own");
        let later = now + Duration::from_secs(121);
        assert_eq!((0..100).filter(|_| rates.take(whose, later).is_ok()).count(), 60);
    }

    #[test]
    fn answers_at_once_are_bounded_for_each_client_and_for_all_and_a_place_is_free_again_when_dropped() {
        let (rates, now) = (rates(1, 64), Instant::now());
        let client = || Whose::Key(KeyId::random());
        let one = client();
        let mut seats: Vec<Seat> = (0..100).filter_map(|_| rates.seat(one, now).ok()).collect();
        assert_eq!(seats.len(), 64);
        seats.pop();
        seats.extend(rates.seat(one, now));
        assert_eq!(seats.len(), 64);
        for whose in [client(), client(), client(), client()] {
            seats.extend((0..64).filter_map(|_| rates.seat(whose, now).ok()));
        }
        assert_eq!(seats.len(), STREAMS);
        drop(seats);
        assert!(rates.seat(one, now).is_ok());
    }

    #[test]
    fn clients_that_have_not_asked_for_a_minute_are_forgotten() {
        let (rates, now) = (rates(60, 1), Instant::now());
        for _ in 0..=CLIENTS {
            rates.take(Whose::Key(KeyId::random()), now).unwrap();
        }
        rates.take(Whose::Key(KeyId::random()), now + MINUTE).unwrap();
        assert_eq!(rates.counts().clients.len(), 1);
    }
}
