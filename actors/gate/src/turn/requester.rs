//! The program or engine that asks models in a jail, as its turn was when its work was given out.

use crate::turn::context::TurnContext;
use ipc_proto::Name;
use ipc_proto::gate::RelayError;
use ipc_proto::ids::{SessionId, TurnId, UserId};
use ipc_proto::label::Label;
use ipc_proto::router::{PayingKey, Task};

/// The requester of a program's model calls: its turn, as it was when its work was given out.
#[derive(Clone, Debug)]
pub(crate) struct Requester {
    pub(crate) turn: TurnId,
    pub(crate) session: SessionId,
    pub(crate) user: UserId,
    pub(crate) user_name: Name,
    /// The agent that it runs as: its policy, its budget and its model.
    pub(crate) agent: Name,
    pub(crate) profile: String,
    pub(crate) model: String,
    /// The join of its session's and its workspace's label.
    pub(crate) label: Label,
    /// The API key that its message came with.
    pub(crate) key: Option<PayingKey>,
    /// True for an engine, which may ask only its agent's model.
    pub(crate) engine: bool,
    /// Model calls of its session in an hour; an engine has as many as the host's own loop.
    pub(crate) calls: u32,
}

impl Requester {
    /// The requester of this turn.
    pub(crate) fn of(context: &TurnContext) -> Self {
        let turn = &context.turn;
        Self {
            turn: turn.id,
            session: turn.session,
            user: turn.user,
            user_name: turn.user_name.clone(),
            agent: turn.agent.clone(),
            profile: context.agent.profile.clone(),
            model: context.agent.model.clone(),
            label: context.session.label.clone(),
            key: turn.key,
            engine: !matches!(turn.task, Task::Run(_)),
            calls: context.agent.limits.model_calls_per_hour,
        }
    }

    /// Checks that it may ask this model: an engine is held to its agent's, as the host's own loop is.
    pub(crate) fn may_use(&self, model: &str) -> Result<(), RelayError> {
        if self.engine && model != self.model { Err(RelayError::NotInScope) } else { Ok(()) }
    }
}
