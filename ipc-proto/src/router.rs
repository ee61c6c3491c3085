//! Router keeps users, sessions, inbox, transcript and outbox. It accepts a message by making it durable, and it
//! asks agentd for the runner that answers it. It holds no model, no tool and no secret.

use crate::api::{Caller, Holder, KEYS, KeyInfo, KeyScope, Presented};
use crate::approval::{self, ApprovalInfo, ApprovalView, Grant, Question};
use crate::config::UserRole;
use crate::content::{Content, IMAGES_BOUND, MEDIA_BOUND, TEXT_BOUND};
use crate::engine::{Kept, STATE, Token};
use crate::ids::{ApprovalId, CallId, KeyId, MessageId, SessionId, TurnId, UserId, WorkspaceId};
use crate::label::{Class, Label, Trust};
use crate::model::{Message, THOUGHTS, Thought, Usage};
use crate::service::service;
use crate::tool::{OUTPUT_BOUND, Outcome, ToolCall, ToolResult};
use crate::{Blob, List, Name, Text};
use serde::{Deserialize, Serialize};

/// A session's name, chosen by its user or by the platform.
pub type SessionName = Text<128>;
/// Bytes of one piece of output.
pub const OUTPUT_CHUNK: usize = 32 * 1024;
/// Bytes of a file that is put into a workspace.
pub const FILE_BOUND: usize = 2 * 1024 * 1024;

/// What a turn is to do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Task {
    /// Answer the message.
    Chat,
    /// Run a command in the jail; the person gave it.
    Command {
        /// Program and arguments.
        argv: List<Text<8192>, 64>,
    },
    /// Put a file into the workspace.
    Put {
        /// Its path beneath the workspace.
        path: Text<1024>,
        /// What is to be in it.
        bytes: Blob<FILE_BOUND>,
    },
    /// Give a file of the workspace out.
    Get {
        /// Its path beneath the workspace.
        path: Text<1024>,
    },
    /// Run a program that asks models by itself; the person gave it.
    Run(Run),
}

impl Task {
    /// The images that a message with this task puts before a model: those of a chat.
    pub fn images<'a>(
        &'a self,
        content: &'a Content,
    ) -> impl Iterator<Item = (&'a Text<128>, &'a Blob<MEDIA_BOUND>)> {
        content.images().filter(|_| *self == Self::Chat)
    }
}

/// A program that asks models by itself, as a person wants it run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Run {
    /// Program and arguments.
    pub argv: List<Text<8192>, 64>,
    /// What it needs besides.
    pub profile: Profile,
    /// The terminal that it is to have of its own; streams without one.
    pub terminal: Option<Terminal>,
}

/// What a program needs besides the addresses of the model API.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Profile {
    /// Nothing.
    Plain,
    /// `codex`.
    Codex,
    /// `claude`.
    ClaudeCode,
    /// `opencode`.
    Opencode,
}

/// What a program is told of its terminal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Terminal {
    /// Its kind, as `TERM` says it.
    pub kind: Text<64>,
    /// Its size.
    pub size: Size,
}

/// The size of a terminal, in characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Size {
    /// Lines.
    pub rows: u16,
    /// Characters in one.
    pub columns: u16,
}

/// Bytes that a person types at once.
pub const TYPED_CHUNK: usize = 16 * 1024;

/// What a person does at the other end of a program.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Typed {
    /// They type, or something is piped in.
    Bytes(Blob<TYPED_CHUNK>),
    /// Their terminal has another size.
    Size(Size),
    /// Nothing more comes.
    End,
}

/// What was typed for a program, from one number on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Input {
    /// The number of the first piece.
    pub from: u64,
    /// The pieces.
    pub typed: List<Typed, 64>,
}

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

/// A message of the past with its label.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Labelled {
    /// The message.
    pub message: Message,
    /// What is known of where it came from.
    pub label: Label,
}

