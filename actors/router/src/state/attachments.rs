//! The directories that users attached in this life of the host, as control reported them.

use ipc_proto::ids::{UserId, WorkspaceId};
use std::collections::HashMap;
use std::time::{Duration, Instant};

/// Attachments that are remembered: twice the directories that agentd holds.
const MOST: usize = 1024;
/// How long a directory without requests stays open.
pub(crate) const UNUSED: Duration = Duration::from_secs(3600);

/// Users by the ids of the directories that they attached in this life of the host, and since when.
#[derive(Debug, Default)]
pub(crate) struct Attachments(HashMap<WorkspaceId, (UserId, Instant)>);

impl Attachments {
    /// Returns true if control reported that this user attached it.
    pub(crate) fn is_of(&self, workspace: WorkspaceId, user: UserId) -> bool {
        self.0.get(&workspace).is_some_and(|(of, _)| *of == user)
    }

    /// Remembers that a user attached a directory.
    pub(crate) fn insert(&mut self, workspace: WorkspaceId, user: UserId, now: Instant) {
        if self.0.len() >= MOST && !self.0.contains_key(&workspace) {
            // A directory that is attached again is confirmed again.
            self.0.clear();
        }
        self.0.insert(workspace, (user, now));
    }

    pub(crate) fn remove(&mut self, workspace: WorkspaceId) {
        self.0.remove(&workspace);
    }

    /// Directories that were attached or used [`UNUSED`] ago or earlier.
    pub(crate) fn old(&self, now: Instant) -> Vec<WorkspaceId> {
        let old = |(_, since): &(UserId, Instant)| now.saturating_duration_since(*since) >= UNUSED;
        self.0.iter().filter(|(_, about)| old(about)).map(|(id, _)| *id).collect()
    }

    /// A directory is in use still.
    pub(crate) fn touch(&mut self, workspace: WorkspaceId, now: Instant) {
        self.0.entry(workspace).and_modify(|(_, since)| *since = now);
    }
}
