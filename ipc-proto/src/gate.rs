//! What the gate tells operators, and the owner's policies. What it does for runners is in `runner_gate`.

use crate::api::Caller;
use crate::embedder::EmbedderError;
use crate::ids::UserId;
use crate::label::Label;
use crate::memory::{self, Answered, Area, Block, BlockAsk, MemoryError, Question, Said};
use crate::model::{
    BudgetInfo, Embedded, Embedding, GroupBy, ModelError, ModelInfo, ModelName, Piece, Request, StreamId,
    UsageRow,
};
use crate::service::service;
use crate::{List, Name, Text};
use serde::{Deserialize, Serialize};

/// Bytes of one policy file.
pub const POLICY_BOUND: usize = 64 * 1024;
/// Rows that a model puts into order at once.
pub const TO_ORDER: usize = 20;
/// Bytes of each that it reads.
pub const ROW: usize = 1024;
/// Policy files of the owner.
pub const POLICIES: usize = 32;

/// A policy file, listed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PolicyInfo {
    /// Its name; the built-in ones are `invariants`, `paranoid`, `standard` and `power-user`.
    pub name: Name,
    /// It is part of the program.
    pub built_in: bool,
    /// Policies in it.
    pub policies: u16,
    /// Its text.
    pub text: Text<POLICY_BOUND>,
}

/// Every policy file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PolicySet {
    /// Hash of all of them: it stands in every verdict.
    pub version: Name,
    /// The files.
    pub files: List<PolicyInfo, 40>,
}

/// Why a policy file was refused. The running ones stay.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
pub enum PolicyError {
    /// It does not parse, or does not fit the schema; Cedar's own words.
    #[error("{name}:{line}: {message}")]
    Invalid {
        /// The file.
        name: Name,
        /// Where.
        line: u32,
        /// Cedar's words.
        message: Text<2048>,
    },
    /// The name is built in, or is not one of letters, digits, `-` and `_`.
    #[error(
        "{0}: not a name for a policy file of your own: letters, digits, `-` and `_`, and none that is built in"
    )]
    BadName(Name),
    /// No such file; the valid names are listed.
    #[error("no such policy file; there are: {0}")]
    NoPolicy(Text<1024>),
    /// There are as many as there may be.
    #[error("there are {POLICIES} policy files already; remove one first")]
    Full,
    /// It could not be made durable or recorded; nothing was changed.
    #[error("the change could not be made durable or recorded; nothing was changed")]
    NotDurable,
}

/// Why a wish of the API was refused.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
pub enum RelayError {
    /// No key of this host, or it was revoked or has ended.
    #[error("the key is not one of this host, was revoked or has ended")]
    NoKey,
    /// The key's scope does not reach this model.
    #[error("this key may not use this model")]
    NotInScope,
    /// The text may not go to a model; the policies are named.
    #[error("this text may not go to a model (policies: {})", .0.iter().map(|name| name.as_str()).collect::<Vec<_>>().join(", "))]
    Policy(List<Name, 16>),
    /// The scanner found what may not leave; the rules are named.
    #[error("the scanner keeps this text back ({0})")]
    Blocked(Text<512>),
    /// More than this key may ask for at once or within a minute.
    #[error("too many requests; try again in {retry_s} s")]
    Busy {
        /// Seconds after which to try again.
        retry_s: u32,
    },
    /// The model failed.
    #[error("{0}")]
    Model(ModelError),
    /// A process that every effect needs is not there: nothing leaves.
    #[error("{0} is not there; nothing leaves without it")]
    Down(Name),
    /// The key is one of some agents' alone, or memory is asked for what no client of the API may have done.
    #[error(
        "this key does not reach that of memory: one that may use every agent reads and writes, and only the person's own command does more"
    )]
    NoMemory,
    /// Memory refused.
    #[error("{0}")]
    Memory(MemoryError),
    /// No such agent; the valid names are listed.
    #[error("no such agent; there are: {0}")]
    NoAgent(Text<512>),
    /// The model of this machine made no vector of a question.
    #[error("{0}")]
    Embedder(EmbedderError),
}

/// An answer that was begun.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Begun {
    /// By which the rest is pulled.
    pub stream: StreamId,
    /// What came of it at once, scanned; nothing is pulled after its end.
    pub pieces: List<Piece, 64>,
}

/// Rows whose order by one question a model is to say. Whoever asked for them waits.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToOrder {
    /// By which the order is told.
    pub id: u64,
    /// Whose memory they are of.
    pub owner: UserId,
    /// What is known of the question and of all the rows.
    pub label: Label,
    /// The question.
    pub words: Text<2048>,
    /// The beginning of each row, in the order that they have.
    pub rows: List<Text<ROW>, TO_ORDER>,
    /// How long the order is waited for, ms.
    pub patience_ms: u32,
}

