//! Memory stores what was learned. It never sees the network and never a secret. A scope is a typed
//! parameter that comes from the authenticated edge and session: there is no unscoped read.

mod block;
mod call;
mod entry;
mod query_text;
mod refusal;
mod search;
mod session;
mod work;

pub use block::{Block, BlockAsk, LeftOut, Muted, Part, Stats, Without};
pub use call::{Neighbourhood, Over, Raw, Restored, RestoredSession, Start, Unread};
pub use entry::{
    Category, Detail, Entity, EntityType, Entry, Fact, FilePath, Importance, Kind, KindName, Observation,
    ObservationType, Project, Row, Source, SourceType, State, StateName, Summary,
};
pub use query_text::{WORDS, words};
pub use refusal::Refusal;
pub use search::{Answered, Filter, Found, Hit, Manner, Question, SIGNALS, Signal, Vector, Weighed, Why};
pub use session::{Capture, CaptureEvent, Forget, Forgotten, SessionRow, SessionStatus};
pub use work::{Settled, Task, TaskName, Work};

use crate::ids::{MemoryId, SessionId, UserId};
use crate::service::service;
use crate::{List, Name, Text};
use serde::{Deserialize, Serialize};

/// Bytes of one row's content.
pub const CONTENT_BOUND: usize = 100_000;
/// Bytes of the material of an observation that are stored (open-mem cuts there as well).
pub const RAW_BOUND: usize = 50_000;
/// Bytes of a block; with four to a token more than the 64,000 tokens that one may have.
pub const BLOCK_BOUND: usize = 256 * 1024;
/// Hits or rows in one answer.
pub const HITS: usize = 100;
/// Ids in one question.
pub const MOST_IDS: usize = 50;
/// Rows or sessions behind which a list may begin: the last of the page before.
pub const BEHIND: usize = 8;
/// The most sessions of one area that are stored, the newest.
pub const SESSIONS: usize = 5000;
/// Facts, files or decisions of one row.
pub const LISTED: usize = 64;
/// Facts and entities that are taken from one row.
pub const TAKEN: usize = 32;
/// Bytes of a project's name.
pub const PROJECT: usize = 512;
/// Rows that a block may be laid out without.
pub const LEFT_OUT: usize = 256;
/// Bytes of one line of an evaluation: far more than a text that is stored whole, since the host does not choose the
/// conversations.
pub const EVALUATION_LINE: usize = 16 << 20;
/// The client of the sessions of this host's own agents; their id is their name there.
pub const OWN_CLIENT: &str = "cordon";
/// Tokens of a block where the request names no number (open-mem's `maxContextTokens`).
pub const BLOCK_TOKENS: u32 = 4000;

/// An owner's memory, and a part of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Scope {
    /// The user it belongs to.
    pub owner: UserId,
    /// The part.
    pub area: Area,
}

/// A part of a user's memory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Area {
    /// The user's own.
    User,
    /// The memory of one agent for the user.
    Agent(Name),
    /// The memory that all of the user's agents share.
    Global,
}

/// The reason for which memory refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
pub enum MemoryError {
    /// No such row in this scope.
    #[error("no such row; `agentctl memory list` shows the rows")]
    NotFound,
    /// The row is not stored.
    #[error("not kept: {0}")]
    Refused(Refusal),
    /// The scanner is not available, so nothing is stored.
    #[error(
        "the scanner is held or away, and nothing is stored unscanned; if it is held: `agentctl release scanner`"
    )]
    ScannerDown,
    /// It could not be recorded, so it did not happen.
    #[error("the change could not be recorded; `agentctl status` says why")]
    NotRecorded,
    /// The owner has the most rows that one may have.
    #[error("this owner's memory is full; delete something first")]
    Full,
    /// The owner has used the share of the database that one may use.
    #[error(
        "this owner's share, memory.max_owner_mib, is used up; delete something (`agentctl memory forget`), or \
         raise it"
    )]
    ShareFull,
    /// Text of others becomes no fact, preference or instruction by itself, and replaces no row of the person's own.
    #[error(
        "what others wrote becomes no fact, preference or instruction, nor replaces what the person said; add it \
         yourself: `agentctl memory add`"
    )]
    NeedsPerson,
    /// The row was revised or removed meanwhile: another row is current now.
    #[error("this row is not the current one any more: see {0}")]
    NotCurrent(MemoryId),
    /// The vector is of another embedder, or of another length, than the stored ones.
    #[error(
        "the vector is not of the embedder whose vectors are stored; compute all again: `agentctl memory reindex`"
    )]
    OtherEmbedder,
    /// The database is damaged: it is read as far as it can be, and nothing is written.
    #[error(
        "the memory database (memory/memory.db in the state directory) is damaged and only read: take along what can be read \
         (agentctl memory export FILE), then stop the host and put a copy back (agentctl backup restore)"
    )]
    ReadOnly,
    /// The database is damaged in the place that was asked for.
    #[error(
        "this cannot be read: the memory database (memory/memory.db in the state directory) is damaged there; take along what \
         can be read (agentctl memory export FILE), then stop the host and put a copy back (agentctl backup restore)"
    )]
    Damaged,
    /// The database failed or the disk is full.
    #[error("the memory database cannot be read or written; `agentctl doctor` says what is wrong")]
    Storage,
}

