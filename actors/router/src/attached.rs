//! Attached directories: whose they are, as control says once agentd has looked at each. An id alone proves nothing, since
//! anybody can compute one, so a user works only in directories that control saw that user attach, and whose owner is a uid of that
//! user's still.

use crate::desk::Desk;
use crate::errands::Errand;
use crate::store::StoreFault;
use ipc_proto::ids::{UserId, WorkspaceId};
use ipc_proto::router::RouterError;
use manifest::command::attached_owner;
use std::collections::HashMap;
use std::time::{Duration, Instant};

/// Attachments that are remembered: twice as many as agentd keeps directories.
const MOST: usize = 1024;
/// How long a directory is kept in which nothing was asked for.
pub(crate) const UNUSED: Duration = Duration::from_secs(3600);

/// Users by the ids of the directories that they attached in this life of the host, and since when.
#[derive(Debug, Default)]
pub(crate) struct Attachments(HashMap<WorkspaceId, (UserId, Instant)>);

impl Attachments {
    /// Returns whether control saw this user attach it.
    pub(crate) fn is_of(&self, workspace: WorkspaceId, user: UserId) -> bool {
        self.0.get(&workspace).is_some_and(|(of, _)| *of == user)
    }
}

impl Desk {
    /// Remembers that a user attached a directory. One that is another user's workspace stays theirs.
    pub(crate) fn attach(&mut self, user: UserId, workspace: WorkspaceId) -> Result<(), RouterError> {
        if self.people.by_id(user).is_none() {
            return Err(RouterError::NoUser);
        }
        let known = self.store.workspace(workspace)?;
        let anothers = known.is_some_and(|known| known.user != user || !known.attached);
        if anothers || !self.owns(user, workspace) {
            self.errands.push(Errand::Forget(workspace));
            return Err(RouterError::NoWorkspace);
        }
        if self.attached.0.len() >= MOST && !self.attached.0.contains_key(&workspace) {
            // A directory that is attached again is confirmed again.
            self.attached.0.clear();
        }
        self.attached.0.insert(workspace, (user, self.now.at));
        Ok(())
    }

    /// Returns whether the uid that owns an attached directory is this user's.
    pub(crate) fn owns(&self, user: UserId, workspace: WorkspaceId) -> bool {
        self.people.by_uid(attached_owner(workspace.bytes())).is_some_and(|person| person.id == user)
    }

    /// Has agentd close directories that were attached long ago and that no session works in.
    pub(crate) fn let_go_of_unused(&mut self) {
        let now = self.now.at;
        let old = |(_, since): &(UserId, Instant)| now.saturating_duration_since(*since) >= UNUSED;
        let old: Vec<WorkspaceId> =
            self.attached.0.iter().filter(|(_, about)| old(about)).map(|(id, _)| *id).collect();
        for workspace in old {
            match self.store.workspace_in_use(workspace) {
                Ok(false) => {
                    self.attached.0.remove(&workspace);
                    self.errands.push(Errand::Forget(workspace));
                }
                // It is looked at again after as long a time.
                Ok(true) | Err(_) => {
                    self.attached.0.entry(workspace).and_modify(|(_, since)| *since = now);
                }
            }
        }
    }

    /// Has agentd close an attached directory in which no session works any more.
    pub(crate) fn let_go_of(&mut self, workspace: WorkspaceId) -> Result<(), StoreFault> {
        let attached = self.store.workspace(workspace)?.is_some_and(|known| known.attached);
        if attached && !self.store.workspace_in_use(workspace)? {
            self.attached.0.remove(&workspace);
            self.errands.push(Errand::Forget(workspace));
        }
        Ok(())
    }
}