/// A key of the API that pays for a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PayingKey {
    /// The key.
    pub id: KeyId,
    /// What it may spend in a day, millionths of a US dollar.
    pub day_micros: Option<u64>,
}

/// A turn, as the gate takes it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Turn {
    /// The turn.
    pub id: TurnId,
    /// Its session.
    pub session: SessionId,
    /// Whose.
    pub user: UserId,
    /// The user's name.
    pub user_name: Name,
    /// With which agent.
    pub agent: Name,
    /// What is to be done.
    pub task: Task,
    /// What was said, with its label.
    pub content: Content,
    /// Its label.
    pub label: Label,
    /// What went before, oldest first, as much as fits the budget; tool results that did not fit are marked.
    pub history: List<Labelled, 1024>,
    /// What this turn's earlier attempts did: replies with their released calls, and results.
    pub steps: List<Step, 256>,
    /// How many of these replies are without what the model thought, since that is more than a turn is given back.
    pub unthought: u32,
    /// The session's label, everything above included.
    pub session_label: Label,
    /// The workspace's label.
    pub workspace_label: Label,
    /// The workspace is a directory of a person's own, not a folder that the host made for the session.
    pub attached: bool,
    /// Grants that hold in this session.
    pub grants: List<Grant, { approval::GRANTS }>,
    /// 1 for the first attempt.
    pub attempt: u32,
    /// The key of the API that its message came with.
    pub key: Option<PayingKey>,
}

/// One thing that happened in a turn, kept durably before it takes effect or is shown.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Step {
    /// The model said this and asked for these calls; those released may be run once.
    Reply {
        /// What it said.
        text: Text<MESSAGE_TEXT>,
        /// What it asked for.
        calls: List<Released, 32>,
        /// What it thought, where its provider wants that back with the results; nothing in what an earlier release kept.
        #[serde(default)]
        thoughts: List<Thought, THOUGHTS>,
    },
    /// The tools that the turn will need were named from trusted texts alone; what is not among them asks once
    /// something untrusted was read.
    Plan {
        /// Their names.
        tools: List<Name, 64>,
    },
    /// A call that waited for a person was decided. With [`CallVerdict::Run`] its approval is claimed in the same
    /// commit, once: a step that claims what is not approved is refused.
    Decided {
        /// Which call.
        call: CallId,
        /// How.
        verdict: CallVerdict,
        /// Index of the decision in the record.
        record: u64,
    },
    /// A released call gave this back.
    Result {
        /// The result as the model may see it.
        result: ToolResult,
        /// Its label.
        label: Label,
    },
    /// What memory gave for this turn, before its message: what is remembered, quoted. Once a turn.
    Recalled {
        /// The text as the model is given it.
        text: Text<OUTPUT_BOUND>,
        /// Its label.
        label: Label,
    },
    /// A person said this into the turn: it stands in the conversation from here on. Their message is over in the same
    /// commit; one that is not there any more is refused.
    Steered {
        /// The message that it was.
        message: MessageId,
        /// What they said.
        text: Text<WORDS_BOUND>,
        /// Its label.
        label: Label,
    },
}

/// Bytes of text in one reply of a model.
pub const MESSAGE_TEXT: usize = OUTPUT_BOUND;

/// A call and the gate's verdict on it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Released {
    /// The call.
    pub call: ToolCall,
    /// Whether it was released.
    pub verdict: CallVerdict,
    /// Index of the decision in the record.
    pub record: u64,
    /// What the verdict rests on; nothing in what an earlier release kept.
    #[serde(default)]
    pub why: Why,
}

