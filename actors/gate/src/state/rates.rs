//! The rates of the pass-through's clients: requests a minute and answers at once for each, and bytes held for all together. They
//! are kept in memory: a restart of the gate forgives, and never forbids. This knows ids and numbers, and nothing of the
//! requests.

use ipc_proto::api::Holder;
use ipc_proto::config::RelayLimits;
use ipc_proto::gate::RelayError;
use ipc_proto::ids::{KeyId, UserId};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

const MINUTE: Duration = Duration::from_secs(60);

/// Answers at once for all clients together: model has room for 256, and agents need some of it.
pub(crate) const STREAMS: usize = 224;

/// Bytes of requests, and of answers that nobody has pulled yet, for all clients together: of the API, programs in jails and
/// background work. Texts are copied while they are worked on, this process may have 256 MiB, and the turns of agents need room
/// besides; of theirs only the images are counted here, for as long as a model is asked.
pub(crate) const HELD: usize = 64 << 20;

/// Bytes among them for one client: no client takes more than half.
const SHARE: usize = HELD / 2;

/// Seconds after which a client tries again where there is no room for more bytes.
pub(crate) const AGAIN: u32 = 2;

/// Clients that are remembered. Those that have been silent for a minute are forgotten first.
const CLIENTS: usize = 1024;

/// The key under which requests are counted together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum RateKey {
    /// An API key.
    Key(KeyId),
    /// A user whom the kernel's credentials identify.
    User(UserId),
    /// Background work for a user.
    Background(UserId),
}

impl RateKey {
    /// The key of this client.
    pub(crate) fn of(holder: &Holder) -> Self {
        holder.key.map_or(Self::User(holder.user), Self::Key)
    }
}

/// The counters of one client.
#[derive(Debug)]
struct Client {
    /// The time at which all its requests so far would have been due at an even pace. It is at most a minute ahead of now, so
    /// that all requests of a minute may come at once.
    due: Instant,
    streams: usize,
    held: usize,
}

impl Client {
    const fn new(due: Instant) -> Self {
        Self { due, streams: 0, held: 0 }
    }
}

#[derive(Debug, Default)]
struct Counts {
    clients: HashMap<RateKey, Client>,
    streams: usize,
    held: usize,
}

/// The counters of all clients.
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

    /// Takes one request.
    pub(crate) fn take(&self, key: RateKey, now: Instant) -> Result<(), RelayError> {
        self.take_part(key, 1, now)
    }

    /// Takes a fraction of one request, 1 / `parts`.
    pub(crate) fn take_part(&self, key: RateKey, parts: u32, now: Instant) -> Result<(), RelayError> {
        let pace = MINUTE / self.limits.requests_per_minute.max(1) / parts.max(1);
        let mut counts = self.counts();
        if counts.clients.len() > CLIENTS {
            counts.clients.retain(|_, client| client.streams > 0 || client.held > 0 || client.due > now);
        }
        let client = counts.clients.entry(key).or_insert(Client::new(now));
        let due = client.due.max(now) + pace;
        let ahead = due.saturating_duration_since(now);
        if ahead > MINUTE {
            return Err(busy(ahead.saturating_sub(MINUTE)));
        }
        client.due = due;
        Ok(())
    }

    /// Takes a permit for one more answer at once; it is returned when it is dropped.
    pub(crate) fn permit(&self, key: RateKey, now: Instant) -> Result<StreamPermit, RelayError> {
        let mut counts = self.counts();
        if counts.streams >= STREAMS {
            return Err(busy(Duration::ZERO));
        }
        let client = counts.clients.entry(key).or_insert(Client::new(now));
        if client.streams >= usize::from(self.limits.streams_per_key) {
            return Err(busy(Duration::ZERO));
        }
        client.streams += 1;
        counts.streams += 1;
        drop(counts);
        Ok(StreamPermit { rates: self.clone(), key })
    }

    /// The number of answers under way.
    pub(crate) fn coming(&self) -> usize {
        self.counts().streams
    }

    /// Takes room for the bytes of a request; it is returned when it is dropped.
    pub(crate) fn hold(&self, bytes: usize) -> Result<Load, RelayError> {
        let mut load = Load { rates: self.clone(), key: None, bytes: 0, request: 0 };
        if !load.grow(bytes) {
            return Err(RelayError::Busy { retry_s: AGAIN });
        }
        load.request = bytes;
        Ok(load)
    }
}

/// The error with a wait in whole seconds, at least one, so that a client does not ask again at once.
fn busy(wait: Duration) -> RelayError {
    let seconds = wait.as_millis().div_ceil(1000).max(1);
    RelayError::Busy { retry_s: u32::try_from(seconds).unwrap_or(u32::MAX) }
}

/// A permit for one answer.
#[derive(Debug)]
pub(crate) struct StreamPermit {
    rates: Rates,
    key: RateKey,
}

impl Drop for StreamPermit {
    fn drop(&mut self) {
        let mut counts = self.rates.counts();
        counts.streams = counts.streams.saturating_sub(1);
        if let Some(client) = counts.clients.get_mut(&self.key) {
            client.streams = client.streams.saturating_sub(1);
        }
    }
}

/// Room for bytes of one request and its answer.
#[derive(Debug)]
pub(crate) struct Load {
    rates: Rates,
    /// The client's key, once it is known.
    key: Option<RateKey>,
    bytes: usize,
    /// Bytes of the request among them, which are held until the end.
    request: usize,
}

