//! The way out of a jail that has one, as its tools see it: the variables by which programs find it, the time for which a person was
//! asked, and the refusals that the model is to hear of.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Refusals that are kept for one call; more say nothing new.
const REFUSALS: usize = 8;

/// The way out.
#[derive(Clone, Debug, Default)]
pub struct WayOut {
    /// The variables of programs.
    pub variables: Vec<(String, String)>,
    /// Its events.
    pub events: Events,
}

/// The waits and refusals of the way out.
#[derive(Clone, Debug, Default)]
pub struct Events(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    /// Requests for which a person is asked now.
    waiting: u32,
    /// The beginning of the wait that goes on, and the end of the last one.
    since: Option<Instant>,
    until: Option<Instant>,
    waited: Duration,
    refusals: Vec<String>,
}

/// A request for which a person is asked, until it is dropped.
#[derive(Debug)]
pub struct Wait(Events);

impl Events {
    /// Begins a wait that began at this time. Waits that overlap count once.
    #[must_use]
    pub fn wait_since(&self, at: Instant) -> Wait {
        let mut state = self.state();
        state.waiting += 1;
        if state.waiting == 1 {
            let since = state.until.map_or(at, |until| at.max(until));
            state.since = Some(since);
        }
        drop(state);
        Wait(self.clone())
    }

    /// The time for which a person was asked so far.
    #[must_use]
    pub fn waited(&self) -> Duration {
        let state = self.state();
        state.waited + state.since.map_or(Duration::ZERO, |since| since.elapsed())
    }

    /// Notes a refusal.
    pub fn refused(&self, sentence: String) {
        let mut state = self.state();
        if state.refusals.len() < REFUSALS && !state.refusals.contains(&sentence) {
            state.refusals.push(sentence);
        }
    }

    /// The refusals since this was asked last.
    #[must_use]
    pub fn take_refusals(&self) -> Vec<String> {
        std::mem::take(&mut self.state().refusals)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Wait {
    fn drop(&mut self) {
        let mut state = self.0.state();
        state.waiting = state.waiting.saturating_sub(1);
        if state.waiting == 0 {
            let now = Instant::now();
            let since = state.since.take().unwrap_or(now);
            state.waited += now.saturating_duration_since(since);
            state.until = Some(now);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_that_overlap_count_once_and_one_that_goes_on_counts_already() {
        let events = Events::default();
        let before = Instant::now().checked_sub(Duration::from_secs(40)).unwrap();
        let first = events.wait_since(before);
        let second = events.wait_since(before);
        assert!(events.waited() >= Duration::from_secs(40));
        drop((first, second));
        assert!(events.waited() < Duration::from_secs(41));
        drop(events.wait_since(before));
        assert!(events.waited() < Duration::from_secs(41), "that time is counted already");
    }

    #[test]
    fn each_refusal_is_heard_of_once_and_there_is_a_most_of_them() {
        let events = Events::default();
        for n in [0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9] {
            events.refused(format!("host {n}"));
        }
        assert_eq!(events.take_refusals().len(), REFUSALS);
        assert!(events.take_refusals().is_empty());
    }
}