service! {
    /// The memory store.
    pub trait Memory {
        // Rows that are read.
        /// Rows by their ids, whatever their state, in the order of the ids; an unknown id is left out.
        [idempotent, 20480, 15]
        async fn read(scope: Scope, ids: List<MemoryId, MOST_IDS>) -> Result<List<Row, HITS>, MemoryError>;
        /// The material that an observation was made from; empty where there was none.
        [idempotent, 128, 15]
        async fn raw(scope: Scope, id: MemoryId) -> Result<Raw, MemoryError>;
        /// At most `limit` rows, newest first.
        [idempotent, 20480, 15]
        async fn list(scope: Scope, filter: Filter, limit: u16, start: Start) -> Result<List<Row, HITS>, MemoryError>;
        /// The rows that answer a question best, best first.
        [idempotent, 20480, 15]
        async fn find(scope: Scope, question: Box<Question>) -> Result<Box<Answered>, MemoryError>;
        /// Rows around an anchor in the order of time, oldest first; around the newest without one.
        [idempotent, 20480, 15]
        async fn timeline(scope: Scope, around: Neighbourhood) -> Result<List<Row, HITS>, MemoryError>;
        /// Every revision of a row, oldest first.
        [idempotent, 20480, 15]
        async fn history(scope: Scope, id: MemoryId) -> Result<List<Row, HITS>, MemoryError>;
        /// At most `limit` sessions of clients, newest first.
        [idempotent, 256, 15]
        async fn sessions(
            scope: Scope, project: Option<Project>, limit: u16, start: Start<SessionId>
        ) -> Result<List<SessionRow, HITS>, MemoryError>;
        /// The block that is put before a model.
        [idempotent, 512, 15]
        async fn block(scope: Scope, ask: Box<BlockAsk>) -> Result<Box<Block>, MemoryError>;
        /// The size of the area, in numbers.
        [idempotent, 64, 15]
        async fn stats(scope: Scope) -> Result<Stats, MemoryError>;
        /// Rows of the area that cannot be read. With `each`, every row of a sound database is read too, which takes as long
        /// as reading all of them.
        [idempotent, 4, 15]
        async fn unread(scope: Scope, each: bool) -> Result<Unread, MemoryError>;

        // Rows that are written. Ids come from the caller, so that a repeated call changes nothing more.
        /// Stores a row; private parts are dropped and the rest is scanned, with secrets cut out. Returns the id of the row
        /// that was written, or was there already.
        [idempotent, 512, 15]
        async fn write(scope: Scope, entry: Box<Entry>) -> Result<MemoryId, MemoryError>;
        /// Writes a new row in the place of row `id`, in one transaction.
        [idempotent, 512, 15]
        async fn revise(scope: Scope, id: MemoryId, entry: Box<Entry>, reason: Text<512>) -> Result<MemoryId, MemoryError>;
        /// Removes a row and leaves it as a tombstone that only its id, its history and [`StateName::Removed`] show.
        [idempotent, 4, 15]
        async fn remove(scope: Scope, id: MemoryId, reason: Text<512>) -> Result<(), MemoryError>;
        /// Puts back a row that was exported, with its id, its times and its state. Returns its id; none if the row that
        /// exists stays as it is.
        [idempotent, 640, 15]
        async fn restore(scope: Scope, row: Box<Restored>) -> Result<Option<MemoryId>, MemoryError>;

        // Control's: acts that are the person's own.
        /// Stores an event that a client's hook captured. Durable when it is answered. Returns the id of the row that it
        /// became; none where nothing is stored of it.
        [idempotent, 128, 15]
        async fn capture(scope: Scope, capture: Box<Capture>) -> Result<Option<MemoryId>, MemoryError>;
        /// Checks a row as `write` does and stores nothing.
        [idempotent, 512, 15]
        async fn judge(scope: Scope, entry: Box<Entry>) -> Result<(), MemoryError>;
        /// Makes a removed row current again: the material that it was made from is gone, all else is as it was.
        [idempotent, 4, 15]
        async fn unremove(scope: Scope, id: MemoryId) -> Result<(), MemoryError>;
        /// Accepts a proposed row, as the person's own word from now on.
        [idempotent, 4, 15]
        async fn accept(scope: Scope, id: MemoryId) -> Result<(), MemoryError>;
        /// Forgets rows: as tombstones, or, with `purge`, so that nothing is left but their hashes on the record. With
        /// `dry_run` nothing is changed.
        [idempotent, 4, 15]
        async fn forget(scope: Scope, what: Forget, purge: bool, dry_run: bool) -> Result<Forgotten, MemoryError>;
        /// Puts back a client's session that was exported; its counts are not taken over. Returns true if it was.
        [idempotent, 4, 15]
        async fn restore_session(scope: Scope, session: Box<RestoredSession>) -> Result<bool, MemoryError>;
        /// Turns the block and the capture of a session or a project off, or on again.
        [idempotent, 4, 15]
        async fn mute(scope: Scope, what: Muted, mute: bool) -> Result<(), MemoryError>;
        /// Builds the indexes anew and has every vector made again.
        [idempotent, 64, 15]
        async fn reindex(scope: Scope) -> Result<Stats, MemoryError>;

        /// Checks that the database can be written; [`MemoryError::ReadOnly`] if it is damaged.
        [idempotent, 4, 2]
        async fn sound() -> Result<(), MemoryError>;

        // Curator's.
        /// The oldest work of these kinds that waits; each is withheld from other callers until its lease ends.
        [idempotent, 4096, 10]
        async fn waiting(tasks: List<TaskName, 4>, limit: u16, lease_ms: u32) -> Result<List<Work, 16>, MemoryError>;
        /// The result of a job.
        [idempotent, 512, 15]
        async fn settle(scope: Scope, settled: Settled) -> Result<(), MemoryError>;
    }
}
