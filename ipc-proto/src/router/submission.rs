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
    /// The owner.
    pub user: UserId,
    /// The session; made if it is new.
    pub session: SessionName,
    /// The agent; a new session's default is `default`, an old session keeps its own.
    pub agent: Option<Name>,
    /// The channel it came by.
    pub channel: Name,
    /// The platform's id of it: the same twice on one channel is one message.
    pub key: Text<256>,
    /// The message.
    pub content: Content,
    /// The task.
    pub task: Task,
    /// A directory attached for this session.
    pub workspace: Option<WorkspaceId>,
    /// The label that its owner declares for that directory; untrusted and internal without it. It holds
    /// from the first attachment on; a later one can only raise it.
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

/// Bytes of a message that is sent into a turn under way.
pub const STEERING_BOUND: usize = 32 * 1024;
/// Messages that a turn accepts at once.
pub const STEERING_MESSAGES: usize = 16;

/// A message that a person sends into a turn that is under way in one of their sessions.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Steer {
    /// The session.
    pub session: SessionName,
    /// The message.
    pub text: Text<STEERING_BOUND>,
    /// It goes before messages that are not urgent, and is marked.
    pub urgent: bool,
    /// The same key twice on one channel is one message.
    pub key: Text<256>,
}

/// A steering message that was accepted, and is durable. If its turn ends first, it is a message like any other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Steering {
    /// The message.
    pub accepted: Accepted,
    /// The turn that is to accept it.
    pub into: TurnId,
}

/// A steering message that waits for its turn.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SteeringMessage {
    /// Its id.
    pub message: MessageId,
    /// The text as the model gets it.
    pub text: Text<STEERING_BOUND>,
    /// Its label.
    pub label: Label,
}
