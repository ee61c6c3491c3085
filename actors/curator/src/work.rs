//! The work that memory offers, and the job that it becomes in the queue. Pure.

use ipc_proto::Text;
use ipc_proto::curator::{AnswerType, JobInfo, JobKind, JobState, JobView, Priority};
use ipc_proto::ids::{JobId, MemoryId, SessionId, UserId};
use ipc_proto::memory::{Area, Scope, Settled, Task, Work};
use sha2::{Digest, Sha256};

/// The provider of a model, or the task that is routed; empty where no model is asked.
pub(crate) fn resource_of(model: Option<&str>) -> String {
    let model = model.unwrap_or_default();
    model.split_once('/').map_or(model, |(provider, _)| provider).to_owned()
}

/// A new job.
pub(crate) fn new_job(
    id: JobId,
    kind: JobKind,
    priority: Priority,
    (owner, area): (UserId, Area),
    about: &str,
    now_ms: u64,
) -> JobView {
    let info = JobInfo {
        id,
        kind,
        state: JobState::Waiting,
        priority,
        owner,
        area,
        about: Text::clip(about),
        model: None,
        attempts: 0,
        created_ms: now_ms,
        due_ms: now_ms,
        reason: Text::default(),
    };
    JobView { info, wants: AnswerType::Json, prompt: Text::default(), answer: Text::default() }
}

/// The job that a piece of work is: the same work is the same job, however often it is offered.
pub(crate) fn job_of(work: &Work, now_ms: u64) -> JobView {
    let (kind, about, priority) = match &work.task {
        Task::Compress { row, .. } => (JobKind::Compress, row.entry.id.to_string(), Priority::Normal),
        Task::Summarise { session, .. } => (JobKind::Summarise, session.to_string(), Priority::Normal),
        Task::Resolve { row, .. } => (JobKind::Resolve, row.entry.id.to_string(), Priority::Low),
        Task::Embed { id, .. } => (JobKind::Embed, id.to_string(), Priority::Low),
    };
    let scope = &work.scope;
    let named = format!("{}\0{:?}\0{kind:?}\0{about}", scope.owner, scope.area);
    let whose = (scope.owner, scope.area.clone());
    new_job(JobId::from_bytes(sixteen(&named)), kind, priority, whose, &about, now_ms)
}

/// The id of the row that a job writes: the same however often it is done of the same rows, the newest of which is `of`.
pub(crate) fn row_of(job: JobId, of: MemoryId) -> MemoryId {
    MemoryId::from_bytes(sixteen(&format!("row of {job} and {of}")))
}

/// The verdict that memory receives for a job without a result, where there is one.
pub(crate) fn nothing(info: &JobInfo) -> Option<Settled> {
    let row = || info.about.parse::<MemoryId>().ok();
    match info.kind {
        JobKind::Compress => row().map(Settled::LeftPlain),
        JobKind::Summarise => {
            let session = info.about.parse::<SessionId>().ok()?;
            Some(Settled::Summarised { session, entry: None })
        }
        JobKind::Resolve => row().map(Settled::Distinct),
        JobKind::Embed | JobKind::Ask => None,
    }
}

/// The scope of the memory that a job is about.
pub(crate) fn scope_of(info: &JobInfo) -> Scope {
    Scope { owner: info.owner, area: info.area.clone() }
}

/// An id that a text gives.
pub(crate) fn sixteen(text: &str) -> [u8; 16] {
    let hash: [u8; 32] = Sha256::digest(text.as_bytes()).into();
    let mut bytes = [0; 16];
    for (to, from) in bytes.iter_mut().zip(hash) {
        *to = from;
    }
    bytes
}
