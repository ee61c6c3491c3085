//! The end of a job: the handler that does it, the result for memory, and the job's next state in the queue. A failure
//! never touches the plain record: that is memory's, and nothing here removes it.

use crate::failure::{AWAY_MS, Failure, HOUR_MS, backoff_ms};
use crate::queue::Queue;
use crate::store::{Job, StoreFault};
use crate::{compress, embed, resolve, summarise};
use ipc_proto::curator::JobKind;
use ipc_proto::memory::{Scope, Settled, Task, Work, method};
use kit::now_ms;

/// The outcome of a job.
#[derive(Debug)]
pub(crate) enum Done {
    /// The answer to a prompt, and its fault; an empty one is none.
    Answer(String, String),
    /// Memory has it.
    Settled,
}

/// Does a piece of work.
pub(crate) async fn handle(queue: &Queue, job: &Job, work: &Work) -> Result<Settled, Failure> {
    match &work.task {
        Task::Compress { row, raw } => compress::compress(queue, job, (row, raw)).await,
        Task::Summarise { session, rows } => summarise::summarise(queue, job, (*session, rows)).await,
        Task::Resolve { row, like } => resolve::resolve(queue, job, (row, like)).await,
        Task::Embed { id, text, label } => embed::embed(queue, job, (*id, text, label)).await,
    }
}

impl Queue {
    /// Gives memory the result of a piece of work. A second call changes nothing more.
    pub(crate) async fn settle(&self, scope: &Scope, settled: Settled) -> Result<(), Failure> {
        let told = self.memory.call(&method::settle, |memory, context| {
            let (scope, settled) = (scope.clone(), settled.clone());
            async move { memory.settle(context, scope, settled).await }
        });
        Ok(told.await??)
    }

    /// Puts a job where it belongs now.
    pub(crate) fn finish(&self, job: &Job, done: Result<Done, Failure>) {
        if let Err(error) = self.place(job, done) {
            tracing::error!(%error, job = %job.view.info.id, "how a job ended could not be written down");
        }
    }

    fn place(&self, job: &Job, done: Result<Done, Failure>) -> Result<(), StoreFault> {
        let id = job.view.info.id;
        let now_ms = now_ms();
        let failure = match done {
            Ok(Done::Answer(answer, wrong)) => return self.store.answered(id, now_ms, &answer, &wrong),
            Ok(Done::Settled) | Err(Failure::Gone) => {
                self.forget(id);
                return self.store.remove(id);
            }
            Err(failure) => failure,
        };
        let reason = failure.to_string();
        tracing::info!(job = %id, reason, "not done");
        let again =
            |after_ms: u64, counts| self.store.again(id, now_ms.saturating_add(after_ms), counts, &reason);
        // This try is counted already; `job` is as it was before.
        let attempts = job.view.info.attempts.saturating_add(1);
        let is_last = attempts >= self.config.attempts;
        match failure {
            Failure::Aborted | Failure::Away(_) => again(AWAY_MS, false),
            Failure::Quota { after_ms, .. } => {
                let model = job.view.info.model.as_ref().map(|model| model.as_str());
                self.hold(model.or(self.model(job)), now_ms.saturating_add(after_ms), &reason);
                again(0, false)
            }
            Failure::Passing(_) if !is_last => again(backoff_ms(attempts), true),
            Failure::Later { after_ms, .. } if !is_last => again(after_ms.max(backoff_ms(1)), true),
            failure => {
                // Each of them would fail in the same way, and each would be offered again.
                if matches!(failure, Failure::Permanent(_)) && job.view.info.kind == JobKind::Embed {
                    self.hold(self.model(job), now_ms.saturating_add(HOUR_MS), &reason);
                }
                self.forget(id);
                self.store.give_up(id, now_ms, &reason)
            }
        }
    }
}
