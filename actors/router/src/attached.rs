//! Attached directories. Control reports each once agentd has looked at it. An id alone proves nothing, since anybody can compute one: a
//! user works only in directories that control reported for that user, and whose owner still is a uid of that user.

use crate::state::RouterState;
use crate::state::effects::Effect;
use crate::store::StoreFault;
use ipc_proto::ids::{UserId, WorkspaceId};
use ipc_proto::router::RouterError;

impl RouterState {
    /// Remembers that a user attached a directory. One that is another user's workspace stays theirs.
    pub(crate) fn attach(&mut self, user: UserId, workspace: WorkspaceId) -> Result<(), RouterError> {
        if self.people.by_id(user).is_none() {
            return Err(RouterError::NoUser);
        }
        let known = self.store.workspace(workspace)?;
        let anothers = known.is_some_and(|known| known.user != user || !known.attached);
        if anothers || !self.owns(user, workspace) {
            self.effects.push(Effect::CloseDirectory(workspace));
            return Err(RouterError::NoWorkspace);
        }
        self.attached.insert(workspace, user, self.now.at);
        Ok(())
    }

    /// Has agentd close directories that were attached long ago and that no session works in.
    pub(crate) fn close_unused_directories(&mut self) {
        let now = self.now.at;
        for workspace in self.attached.old(now) {
            match self.store.workspace_in_use(workspace) {
                Ok(false) => {
                    self.attached.remove(workspace);
                    self.effects.push(Effect::CloseDirectory(workspace));
                }
                // It is looked at again after as long a time.
                Ok(true) | Err(_) => self.attached.touch(workspace, now),
            }
        }
    }

    /// Has agentd close an attached directory in which no session works any more.
    pub(crate) fn close_if_unused(&mut self, workspace: WorkspaceId) -> Result<(), StoreFault> {
        let attached = self.store.workspace(workspace)?.is_some_and(|known| known.attached);
        if attached && !self.store.workspace_in_use(workspace)? {
            self.attached.remove(workspace);
            self.effects.push(Effect::CloseDirectory(workspace));
        }
        Ok(())
    }
}