/// What a verdict rests on: shown by `agentctl policy explain`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Why {
    /// The policies that determined it.
    pub policies: List<Name, 16>,
    /// Version of the policies.
    pub version: Name,
    /// The label of the context that asked.
    pub label: Label,
    /// The security-relevant arguments, and whether trusted texts vouch for each.
    pub args: List<(Name, bool), 32>,
    /// Whether the call is in the turn's plan; `None` where no plan was asked for.
    pub planned: Option<bool>,
    /// Tainted share of the context, in thousandths.
    pub taint: u16,
    /// Where a path among the arguments leads, if there is one.
    pub path: Option<Text<1024>>,
    /// The verdict on a command among them, if there is one: a fixed phrase.
    pub command: Option<Name>,
    /// When the question to a person ends by itself, unix ms; 0 if nobody is asked. With the rest of the call it
    /// makes the very same question again after a crash.
    pub expires_ms: u64,
}

/// The gate's verdict on a call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum CallVerdict {
    /// It may run, once.
    Run,
    /// It may not; the reason is told to the model and the person.
    Refused(Text<512>),
    /// A person is asked.
    Asking(ApprovalId),
}

/// What a follower of a turn sees, in order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum TurnEvent {
    /// The turn was taken up; attempts count from 1.
    Started {
        /// Which attempt.
        attempt: u32,
    },
    /// Text of the answer.
    Text(Text<16384>),
    /// The text since the last `ToolStart` or `Started` is void: the reply begins again.
    Again,
    /// A tool call, with the gate's verdict.
    ToolStart {
        /// Which call.
        call: CallId,
        /// The tool.
        tool: Name,
        /// The beginning of its arguments, secrets cut out.
        args: Text<512>,
        /// `None` if it was released, else why not.
        refused: Option<Text<512>>,
        /// Index of the decision in the record.
        record: u64,
    },
    /// A person is asked whether a call may run; it waits.
    Approval {
        /// The question's id.
        id: ApprovalId,
        /// Which call.
        call: CallId,
        /// The tool.
        tool: Name,
        /// What it would do.
        preview: Text<4096>,
        /// The beginning of the canonical action, secrets cut out.
        action: Text<8192>,
        /// SHA-256 of the whole action: what an answer names.
        hash: [u8; 32],
        /// Why it is asked.
        reason: Text<512>,
        /// A grant for the session may be given.
        grantable: bool,
        /// When it ends by itself, unix ms.
        expires_ms: u64,
    },
    /// A question was answered, or ended by itself.
    Answered {
        /// The question's id.
        id: ApprovalId,
        /// How.
        state: approval::State,
        /// What the person is told of it.
        note: Text<512>,
    },
    /// How far a call is.
    ToolProgress {
        /// Which call.
        call: CallId,
        /// The tool's word.
        line: Text<256>,
    },
    /// A call ended.
    ToolEnd {
        /// Which call.
        call: CallId,
        /// How.
        outcome: Outcome,
        /// How long it took, ms.
        duration_ms: u32,
    },
    /// Output of a command that a person runs in the jail.
    Output {
        /// Standard error rather than standard output.
        error: bool,
        /// The bytes.
        bytes: Blob<OUTPUT_CHUNK>,
    },
    /// Something the person should know, in the host's words.
    Notice(Text<512>),
    /// The end; nothing follows.
    Done(Finished),
}

/// How a turn ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finished {
    /// How.
    pub end: End,
    /// The whole answer, as it went to the outbox.
    pub text: Text<MESSAGE_TEXT>,
    /// Its label.
    pub label: Label,
    /// Tokens of the whole turn.
    pub usage: Usage,
    /// From acceptance to the end, ms; filled in by router.
    pub duration_ms: u32,
    /// Attempts it took.
    pub attempts: u32,
}

/// How a turn ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum End {
    /// An answer is in the outbox.
    Answered,
    /// A command ended with this status.
    Exited {
        /// Exit status; 128 and the signal's number if one ended it.
        status: u8,
    },
    /// The person cancelled it.
    Cancelled,
    /// The scanner kept the message from being answered: by which rules, where, and what to do, in the host's words.
    Blocked(Text<512>),
    /// It ran out of time.
    TimedOut,
    /// It failed; the reason is in the host's words.
    Failed(Text<512>),
    /// Its sender took it back before it began.
    Recalled,
    /// It was given up after its last attempt; the reason is in the host's words.
    Quarantined(Text<512>),
    /// Its jail was ended because everything in it together went over this limit.
    OverLimit(Limit),
    /// The message was said into this turn, which has taken it in.
    TakenIn(TurnId),
}

