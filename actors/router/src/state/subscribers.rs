//! The subscribers: rings of turns, the followers of each, and the readers of named events. Nothing here is durable; the result of a turn
//! is read from the outbox once its ring is gone.

use crate::port::{Port, Reply};
use crate::ring::Ring;
use ipc_proto::List;
use ipc_proto::ids::TurnId;
use ipc_proto::router::{Finished, Followed, NamedEvent, TurnEvent};
use std::collections::{HashMap, VecDeque};
use std::time::{Duration, Instant};

/// How long the ring of a turn stays after its end, and of how many turns.
const AFTER_END: (Duration, usize) = (Duration::from_secs(60), 16);
/// How long the gate is held up by a follower that is behind.
const HELD: Duration = Duration::from_secs(5);

/// Takes the answer to a follower.
pub(crate) type FollowPort = Reply<Followed>;
/// Takes the answer to the gate's events.
pub(crate) type EmitPort = Reply<u64>;
/// Takes named events.
pub(crate) type EventsPort = Port<List<NamedEvent, 256>>;

/// Rings, followers and readers.
#[derive(Default)]
pub(crate) struct Subscribers {
    rings: HashMap<TurnId, Ring>,
    /// Turns that are over and whose ring stays for a while, oldest first.
    over: VecDeque<(Instant, TurnId)>,
    followers: HashMap<TurnId, Vec<Follower>>,
    held: HashMap<TurnId, Held>,
    watchers: Vec<(u64, EventsPort)>,
}

/// A call that waits for more events of a turn.
pub(crate) struct Follower {
    pub(crate) from: u64,
    pub(crate) credit: u16,
    pub(crate) port: FollowPort,
}

/// Events of the gate that wait for a follower to make room.
pub(crate) struct Held {
    pub(crate) from: u64,
    pub(crate) events: List<TurnEvent, 64>,
    pub(crate) port: EmitPort,
    pub(crate) since: Instant,
}

impl Subscribers {
    /// Begins an attempt of a turn, if it has not begun yet; returns the turn's ring.
    pub(crate) fn begin(&mut self, turn: TurnId, attempt: u32, notice: Option<TurnEvent>) -> &mut Ring {
        let ring = self.rings.entry(turn).or_default();
        ring.begin(attempt, notice);
        ring
    }

    /// The ring of a turn.
    pub(crate) fn ring(&mut self, turn: TurnId) -> Option<&mut Ring> {
        self.rings.get_mut(&turn)
    }

    /// Ends the ring of a turn. It stays for a while.
    pub(crate) fn finish(&mut self, turn: TurnId, finished: Finished, now: Instant) {
        if let Some(ring) = self.rings.get_mut(&turn) {
            ring.finish(finished);
            self.over.push_back((now, turn));
        }
    }

    /// Holds events of the gate until a follower has made room. Gives them back if events of that turn are held already.
    pub(crate) fn hold(&mut self, turn: TurnId, held: Held) -> Option<Held> {
        if self.held.contains_key(&turn) {
            return Some(held);
        }
        self.held.insert(turn, held);
        None
    }

    /// The events of a turn that were held, which are no longer.
    pub(crate) fn take_held(&mut self, turn: TurnId) -> Option<Held> {
        self.held.remove(&turn)
    }

    /// Turns whose events were held long enough.
    pub(crate) fn long_held(&self, now: Instant) -> Vec<TurnId> {
        let long = |held: &Held| now.saturating_duration_since(held.since) >= HELD;
        self.held.iter().filter(|(_, held)| long(held)).map(|(turn, _)| *turn).collect()
    }

    /// A follower waits for more of a turn.
    pub(crate) fn add_follower(&mut self, turn: TurnId, follower: Follower) {
        let waiting = self.followers.entry(turn).or_default();
        waiting.retain(|it| !it.port.is_closed());
        waiting.push(follower);
    }

    /// The followers that wait for more of a turn, which wait no longer.
    pub(crate) fn take_followers(&mut self, turn: TurnId) -> Vec<Follower> {
        let mut waiting = self.followers.remove(&turn).unwrap_or_default();
        waiting.retain(|it| !it.port.is_closed());
        waiting
    }

    /// A reader waits for named events after this number.
    pub(crate) fn add_watcher(&mut self, after: u64, port: EventsPort) {
        self.watchers.retain(|(_, port)| !port.is_closed());
        self.watchers.push((after, port));
    }

    /// The readers that wait, which wait no longer.
    pub(crate) fn take_watchers(&mut self) -> Vec<(u64, EventsPort)> {
        std::mem::take(&mut self.watchers)
    }

    /// Drops calls that nobody waits for.
    pub(crate) fn drop_closed(&mut self) {
        self.followers.retain(|_, waiting| {
            waiting.retain(|it| !it.port.is_closed());
            !waiting.is_empty()
        });
        self.watchers.retain(|(_, port)| !port.is_closed());
    }

    /// Drops rings of turns that ended long ago, and the oldest beyond the bound.
    pub(crate) fn drop_old_rings(&mut self, now: Instant) {
        let (long, many) = AFTER_END;
        while let Some((since, turn)) = self.over.front().copied() {
            if self.over.len() <= many && now.saturating_duration_since(since) < long {
                return;
            }
            self.over.pop_front();
            self.rings.remove(&turn);
        }
    }
}
