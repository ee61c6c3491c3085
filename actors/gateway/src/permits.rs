//! Permits: bounds on the agents' answers, watchers, answers of memory and bytes of bodies at once. Turns and watchers wait in calls over
//! the one edge to router, which serves 256 at once: more would keep everybody's keys from being looked up. Answers of memory and bodies
//! take this process's own memory. An answer of memory is large and may be taken slowly, so a client has a share of their permits.

use crate::fault::{Fault, Kind};
use crate::lock::lock;
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
/// KiB of large bodies that are read or answered. The parsed body and the request that is made of it take about as much each, and all
/// of that is a part of the 256 MiB that the process may have.
const BODIES: usize = 48 << 10;
/// Requests to memory that are answered: each may hold the largest answer of memory, 10 MiB of texts, in the forms in which it
/// comes and goes.
const MEMORIES: usize = 6;
/// Requests to memory of one client: a client that does not take its answers blocks no other.
const SHARE: usize = MEMORIES / 2;
/// How long one more waits for its turn: most are answered in milliseconds.
const TURN: Duration = Duration::from_secs(10);
/// Bytes of a body that needs no room: one on every connection is little.
const SMALL: usize = 64 << 10;
/// Seconds after which to try again.
const AGAIN: u32 = 5;

/// The permits that there are.
pub(crate) struct Permits {
    turns: Arc<Semaphore>,
    watchers: Arc<Semaphore>,
    memories: Arc<Semaphore>,
    /// The shares of the clients that ask memory now.
    shares: Mutex<HashMap<Caller, Arc<Semaphore>>>,
    bodies: Arc<Semaphore>,
}

/// A place; free again when dropped.
pub(crate) type Permit = OwnedSemaphorePermit;
/// A place among a client's own and one among all.
pub(crate) type MemoryPermits = (Permit, Permit);

impl Default for Permits {
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

impl Permits {
    /// A place for a turn that is followed.
    ///
    /// # Errors
    /// There is none free.
    pub(crate) fn turn(&self) -> Result<Permit, Fault> {
        take(&self.turns, "answers of agents")
    }

    /// A place for a client that watches.
    ///
    /// # Errors
    /// There is none free.
    pub(crate) fn watcher(&self) -> Result<Permit, Fault> {
        take(&self.watchers, "watchers")
    }

    /// A place for a client's request to memory, as soon as there is one.
    ///
    /// # Errors
    /// There was none for a while.
    pub(crate) async fn memory(&self, caller: Caller) -> Result<MemoryPermits, Fault> {
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

    /// A client's share, which exists as long as a request has or awaits a permit of it.
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
    pub(crate) fn body(&self, bytes: usize) -> Result<Option<Permit>, Fault> {
        if bytes <= SMALL {
            return Ok(None);
        }
        let kib = u32::try_from(bytes.div_ceil(1024).min(BODIES)).unwrap_or(u32::MAX);
        let full = |_| Fault::new(Kind::Often, "Too many large bodies at once.").after(AGAIN);
        Arc::clone(&self.bodies).try_acquire_many_owned(kib).map(Some).map_err(full)
    }
}

fn take(permits: &Arc<Semaphore>, what: &str) -> Result<Permit, Fault> {
    Arc::clone(permits).try_acquire_owned().map_err(|_| full(what))
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
        let permits = Permits::default();
        let mut turns: Vec<Permit> = (0..TURNS).map(|_| permits.turn().unwrap()).collect();
        assert_eq!(permits.turn().unwrap_err().kind(), Kind::Often);
        let watchers: Vec<Permit> = (0..WATCHERS).map(|_| permits.watcher().unwrap()).collect();
        assert_eq!(permits.watcher().unwrap_err().kind(), Kind::Often);
        turns.pop();
        drop(watchers);
        assert!(permits.turn().is_ok() && permits.watcher().is_ok());
    }

    // Holds B-158.
    #[tokio::test(start_paused = true)]
    async fn a_request_to_memory_waits_for_a_permit_or_is_refused() {
        let permits = Permits::default();
        let (one, other, third) = (Caller::Peer(1), Caller::Peer(2), Caller::Peer(3));
        let mut held = Vec::new();
        for caller in [one, other] {
            for _ in 0..SHARE {
                held.push(permits.memory(caller).await.unwrap());
            }
            let over = permits.memory(caller).await.unwrap_err();
            assert_eq!(over.kind(), Kind::Often, "a client has no more than its share");
        }
        assert_eq!(permits.memory(third).await.unwrap_err().kind(), Kind::Often, "nor have all together");
        let (next, ()) = tokio::join!(permits.memory(third), async { drop(held.pop()) });
        assert!(next.is_ok());
        drop((held, next));
        drop(permits.memory(third).await);
        assert_eq!(lock(&permits.shares).len(), 1, "shares that nobody has are forgotten");
    }

    // Holds B-150.
    #[test]
    fn large_bodies_have_a_bound_together_and_small_ones_need_no_room() {
        let permits = Permits::default();
        let all = permits.body(BODIES * 1024).unwrap();
        assert_eq!(permits.body(SMALL + 1).unwrap_err().kind(), Kind::Often);
        assert!(permits.body(SMALL).unwrap().is_none());
        drop(all);
        assert!(permits.body(usize::MAX).unwrap().is_some());
    }
}
