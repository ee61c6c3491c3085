//! The kind of work that a message asks for.

use crate::state::RouterState;
use crate::store::{Head, StoreFault};
use ipc_proto::Name;
use ipc_proto::router::Task;

impl RouterState {
    /// Returns true if a message's turn runs a program that asks models by itself.
    pub(crate) fn runs(&self, seq: i64) -> Result<bool, StoreFault> {
        Ok(matches!(self.store.content_without_media(seq)?.1, Task::Run(_)))
    }

    /// Returns true if a message's turn runs a command or program that a person typed. Its effects are unknown once its jail is gone.
    pub(crate) fn is_own_program(&self, seq: i64) -> Result<bool, StoreFault> {
        Ok(matches!(self.store.content_without_media(seq)?.1, Task::Run(_) | Task::Command { .. }))
    }

    /// Returns true if a message's turn puts images before a model.
    pub(crate) fn shows(&self, seq: i64) -> Result<bool, StoreFault> {
        if !self.store.has_parts(seq)? {
            return Ok(false);
        }
        let (content, task, _) = self.store.content_without_media(seq)?;
        Ok(task.images(&content).next().is_some())
    }

    /// Returns true if a message's turn runs in a jail with a loopback of its own: for an engine, or for a person's program.
    pub(crate) fn is_jailed_apart(&self, head: &Head) -> Result<bool, StoreFault> {
        let agent = self.store.session(head.session)?.agent;
        Ok(self.runs(head.seq)? || self.engine_of(head, &agent)?.is_some())
    }

    /// Returns true if the jail of a message has a way out.
    pub(crate) fn has_way_out(&self, head: &Head, agent: &str) -> Result<bool, StoreFault> {
        let network = self.config.agents.get(agent).is_some_and(|agent| agent.network.is_some());
        Ok(network && self.is_jailed_apart(head)?)
    }

    /// The engine that answers a message with this agent, if it is one that is to be answered.
    pub(crate) fn engine_of(&self, head: &Head, agent: &str) -> Result<Option<Name>, StoreFault> {
        let engine = self.config.agents.get(agent).and_then(|agent| agent.engine.as_ref());
        match engine {
            Some(engine) if self.store.content_without_media(head.seq)?.1 == Task::Chat => {
                Ok(Some(engine.name.clone()))
            }
            _ => Ok(None),
        }
    }
}
