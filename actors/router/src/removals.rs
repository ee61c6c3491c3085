//! agentd is told about removed workspaces until it has nothing left to remove: a process that ended after a workspace was forgotten may
//! not have told it, and agentd may not have been able to remove the folder. It does not answer, and a folder that is gone costs it one
//! look; so all are named over and over, a few at a time.

use crate::state::RouterState;
use crate::state::effects::Effect;

impl RouterState {
    /// Names the next few, if it is time and agentd listens.
    pub(crate) fn repeat_removals(&mut self) {
        if !self.runners.are_known() || !self.removals.is_due(self.now.at) {
            return;
        }
        match self.store.removed_workspaces(self.removals.after()) {
            Ok(few) => {
                self.removals.named(&few);
                self.effects.extend(few.into_iter().map(Effect::RemoveWorkspace));
            }
            Err(fault) => tracing::error!(%fault, "removed workspaces cannot be read"),
        }
    }
}
