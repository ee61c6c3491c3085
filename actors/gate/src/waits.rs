//! What a turn waits for at this moment, by name, for whoever asks why it says nothing. Whatever asks a process that a turn
//! cannot go on without says so here; it must say nothing of work that is nobody's turn.

use ipc_proto::{List, Name};
use std::sync::{Arc, Mutex, PoisonError};

tokio::task_local! {
    /// That of the turn which this task serves.
    static OURS: Waits;
}

/// What one turn waits for; the same name as often as it is asked for at once.
#[derive(Clone, Debug, Default)]
pub(crate) struct Waits(Arc<Mutex<Vec<&'static str>>>);

impl Waits {
    /// Does a turn's work.
    pub(crate) async fn of<T>(self, work: impl Future<Output = T>) -> T {
        OURS.scope(self, work).await
    }

    /// What it waits for now.
    pub(crate) fn now(&self) -> List<Name, 4> {
        let mut names = self.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
        names.sort_unstable();
        names.dedup();
        List::clip(names.into_iter().map(Name::clip))
    }
}

/// It is waited for as long as this is kept.
struct Waiting(Waits, &'static str);

impl Waiting {
    fn begin(waits: &Waits, name: &'static str) -> Self {
        waits.0.lock().unwrap_or_else(PoisonError::into_inner).push(name);
        Self(waits.clone(), name)
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        let mut names = self.0.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(at) = names.iter().position(|name| *name == self.1) {
            names.swap_remove(at);
        }
    }
}

/// Waits for what this process is asked for.
pub(crate) async fn on<T>(name: &'static str, asked: impl Future<Output = T>) -> T {
    let _waiting = OURS.try_with(|waits| Waiting::begin(waits, name)).ok();
    asked.await
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures::poll;
    use std::future::{pending, ready};

    fn names(waits: &Waits) -> Vec<String> {
        waits.now().iter().map(ToString::to_string).collect()
    }

    // Holds P7-91.
    #[tokio::test]
    async fn a_turn_waits_for_what_is_asked_for_it_as_long_as_that_takes_or_is_wanted_and_for_nothing_else() {
        let (waits, other) = (Waits::default(), Waits::default());
        assert_eq!(on("audit", ready(7)).await, 7, "of nobody's turn");
        assert_eq!(waits.clone().of(on("audit", ready(8))).await, 8);
        assert!(names(&waits).is_empty(), "it was answered");
        let work = on("model", on("credproxy", on("model", pending::<()>())));
        let mut work = Box::pin(waits.clone().of(work));
        assert!(poll!(&mut work).is_pending());
        assert_eq!(names(&waits), ["credproxy", "model"]);
        assert!(names(&other).is_empty());
        drop(work);
        assert!(names(&waits).is_empty(), "nobody waits any more");
    }
}