impl Load {
    /// Counts the bytes as this client's, if it has room.
    pub(crate) fn of(mut self, key: RateKey, now: Instant) -> Result<Self, RelayError> {
        let mut counts = self.rates.counts();
        let client = counts.clients.entry(key).or_insert(Client::new(now));
        let held = client.held.saturating_add(self.bytes);
        if held > SHARE {
            return Err(RelayError::Busy { retry_s: AGAIN });
        }
        client.held = held;
        drop(counts);
        self.key = Some(key);
        Ok(self)
    }

    /// Takes room for more bytes; returns false if there is none.
    pub(crate) fn grow(&mut self, bytes: usize) -> bool {
        let mut counts = self.rates.counts();
        let held = counts.held.saturating_add(bytes);
        let client = self.key.and_then(|key| counts.clients.get_mut(&key));
        if held > HELD || client.as_ref().is_some_and(|client| client.held.saturating_add(bytes) > SHARE) {
            return false;
        }
        if let Some(client) = client {
            client.held += bytes;
        }
        counts.held = held;
        self.bytes += bytes;
        true
    }

    /// Returns room for bytes of the answer.
    pub(crate) fn shrink(&mut self, bytes: usize) {
        let bytes = bytes.min(self.bytes - self.request);
        self.bytes -= bytes;
        let mut counts = self.rates.counts();
        counts.held = counts.held.saturating_sub(bytes);
        if let Some(client) = self.key.and_then(|key| counts.clients.get_mut(&key)) {
            client.held = client.held.saturating_sub(bytes);
        }
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        self.request = 0;
        self.shrink(self.bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rates(requests_per_minute: u32, streams_per_key: u16) -> Rates {
        Rates::new(RelayLimits { requests_per_minute, streams_per_key })
    }

    // Holds B-67.
    #[test]
    fn a_clients_requests_may_come_at_once_and_are_returned_evenly() {
        let (rates, key, now) = (rates(60, 1), RateKey::Key(KeyId::random()), Instant::now());
        assert_eq!((0..100).filter(|_| rates.take(key, now).is_ok()).count(), 60);
        assert_eq!(rates.take(key, now), Err(RelayError::Busy { retry_s: 1 }));
        assert!(rates.take(key, now + Duration::from_secs(1)).is_ok());
        assert!(rates.take(key, now + Duration::from_secs(1)).is_err());
        assert!(rates.take(RateKey::User(UserId::random()), now).is_ok(), "another client has its own");
        let many = RateKey::User(UserId::random());
        assert_eq!((0..10_000).filter(|_| rates.take_part(many, 32, now).is_ok()).count(), 60 * 32);
        let later = now + Duration::from_secs(121);
        assert_eq!((0..100).filter(|_| rates.take(key, later).is_ok()).count(), 60);
    }

    // Holds B-68.
    #[test]
    fn answers_at_once_are_bounded_for_each_client_and_for_all() {
        let (rates, now) = (rates(1, 64), Instant::now());
        let client = || RateKey::Key(KeyId::random());
        let one = client();
        let mut permits: Vec<StreamPermit> = (0..100).filter_map(|_| rates.permit(one, now).ok()).collect();
        assert_eq!(permits.len(), 64);
        permits.pop();
        permits.extend(rates.permit(one, now));
        assert_eq!(permits.len(), 64);
        for key in [client(), client(), client(), client()] {
            permits.extend((0..64).filter_map(|_| rates.permit(key, now).ok()));
        }
        assert_eq!(permits.len(), STREAMS);
        drop(permits);
        assert!(rates.permit(one, now).is_ok());
    }

    // Holds B-69.
    #[test]
    fn bytes_are_bounded_over_all_clients_and_returned_when_dropped() {
        let rates = rates(1, 1);
        let most = 8 << 20;
        let mut loads: Vec<Load> = (0..100).map_while(|_| rates.hold(most).ok()).collect();
        assert_eq!(loads.len(), HELD / most);
        assert_eq!(rates.hold(1).unwrap_err(), RelayError::Busy { retry_s: AGAIN });
        assert!(!loads[0].grow(1), "nor is there room for more of an answer");
        loads.pop();
        assert!(loads[0].grow(most) && !loads[1].grow(1));
        loads[0].shrink(10);
        assert!(loads[1].grow(10) && !loads[1].grow(1));
        loads[0].shrink(usize::MAX);
        assert!(rates.hold(most - 10).is_ok(), "the request itself is kept");
        drop(loads);
        assert_eq!(rates.counts().held, 0);
    }

    // Holds B-69.
    #[test]
    fn one_client_holds_no_more_than_half_of_the_bytes_of_all() {
        let (rates, now, most) = (rates(1, 1), Instant::now(), 8 << 20);
        let one = RateKey::Key(KeyId::random());
        let hold = |key| rates.hold(most).and_then(|load| load.of(key, now));
        let mut loads: Vec<Load> = (0..100).map_while(|_| hold(one).ok()).collect();
        assert_eq!(loads.len(), SHARE / most);
        assert!(!loads[0].grow(1), "nor of an answer");
        assert!(hold(RateKey::User(UserId::random())).is_ok(), "another has its own");
        loads.pop();
        assert!(loads[0].grow(most) && !loads[0].grow(1));
        loads[0].shrink(usize::MAX);
        assert!(hold(one).is_ok());
        drop(loads);
        let counts = rates.counts();
        assert_eq!((counts.held, counts.clients[&one].held), (0, 0));
    }

    #[test]
    fn clients_that_have_not_asked_for_a_minute_are_forgotten() {
        let (rates, now) = (rates(60, 1), Instant::now());
        for _ in 0..=CLIENTS {
            rates.take(RateKey::Key(KeyId::random()), now).unwrap();
        }
        rates.take(RateKey::Key(KeyId::random()), now + MINUTE).unwrap();
        assert_eq!(rates.counts().clients.len(), 1);
    }
}