/// A limit of a jail as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Limit {
    /// Memory.
    Memory,
    /// CPU time.
    Cpu,
    /// Processes at once, where the kernel does not refuse one more.
    Processes,
    /// The disk of the workspaces, down to what the host keeps free.
    Disk,
}

impl Limit {
    /// What happened, in a sentence without a stop.
    #[must_use]
    pub fn sentence(self) -> String {
        self.sentence_of(manifest::Process::Runner)
    }

    /// The same of a jail of this row.
    #[must_use]
    pub fn sentence_of(self, runner: manifest::Process) -> String {
        let row = manifest::row(runner).map(|row| row.limits);
        let (memory, processes) = row.map_or((0, 0), |row| (row.memory_mib, row.processes));
        match self {
            Self::Memory => format!("the jail was ended: it used more than its {memory} MiB of memory"),
            Self::Cpu => "the jail was ended: it used up its CPU time".into(),
            Self::Processes => format!("the jail was ended: more than its {processes} processes ran in it"),
            Self::Disk => "the jail was ended: it took of the disk what the host keeps free".into(),
        }
    }
}

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
    /// Whose.
    pub user: Name,
    /// With which agent.
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

/// Where a message is.
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
    /// Whose.
    pub user: Name,
    /// The channel it came by.
    pub channel: Name,
    /// Where it is.
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
    /// Which attempt.
    pub attempt: u32,
    /// Why, in the host's words.
    pub note: Text<256>,
}

/// What is known of the effect of a call.
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
    /// What is known of its effect.
    pub effect: Effect,
    /// Index of the decision in the record.
    pub record: u64,
}

/// A message in full.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MessageView {
    /// The message.
    pub info: MessageInfo,
    /// What was said, without media.
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

/// What was stopped.
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
    /// What they may do.
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
    /// Who answers: `native`, or the name of an engine.
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
    /// Whose.
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
    /// Which.
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

