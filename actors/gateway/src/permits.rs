//! Permits: bounds on the agents' answers, watchers, answers of memory and bytes of bodies at once. Turns and watchers wait in calls over
//! the one edge to router, which serves 256 at once: more would keep everybody's keys from being looked up. Answers of memory and bodies
//! take this process's own memory. No user takes all of any of them, by however many keys.

use crate::fault::{Fault, Kind};
use crate::lock::lock;
pub(crate) use crate::shares::Permit;
use crate::shares::Shares;
use ipc_proto::api::Holder;
use ipc_proto::ids::UserId;
use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::sync::{AcquireError, OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

/// Turns that are followed, and those of them that are kept for owners.
const TURNS: (usize, usize) = (160, 16);
/// Clients that watch the host's events, and those kept for owners.
const WATCHERS: (usize, usize) = (32, 4);
/// KiB of large bodies that are read or answered. The parsed body and the request that is made of it take about as much each, and all
/// of that is a part of the 256 MiB that the process may have. The second number is what is kept for owners.
const BODIES: (usize, usize) = (48 << 10, 8 << 10);
/// Requests to memory that are answered: each may hold the largest answer of memory, 10 MiB of texts, in the forms in which it
/// comes and goes.
const MEMORIES: usize = 6;
/// Requests to memory of one user: a user who does not take the answers blocks no other.
const SHARE: usize = MEMORIES / 2;
/// How long one more waits for its turn: most are answered in milliseconds.
const TURN: Duration = Duration::from_secs(10);
/// Bytes of a body that needs no room: one on every connection is little.
const SMALL: usize = 64 << 10;
/// Seconds after which to try again.
const AGAIN: u32 = 5;

/// The permits that there are.
pub(crate) struct Permits {
    turns: Shares,
    watchers: Shares,
    memories: Arc<Semaphore>,
    /// The shares of the users who ask memory now.
    shares: Mutex<HashMap<UserId, Arc<Semaphore>>>,
    bodies: Shares,
}

/// A place among a user's own and one among all; free again when dropped.
pub(crate) type MemoryPermits = (OwnedSemaphorePermit, OwnedSemaphorePermit);

impl Default for Permits {
    fn default() -> Self {
        let shares = |(total, owners)| Shares::new(total, owners);
        Self {
            turns: shares(TURNS),
            watchers: shares(WATCHERS),
            memories: Arc::new(Semaphore::new(MEMORIES)),
            shares: Mutex::default(),
            bodies: shares(BODIES),
        }
    }
}

impl Permits {
    /// A place for a turn that is followed.
    ///
    /// # Errors
    /// There is none free for this client's user.
    pub(crate) fn turn(&self, client: &Holder) -> Result<Permit, Fault> {
        self.turns.take(client, 1).ok_or_else(|| full("answers of agents"))
    }

    /// A place for a client that watches.
    ///
    /// # Errors
    /// There is none free for this client's user.
    pub(crate) fn watcher(&self, client: &Holder) -> Result<Permit, Fault> {
        self.watchers.take(client, 1).ok_or_else(|| full("watchers"))
    }

    /// A place for a client's request to memory, as soon as there is one.
    ///
    /// # Errors
    /// There was none for a while.
    pub(crate) async fn memory(&self, user: UserId) -> Result<MemoryPermits, Fault> {
        let own = self.share(user);
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

    /// A user's share, which exists as long as a request has or awaits a permit of it.
    fn share(&self, user: UserId) -> Arc<Semaphore> {
        let mut shares = lock(&self.shares);
        shares.retain(|_, share| Arc::strong_count(share) > 1);
        Arc::clone(shares.entry(user).or_insert_with(|| Arc::new(Semaphore::new(SHARE))))
    }

    #[cfg(test)]
    pub(crate) fn asking(&self) -> usize {
        MEMORIES - self.memories.available_permits()
    }

    /// Room for a body of so many bytes; a small one needs none.
    ///
    /// # Errors
    /// There is none free for this client's user.
    pub(crate) fn body(&self, client: &Holder, bytes: usize) -> Result<Option<Permit>, Fault> {
        if bytes <= SMALL {
            return Ok(None);
        }
        let taken = self.bodies.take(client, bytes.div_ceil(1024).min(BODIES.0));
        taken.map(Some).ok_or_else(|| full("large bodies"))
    }
}

fn full(what: &str) -> Fault {
    Fault::new(Kind::Often, format!("Too many {what} at once.")).after(AGAIN)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shares::tests::client;

    // Holds B-159.
    #[test]
    fn there_are_so_many_places_of_each_and_one_that_is_given_back_is_free() {
        let permits = Permits::default();
        let own = client(0, true);
        let mut turns: Vec<Permit> = (0..TURNS.0).map(|_| permits.turn(&own).unwrap()).collect();
        assert_eq!(permits.turn(&own).err().unwrap().kind(), Kind::Often);
        let watchers: Vec<Permit> = (0..WATCHERS.0).map(|_| permits.watcher(&own).unwrap()).collect();
        assert_eq!(permits.watcher(&own).err().unwrap().kind(), Kind::Often);
        turns.pop();
        drop(watchers);
        assert!(permits.turn(&own).is_ok() && permits.watcher(&own).is_ok());
    }

    // Holds B-159, B-150.
    #[test]
    fn a_user_who_takes_all_that_they_can_leaves_another_and_the_owner_theirs() {
        let permits = Permits::default();
        let (greedy, other, own) = (client(1, false), client(2, false), client(0, true));
        let turns: Vec<Permit> = std::iter::from_fn(|| permits.turn(&greedy).ok()).collect();
        let watchers: Vec<Permit> = std::iter::from_fn(|| permits.watcher(&greedy).ok()).collect();
        let bodies: Vec<_> = std::iter::from_fn(|| permits.body(&greedy, 8 << 20).ok()).collect();
        assert_eq!((turns.len(), watchers.len(), bodies.len()), (72, 14, 3));
        for client in [other, own] {
            assert!(permits.turn(&client).is_ok() && permits.watcher(&client).is_ok());
            assert!(permits.body(&client, 8 << 20).is_ok());
        }
    }

    // Holds B-158.
    #[tokio::test(start_paused = true)]
    async fn a_request_to_memory_waits_for_a_permit_or_is_refused() {
        let permits = Permits::default();
        let [one, other, third] = [1, 2, 3].map(|user| UserId::from_bytes([user; 16]));
        let mut held = Vec::new();
        for user in [one, other] {
            for _ in 0..SHARE {
                held.push(permits.memory(user).await.unwrap());
            }
            let over = permits.memory(user).await.unwrap_err();
            assert_eq!(over.kind(), Kind::Often, "a user has no more than their share");
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
        let (permits, own) = (Permits::default(), client(0, true));
        let all = permits.body(&own, BODIES.0 * 1024).unwrap();
        assert_eq!(permits.body(&own, SMALL + 1).err().unwrap().kind(), Kind::Often);
        assert!(permits.body(&own, SMALL).unwrap().is_none());
        drop(all);
        assert!(permits.body(&own, usize::MAX).unwrap().is_some());
    }
}
