//! The kind of work that a message asks for.

use crate::state::RouterState;
use crate::store::{Head, StoreFault};
use ipc_proto::Name;
use ipc_proto::router::Task;
use manifest::Process;

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

    /// The row of the jail of a message's turn: a jail with a loopback is for an engine, for a person's program, and for commands
    /// that have a way out.
    pub(crate) fn jail_of(&self, head: &Head, agent: &str) -> Result<Process, StoreFault> {
        let task = self.store.content_without_media(head.seq)?.1;
        let engine = self.engine_of(head, agent)?.is_some();
        Ok(match task {
            Task::Run(_) => Process::AgentRunner,
            Task::Chat if engine => Process::AgentRunner,
            Task::Chat | Task::Command { .. } if self.has_network(head, agent)? => Process::NetRunner,
            _ => Process::Runner,
        })
    }

    /// Returns true if the jail of a message has a way out.
    pub(crate) fn has_way_out(&self, head: &Head, agent: &str) -> Result<bool, StoreFault> {
        Ok(self.has_network(head, agent)? && self.jail_of(head, agent)? != Process::Runner)
    }

    fn has_network(&self, head: &Head, agent: &str) -> Result<bool, StoreFault> {
        let may = self.delegation(head)?.is_none_or(|task| task.terms.network);
        Ok(may && self.config.agents.get(agent).is_some_and(|agent| agent.network.is_some()))
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
