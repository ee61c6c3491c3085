//! Audit keeps the record. It never sees content: an event is a closed set of facts, sizes and hashes.

pub use crate::action::{Action, Category, Severity};
use crate::ids::{CallId, SessionId, TurnId};
use crate::label::Label;
use crate::service::service;
use crate::{Blob, List, Name, Text};
use serde::{Deserialize, Serialize};

/// How it came out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
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
    /// The action.
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

/// Identifies a record within one life of its witness: makes a repeated append one record, and a gap visible.
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
    /// The process that reported the event, known from its descriptor.
    pub witness: Name,
    /// The witness's own count.
    pub serial: Serial,
    /// The event.
    pub event: Event,
    /// Its leaf hash in the Merkle tree (RFC 9162): SHA-256 of a zero byte and the entry as it is stored.
    pub hash: [u8; 32],
}

/// Proof that an event is durable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Receipt {
    /// Its index.
    pub index: u64,
}

/// The result of a verification.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Report {
    /// Entries that hold.
    pub entries: u64,
    /// The first that does not, if any.
    pub broken_at: Option<u64>,
    /// The defect there, in a fixed phrase.
    pub fault: Option<Name>,
    /// Root hash of the Merkle tree of the entries that hold.
    pub head: [u8; 32],
    /// Entries that wait for a signature for longer than 70 s, if any: [`UNSIGNED_MS`] and ten seconds for a slow disk.
    pub late: Option<Late>,
}

/// The longest time that an entry may wait for a signature, ms: the greatest checkpoint interval that can be configured.
pub const UNSIGNED_MS: u32 = 60_000;

/// Entries that wait for a signature for too long.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Late {
    /// The number of them.
    pub entries: u64,
    /// The time of the first, unix ms.
    pub since_ms: u64,
}

/// Bytes of one entry as it is stored. An event has no free-form part, so it is far shorter.
pub const ENTRY: usize = 16 * 1024;
/// Bytes of a signed note: a checkpoint or a digest.
pub const NOTE: usize = 16 * 1024;
/// Hashes in a proof: a tree of 2^64 entries has no more levels, and a consistency proof one more.
pub const PROOF: usize = 65;

/// Proof that an entry is in the record (RFC 9162, 2.1.3).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Proof {
    /// The entry's index.
    pub index: u64,
    /// The entry as it is stored.
    pub entry: Blob<ENTRY>,
    /// Hashes from the leaf's sibling up.
    pub inclusion: List<[u8; 32], PROOF>,
    /// The signed note of the tree that the proof is for.
    pub checkpoint: Text<NOTE>,
    /// The log's key, as text of the note format.
    pub key: Text<256>,
}

/// Proof that a record only grew (RFC 9162, 2.1.4).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Consistency {
    /// Entries of the older tree.
    pub from: u64,
    /// The proof.
    pub proof: List<[u8; 32], PROOF>,
    /// The signed note of the newer tree.
    pub checkpoint: Text<NOTE>,
}

/// The content of a checkpoint.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TreeHead {
    /// The log's name.
    pub origin: Name,
    /// Its number of entries.
    pub size: u64,
    /// The root of their tree.
    pub root: [u8; 32],
}

/// How often something was recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Count {
    /// The action.
    pub action: Action,
    /// How it came out.
    pub result: Result3,
    /// How often, since the record was begun.
    pub total: u64,
    /// How often on the day (UTC) of the latest entry.
    pub today: u64,
}

/// The record in numbers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stats {
    /// Entries, those removed by retention included.
    pub entries: u64,
    /// Entries that the latest checkpoint covers.
    pub signed: u64,
    /// The log's name: the first line of each of its checkpoints.
    pub origin: Name,
    /// The number of entries for each action.
    pub counts: List<Count, 256>,
}