/// Why the router refused.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
pub enum RouterError {
    /// No such turn, or it has ended.
    #[error("no such turn")]
    NoTurn,
    /// No such session of this user; the user's latest session names are listed.
    #[error("no such session; there are: {0}")]
    NoSession(Text<512>),
    /// The session has ended.
    #[error("this session has ended; use another name")]
    SessionOver,
    /// No such message.
    #[error("no such message")]
    NoMessage,
    /// No such user, or this uid is nobody's.
    #[error("no such user")]
    NoUser,
    /// No such agent; the valid names are listed.
    #[error("no such agent; there are: {0}")]
    NoAgent(Text<512>),
    /// No such workspace.
    #[error("no such workspace")]
    NoWorkspace,
    /// An old session keeps its own agent or workspace.
    #[error("this session already has another agent or workspace")]
    Taken,
    /// The message has no part, or is over a bound.
    #[error(
        "the message is empty, or over its bound of {TEXT_BOUND} bytes of text and {IMAGES_BOUND} of images"
    )]
    BadMessage,
    /// It shows images to this agent, which sees none; nothing was accepted.
    #[error(
        "agent {0} takes no images, and nothing was accepted: an engine answers for it, or a model without vision (`agentctl model list` shows which have it)"
    )]
    NoVision(Name),
    /// Nothing answers in this session, so nothing can be said into it.
    #[error("no turn of a conversation is under way in this session; send it as a message")]
    NotUnderWay,
    /// Words for a turn are none, or over their bound.
    #[error("what is said into a turn is text of 1 to {WORDS_BOUND} bytes; send it as a message")]
    BadWords,
    /// The engine that answers takes nothing in on its way.
    #[error(
        "this engine cannot be steered: {0} takes in nothing before it has answered; send it as a message, which is answered next"
    )]
    NotSteered(Name),
    /// A user of this name exists, or is configured.
    #[error("a user of this name exists or is configured")]
    UserExists,
    /// Too many messages wait; nothing was accepted.
    #[error("busy: {waiting} messages wait; try again in {retry_s} s")]
    Busy {
        /// Messages waiting.
        waiting: u32,
        /// Seconds after which to try again.
        retry_s: u32,
    },
    /// This user has as many programs and engines under way as one may.
    #[error(
        "{most} programs and engines of yours run or wait already, as many as one may have; end one first"
    )]
    TooManyRuns {
        /// How many that is.
        most: u32,
    },
    /// Less is free on the disk than is kept; nothing was accepted.
    #[error("disk: {free_mib} MiB free, {kept_mib} are kept; nothing was accepted")]
    NoRoom {
        /// MiB that are free.
        free_mib: u32,
        /// MiB that are kept (`host.disk_reserve`).
        kept_mib: u32,
    },
    /// It, or its place on the record, could not be made durable; nothing was accepted or done.
    #[error(
        "the queue or the record cannot be written (disk full or failing, or audit away); nothing was accepted"
    )]
    NotDurable,
    /// The step's number is neither the next one nor that of the same step.
    #[error("the step does not follow the ones that are kept")]
    BadStep,
    /// A session that has not ended works in it.
    #[error("a session that has not ended works in this workspace")]
    InUse,
    /// The name is not printable, a uid or identity is somebody else's or reserved, or there are 256 users.
    #[error("no such user can be: the name is not printable, or a uid or identity is somebody else's")]
    BadUser,
    /// No such approval, or not this person's to see.
    #[error("no such approval")]
    NoApproval,
    /// It is not waiting any more.
    #[error("this approval is {0} already; nothing was changed")]
    NotPending(approval::State),
    /// The answer names another action than the one that is asked.
    #[error("the hash is not that of the action; show it again and answer what it shows now")]
    WrongHash,
    /// Too many approvals wait.
    #[error("{waiting} approvals wait already; answer or let them expire first")]
    TooManyApprovals {
        /// How many.
        waiting: u32,
    },
    /// Only the owner may answer this one.
    #[error("only the owner may answer this one")]
    OwnerOnly,
    /// This one is given once only.
    #[error("this action is approved each time; no grant for the session can be given")]
    NotGrantable,
    /// A call was to be released that no person approved.
    #[error("the call has no approval that can be claimed")]
    NotApproved,
    /// No such call, or not this person's to see.
    #[error("no such call")]
    NoCall,
    /// It has begun, or is over.
    #[error("this message is {} already and cannot be taken back; cancel its turn to end it", .0.name())]
    TooLate(MessageState),
    /// No key of this host, or it was revoked or has ended; or this uid is nobody's.
    #[error("the key is not one of this host, was revoked or has ended")]
    NoKey,
    /// The key's scope does not reach this.
    #[error("this key may not use this; it may use: {0}")]
    NotInScope(Text<512>),
    /// A key of this name is in use, or there are as many as there may be.
    #[error("a key of this name is in use, or there are {KEYS} keys already")]
    KeyExists,
    /// It is no dead letter.
    #[error("this message is {}: only what failed or is quarantined can be put into the queue again", .0.name())]
    NotDead(MessageState),
    /// The key's name is not printable or is kept for who has no key, or it would have ended before it was made.
    #[error(
        "no such key can be: its name is 1 to 48 letters, digits, `-`, `_`, `.` and `@` and not `peer`, and it ends later than now"
    )]
    BadKey,
    /// What a client calls its message by stands for another one.
    #[error("this Idempotency-Key was used with another message")]
    KeyReused,
}

