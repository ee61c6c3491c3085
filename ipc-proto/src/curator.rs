//! Curator's queue of background model work, as its owner sees and steers it. It holds no text of anybody's memory: what
//! a job is about is memory's to show. A prompt that the owner put in stands here, and its answer.

use crate::ids::{JobId, UserId};
use crate::memory::Area;
use crate::model::ModelName;
use crate::service::service;
use crate::{List, Name, Text};
use serde::{Deserialize, Serialize};

/// Bytes of a prompt.
pub const PROMPT_BOUND: usize = 64 * 1024;
/// Bytes of an answer that is kept.
pub const ANSWER_BOUND: usize = 128 * 1024;
/// Jobs in one listing.
pub const LISTED: usize = 200;

/// How soon a job is done. One that waits ages: after ten minutes it stands where a new one of the next priority would.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Priority {
    /// Before the others.
    High,
    /// In between.
    #[default]
    Normal,
    /// After the others.
    Low,
}

/// What an answer is to be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AnswerType {
    /// Text, without the model's reasoning.
    #[default]
    Response,
    /// A JSON value; the model is asked once more if it is none.
    Json,
    /// What the model said, as it said it.
    Raw,
}

/// What a job does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum JobKind {
    /// Has a model answer a prompt of the owner's.
    Ask,
    /// Makes an observation of what was captured.
    Compress,
    /// Says what came of a session.
    Summarise,
    /// Compares an observation with those like it.
    Resolve,
    /// Makes a vector of a text.
    Embed,
}

/// Where a job is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum JobState {
    /// In the queue.
    Waiting,
    /// Under way.
    Running,
    /// Given up, with the reason.
    Dead,
    /// Answered; work of memory's is not kept once it is done.
    Done,
}

/// A job, listed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobInfo {
    /// Its id.
    pub id: JobId,
    /// What it does.
    pub kind: JobKind,
    /// Where it is.
    pub state: JobState,
    /// How soon.
    pub priority: Priority,
    /// For whom.
    pub owner: UserId,
    /// In which part of their memory.
    pub area: Area,
    /// Which row or session it is about; empty for a prompt.
    pub about: Text<64>,
    /// The model; none if it needs none.
    pub model: Option<ModelName>,
    /// Times that it was begun and failed, or is under way.
    pub attempts: u32,
    /// When it came, unix ms.
    pub created_ms: u64,
    /// Before when it is not begun, unix ms.
    pub due_ms: u64,
    /// Why it failed last, or what is wrong with its answer; empty if nothing did and nothing is.
    pub reason: Text<512>,
}

/// A job in full.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobView {
    /// As it is listed.
    pub info: JobInfo,
    /// What the answer is to be.
    pub wants: AnswerType,
    /// The prompt; empty for work of memory's.
    pub prompt: Text<PROMPT_BOUND>,
    /// The answer; empty until there is one.
    pub answer: Text<ANSWER_BOUND>,
}

/// A resource that is held: nothing that needs it is begun before then.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Held {
    /// The provider, or `tokens a day`.
    pub resource: Name,
    /// Until when, unix ms.
    pub until_ms: u64,
    /// Why.
    pub reason: Text<512>,
}

/// The queue.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Listing {
    /// Nothing is begun until somebody lets it go on.
    pub paused: bool,
    /// Jobs that wait.
    pub waiting: u32,
    /// Jobs under way.
    pub running: u32,
    /// Jobs that were given up.
    pub dead: u32,
    /// What is held.
    pub held: List<Held, 16>,
    /// Tokens that were used today (UTC).
    pub tokens_today: u64,
    /// Most tokens of a day; 0 for no bound.
    pub tokens_a_day: u64,
    /// Jobs, in the order in which they would be begun; the dead and the done newest first, after them.
    pub jobs: List<JobInfo, LISTED>,
}

/// A prompt of the owner's, to be answered in the background.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PromptJob {
    /// What is asked.
    pub prompt: Text<PROMPT_BOUND>,
    /// What the answer is to be.
    pub wants: AnswerType,
    /// How soon.
    pub priority: Priority,
    /// Which model; curator's own without one.
    pub model: Option<ModelName>,
}

/// What is to be changed of a job; what is none stays.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Edit {
    /// Other words; of a prompt alone.
    pub prompt: Option<Text<PROMPT_BOUND>>,
    /// How soon.
    pub priority: Option<Priority>,
    /// Another model.
    pub model: Option<ModelName>,
}

/// Why curator refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
pub enum CuratorError {
    /// No such job.
    #[error("no such job; `agentctl curator list` shows them")]
    NoJob,
    /// It is under way, or the queue is full.
    #[error("QUEUE_BUSY: the job is under way, abort it first; or the queue is full")]
    Busy,
    /// This cannot be done with a job in its state, or of its kind.
    #[error(
        "not with this job: only one that was given up is requeued, and only a prompt has words to change"
    )]
    NotSo,
    /// No model is named, and none is configured.
    #[error("no model: name one, or configure [curator] model")]
    NoModel,
    /// It could not be recorded, so it did not happen.
    #[error("the change could not be recorded")]
    NotRecorded,
    /// The queue's database failed.
    #[error("the queue cannot be read or written")]
    Storage,
}

service! {
    /// The queue of background work. A change is on the record first, as made by the user named `by`.
    pub trait Curator {
        /// The queue; with a state, only jobs in it.
        [idempotent, 512, 15]
        async fn jobs(state: Option<JobState>) -> Result<Listing, CuratorError>;
        /// One job.
        [idempotent, 512, 15]
        async fn job(id: JobId) -> Result<JobView, CuratorError>;
        /// Puts a prompt into the queue; the same id twice is one job.
        [idempotent, 512, 15]
        async fn ask(by: Name, owner: UserId, id: JobId, job: PromptJob) -> Result<JobView, CuratorError>;
        /// Changes a job that waits or was given up.
        [idempotent, 512, 15]
        async fn edit(by: Name, id: JobId, edit: Edit) -> Result<JobView, CuratorError>;
        /// Puts a job that was given up into the queue again.
        [idempotent, 512, 15]
        async fn requeue(by: Name, id: JobId) -> Result<JobView, CuratorError>;
        /// Takes a job out. A memory whose work it was keeps its plain record.
        [idempotent, 4, 15]
        async fn remove(by: Name, id: JobId) -> Result<(), CuratorError>;
        /// Pauses the queue, so that no job is begun, or resumes it.
        [idempotent, 4, 15]
        async fn pause(by: Name, paused: bool) -> Result<(), CuratorError>;
        /// Interrupts a running job, or all; each waits again and counts as no failure. Returns how many: none for a job that is
        /// not running.
        [idempotent, 4, 15]
        async fn abort(by: Name, id: Option<JobId>) -> Result<u32, CuratorError>;
        /// Looks for work now. Returns how many jobs wait.
        [idempotent, 4, 15]
        async fn run() -> Result<u32, CuratorError>;
    }
}
