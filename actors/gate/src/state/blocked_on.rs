//! The processes that a turn waits for now, by name, for people who ask why it is silent. Calls of audit,
//! scanner, model and credproxy are wrapped in `during`; those of other processes are not shown. Work outside a turn reports nothing.

use ipc_proto::{List, Name};
use std::sync::{Arc, Mutex, PoisonError};

tokio::task_local! {
    /// The set of the turn that this task serves.
    static CURRENT: BlockedOn;
}

/// The processes that one turn waits for. A name occurs once for each call under way.
#[derive(Clone, Debug, Default)]
pub(crate) struct BlockedOn(Arc<Mutex<Vec<&'static str>>>);

impl BlockedOn {
    /// Runs a turn's work, whose calls are counted here.
    pub(crate) async fn scope<T>(self, work: impl Future<Output = T>) -> T {
        CURRENT.scope(self, work).await
    }

    /// The names of the processes that it waits for now.
    pub(crate) fn names(&self) -> List<Name, 4> {
        let mut names = self.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
        names.sort_unstable();
        names.dedup();
        List::clip(names.into_iter().map(Name::clip))
    }
}

/// Counts one call until it is dropped.
struct BlockedGuard(BlockedOn, &'static str);

impl BlockedGuard {
    fn begin(blocked_on: &BlockedOn, name: &'static str) -> Self {
        blocked_on.0.lock().unwrap_or_else(PoisonError::into_inner).push(name);
        Self(blocked_on.clone(), name)
    }
}

impl Drop for BlockedGuard {
    fn drop(&mut self) {
        let mut names = self.0.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(at) = names.iter().position(|name| *name == self.1) {
            names.swap_remove(at);
        }
    }
}

/// Awaits a call of the process `name`, and reports it meanwhile.
pub(crate) async fn during<T>(name: &'static str, asked: impl Future<Output = T>) -> T {
    let _guard = CURRENT.try_with(|blocked_on| BlockedGuard::begin(blocked_on, name)).ok();
    asked.await
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures::poll;
    use std::future::{pending, ready};

    fn names(blocked_on: &BlockedOn) -> Vec<String> {
        blocked_on.names().iter().map(ToString::to_string).collect()
    }

    // Holds P7-91.
    #[tokio::test]
    async fn a_turn_waits_for_its_own_calls_as_long_as_they_are_under_way() {
        let (blocked_on, other) = (BlockedOn::default(), BlockedOn::default());
        assert_eq!(during("audit", ready(7)).await, 7, "of nobody's turn");
        assert_eq!(blocked_on.clone().scope(during("audit", ready(8))).await, 8);
        assert!(names(&blocked_on).is_empty(), "it was answered");
        let work = during("model", during("credproxy", during("model", pending::<()>())));
        let mut work = Box::pin(blocked_on.clone().scope(work));
        assert!(poll!(&mut work).is_pending());
        assert_eq!(names(&blocked_on), ["credproxy", "model"]);
        assert!(names(&other).is_empty());
        drop(work);
        assert!(names(&blocked_on).is_empty(), "nobody waits any more");
    }
}