service! {
    /// Sessions, messages and turns.
    pub trait Router {
        // The gate's.
        /// Gives the turn that this runner was launched for. History is cut to `budget` bytes of text.
        [idempotent, 12288, 15]
        async fn take(turn: TurnId, budget: u32) -> Result<Turn, RouterError>;
        /// Keeps step `number` (from 0) of a turn, and the session's and the workspace's label, in one commit.
        /// The same number twice is one step.
        [idempotent, 4096, 15]
        async fn step(turn: TurnId, number: u32, step: Step, session: Label, workspace: Label) -> Result<(), RouterError>;
        /// Appends to the turn's ring of events, the first of these being number `from`; gives back the number
        /// that the ring needs next, so that a sender whose router restarted can send again. The gate counts its
        /// events of each attempt from 0; `Started` and `Done` are the router's own. What the ring has already is
        /// passed over; after a gap nothing is taken, unless the same is sent again: then there is nothing older.
        /// No events at all is a question. The answer may be held back for 5 s while a follower is behind. `waits` names what
        /// the turn waits for meanwhile.
        [idempotent, 2560, 10]
        async fn emit(turn: TurnId, from: u64, events: List<TurnEvent, 64>, waits: List<Name, 4>)
            -> Result<u64, RouterError>;
        /// Ends a turn; durable before anybody is told.
        [idempotent, 2560, 15]
        async fn finish(turn: TurnId, finished: Finished) -> Result<(), RouterError>;

        /// Keeps a question to a person; durable when this returns. The same id twice is one question.
        [idempotent, 640, 15]
        async fn ask(turn: TurnId, question: Question) -> Result<(), RouterError>;
        /// Where a question is; waits up to 20 s while it is pending.
        [idempotent, 4, 30]
        async fn answer_of(turn: TurnId, id: ApprovalId) -> Result<approval::State, RouterError>;

        /// What a person typed for the program of this turn from number `from` on; waits up to 20 s for the first. What is
        /// before is let go.
        [idempotent, 1100, 30]
        async fn typed(turn: TurnId, from: u64) -> Result<Input, RouterError>;
        /// What is kept of this engine's own memory of the turn's session.
        [idempotent, 1100, 15]
        async fn engine_state(turn: TurnId, engine: Name) -> Result<Option<Kept>, RouterError>;
        /// Keeps that as it is after this turn, in place of what was kept of any engine before.
        [idempotent, 1100, 15]
        async fn keep_engine_state(turn: TurnId, engine: Name, token: Token, state: Blob<STATE>)
            -> Result<(), RouterError>;

        /// What was said into this turn and waits for it, in the order in which it is to be taken in.
        [idempotent, 640, 10]
        async fn words(turn: TurnId) -> Result<List<Word, WORDS>, RouterError>;
        /// The labels of a turn's session and of its workspace, as they are by now.
        [idempotent, 16, 10]
        async fn labels(turn: TurnId) -> Result<(Label, Label), RouterError>;

        // Gateway's: what a client of the API may do is known from what it presented, never from what gateway says.
        /// Who presented this. Gate asks it as well.
        [idempotent, 32, 10]
        async fn holder(caller: Caller) -> Result<Holder, RouterError>;
        /// Accepts a message of a client of the API. User, channel and workspace are filled in here, whatever the submission
        /// says; its session is one of this client's own, named `api:NAME:` and what the submission calls it; its agent,
        /// `default` if it names none, must be one of the key's.
        [idempotent, 8192, 15]
        async fn api_submit(caller: Caller, submission: Submission) -> Result<Accepted, RouterError>;
        /// Accepts words of a client for a turn that is under way in one of its own sessions.
        [idempotent, 64, 15]
        async fn api_steer(caller: Caller, steer: Steer) -> Result<Steering, RouterError>;
        /// Events of a turn of this client, as `follow` gives them.
        [idempotent, 2560, 30]
        async fn api_follow(caller: Caller, turn: TurnId, from: u64, credit: u16) -> Result<Followed, RouterError>;
        /// What a turn of this client waits for now, by name: of the processes that an answer needs, and room on the disk.
        [idempotent, 4, 10]
        async fn api_waits(caller: Caller, turn: TurnId) -> Result<List<Name, 8>, RouterError>;
        /// Named events after `after` of this client's own sessions; of the whole host for an owner who is known by uid.
        [idempotent, 256, 30]
        async fn api_events(caller: Caller, after: u64, wait_ms: u32) -> Result<List<NamedEvent, 256>, RouterError>;
        /// The queue in numbers, for `/metrics`: the whole host's for the owner's keys, and no names with them.
        [idempotent, 16, 10]
        async fn api_queue(caller: Caller) -> Result<QueueInfo, RouterError>;

        // Control's.
        /// Keeps a key, by what its client will present.
        [idempotent, 32, 15]
        async fn create_key(user: UserId, by: Name, name: Name, scope: KeyScope, presented: Presented)
            -> Result<KeyInfo, RouterError>;
        /// Keys, newest first, revoked ones included; of one user or of all.
        [idempotent, 2048, 10]
        async fn keys(user: Option<UserId>) -> Result<List<KeyInfo, KEYS>, RouterError>;
        /// Revokes a key.
        [idempotent, 4, 15]
        async fn revoke_key(user: Option<UserId>, by: Name, name: Name) -> Result<(), RouterError>;
        /// Approvals that wait, oldest first; with `all` also the last 256 that were answered.
        [idempotent, 512, 10]
        async fn approvals(user: Option<UserId>, all: bool) -> Result<List<ApprovalInfo, 256>, RouterError>;
        /// One approval in full.
        [idempotent, 640, 10]
        async fn approval(user: Option<UserId>, id: ApprovalId) -> Result<ApprovalView, RouterError>;
        /// A person's answer to the action with this hash; one answer wins. `by` is who answers, `user` whose
        /// sessions they may answer for: the owner's is `None`.
        [idempotent, 4, 15]
        async fn answer(user: Option<UserId>, by: Name, id: ApprovalId, hash: [u8; 32], reply: approval::Reply)
            -> Result<ApprovalInfo, RouterError>;
        /// Grants that hold.
        [idempotent, 128, 10]
        async fn grants(user: Option<UserId>) -> Result<List<Grant, 256>, RouterError>;
        /// Takes a grant back.
        [idempotent, 4, 10]
        async fn revoke(user: Option<UserId>, by: Name, id: ApprovalId) -> Result<(), RouterError>;
        /// A call that was decided on, with what the decision rests on.
        [idempotent, 640, 10]
        async fn call(user: Option<UserId>, id: CallId) -> Result<Released, RouterError>;
        /// Who this uid is.
        [idempotent, 16, 10]
        async fn identify(uid: u32) -> Result<UserInfo, RouterError>;
        /// Accepts a message: durable when this returns.
        [idempotent, 8192, 15]
        async fn submit(submission: Submission) -> Result<Accepted, RouterError>;
        /// Accepts words of this user for a turn that is under way in one of their sessions: durable when this returns.
        [idempotent, 64, 15]
        async fn steer(user: UserId, steer: Steer) -> Result<Steering, RouterError>;
        /// Events of a turn from number `from` on, at most `credit`; waits up to 20 s for the first.
        /// `user` is whose turn it must be; the owner may follow any (`None`).
        [idempotent, 2560, 30]
        async fn follow(user: Option<UserId>, turn: TurnId, from: u64, credit: u16) -> Result<Followed, RouterError>;
        /// Cancels a turn.
        [idempotent, 4, 10]
        async fn cancel(user: Option<UserId>, turn: TurnId) -> Result<(), RouterError>;
        /// Types for the program of a turn; `number` counts what is typed from 0, and the same twice is typed once. False
        /// if so much waits already that it is to be typed again later.
        [idempotent, 32, 10]
        async fn type_in(user: Option<UserId>, turn: TurnId, number: u64, typed: Typed) -> Result<bool, RouterError>;
        /// Sessions, last used first; of one user or of all.
        [idempotent, 1024, 10]
        async fn sessions(user: Option<UserId>) -> Result<List<SessionInfo, 256>, RouterError>;
        /// One session with its transcript.
        [idempotent, 12288, 10]
        async fn session(user: Option<UserId>, name: SessionName) -> Result<SessionView, RouterError>;
        /// Ends a session.
        [idempotent, 4, 10]
        async fn end_session(user: Option<UserId>, name: SessionName) -> Result<(), RouterError>;
        /// Messages, newest first; with `dead` those alone that failed or are quarantined.
        [idempotent, 512, 10]
        async fn messages(user: Option<UserId>, limit: u16, dead: bool) -> Result<List<MessageInfo, 256>, RouterError>;
        /// One message in full.
        [idempotent, 2560, 10]
        async fn message(user: Option<UserId>, id: MessageId) -> Result<MessageView, RouterError>;
        /// Takes back a message that has not begun; gives what was said. The same twice is once.
        [idempotent, 512, 10]
        async fn recall(user: Option<UserId>, id: MessageId) -> Result<Text<TEXT_BOUND>, RouterError>;
        /// Puts a dead letter into the queue again, with other words if there are some, as a new message at the end of
        /// its session's lane. The same twice is one message.
        [idempotent, 512, 15]
        async fn requeue(user: Option<UserId>, by: Name, id: MessageId, text: Option<Text<TEXT_BOUND>>)
            -> Result<Accepted, RouterError>;
        /// Has nothing be started in this session, or in any, until it is taken back; turns that have begun go on.
        [idempotent, 4, 10]
        async fn pause(user: Option<UserId>, by: Name, session: Option<SessionName>, paused: bool) -> Result<(), RouterError>;
        /// Ends every turn of a session, or of all, and what waits behind it. Asked `again`, because nobody answered,
        /// the numbers are of both times.
        [idempotent, 4, 10]
        async fn stop(user: Option<UserId>, by: Name, session: Option<SessionName>, again: bool)
            -> Result<Stopped, RouterError>;
        /// The queue in numbers.
        [idempotent, 16, 10]
        async fn queue(user: Option<UserId>) -> Result<QueueInfo, RouterError>;
        /// Every state a message went through.
        [idempotent, 64, 10]
        async fn trace(user: Option<UserId>, message: MessageId) -> Result<List<Passed, 128>, RouterError>;
        /// All users.
        [idempotent, 2048, 10]
        async fn users() -> Result<List<UserInfo, 256>, RouterError>;
        /// Adds a user.
        [idempotent, 16, 10]
        async fn add_user(name: Name, role: UserRole, uids: List<u32, 16>, identities: List<Text<256>, 16>)
            -> Result<UserInfo, RouterError>;
        /// Removes a user that was added; sessions stay for the record.
        [idempotent, 4, 10]
        async fn remove_user(name: Name) -> Result<(), RouterError>;
        /// The agents.
        [idempotent, 1024, 10]
        async fn agents() -> List<AgentInfo, 64>;
        /// Workspaces.
        [idempotent, 512, 10]
        async fn workspaces(user: Option<UserId>) -> Result<List<WorkspaceInfo, 256>, RouterError>;
        /// Forgets a workspace whose session has ended.
        [idempotent, 4, 10]
        async fn remove_workspace(user: Option<UserId>, id: WorkspaceId) -> Result<(), RouterError>;
        /// Named events after `after`, at most 256; waits up to `wait_ms` (20,000 at most) for the first.
        [idempotent, 256, 30]
        async fn events(after: u64, wait_ms: u32) -> List<NamedEvent, 256>;
    }
}
