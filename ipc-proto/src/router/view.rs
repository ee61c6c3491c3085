//! Sessions, messages, users, agents and workspaces as people and clients see them.

use super::turn::{Finished, Labelled, TurnEvent};
use crate::content::TEXT_BOUND;
use crate::ids::{CallId, MessageId, SessionId, SessionName, TurnId, UserId, WorkspaceId};
use crate::label::Label;
use crate::role::UserRole;
use crate::{List, Name, Text};
use serde::{Deserialize, Serialize};

/// A piece of a turn's events.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Followed {
    /// The number of the first event below.
    pub from: u64,
    /// The events.
    pub events: List<TurnEvent, 64>,
    /// Where to go on.
    pub next: u64,
    /// The turn has ended and these are its last events.
    pub over: bool,
}

/// A session, listed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionInfo {
    /// Its id.
    pub id: SessionId,
    /// Its name.
    pub name: SessionName,
    /// The owner.
    pub user: Name,
    /// The agent.
    pub agent: Name,
    /// `active` or `ended`.
    pub status: Name,
    /// Its label.
    pub label: Label,
    /// Its workspace.
    pub workspace: WorkspaceId,
    /// Messages in it.
    pub messages: u32,
    /// When it began, unix ms.
    pub created_ms: u64,
    /// When last used, unix ms.
    pub used_ms: u64,
}

/// A session with its transcript.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionView {
    /// The session.
    pub info: SessionInfo,
    /// Its transcript, oldest first; the last 1,024 messages, as much as fits.
    pub transcript: List<Labelled, 1024>,
}

/// The state of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum MessageState {
    /// Durable, not looked at yet.
    Accepted,
    /// Scanned and labelled; waiting for its session's lane.
    Queued,
    /// A turn is answering it.
    Running,
    /// Its answer is in the outbox.
    Answered,
    /// Its answer was given out.
    Delivered,
    /// The scanner kept it from being answered.
    Blocked,
    /// Its person cancelled it.
    Cancelled,
    /// It could not be answered.
    Failed,
    /// It had not begun, and its sender took it back.
    Recalled,
    /// It was given up after its last attempt, and waits among the dead letters for a person.
    Quarantined,
    /// It was a dead letter, and another message stands in its place.
    Requeued,
    /// It was said into a turn under way, which has taken it in.
    #[serde(rename = "taken_in")]
    TakenIn,
    /// Shown for one that is running while a person is asked; a trace knows it only as running.
    #[serde(rename = "waiting_approval")]
    WaitingApproval,
}

impl MessageState {
    /// Its name, as it is on the wire.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Accepted => "accepted",
            Self::Queued => "queued",
            Self::Running => "running",
            Self::Answered => "answered",
            Self::Delivered => "delivered",
            Self::Blocked => "blocked",
            Self::Cancelled => "cancelled",
            Self::Failed => "failed",
            Self::Recalled => "recalled",
            Self::Quarantined => "quarantined",
            Self::Requeued => "requeued",
            Self::TakenIn => "taken_in",
            Self::WaitingApproval => "waiting_approval",
        }
    }
}

/// A message, listed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MessageInfo {
    /// Its id.
    pub id: MessageId,
    /// Its turn.
    pub turn: TurnId,
    /// Its session's name.
    pub session: SessionName,
    /// The owner.
    pub user: Name,
    /// The channel it came by.
    pub channel: Name,
    /// The message's state.
    pub state: MessageState,
    /// How often it was attempted.
    pub attempts: u32,
    /// When it was accepted, unix ms.
    pub accepted_ms: u64,
    /// Bytes of its text.
    pub bytes: u32,
}

/// A state a message went through.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Passed {
    /// The state.
    pub state: MessageState,
    /// When, unix ms.
    pub at_ms: u64,
    /// The attempt's number.
    pub attempt: u32,
    /// Why, in the host's words.
    pub note: Text<256>,
}

/// The known state of a call's effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Effect {
    /// It was not released.
    Refused,
    /// A person is asked.
    Asking,
    /// It was released, and its turn goes on.
    Running,
    /// It came back, well or not.
    Done,
    /// It was released and nothing came back: it may have taken effect, and is never repeated by itself.
    Unknown,
}

/// A call of a turn, listed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallInfo {
    /// The call.
    pub id: CallId,
    /// The tool.
    pub tool: Name,
    /// The known state of its effect.
    pub effect: Effect,
    /// Index of the decision in the record.
    pub record: u64,
}

