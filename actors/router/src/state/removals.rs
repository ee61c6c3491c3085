//! The position in the list of removed workspaces that agentd is told about.

use crate::store::REMOVALS_AT_ONCE;
use ipc_proto::ids::WorkspaceId;
use std::time::{Duration, Instant};

/// How long until the next few.
const AGAIN: Duration = Duration::from_secs(600);

/// The position in the list of removed workspaces.
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

    /// Returns true if the next few are due, and then puts them off.
    pub(crate) fn is_due(&mut self, now: Instant) -> bool {
        let due = now >= self.due;
        if due {
            self.due = now + AGAIN;
        }
        due
    }

    /// The workspace after which the next few begin.
    pub(crate) const fn after(&self) -> Option<WorkspaceId> {
        self.after
    }

    /// These were named; after the last of all the list begins anew.
    pub(crate) fn named(&mut self, few: &[WorkspaceId]) {
        self.after = few.last().copied().filter(|_| u32::try_from(few.len()) == Ok(REMOVALS_AT_ONCE));
    }
}
