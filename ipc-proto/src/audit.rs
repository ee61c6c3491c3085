//! Audit keeps the record. It never sees content: an event is a closed set of facts, sizes and hashes.

use crate::ids::{CallId, SessionId, TurnId};
use crate::label::Label;
use crate::service::service;
use crate::{List, Name};
use serde::{Deserialize, Serialize};

/// What happened. Closed: there is no free-form payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Action {
    /// A message was accepted.
    MessageAccepted,
    /// The scanner's verdict on a message kept it from being answered.
    MessageBlocked,
    /// A turn was started.
    TurnStarted,
    /// A turn ended.
    TurnEnded,
    /// A runner ended before its turn did, and the turn is taken up again.
    TurnRetried,
    /// A model call was decided on; the effect follows.
    ModelDecided,
    /// A model call ended.
    ModelEnded,
    /// A tool call was decided on; the effect follows if it was released.
    ToolDecided,
    /// A tool call ended.
    ToolEnded,
    /// A session's label was raised.
    LabelRaised,
    /// An answer was released to its receiver.
    AnswerReleased,
    /// A canary was found in what was to leave.
    CanaryLeaked,
    /// A secret was found in what was to leave, and cut out.
    SecretRedacted,
    /// A secret was put into a request.
    SecretUsed,
    /// A secret was asked for a host it is not bound to.
    SecretMisdirected,
    /// A secret was stored or replaced.
    SecretSet,
    /// A secret was removed.
    SecretRemoved,
    /// A memory row was written.
    MemoryWritten,
    /// A memory row was deleted.
    MemoryDeleted,
    /// A user was added.
    UserAdded,
    /// A user was removed.
    UserRemoved,
    /// A session was ended by its user.
    SessionEnded,
    /// A workspace was attached.
    WorkspaceAttached,
    /// A workspace was removed.
    WorkspaceRemoved,
    /// An operator's command was refused for want of a role.
    OperatorRefused,
    /// A process was restarted, held or released, or the host stopped, by an operator.
    OperatorCommand,
}

/// How it came out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Result3 {
    /// Allowed, or done.
    Success,
    /// Refused.
    Blocked,
    /// Failed.
    Error,
}

/// One event, as its witness states it. The witness's name is added by audit from the descriptor.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Event {
    /// What happened.
    pub action: Action,
    /// How it came out.
    pub result: Result3,
    /// The session it belongs to.
    pub session: Option<SessionId>,
    /// The turn it belongs to.
    pub turn: Option<TurnId>,
    /// The tool call it belongs to: joins decision and outcome.
    pub call: Option<CallId>,
    /// The tool, model, secret, user or process it is about.
    pub subject: Option<Name>,
    /// Why, in one of the host's own fixed phrases.
    pub reason: Option<Name>,
    /// SHA-256 of the arguments or the content.
    pub hash: Option<[u8; 32]>,
    /// How many bytes the content had.
    pub bytes: u64,
    /// How long it took, ms.
    pub duration_ms: u32,
    /// Tokens in and out.
    pub tokens: (u32, u32),
    /// The label that held.
    pub label: Option<Label>,
}

impl Event {
    /// An event with nothing but what happened and how.
    #[must_use]
    pub const fn new(action: Action, result: Result3) -> Self {
        Self {
            action,
            result,
            session: None,
            turn: None,
            call: None,
            subject: None,
            reason: None,
            hash: None,
            bytes: 0,
            duration_ms: 0,
            tokens: (0, 0),
            label: None,
        }
    }

    /// The same about `subject`; a name over its bound is cut.
    #[must_use]
    pub fn about(mut self, subject: &str) -> Self {
        self.subject = Some(Name::clip(subject));
        self
    }

    /// The same in this session and turn.
    #[must_use]
    pub const fn in_turn(mut self, session: SessionId, turn: TurnId) -> Self {
        self.session = Some(session);
        self.turn = Some(turn);
        self
    }

    /// The same with one of the host's own phrases as the reason; a longer one is cut.
    #[must_use]
    pub fn because(mut self, reason: &str) -> Self {
        self.reason = Some(Name::clip(reason));
        self
    }
}

/// Which record of which life of the witness this is: makes a repeated append one record, and a gap visible.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Serial {
    /// Random, new at each start of the witness.
    pub life: u64,
    /// Counts from 1 in that life.
    pub number: u64,
}

/// One entry of the record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    /// Its index, from 0.
    pub index: u64,
    /// When audit wrote it, unix ms.
    pub time_ms: u64,
    /// Who witnessed it, from the descriptor.
    pub witness: Name,
    /// The witness's own count.
    pub serial: Serial,
    /// What happened.
    pub event: Event,
    /// SHA-256 of this entry joined with the hash of the one before.
    pub hash: [u8; 32],
}

/// Proof that an event is durable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Receipt {
    /// Its index.
    pub index: u64,
}

/// What verification found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Report {
    /// Entries that hold.
    pub entries: u64,
    /// The first that does not, if any.
    pub broken_at: Option<u64>,
    /// What is wrong there, in a fixed phrase.
    pub fault: Option<Name>,
    /// Hash of the last entry that holds.
    pub head: [u8; 32],
}

/// Why an event could not be recorded. Its effect must not happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
pub enum AuditError {
    /// The record could not be made durable.
    #[error("the record cannot be written (disk full or failing)")]
    NotDurable,
    /// The record on disk does not hold; nothing is appended to it.
    #[error("the record on disk does not verify; run `agentctl audit verify`")]
    Broken,
}

/// Entries in one answer of `tail`.
pub const TAIL: usize = 256;

service! {
    /// The record.
    pub trait Audit {
        /// Makes an event durable. The same serial twice is one entry.
        [idempotent, 8, 10]
        async fn append(serial: Serial, event: Event) -> Result<Receipt, AuditError>;
        /// Entries from index `from` on, at most `max`; waits up to `wait_ms` (20,000 at most) for the first.
        [idempotent, 256, 30]
        async fn tail(from: u64, max: u16, wait_ms: u32) -> Result<List<Record, TAIL>, AuditError>;
        /// Reads the whole record and checks every hash.
        [idempotent, 4, 60]
        async fn verify() -> Result<Report, AuditError>;
    }
}