/// A message in full.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MessageView {
    /// The message.
    pub info: MessageInfo,
    /// The message's text, without media.
    pub text: Text<TEXT_BOUND>,
    /// Its label, once the scanner has looked at it.
    pub label: Option<Label>,
    /// Every state it went through.
    pub states: List<Passed, 128>,
    /// Every call of its turn.
    pub calls: List<CallInfo, 256>,
    /// How its turn ended, if it has.
    pub finished: Option<Finished>,
    /// The dead letter it stands for.
    pub stands_for: Option<MessageId>,
    /// The message that stands in its place.
    pub replaced_by: Option<MessageId>,
}

/// The queue in numbers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct QueueInfo {
    /// Nothing is started, in any session.
    pub paused: bool,
    /// Sessions in which nothing is started.
    pub paused_sessions: List<SessionName, 64>,
    /// Messages that wait.
    pub waiting: u32,
    /// Turns under way.
    pub running: u32,
    /// Dead letters.
    pub dead: u32,
}

/// The turns that were stopped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stopped {
    /// Turns that were under way.
    pub running: u32,
    /// Messages that waited.
    pub waiting: u32,
}

/// A user, listed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UserInfo {
    /// The id.
    pub id: UserId,
    /// The name.
    pub name: Name,
    /// The user's role.
    pub role: UserRole,
    /// Uids that are this user.
    pub uids: List<u32, 16>,
    /// `channel:platform-id`.
    pub identities: List<Text<256>, 16>,
    /// Named in the configuration, so not to be removed by command.
    pub configured: bool,
}

/// An agent, listed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentInfo {
    /// Its name.
    pub name: Name,
    /// Its model.
    pub model: Text<128>,
    /// Its profile.
    pub profile: Name,
    /// The engine that answers: `native`, or the name of an engine.
    pub engine: Name,
    /// Its tools.
    pub tools: List<Name, 64>,
    /// Its limits, as they stand in the configuration reference.
    pub limits: (u32, u32, u32, u32, u32, u32, u32),
}

/// A workspace, listed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkspaceInfo {
    /// Its id.
    pub id: WorkspaceId,
    /// The session it belongs to.
    pub session: SessionName,
    /// The owner.
    pub user: Name,
    /// A directory of the user's own, rather than a folder of the host.
    pub attached: bool,
    /// Its label.
    pub label: Label,
}

/// One of the named events.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NamedEvent {
    /// Counts from 1 since the router started.
    pub number: u64,
    /// When, unix ms.
    pub at_ms: u64,
    /// The event's name.
    pub name: EventName,
    /// The session, if it is about one.
    pub session: Option<SessionId>,
    /// The turn, if it is about one.
    pub turn: Option<TurnId>,
    /// The message, if it is about one.
    pub message: Option<MessageId>,
    /// The tool, user or channel it names.
    pub subject: Option<Name>,
    /// `timeout`, `user_ended`, `error`, how a tool came out, or how a message ended.
    pub detail: Option<Name>,
}

/// The named events: the seeds' eight, and where a message is in between.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum EventName {
    /// `message.received`.
    #[serde(rename = "message.received")]
    MessageReceived,
    /// `message.queued`: scanned, and waiting for its turn.
    #[serde(rename = "message.queued")]
    MessageQueued,
    /// `message.processing`: a runner answers it; once for each attempt.
    #[serde(rename = "message.processing")]
    MessageProcessing,
    /// `message.recalled`: its sender took it back.
    #[serde(rename = "message.recalled")]
    MessageRecalled,
    /// `message.failed`: it ended without an answer; the detail is the state it ended in.
    #[serde(rename = "message.failed")]
    MessageFailed,
    /// `message.sent`.
    #[serde(rename = "message.sent")]
    MessageSent,
    /// `session.started`.
    #[serde(rename = "session.started")]
    SessionStarted,
    /// `session.ended`.
    #[serde(rename = "session.ended")]
    SessionEnded,
    /// `tool.execution.started`.
    #[serde(rename = "tool.execution.started")]
    ToolStarted,
    /// `tool.execution.completed`.
    #[serde(rename = "tool.execution.completed")]
    ToolCompleted,
    /// `tool.approval.requested`.
    #[serde(rename = "tool.approval.requested")]
    ApprovalRequested,
    /// `tool.approval.response`.
    #[serde(rename = "tool.approval.response")]
    ApprovalResponse,
}
