//! How much clients of the API may ask for: each of them requests in a minute and answers that come for it at once, and
//! all together bytes that are held for them here. Kept in memory: a restart of the gate forgives, it never forbids. It
//! knows ids and numbers and nothing of what is asked.

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
/// Bytes of requests, and of their answers as far as nobody has taken them, of all clients together: those of the API,
/// programs in jails and background work. What is done with a text takes copies of it, of the 256 MiB that this process
/// may have, and the turns of agents are to find room besides: of theirs the images
/// alone are counted here, for as long as a model is asked.
pub(crate) const HELD: usize = 64 << 20;
/// Of those, of one client: whoever asks for much has the others wait for no more than half.
const SHARE: usize = HELD / 2;
/// Seconds after which to try again where there is no room for more bytes: answers end.
pub(super) const AGAIN: u32 = 2;
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
    held: usize,
}

impl Client {
    const fn new(due: Instant) -> Self {
        Self { due, streams: 0, held: 0 }
    }
}

#[derive(Debug, Default)]
struct Counts {
    clients: HashMap<Whose, Client>,
    streams: usize,
    held: usize,
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
        self.take_part(whose, 1, now)
    }

    /// Takes a part of one: so many of them are a request.
    pub(crate) fn take_part(&self, whose: Whose, parts: u32, now: Instant) -> Result<(), RelayError> {
        let pace = MINUTE / self.limits.requests_per_minute.max(1) / parts.max(1);
        let mut counts = self.counts();
        if counts.clients.len() > CLIENTS {
            counts.clients.retain(|_, client| client.streams > 0 || client.held > 0 || client.due > now);
        }
        let client = counts.clients.entry(whose).or_insert(Client::new(now));
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
        let client = counts.clients.entry(whose).or_insert(Client::new(now));
        if client.streams >= usize::from(self.limits.streams_per_key) {
            return Err(busy(Duration::ZERO));
        }
        client.streams += 1;
        counts.streams += 1;
        drop(counts);
        Ok(Seat { rates: self.clone(), whose })
    }

    /// Answers that come now.
    pub(crate) fn coming(&self) -> usize {
        self.counts().streams
    }

    /// Takes room for so many bytes of a request; it is free again when what is given back is dropped.
    pub(crate) fn hold(&self, bytes: usize) -> Result<Load, RelayError> {
        let mut load = Load { rates: self.clone(), whose: None, bytes: 0, request: 0 };
        if !load.grow(bytes) {
            return Err(RelayError::Busy { retry_s: AGAIN });
        }
        load.request = bytes;
        Ok(load)
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

/// Room for bytes of one request and its answer.
#[derive(Debug)]
pub(crate) struct Load {
    rates: Rates,
    /// Whose it is, once that is known.
    whose: Option<Whose>,
    bytes: usize,
    /// Of those, the request's: it is kept until the end.
    request: usize,
}

impl Load {
    /// Counts it as this client's, if that has room for it.
    pub(crate) fn of(mut self, whose: Whose, now: Instant) -> Result<Self, RelayError> {
        let mut counts = self.rates.counts();
        let client = counts.clients.entry(whose).or_insert(Client::new(now));
        let held = client.held.saturating_add(self.bytes);
        if held > SHARE {
            return Err(RelayError::Busy { retry_s: AGAIN });
        }
        client.held = held;
        drop(counts);
        self.whose = Some(whose);
        Ok(self)
    }

    /// Takes room for so many more; whether there is any.
    pub(crate) fn grow(&mut self, bytes: usize) -> bool {
        let mut counts = self.rates.counts();
        let held = counts.held.saturating_add(bytes);
        let client = self.whose.and_then(|whose| counts.clients.get_mut(&whose));
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

    /// Gives room for so many of the answer back.
    pub(crate) fn shrink(&mut self, bytes: usize) {
        let bytes = bytes.min(self.bytes - self.request);
        self.bytes -= bytes;
        let mut counts = self.rates.counts();
        counts.held = counts.held.saturating_sub(bytes);
        if let Some(client) = self.whose.and_then(|whose| counts.clients.get_mut(&whose)) {
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
    fn a_client_has_its_requests_of_a_minute_at_once_and_gets_them_back_evenly() {
        let (rates, whose, now) = (rates(60, 1), Whose::Key(KeyId::random()), Instant::now());
        assert_eq!((0..100).filter(|_| rates.take(whose, now).is_ok()).count(), 60);
        assert_eq!(rates.take(whose, now), Err(RelayError::Busy { retry_s: 1 }));
        assert!(rates.take(whose, now + Duration::from_secs(1)).is_ok());
        assert!(rates.take(whose, now + Duration::from_secs(1)).is_err());
        assert!(rates.take(Whose::User(UserId::random()), now).is_ok(), "another client has its own");
        let many = Whose::User(UserId::random());
        assert_eq!((0..10_000).filter(|_| rates.take_part(many, 32, now).is_ok()).count(), 60 * 32);
        let later = now + Duration::from_secs(121);
        assert_eq!((0..100).filter(|_| rates.take(whose, later).is_ok()).count(), 60);
    }

    // Holds B-68.
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

    // Holds B-69.
    #[test]
    fn bytes_are_bounded_over_all_clients_and_free_again_when_they_were_taken_or_dropped() {
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
        let one = Whose::Key(KeyId::random());
        let hold = |whose| rates.hold(most).and_then(|load| load.of(whose, now));
        let mut loads: Vec<Load> = (0..100).map_while(|_| hold(one).ok()).collect();
        assert_eq!(loads.len(), SHARE / most);
        assert!(!loads[0].grow(1), "nor of an answer");
        assert!(hold(Whose::User(UserId::random())).is_ok(), "another has its own");
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
            rates.take(Whose::Key(KeyId::random()), now).unwrap();
        }
        rates.take(Whose::Key(KeyId::random()), now + MINUTE).unwrap();
        assert_eq!(rates.counts().clients.len(), 1);
    }
}
