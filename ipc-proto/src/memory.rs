//! Memory keeps what was learned. It never sees the network and never a secret. A scope is a typed parameter
//! that comes from the authenticated edge and session: there is no unscoped read.

use crate::ids::{MemoryId, SessionId, UserId};
use crate::label::Label;
use crate::service::service;
use crate::{List, Name, Text};
use serde::{Deserialize, Serialize};

/// Bytes of one row's content.
pub const CONTENT_BOUND: usize = 100_000;
/// Hits or rows in one answer.
pub const HITS: usize = 100;

/// Whose memory, and which part of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Scope {
    /// The user it belongs to.
    pub owner: UserId,
    /// Which part.
    pub area: Area,
}

/// A part of a user's memory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Area {
    /// The user's own.
    User,
    /// What one agent keeps for the user.
    Agent(Name),
    /// What every agent of this user shares.
    Global,
}

/// A row to write.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// Chosen by the caller, so that the same write twice is one row.
    pub id: MemoryId,
    /// What is remembered.
    pub content: Text<CONTENT_BOUND>,
    /// Words to find it by.
    pub tags: List<Name, 16>,
    /// What is known of where it came from.
    pub label: Label,
    /// The session it came from.
    pub session: Option<SessionId>,
}

/// A row as it is kept.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Row {
    /// What was written.
    pub entry: Entry,
    /// Which part of memory it is in.
    pub area: Area,
    /// When, unix ms.
    pub created_ms: u64,
}

/// A row that was found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hit {
    /// The row.
    pub row: Row,
    /// The words around the match, with `[` `]` about it.
    pub snippet: Text<512>,
    /// Higher is better, in thousandths.
    pub score: i32,
}

/// By what rows are ranked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Manner {
    /// By words: their stems and their kin, the turns around, who said it and when.
    #[default]
    Words,
    /// By likeness of the whole text.
    Meaning,
    /// Both, by reciprocal rank.
    Fused,
    /// Both, by weighted scores.
    Weighted,
    /// By the full-text index alone, any of the words: what the others are measured against.
    Plain,
}

/// What is looked for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Question {
    /// Any text at all.
    pub words: Text<2048>,
    /// Tags that a row must have, all of them.
    pub tags: List<Name, 16>,
    /// Only rows of this time or later, unix ms.
    pub since_ms: Option<u64>,
    /// Only rows of before this time, unix ms.
    pub until_ms: Option<u64>,
    /// By what rows are ranked.
    pub manner: Manner,
    /// Whether a row that repeats a better one is put behind those that say something else.
    pub varied: bool,
    /// At most so many rows.
    pub limit: u16,
}

/// Why a row is where it is among what was found.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Why {
    /// Its place by words, from 1; none if no word led to it.
    pub by_words: Option<u32>,
    /// Its place by meaning, from 1; none if that was not asked for.
    pub by_meaning: Option<u32>,
    /// What its own words are worth, in thousandths.
    pub own: i32,
    /// What the turns around it lend it, in thousandths.
    pub around: i32,
    /// Likeness of meaning, in thousandths.
    pub likeness: i32,
    /// A tag of it, such as who said it, is in the question.
    pub named: bool,
    /// It is about the time that the question names.
    pub dated: bool,
    /// It holds what the question asks for: a time, a number or a name.
    pub answers: bool,
}

/// A row that was found, and why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Found {
    /// The row.
    pub hit: Hit,
    /// Why.
    pub why: Why,
}

/// Why memory refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
pub enum MemoryError {
    /// No such row in this scope.
    #[error("no such row")]
    NotFound,
    /// The scanner found what must not be kept, nothing was left without its private parts, or the id is that of
    /// another row, here or elsewhere, or of a deleted one.
    #[error("not kept: refused by the scanner, empty, or its id is in use")]
    Refused,
    /// The scanner is not there, so nothing is stored.
    #[error("the scanner is not there; nothing is stored unscanned")]
    ScannerDown,
    /// It could not be recorded, so it did not happen.
    #[error("the change could not be recorded")]
    NotRecorded,
    /// The owner has as many rows as one may have.
    #[error("this owner's memory is full; delete something first")]
    Full,
    /// The database failed or the disk is full.
    #[error("the memory database cannot be read or written")]
    Storage,
}

service! {
    /// The memory store.
    pub trait Memory {
        /// Stores a row; private parts are dropped and the rest is scanned, with secrets cut out.
        [idempotent, 128, 15]
        async fn write(scope: Scope, entry: Entry) -> Result<MemoryId, MemoryError>;
        /// Rows that have every tag and fit the words best, best first. Any text at all is a valid query; without a
        /// word in it, the newest with the tags.
        [idempotent, 10240, 10]
        async fn query(scope: Scope, words: Text<2048>, tags: List<Name, 16>, limit: u16)
            -> Result<List<Hit, HITS>, MemoryError>;
        /// One row.
        [idempotent, 128, 10]
        async fn read(scope: Scope, id: MemoryId) -> Result<Row, MemoryError>;
        /// Rows, newest first.
        [idempotent, 10240, 10]
        async fn list(scope: Scope, limit: u16, offset: u32) -> Result<List<Row, HITS>, MemoryError>;
        /// Forgets a row; one that was forgotten before is forgotten.
        [idempotent, 4, 10]
        async fn delete(scope: Scope, id: MemoryId) -> Result<(), MemoryError>;
        /// Rows that answer a question best, best first, each with the reason.
        [idempotent, 10752, 10]
        async fn find(scope: Scope, question: Question) -> Result<List<Found, HITS>, MemoryError>;
    }
}
