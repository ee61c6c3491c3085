//! The gate's interface for operators, and for the owner's policies. Its interface for runners is `runner_gate`.

use crate::api::Caller;
use crate::embedder::EmbedderError;
use crate::ids::{MemoryId, SessionId, UserId};
use crate::label::Label;
use crate::mcp::{
    Act, Approving, Installed, LoginTerms, McpError, Reply, SERVER_TOOLS, SERVERS, ServerInfo, ServerView,
    TOOL_NAME,
};
use crate::memory::{
    Answered, Area, Block, BlockAsk, Entry, Filter, HITS, MOST_IDS, MemoryError, Neighbourhood, Project,
    Question, Raw, Restored, Row, SessionRow, Start, Unread,
};
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
pub const RERANK_ROWS: usize = 20;
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
    /// Hash of all of them; every verdict names it.
    pub version: Name,
    /// The files.
    pub files: List<PolicyInfo, 40>,
}

/// Why a policy file was refused. The running ones stay.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
pub enum PolicyError {
    /// It does not parse, or does not fit the schema; the text is Cedar's.
    #[error("{name}:{line}: {message}; correct the file and try it with `agentctl policy check FILE`")]
    Invalid {
        /// The file.
        name: Name,
        /// The line.
        line: u32,
        /// Cedar's message.
        message: Text<2048>,
    },
    /// The name is built in, or is not one of letters, digits, `-` and `_`.
    #[error(
        "{0}: not a name for a policy file of your own; use letters, digits, `-` and `_`, and none that is built in"
    )]
    BadName(Name),
    /// No such file; the valid names are listed.
    #[error("no such policy file; name one of: {0}")]
    NoPolicy(Text<1024>),
    /// The owner has the most policy files that are allowed.
    #[error("there are {POLICIES} policy files already; remove one first")]
    Full,
    /// It could not be made durable or recorded; nothing was changed.
    #[error(
        "the change could not be made durable or recorded; nothing was changed; `agentctl status` says why"
    )]
    NotDurable,
}

/// The reason for which a request of the API was refused.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
pub enum RelayError {
    /// No key of this host, or it was revoked or has ended.
    #[error(
        "the key is not one of this host, was revoked or has ended; make another: `agentctl key create NAME`"
    )]
    NoKey,
    /// The key's scope does not reach this model.
    #[error("this key may not use this model; use one that `GET /v1/models` lists for it")]
    NotInScope,
    /// The text may not go to a model; the policies are named.
    #[error(
        "this text may not go to a model (policies: {}); leave out what is confidential, or use a model of this \
         machine",
        .0.iter().map(|name| name.as_str()).collect::<Vec<_>>().join(", ")
    )]
    Policy(List<Name, 16>),
    /// The scanner found content that may not leave; the rules are named.
    #[error("the scanner keeps this text back ({0}); use other words, or leave out what the rules name")]
    Blocked(Text<512>),
    /// More than this key may request at once or within a minute.
    #[error("too many requests; try again in {retry_s} s")]
    Busy {
        /// Seconds after which to try again.
        retry_s: u32,
    },
    /// The model failed.
    #[error("{0}")]
    Model(ModelError),
    /// A process that every effect needs is not available: nothing leaves.
    #[error("{0} is held or away, and nothing leaves without it; if it is held: `agentctl release {0}`")]
    Down(Name),
    /// The key is restricted to some agents, or the call is one that no client of the API may make.
    #[error(
        "this key does not reach that of memory; use a key for every agent to read and write, and `agentctl memory` \
         for more"
    )]
    NoMemory,
    /// Memory refused.
    #[error("{0}")]
    Memory(MemoryError),
    /// No such agent; the valid names are listed.
    #[error("no such agent; name one of: {0}")]
    NoAgent(Text<512>),
    /// The model of this machine made no vector of a question.
    #[error("{0}")]
    Embedder(EmbedderError),
}

