//! One turn: its claim, its steps, its events and its end.

use super::delegation::Terms;
use super::fire::{Target, Unattended};
use super::submission::STEERING_BOUND;
use super::task::{OUTPUT_CHUNK, Task};
use crate::approval::{self, Grant};
use crate::channel::{FILES, InboxFile};
use crate::content::Content;
use crate::ids::{ApprovalId, CallId, KeyId, MessageId, SessionId, TurnId, UserId, WorkspaceId};
use crate::label::Label;
use crate::model::{Message, THOUGHTS, Thought, Usage};
use crate::tool::{OUTPUT_BOUND, Outcome, ToolCall, ToolResult};
use crate::{Blob, List, Name, Text};
use serde::{Deserialize, Serialize};

/// A message of the past with its label.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Labelled {
    /// The message.
    pub message: Message,
    /// The label of its origin.
    pub label: Label,
}

/// A key of the API that pays for a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PayingKey {
    /// The key.
    pub id: KeyId,
    /// Its spending limit for a day, millionths of a US dollar.
    pub day_micros: Option<u64>,
}

/// A turn, as the gate takes it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Turn {
    /// The turn.
    pub id: TurnId,
    /// Its session.
    pub session: SessionId,
    /// The owner.
    pub user: UserId,
    /// The user's name.
    pub user_name: Name,
    /// The agent.
    pub agent: Name,
    /// The task.
    pub task: Task,
    /// The message, with its label.
    pub content: Content,
    /// Its label.
    pub label: Label,
    /// The conversation before it, oldest first, as much as fits the budget; tool results that did not fit are marked.
    pub history: List<Labelled, 1024>,
    /// The steps of this turn's earlier attempts: replies with their released calls, and results.
    pub steps: List<Step, 256>,
    /// How many of these replies are without what the model thought, since that is more than a turn is given back.
    pub unthought: u32,
    /// The session's label, everything above included.
    pub session_label: Label,
    /// The workspace's label.
    pub workspace_label: Label,
    /// The workspace.
    pub workspace: WorkspaceId,
    /// The workspace is a directory of a person's own, not a folder that the host made for the session.
    pub attached: bool,
    /// Grants that hold in this session.
    pub grants: List<Grant, { approval::GRANTS }>,
    /// 1 for the first attempt.
    pub attempt: u32,
    /// The key of the API that its message came with.
    pub key: Option<PayingKey>,
    /// The files of its message.
    pub files: List<InboxFile, FILES>,
    /// The conversation of a messaging platform that its message came from, to which files can be sent.
    pub conversation: Option<Target>,
    /// Its message is a job's: nobody sits before the turn.
    pub unattended: Option<Unattended>,
    /// Its message is a task of another turn, which sets these bounds.
    pub delegated: Option<Box<Terms>>,
}

/// One thing that happened in a turn, kept durably before it takes effect or is shown.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Step {
    /// The model said this and asked for these calls; those released may be run once.
    Reply {
        /// The reply's text.
        text: Text<MESSAGE_TEXT>,
        /// The calls that it asks for.
        calls: List<Released, 32>,
        /// The thoughts, where the provider wants them back with the results.
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
        /// The call.
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
    /// The text that memory gave for this turn, before its message: remembered, quoted. Once a turn.
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
        /// The message's text.
        text: Text<STEERING_BOUND>,
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
    /// The verdict.
    pub verdict: CallVerdict,
    /// Index of the decision in the record.
    pub record: u64,
    /// The grounds of the verdict.
    pub why: Why,
}

/// The grounds of a verdict: shown by `agentctl policy explain`.
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
    /// True if the call is in the turn's plan; `None` where no plan was asked for.
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

/// An event that a follower of a turn receives, in order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum TurnEvent {
    /// The turn was taken up; attempts count from 1.
    Started {
        /// The attempt's number.
        attempt: u32,
    },
    /// Text of the answer.
    Text(Text<16384>),
    /// The text since the last `ToolStart` or `Started` is void: the reply begins again.
    Again,
    /// A tool call, with the gate's verdict.
    ToolStart {
        /// The call.
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
        /// The call.
        call: CallId,
        /// The tool.
        tool: Name,
        /// The effect that it would have.
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
        /// The note for the person.
        note: Text<512>,
    },
    /// How far a call is.
    ToolProgress {
        /// The call.
        call: CallId,
        /// The tool's word.
        line: Text<256>,
    },
    /// A call ended.
    ToolEnd {
        /// The call.
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

/// An obstacle for which a turn waits in the queue. Its message is not to blame, so the message becomes no dead letter.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Obstacle {
    /// A budget is used up, and resets by itself.
    Budget,
    /// The vault is locked, or a provider's key is missing or refused.
    Key,
    /// A process is held or away; its name.
    Process(Name),
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
    /// The event as a sentence without a full stop.
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