/// Selects entries; a field that is `None` is not looked at.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Filter {
    /// Entries with this action.
    pub action: Option<Action>,
    /// Entries with this category.
    pub category: Option<Category>,
    /// That came out so.
    pub result: Option<Result3>,
    /// That matter at least so much.
    pub severity: Option<Severity>,
    /// Entries of this witness.
    pub witness: Option<Name>,
    /// About this.
    pub subject: Option<Name>,
    /// Entries of this session.
    pub session: Option<SessionId>,
    /// Written at this time or later, unix ms.
    pub since_ms: Option<u64>,
    /// Written before this time, unix ms.
    pub until_ms: Option<u64>,
}

impl Filter {
    /// Returns whether a record is asked for.
    #[must_use]
    pub fn admits(&self, record: &Record) -> bool {
        fn is<T: PartialEq>(wanted: Option<&T>, found: Option<&T>) -> bool {
            wanted.is_none_or(|wanted| found == Some(wanted))
        }
        let Event { action, result, .. } = record.event;
        is(self.action.as_ref(), Some(&action))
            && is(self.category.as_ref(), Some(&action.category()))
            && is(self.result.as_ref(), Some(&result))
            && self.severity.is_none_or(|least| action.severity(result) >= least)
            && is(self.witness.as_ref(), Some(&record.witness))
            && is(self.subject.as_ref(), record.event.subject.as_ref())
            && is(self.session.as_ref(), record.event.session.as_ref())
            && self.since_ms.is_none_or(|since| record.time_ms >= since)
            && self.until_ms.is_none_or(|until| record.time_ms < until)
    }
}

/// Some of the entries that were asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Page {
    /// The entries.
    pub records: List<Record, TAIL>,
    /// Where to go on looking; `None` at the end.
    pub next: Option<u64>,
}

/// Another key signs from here on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rotation {
    /// The note that the old and the new key signed.
    pub note: Text<NOTE>,
    /// The new key, as text of the note format.
    pub key: Text<256>,
}

/// Why an event could not be recorded. Its effect must not happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
pub enum AuditError {
    /// The record could not be made durable.
    #[error("the record cannot be written (disk full or failing); make room, and it goes on by itself")]
    NotDurable,
    /// The record on disk does not hold; nothing is appended to it.
    #[error("the record on disk does not verify; run `agentctl audit verify`")]
    Broken,
    /// The record has no entry of this index, or not so many entries.
    #[error("the record has no such entry; `agentctl audit query` lists entries")]
    NoEntry,
    /// The entry was removed by retention; its hash is still part of the record.
    #[error(
        "this entry is past its retention, and its hash alone is kept; use a backup of that time (`agentctl backup \
         restore`)"
    )]
    Sealed,
    /// No digest of that day.
    #[error(
        "no digest of that day; try again later: a day's digest is made with the first entry of a later day"
    )]
    NoDigest,
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
        [idempotent + wait, 256, 30]
        async fn tail(from: u64, max: u16, wait_ms: u32) -> Result<List<Record, TAIL>, AuditError>;
        /// Reads the whole record and checks every hash.
        [idempotent, 4, 60]
        async fn verify() -> Result<Report, AuditError>;
        /// An entry, with proof that it is in the record.
        [idempotent, 64, 15]
        async fn prove(index: u64) -> Result<Proof, AuditError>;
        /// Proof that the record only grew since it had `from` entries, 1 at least.
        [idempotent, 32, 15]
        async fn consistency(from: u64) -> Result<Consistency, AuditError>;
        /// The signed note of the record as it is now.
        [idempotent, 32, 15]
        async fn checkpoint() -> Result<Text<NOTE>, AuditError>;
        /// The record in numbers.
        [idempotent, 32, 15]
        async fn stats() -> Result<Stats, AuditError>;
        /// Entries from index `from` on that `filter` admits.
        [idempotent, 256, 30]
        async fn query(from: u64, filter: Filter) -> Result<Page, AuditError>;
        /// The signed digest of a day, counted in days since 1970-01-01 (UTC).
        [idempotent, 32, 15]
        async fn digest(day: u32) -> Result<Text<NOTE>, AuditError>;
        /// Signs with a new key from here on.
        [once, 32, 15]
        async fn rotate_key() -> Result<Rotation, AuditError>;
    }
}