/// An answer that was begun.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Begun {
    /// The stream by which the rest is pulled.
    pub stream: StreamId,
    /// The first pieces of the reply, scanned; nothing is pulled after its end.
    pub pieces: List<Piece, 64>,
}

/// Rows that a model orders by one question, while a caller waits.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RerankRequest {
    /// The number by which the order is reported.
    pub id: u64,
    /// The owner of the memory that the rows are from.
    pub owner: UserId,
    /// The label of the question and all the rows together.
    pub label: Label,
    /// The question.
    pub words: Text<2048>,
    /// The beginning of each row, in the order that they have.
    pub rows: List<Text<ROW>, RERANK_ROWS>,
    /// The time for which the order is waited for, ms.
    pub patience_ms: u32,
}

/// The result of a trial of a model.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tried {
    /// The time to its first piece, ms.
    pub first_ms: u32,
    /// The time to its end, ms.
    pub whole_ms: u32,
    /// Tokens it read and wrote.
    pub tokens: (u32, u32),
    /// The cost, millionths of a US dollar.
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
        /// Names the processes that a model's answer needs and that do not serve now; each has two seconds to answer.
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

        // Control's: servers of the Model Context Protocol.
        /// The servers of the configuration.
        [idempotent, 128, 10]
        async fn mcp_servers() -> List<ServerInfo, SERVERS>;
        /// One server with its tools; it is started first if `start`.
        [idempotent, 4096, 60]
        async fn mcp_server(name: Name, start: bool) -> Result<Box<ServerView>, McpError>;
        /// Approves tools as they were looked at; gives those back that were.
        [idempotent, 64, 20]
        async fn mcp_approve(
            name: Name,
            tools: List<Approving, SERVER_TOOLS>,
            by: Name,
        ) -> Result<List<Text<TOOL_NAME>, SERVER_TOOLS>, McpError>;
        /// Installs the package of a server, or goes on waiting for that, up to 20 s; none if it is still under way.
        [idempotent + wait, 80, 40]
        async fn mcp_install(name: Name, by: Name) -> Result<Option<Installed>, McpError>;
        /// Forgets what was approved of a server, and removes its files.
        [idempotent, 4, 20]
        async fn mcp_forget(name: Name, by: Name) -> Result<(), McpError>;
        /// Has web fetch what a server publishes for logging in at it.
        [idempotent, 16, 90]
        async fn mcp_login_terms(name: Name) -> Result<Box<LoginTerms>, McpError>;
        /// Has web register a client at the authorization server of a server, for this redirect address; its id.
        [once, 16, 120]
        async fn mcp_register(name: Name, redirect_uri: Text<256>) -> Result<Text<1024>, McpError>;
        /// Asks a server for a resource or a prompt.
        [idempotent, 1280, 120]
        async fn mcp_ask(name: Name, act: Act) -> Result<Reply, McpError>;

        // Gateway's: a model without an agent. It meets the key's scope, scanner, policy, budget and record as a
        // runner's model call does.
        /// Begins an answer; `request.payer` is filled in here, whatever it says.
        [once, 8192, 30]
        async fn relay(caller: Caller, request: Request) -> Result<Begun, RelayError>;
        /// The next pieces, scanned; waits up to 20 s for the first, and may come back empty.
        [once + wait, 1024, 30]
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

        // Curator's: background work, for its owner and with the label of its input. The same checks apply as for a
        // client's request, and the answer is pulled likewise.
        /// Begins an answer; `request.payer` is filled in here, whatever it says. `order`: the id of rows to be ordered.
        /// The caller that wants the order pays, and without one nothing is begun.
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

        // Gateway's: the memory of the caller's user, as memory has it. A row that is written so is a
        // stranger's, whatever its label says.
        /// Rows by their ids.
        [idempotent, 20480, 30]
        async fn memory_read(caller: Caller, ids: List<MemoryId, MOST_IDS>) -> Result<List<Row, HITS>, RelayError>;
        /// The material that an observation was made from.
        [idempotent, 128, 30]
        async fn memory_raw(caller: Caller, id: MemoryId) -> Result<Raw, RelayError>;
        /// Rows, newest first.
        [idempotent, 20480, 30]
        async fn memory_list(caller: Caller, filter: Filter, limit: u16, start: Start) -> Result<List<Row, HITS>, RelayError>;
        /// The rows that answer a question best.
        [idempotent, 20480, 40]
        async fn memory_find(caller: Caller, question: Box<Question>) -> Result<Box<Answered>, RelayError>;
        /// Rows around an anchor in time.
        [idempotent, 20480, 30]
        async fn memory_timeline(caller: Caller, around: Neighbourhood) -> Result<List<Row, HITS>, RelayError>;
        /// Every revision of a row.
        [idempotent, 20480, 30]
        async fn memory_history(caller: Caller, id: MemoryId) -> Result<List<Row, HITS>, RelayError>;
        /// Sessions of clients, newest first.
        [idempotent, 256, 30]
        async fn memory_sessions(
            caller: Caller, project: Option<Project>, limit: u16, start: Start<SessionId>
        ) -> Result<List<SessionRow, HITS>, RelayError>;
        /// The block that is put before a model.
        [idempotent, 512, 40]
        async fn memory_block(caller: Caller, ask: Box<BlockAsk>) -> Result<Box<Block>, RelayError>;
        /// Rows that cannot be read.
        [idempotent, 4, 30]
        async fn memory_unread(caller: Caller, each: bool) -> Result<Unread, RelayError>;
        /// Stores a row.
        [idempotent, 512, 30]
        async fn memory_write(caller: Caller, entry: Box<Entry>) -> Result<MemoryId, RelayError>;
        /// Writes a new row in the place of one.
        [idempotent, 512, 30]
        async fn memory_revise(
            caller: Caller, id: MemoryId, entry: Box<Entry>, reason: Text<512>
        ) -> Result<MemoryId, RelayError>;
        /// Removes a row and leaves a tombstone.
        [idempotent, 4, 30]
        async fn memory_remove(caller: Caller, id: MemoryId, reason: Text<512>) -> Result<(), RelayError>;
        /// Puts back a row that was exported; one that exists is never replaced.
        [idempotent, 640, 30]
        async fn memory_restore(caller: Caller, row: Box<Restored>) -> Result<Option<MemoryId>, RelayError>;

        // The parts of a question to memory that need a model, which memory never asks: a vector of the question, and
        // an order.
        /// The rows of a person's own that answer a question best.
        [once, 20480, 35]
        async fn find(owner: UserId, area: Area, question: Question) -> Result<Box<Answered>, RelayError>;
        /// Rows that curator has a model order; waits up to `wait_ms` (20,000 at most) for some.
        [once + wait, 64, 30]
        async fn next_rerank(wait_ms: u32) -> Option<RerankRequest>;
        /// The places in that list, from 0, in their new order; or the reason why there is none.
        [idempotent, 4, 10]
        async fn finish_rerank(id: u64, order: Result<List<u8, RERANK_ROWS>, Text<200>>) -> ();

        // Control's.
        /// The remembered text as a model receives it: checked, and without withheld parts. An agent's area gives the
        /// text that a turn of that agent receives, the agent's own and its user's. `user`: the owner's name.
        [idempotent, 512, 35]
        async fn recall(owner: UserId, user: Name, area: Area, ask: BlockAsk) -> Result<Box<Block>, RelayError>;
        /// Has a model answer one short question, and returns its times and cost.
        [once, 4, 150]
        async fn try_model(model: ModelName, by: Name) -> Result<Tried, RelayError>;
        /// Usage since `since_ms`.
        [idempotent, 256, 25]
        async fn usage(by: GroupBy, since_ms: u64) -> Result<List<UsageRow, 256>, RelayError>;
        /// Every budget and how it stands.
        [idempotent, 64, 25]
        async fn budgets() -> Result<List<BudgetInfo, 64>, RelayError>;
    }
}
