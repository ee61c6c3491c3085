//! Delegation: a turn hands a task to an agent, which answers it in a turn of its own, in a fresh session of the same user. That turn
//! may do no more than the one that handed it out.

use super::fire::Unattended;
use super::view::MessageState;
use crate::ids::{SessionName, TurnId};
use crate::label::Label;
use crate::{List, Name, Text};
use serde::{Deserialize, Serialize};

/// Bytes of a task.
pub const TASK: usize = 50 * 1024;
/// How deep tasks may be handed on: an agent that was handed a task hands parts of it to others, and those to nobody.
pub const DEPTH: u8 = 2;
/// Tasks of one turn that may be under way at once.
pub const CHILDREN: usize = 3;
/// Tasks of the whole host that may wait or be under way.
pub const ALIVE: usize = 50;
/// Tasks of the whole host that may be worked on at once; their turns have places of their own.
pub const PLACES: usize = 8;
/// Seconds that a task may take, at least and at most.
pub const SECONDS: [u16; 2] = [5, 600];
/// Tools of a turn, those that it finds by words first included.
pub const ALL_TOOLS: usize = 1024;
/// Turns of one tree that are listed.
pub const TREE: usize = 256;

/// A task on its way to an agent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Delegation {
    /// The agent.
    pub agent: Name,
    /// The task.
    pub task: Text<TASK>,
    /// The label of the task: that of everything the model knew which wrote it.
    pub label: Label,
    /// The bounds of its turn.
    pub terms: Terms,
}

/// The bounds of a turn that works on a task, besides those of its own agent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Terms {
    /// The agents that the task came through, the first one first; as many as the turn is deep.
    pub chain: List<Name, { DEPTH as usize }>,
    /// The tools that it may have.
    pub tools: List<Name, ALL_TOOLS>,
    /// The plan of the turn that handed it out: its author read nothing untrusted before that was made.
    pub plan: List<Name, 64>,
    /// The profile that its own may not be laxer than.
    pub profile: Name,
    /// True if its jails may have the way out of its own agent, which leads nowhere that the turn above may not go.
    pub network: bool,
    /// Seconds that it may take.
    pub seconds: u16,
    /// The terms of the job whose turn handed it out, with the tokens that it has left.
    pub unattended: Option<Unattended>,
}

impl Terms {
    /// How many turns stand above this one.
    #[must_use]
    pub fn depth(&self) -> u8 {
        u8::try_from(self.chain.len()).unwrap_or(u8::MAX)
    }
}

/// A turn of a tree.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Node {
    /// The turn.
    pub turn: TurnId,
    /// The turn that handed the task to it; none at the top.
    pub parent: Option<TurnId>,
    /// 0 at the top.
    pub depth: u8,
    /// The agent.
    pub agent: Name,
    /// The session.
    pub session: SessionName,
    /// The state of its message.
    pub state: MessageState,
}
