//! Where an answer comes from, as one sequence of what is said.

use super::{Call, Origin};
use crate::agents::Turn;
use crate::fault::Fault;
use crate::relay::Relay;
use ipc_proto::model::{Finish, Usage};

/// What is said of an answer, in order.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Said {
    /// Text of the answer.
    Text(String),
    /// A call that the client is to run.
    Call(Call),
    /// What was said before is void: the answer begins again.
    Void,
    /// The whole text as it was kept, whatever was said of it before.
    Answer(String),
    /// Something that is no part of the answer.
    Note(String),
    /// Tokens so far.
    Usage(Usage),
    /// The end.
    Done(Finish),
    /// The end, by a fault.
    Failed(Fault),
}

/// Where an answer comes from.
pub(crate) enum Source {
    /// An agent's turn.
    Turn(Turn),
    /// A model.
    Relay(Relay),
    /// What a test says.
    #[cfg(test)]
    Given(std::collections::VecDeque<Vec<Said>>),
}

impl Source {
    /// What is said next; nothing at all if that took about 20 s. After `Done` and `Failed` nothing follows.
    pub(crate) async fn next(&mut self) -> Vec<Said> {
        match self {
            Self::Turn(turn) => turn.next().await,
            Self::Relay(relay) => relay.next().await,
            #[cfg(test)]
            Self::Given(said) => said.pop_front().unwrap_or_default(),
        }
    }

    /// What it is an answer of.
    pub(crate) const fn origin(&self) -> Origin {
        match self {
            Self::Turn(turn) => Origin { turn: Some(turn.id()) },
            Self::Relay(_) => Origin { turn: None },
            #[cfg(test)]
            Self::Given(_) => Origin { turn: None },
        }
    }

    #[cfg(test)]
    pub(crate) fn given(said: Vec<Vec<Said>>) -> Self {
        Self::Given(said.into())
    }
}
