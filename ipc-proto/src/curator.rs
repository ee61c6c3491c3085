//! Curator's queue of background model work, as its owner sees and steers it. It holds no text of anybody's memory. A
//! prompt of the owner stands here, and its answer.

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

/// The priority of a job. A waiting job ages: after ten minutes it stands where a new one of the next priority would.
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

/// The form of an answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AnswerType {
    /// Text, without the model's reasoning.
    #[default]
    Response,
    /// A JSON value; the model is asked once more if it is none.
    Json,
    /// The model's text, unchanged.
    Raw,
}

/// The kind of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum JobKind {
    /// Has a model answer a prompt of the owner's.
    Ask,
    /// Makes an observation of a captured event.
    Compress,
    /// Summarises a session.
    Summarise,
    /// Compares an observation with those like it.
    Resolve,
    /// Makes a vector of a text.
    Embed,
}

/// The state of a job.
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
    /// The job's kind.
    pub kind: JobKind,
    /// The job's state.
    pub state: JobState,
    /// Its priority.
    pub priority: Priority,
    /// The user that it works for.
    pub owner: UserId,
    /// The part of their memory that it works on.
    pub area: Area,
    /// The row or session that it is about; empty for a prompt.
    pub about: Text<64>,
    /// The model; none if it needs none.
    pub model: Option<ModelName>,
    /// The number of attempts, a running one included.
    pub attempts: u32,
    /// The time at which it came, unix ms.
    pub created_ms: u64,
    /// The earliest start, unix ms.
    pub due_ms: u64,
    /// The last failure, or the defect of its answer; empty if there is none.
    pub reason: Text<512>,
}

/// A job in full.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobView {
    /// The job as a listing shows it.
    pub info: JobInfo,
    /// The form of the answer.
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
    /// The end of the hold, unix ms.
    pub until_ms: u64,
    /// The cause.
    pub reason: Text<512>,
}

/// The queue.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Listing {
    /// No job is begun until somebody resumes the queue.
    pub paused: bool,
    /// Jobs that wait.
    pub waiting: u32,
    /// Jobs under way.
    pub running: u32,
    /// Jobs that were given up.
    pub dead: u32,
    /// Jobs that are held.
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
    /// The prompt.
    pub prompt: Text<PROMPT_BOUND>,
    /// The form of the answer.
    pub wants: AnswerType,
    /// Its priority.
    pub priority: Priority,
    /// The model; curator's own if none.
    pub model: Option<ModelName>,
}

/// Changes to a job; a field that is `None` stays as it is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Edit {
    /// Another text; for a prompt alone.
    pub prompt: Option<Text<PROMPT_BOUND>>,
    /// Another priority.
    pub priority: Option<Priority>,
    /// Another model.
    pub model: Option<ModelName>,
}

/// The reason for which curator refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
pub enum CuratorError {
    /// No such job.
    #[error("no such job; `agentctl curator list` shows them")]
    NoJob,
    /// It is under way, or the queue is full.
    #[error(
        "QUEUE_BUSY: the job is under way, or the queue is full; abort the job first: `agentctl curator abort`"
    )]
    Busy,
    /// This cannot be done with a job in its state, or of its kind.
    #[error(
        "not with this job; use one that was given up to requeue, and a prompt to edit (`agentctl curator list`)"
    )]
    NotSo,
    /// No model is named, and none is configured.
    #[error("no model: name one, or configure [curator] model")]
    NoModel,
    /// It could not be recorded, so it did not happen.
    #[error("the change could not be recorded; `agentctl status` says why")]
    NotRecorded,
    /// The queue's database failed.
    #[error("the queue cannot be read or written; `agentctl doctor` says what is wrong")]
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
