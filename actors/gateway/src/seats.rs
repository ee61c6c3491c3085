//! How many answers of agents and how many watchers there may be at once. Each waits in a call over the one edge to router,
//! which serves 256 at once: what goes beyond would keep everybody's keys from being looked up.

use crate::fault::{Fault, Kind};
use std::sync::Arc;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Turns that are followed.
const TURNS: usize = 160;
/// Clients that watch the host's events.
const WATCHERS: usize = 32;
/// Seconds after which to try again.
const AGAIN: u32 = 5;

/// The places there are.
pub(crate) struct Seats {
    turns: Arc<Semaphore>,
    watchers: Arc<Semaphore>,
}

/// A place; free again when dropped.
pub(crate) type Seat = OwnedSemaphorePermit;

impl Default for Seats {
    fn default() -> Self {
        Self { turns: Arc::new(Semaphore::new(TURNS)), watchers: Arc::new(Semaphore::new(WATCHERS)) }
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
}

fn take(seats: &Arc<Semaphore>, what: &str) -> Result<Seat, Fault> {
    let full = |_| Fault::new(Kind::Often, format!("Too many {what} at once.")).after(AGAIN);
    Arc::clone(seats).try_acquire_owned().map_err(full)
}

#[cfg(test)]
mod tests {
    use super::*;

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
}
