//! How many answers of agents, how many watchers, how many answers of memory and how much of bodies there may be at once.
//! Turns and watchers wait in calls over the one edge to router, which serves 256 at once: what goes beyond would keep
//! everybody's keys from being looked up. Answers of memory and bodies take memory, of which this process has so much and no
//! more. Answers of memory are large and slow to take, so that no client may have more than its share of their places.

use crate::desk::lock;
use crate::fault::{Fault, Kind};
use ipc_proto::api::Caller;
use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::sync::{AcquireError, OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

/// Turns that are followed.
const TURNS: usize = 160;
/// Clients that watch the host's events.
const WATCHERS: usize = 32;
/// KiB of large bodies that are read or answered: what is understood of one, and what is handed on of it, takes about as
/// much each, and all of that a part of the 256 MiB that the process may have.
const BODIES: usize = 48 << 10;
/// Requests to memory that are answered: each may hold the largest answer of memory, 10 MiB of texts, in the forms in which it
/// comes and goes.
const MEMORIES: usize = 6;
/// Of those, of one client: whoever does not take its answers keeps places from nobody else.
const SHARE: usize = MEMORIES / 2;
/// How long one more waits for its turn: most are answered in milliseconds.
const TURN: Duration = Duration::from_secs(10);
/// Bytes of a body that needs no room: one on every connection is little.
const SMALL: usize = 64 << 10;
/// Seconds after which to try again.
const AGAIN: u32 = 5;

/// The places there are.
pub(crate) struct Seats {
    turns: Arc<Semaphore>,
    watchers: Arc<Semaphore>,
    memories: Arc<Semaphore>,
    /// The shares of those who ask memory now.
    shares: Mutex<HashMap<Caller, Arc<Semaphore>>>,
    bodies: Arc<Semaphore>,
}

/// A place; free again when dropped.
pub(crate) type Seat = OwnedSemaphorePermit;
/// A place among a client's own and one among all.
pub(crate) type Places = (Seat, Seat);

impl Default for Seats {
    fn default() -> Self {
        let places = |number| Arc::new(Semaphore::new(number));
        Self {
            turns: places(TURNS),
            watchers: places(WATCHERS),
            memories: places(MEMORIES),
            shares: Mutex::default(),
            bodies: places(BODIES),
        }
    }
}

impl Seats {
    /// A place for a turn that is followed.
    ///
    /// # Errors
    /// There is none free.
    pub(crate) fn turn(&self) -> Result<Seat, Fault> {
        take(&self.turns, "answers of agents")
    }

    /// A place for a client that watches.
    ///
    /// # Errors
    /// There is none free.
    pub(crate) fn watcher(&self) -> Result<Seat, Fault> {
        take(&self.watchers, "watchers")
    }

    /// A place for a client's request to memory, as soon as there is one.
    ///
    /// # Errors
    /// There was none for a while.
    pub(crate) async fn memory(&self, caller: Caller) -> Result<Places, Fault> {
        let own = self.share(caller);
        let both = async {
            // Its own first: nobody waits among all who has as many as it may have.
            let own = own.acquire_owned().await?;
            Ok::<_, AcquireError>((own, Arc::clone(&self.memories).acquire_owned().await?))
        };
        match timeout(TURN, both).await {
            Ok(Ok(places)) => Ok(places),
            Ok(Err(_)) | Err(_) => Err(full("questions to memory")),
        }
    }

    /// A client's share, which is there for as long as somebody has or awaits a place of it.
    fn share(&self, caller: Caller) -> Arc<Semaphore> {
        let mut shares = lock(&self.shares);
        shares.retain(|_, share| Arc::strong_count(share) > 1);
        Arc::clone(shares.entry(caller).or_insert_with(|| Arc::new(Semaphore::new(SHARE))))
    }

    #[cfg(test)]
    pub(crate) fn asking(&self) -> usize {
        MEMORIES - self.memories.available_permits()
    }

    /// Room for a body of so many bytes; a small one needs none.
    ///
    /// # Errors
    /// There is none free.
    pub(crate) fn body(&self, bytes: usize) -> Result<Option<Seat>, Fault> {
        if bytes <= SMALL {
            return Ok(None);
        }
        let kib = u32::try_from(bytes.div_ceil(1024).min(BODIES)).unwrap_or(u32::MAX);
        let full = |_| Fault::new(Kind::Often, "Too many large bodies at once.").after(AGAIN);
        Arc::clone(&self.bodies).try_acquire_many_owned(kib).map(Some).map_err(full)
    }
}

fn take(seats: &Arc<Semaphore>, what: &str) -> Result<Seat, Fault> {
    Arc::clone(seats).try_acquire_owned().map_err(|_| full(what))
}

fn full(what: &str) -> Fault {
    Fault::new(Kind::Often, format!("Too many {what} at once.")).after(AGAIN)
}

#[cfg(test)]
mod tests {
    use super::*;

    // Holds B-159.
    #[test]
    fn there_are_so_many_places_of_each_and_one_that_is_given_back_is_free() {
        let seats = Seats::default();
        let mut turns: Vec<Seat> = (0..TURNS).map(|_| seats.turn().unwrap()).collect();
        assert_eq!(seats.turn().unwrap_err().kind(), Kind::Often);
        let watchers: Vec<Seat> = (0..WATCHERS).map(|_| seats.watcher().unwrap()).collect();
        assert_eq!(seats.watcher().unwrap_err().kind(), Kind::Often);
        turns.pop();
        drop(watchers);
        assert!(seats.turn().is_ok() && seats.watcher().is_ok());
    }

    // Holds B-158.
    #[tokio::test(start_paused = true)]
    async fn a_request_to_memory_waits_for_its_turn_and_is_told_to_come_again_if_none_comes() {
        let seats = Seats::default();
        let (one, other, third) = (Caller::Peer(1), Caller::Peer(2), Caller::Peer(3));
        let mut held = Vec::new();
        for caller in [one, other] {
            for _ in 0..SHARE {
                held.push(seats.memory(caller).await.unwrap());
            }
            let over = seats.memory(caller).await.unwrap_err();
            assert_eq!(over.kind(), Kind::Often, "a client has no more than its share");
        }
        assert_eq!(seats.memory(third).await.unwrap_err().kind(), Kind::Often, "nor have all together");
        let (next, ()) = tokio::join!(seats.memory(third), async { drop(held.pop()) });
        assert!(next.is_ok());
        drop((held, next));
        drop(seats.memory(third).await);
        assert_eq!(lock(&seats.shares).len(), 1, "shares that nobody has are forgotten");
    }

    // Holds B-150.
    #[test]
    fn large_bodies_have_a_bound_together_and_small_ones_need_no_room() {
        let seats = Seats::default();
        let all = seats.body(BODIES * 1024).unwrap();
        assert_eq!(seats.body(SMALL + 1).unwrap_err().kind(), Kind::Often);
        assert!(seats.body(SMALL).unwrap().is_none());
        drop(all);
        assert!(seats.body(usize::MAX).unwrap().is_some());
    }
}
