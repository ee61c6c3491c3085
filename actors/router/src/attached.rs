//! Attached directories: whose they are, as control says once agentd has looked at each. An id alone proves nothing, since
//! anybody can compute one, so a user works only in directories that control saw that user attach.

use crate::desk::Desk;
use crate::errands::Errand;
use crate::store::StoreFault;
use ipc_proto::ids::{UserId, WorkspaceId};
use ipc_proto::router::RouterError;
use std::collections::HashMap;

/// Attachments that are remembered: twice as many as agentd keeps directories.
const MOST: usize = 1024;

/// Users by the ids of the directories that they attached in this life of the host.
#[derive(Debug, Default)]
pub(crate) struct Attachments(HashMap<WorkspaceId, UserId>);

impl Attachments {
    /// Returns whether control saw this user attach it.
    pub(crate) fn is_of(&self, workspace: WorkspaceId, user: UserId) -> bool {
        self.0.get(&workspace) == Some(&user)
    }
}

impl Desk {
    /// Remembers that a user attached a directory. One that is another user's workspace stays theirs.
    pub(crate) fn attach(&mut self, user: UserId, workspace: WorkspaceId) -> Result<(), RouterError> {
        if self.people.by_id(user).is_none() {
            return Err(RouterError::NoUser);
        }
        let known = self.store.workspace(workspace)?;
        if known.is_some_and(|known| known.user != user || !known.attached) {
            return Err(RouterError::NoWorkspace);
        }
        if self.attached.0.len() >= MOST && !self.attached.0.contains_key(&workspace) {
            // A directory that is attached again is confirmed again.
            self.attached.0.clear();
        }
        self.attached.0.insert(workspace, user);
        Ok(())
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
