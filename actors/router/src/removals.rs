//! agentd is told of workspaces that were removed until it has nothing left to remove: who died after one was forgotten may not
//! have said so, and agentd may not have been able to. It says nothing back, and a folder that is gone costs it a look; so all
//! are named over and over, a few at a time.

use crate::desk::Desk;
use crate::errands::Errand;
use ipc_proto::ids::WorkspaceId;
use std::time::{Duration, Instant};

/// How long until the next few.
const AGAIN: Duration = Duration::from_secs(600);
/// How many at once.
pub(crate) const FEW: u32 = 16;

/// How far this came.
#[derive(Debug)]
pub(crate) struct Removals {
    /// The last that was named; `None` to begin with the first.
    after: Option<WorkspaceId>,
    due: Instant,
}

impl Removals {
    /// Due at once.
    pub(crate) const fn new(now: Instant) -> Self {
        Self { after: None, due: now }
    }
}

impl Desk {
    /// Names the next few, if it is time and agentd listens.
    pub(crate) fn repeat_removals(&mut self) {
        if self.now.at < self.removals.due || !self.runners.known {
            return;
        }
        self.removals.due = self.now.at + AGAIN;
        match self.store.removed_workspaces(self.removals.after) {
            Ok(few) => {
                self.removals.after = few.last().copied().filter(|_| u32::try_from(few.len()) == Ok(FEW));
                self.errands.extend(few.into_iter().map(Errand::Remove));
            }
            Err(fault) => tracing::error!(%fault, "removed workspaces cannot be read"),
        }
    }
}
