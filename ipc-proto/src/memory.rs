//! Memory keeps what was learned. It never sees the network and never a secret. A scope is a typed parameter
//! that comes from the authenticated edge and session: there is no unscoped read.

mod asking;
mod block;
mod entry;
mod query_text;
mod refusal;
mod search;
mod session;
mod work;

pub use asking::{Ask, Over, Raw, Said, Start, Unread};
pub use block::{Block, BlockAsk, LeftOut, Muted, Part, Stats, Without};
pub use entry::{
    Category, Detail, Entity, EntityType, Entry, Fact, FilePath, Importance, Kind, KindName, Observation,
    ObservationType, Project, Row, Source, SourceType, State, StateName, Summary,
};
pub use query_text::{WORDS, words};
pub use refusal::Refusal;
pub use search::{Answered, Filter, Found, Hit, Manner, Question, SIGNALS, Signal, Vector, Weighed, Why};
pub use session::{Capture, CaptureEvent, Forget, Forgotten, SessionRow, SessionStatus};
pub use work::{Settled, Task, TaskName, Work};

use crate::ids::{MemoryId, UserId};
use crate::service::service;
use crate::{List, Name};
use serde::{Deserialize, Serialize};

/// Bytes of one row's content.
pub const CONTENT_BOUND: usize = 100_000;
/// Bytes that are kept of what an observation was made from (open-mem cuts there as well).
pub const RAW_BOUND: usize = 50_000;
/// Bytes of a block; with four to a token more than the 64,000 tokens that one may have.
pub const BLOCK_BOUND: usize = 256 * 1024;
/// Hits or rows in one answer.
pub const HITS: usize = 100;
/// Ids in one question.
pub const MOST_IDS: usize = 50;
/// Rows or sessions that a list may be asked to begin behind: the last of what was listed before.
pub const BEHIND: usize = 8;
/// Sessions that are known of one area, the newest.
pub const SESSIONS: usize = 5000;
/// Facts, files or decisions of one row.
pub const LISTED: usize = 64;
/// Facts and entities that are taken from one row.
pub const TAKEN: usize = 32;
/// Bytes of a project's name.
pub const PROJECT: usize = 512;
/// Rows that a block may be laid out without.
pub const LEFT_OUT: usize = 256;
/// Bytes of one line of an evaluation: far more than a text that is kept whole, since what conversations hold is not ours to
/// say.
pub const EVALUATION_LINE: usize = 16 << 20;
/// The client that sessions of this host's own agents are of; their id is their name there.
pub const OWN_CLIENT: &str = "cordon";
/// Tokens of a block that does not say (open-mem's `maxContextTokens`).
pub const BLOCK_TOKENS: u32 = 4000;

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

/// Why memory refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
pub enum MemoryError {
    /// No such row in this scope.
    #[error("no such row")]
    NotFound,
    /// This row is not kept.
    #[error("not kept: {0}")]
    Refused(Refusal),
    /// The scanner is not there, so nothing is stored.
    #[error("the scanner is not there; nothing is stored unscanned")]
    ScannerDown,
    /// It could not be recorded, so it did not happen.
    #[error("the change could not be recorded")]
    NotRecorded,
    /// The owner has as many rows as one may have.
    #[error("this owner's memory is full; delete something first")]
    Full,
    /// The owner has taken up as much of the database as one may.
    #[error("this owner's share, memory.max_owner_mib, is used up")]
    ShareFull,
    /// What others wrote becomes no fact, preference or instruction by itself, and takes the place of nothing of the
    /// person's own.
    #[error(
        "what others wrote becomes no fact, preference or instruction, nor takes the place of what the person said, without their own word"
    )]
    NeedsPerson,
    /// The row was revised or removed meanwhile: what is to be changed is another one now.
    #[error("this row is not the current one any more: see {0}")]
    NotCurrent(MemoryId),
    /// The vector is of another embedder, or of another length, than those that are kept.
    #[error("the vector is not of the embedder whose vectors are kept")]
    OtherEmbedder,
    /// The database is damaged: it is read as far as it can be, and nothing is written.
    #[error(
        "the memory database (memory/memory.db in the state directory) is damaged and only read: take along what can be read \
         (agentctl memory export FILE), then stop the host and put a copy back (agentctl backup restore)"
    )]
    ReadOnly,
    /// The database is damaged just where what was asked for is.
    #[error(
        "this cannot be read: the memory database (memory/memory.db in the state directory) is damaged there; take along what \
         can be read (agentctl memory export FILE), then stop the host and put a copy back (agentctl backup restore)"
    )]
    Damaged,
    /// The database failed or the disk is full.
    #[error("the memory database cannot be read or written")]
    Storage,
}

service! {
    /// The memory store.
    pub trait Memory {
        /// A question or a change, for one scope. Ids come from the caller, so that asking twice changes nothing more.
        [idempotent, 20480, 15]
        async fn ask(scope: Scope, ask: Ask) -> Result<Said, MemoryError>;

        /// That its database can be written; [`MemoryError::ReadOnly`] if it is damaged.
        [idempotent, 4, 2]
        async fn sound() -> Result<(), MemoryError>;

        // Curator's.
        /// Work of these kinds that waits, the oldest first; each is held back from others for as long as its lease.
        [idempotent, 4096, 10]
        async fn waiting(tasks: List<TaskName, 4>, limit: u16, lease_ms: u32) -> Result<List<Work, 16>, MemoryError>;
        /// What came of it.
        [idempotent, 512, 15]
        async fn settle(scope: Scope, settled: Settled) -> Result<(), MemoryError>;
    }
}
