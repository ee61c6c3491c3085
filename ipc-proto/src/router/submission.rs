//! Messages on their way in: submissions and steering.

use super::task::Task;
use crate::content::Content;
use crate::ids::{MessageId, SessionId, SessionName, TurnId, UserId, WorkspaceId};
use crate::label::{Class, Label, Trust};
use crate::{Name, Text};
use serde::{Deserialize, Serialize};

/// A message on its way in.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Submission {
    /// Whose.
    pub user: UserId,
    /// In which of their sessions; made if it is new.
    pub session: SessionName,
    /// With which agent; a new session's default is `default`, an old session keeps its own.
    pub agent: Option<Name>,
    /// The channel it came by.
    pub channel: Name,
    /// The platform's id of it: the same twice on one channel is one message.
    pub key: Text<256>,
    /// What is said.
    pub content: Content,
    /// What is to be done.
    pub task: Task,
    /// A directory attached for this session.
    pub workspace: Option<WorkspaceId>,
    /// What its owner declares of that directory; untrusted and internal without it. It holds from the first
    /// attachment on; a later one can only raise it.
    pub workspace_label: Option<(Trust, Class)>,
}

/// A message that was accepted: it is durable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Accepted {
    /// The message.
    pub message: MessageId,
    /// The turn that will answer it.
    pub turn: TurnId,
    /// Its session.
    pub session: SessionId,
    /// How many wait before it.
    pub waiting: u32,
}

/// Bytes of what is said into a turn that is under way.
pub const WORDS_BOUND: usize = 32 * 1024;
/// Words that a turn takes in at once.
pub const WORDS: usize = 16;

/// What a person says into a turn that is under way in one of their sessions.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Steer {
    /// In which session.
    pub session: SessionName,
    /// What is said.
    pub text: Text<WORDS_BOUND>,
    /// It goes before what is not, and is marked.
    pub urgent: bool,
    /// The same twice on one channel is said once.
    pub key: Text<256>,
}

/// Words that were accepted: they are durable. Those that their turn ends before are a message like any other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Steering {
    /// The message that they are.
    pub accepted: Accepted,
    /// The turn that is to take them in.
    pub into: TurnId,
}

/// Words that wait for their turn.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Word {
    /// The message that they are.
    pub message: MessageId,
    /// As the model is given them.
    pub text: Text<WORDS_BOUND>,
    /// Their label.
    pub label: Label,
}