/// How a model answered when it was tried.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tried {
    /// To its first piece, ms.
    pub first_ms: u32,
    /// To its end, ms.
    pub whole_ms: u32,
    /// Tokens it read and wrote.
    pub tokens: (u32, u32),
    /// What it cost, millionths of a US dollar.
    pub cost_micros: u64,
}

/// How `away` names room on the disk, which an answer needs as it needs processes.
pub const DISK: &str = "room on the disk";

service! {
    /// The gate's listings and the owner's policies.
    pub trait Gate {
        /// The models that can be used.
        [idempotent, 256, 10]
        async fn models() -> List<ModelInfo, 256>;
        /// What an answer of a model needs and what does not serve now, by name; each has two seconds to say that it does.
        [idempotent, 4, 5]
        async fn away() -> List<Name, 8>;
        /// Every policy file that holds.
        [idempotent, 2700, 10]
        async fn policies() -> PolicySet;
        /// Adds or replaces a policy file of the owner: checked whole with the others, swapped at once or not at all.
        [idempotent, 128, 20]
        async fn set_policy(name: Name, text: Text<POLICY_BOUND>, by: Name) -> Result<Name, PolicyError>;
        /// Removes one; gives back the version that holds now.
        [idempotent, 4, 20]
        async fn remove_policy(name: Name, by: Name) -> Result<Name, PolicyError>;

        // Gateway's: a model without an agent. It meets the key's scope, scanner, policy, budget and record as a
        // runner's model call does.
        /// Begins an answer; `request.payer` is filled in here, whatever it says.
        [once, 8192, 30]
        async fn relay(caller: Caller, request: Request) -> Result<Begun, RelayError>;
        /// The next pieces, scanned; waits up to 20 s for the first, and may come back empty.
        [once, 1024, 30]
        async fn relayed(stream: StreamId, credit: u16) -> Result<List<Piece, 64>, RelayError>;
        /// Ends an answer that nobody waits for.
        [idempotent, 4, 10]
        async fn relay_end(stream: StreamId) -> ();
        /// Vectors of these texts.
        [once, 2304, 140]
        async fn relay_embed(caller: Caller, request: Embedding) -> Result<Embedded, RelayError>;
        /// An estimate of the tokens that a request would read.
        [idempotent, 8192, 30]
        async fn relay_count(caller: Caller, request: Request) -> Result<u32, RelayError>;

        // Curator's: background work, for whom it is and with the label of what it reads. It meets what a client's does;
        // what comes of it is pulled as clients do.
        /// Begins an answer; `request.payer` is filled in here, whatever it says. `order`: of rows that somebody wants in an
        /// order, their id: who wants it pays, and without anybody nothing is begun.
        [once, 1024, 30]
        async fn background(
            owner: UserId,
            label: Label,
            order: Option<u64>,
            request: Request,
        ) -> Result<StreamId, RelayError>;
        /// Vectors of these texts.
        [once, 2304, 140]
        async fn background_embed(owner: UserId, label: Label, request: Embedding) -> Result<Embedded, RelayError>;

        /// Asks or changes the memory of the caller's user. What is written so is a stranger's, whatever it says of itself.
        [idempotent, 20480, 40]
        async fn memory(caller: Caller, ask: memory::Ask) -> Result<Said, RelayError>;

        // Of a question to memory what memory cannot do, since it asks no model: a vector of its words, and an order.
        /// The rows of a person's own that answer a question best.
        [once, 20480, 35]
        async fn find(owner: UserId, area: Area, question: Question) -> Result<Box<Answered>, RelayError>;
        /// Rows that curator is to have put into order; waits up to `wait_ms` (20,000 at most) for some.
        [once, 64, 30]
        async fn to_order(wait_ms: u32) -> Option<ToOrder>;
        /// The places in that list, from 0, in their new order; or why there is none.
        [idempotent, 4, 10]
        async fn ordered(id: u64, order: Result<List<u8, TO_ORDER>, Text<200>>) -> ();

        // Control's.
        /// What is remembered, as a model is given it: judged, and without what may not be given. Of an agent's area it is
        /// what a turn of that agent is given, its own and its user's. `user`: the owner's name.
        [idempotent, 512, 35]
        async fn recall(owner: UserId, user: Name, area: Area, ask: BlockAsk) -> Result<Box<Block>, RelayError>;
        /// Has a model answer one short question, and says how it did.
        [once, 4, 150]
        async fn try_model(model: ModelName, by: Name) -> Result<Tried, RelayError>;
        /// What was used since `since_ms`.
        [idempotent, 256, 25]
        async fn usage(by: GroupBy, since_ms: u64) -> Result<List<UsageRow, 256>, RelayError>;
        /// Every budget and how it stands.
        [idempotent, 64, 25]
        async fn budgets() -> Result<List<BudgetInfo, 64>, RelayError>;
    }
}
