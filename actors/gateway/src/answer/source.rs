//! Where an answer comes from.

use crate::agents::Turn;
use crate::relay::Relay;
use vendors::answer::{Origin, ReplyEvent};

/// Where an answer comes from.
pub(crate) enum Source {
    /// An agent's turn.
    Turn(Turn),
    /// A model.
    Relay(Relay),
}

impl vendors::answer::Source for Source {
    async fn next(&mut self) -> Vec<ReplyEvent> {
        match self {
            Self::Turn(turn) => turn.next().await,
            Self::Relay(relay) => relay.next().await,
        }
    }

    fn origin(&self) -> Origin {
        match self {
            Self::Turn(turn) => Origin { turn: Some(turn.id()) },
            Self::Relay(_) => Origin { turn: None },
        }
    }
}
