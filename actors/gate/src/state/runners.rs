//! The runner of each turn. A turn has one at a time: a new one replaces the one before.

use ipc_proto::ids::TurnId;
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use tokio::sync::watch;

/// Becomes true once another runner has taken the turn over, or the turn is over. The socket of a dead runner does not say so:
/// its last request is served to the end.
pub(crate) type Replaced = watch::Receiver<bool>;

/// Waits until the runner is replaced.
pub(crate) async fn is_replaced(replaced: &mut Replaced) {
    drop(replaced.wait_for(|replaced| *replaced).await);
}

/// The runners by turn.
#[derive(Default)]
pub(crate) struct Runners(Mutex<HashMap<TurnId, watch::Sender<bool>>>);

impl Runners {
    /// Registers the runner of a turn; an earlier runner of the same turn is replaced.
    pub(crate) fn register(&self, turn: TurnId) -> Replaced {
        let (replace, replaced) = watch::channel(false);
        let mut runners = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        runners.retain(|_, runner| !runner.is_closed());
        if let Some(before) = runners.insert(turn, replace) {
            before.send_replace(true);
        }
        replaced
    }

    /// Ends the runner of a turn that is over, as if another had replaced it.
    pub(crate) fn end(&self, turn: TurnId) {
        let runners = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(runner) = runners.get(&turn) {
            runner.send_replace(true);
        }
    }
}
