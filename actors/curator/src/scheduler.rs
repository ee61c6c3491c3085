//! The scheduler: the main loop of the process, one job from its start to its end, and the return of its result. It has no
//! state of its own; the queue decides which job is due and may begin.

use crate::failure::Failure;
use crate::finish::Done;
use crate::order::Candidate;
use crate::queue::{Flight, Queue, STALE};
use crate::store::{Job, StoreFault};
use crate::work::nothing;
use ipc_proto::curator::JobKind;
use std::rc::Rc;
use std::time::Duration;
use tokio::sync::Notify;

/// Most jobs under way.
const AT_ONCE: usize = 8;
/// Why a job waits again whose end was not written down.
const UNWRITTEN: &str = "how it ended could not be written down";
/// The reason for giving up a job that was tried as often as it may be and never came to an end.
const UNENDED: &str = "it was begun as often as may be, and no try came to an end";
/// Longest that one job may take.
const PATIENCE: Duration = Duration::from_secs(300);

impl Queue {
    /// Requeues jobs that are not under way any more, though their end could not be written.
    fn take_back(&self, now_ms: u64) -> Result<(), StoreFault> {
        let flying = self.flying.borrow();
        for id in self.store.running()?.into_iter().filter(|id| !flying.contains_key(id)) {
            self.store.again(id, now_ms, true, UNWRITTEN)?;
        }
        Ok(())
    }

    /// Starts the jobs that can be started.
    pub(crate) fn begin(self: &Rc<Self>) -> Result<(), StoreFault> {
        self.take_back(kit::now_ms())?;
        if self.is_paused() {
            return Ok(());
        }
        while self.flying.borrow().len() < AT_ONCE {
            let now_ms = kit::now_ms();
            let Some((job, candidate)) = self.next(now_ms)? else { break };
            let id = job.view.info.id;
            if job.view.info.attempts >= self.config.attempts {
                // Its last try had no end: this process did not outlive it, or could not write it down.
                self.forget(id);
                self.store.give_up(id, now_ms, UNENDED)?;
                continue;
            }
            self.store.claim(id, now_ms)?;
            kit::fault_point!("curator.claimed");
            let aborted = Rc::new(Notify::new());
            let Candidate { resource, scope, .. } = candidate;
            let flight = Flight { resource, scope, aborted: Rc::clone(&aborted) };
            self.flying.borrow_mut().insert(id, flight);
            drop(tokio::task::spawn_local(run_job(Rc::clone(self), job, aborted)));
        }
        Ok(())
    }
}

/// Works for as long as the process lives.
pub(crate) async fn run(queue: Rc<Queue>) {
    loop {
        queue.let_go(STALE);
        queue.take().await;
        if let Err(error) = queue.begin() {
            tracing::error!(%error, "nothing can be begun");
        }
        let rest = queue.rest();
        tokio::select! {
            () = queue.wake.notified() => {}
            () = tokio::time::sleep(rest) => {}
        }
    }
}

/// One job, from its beginning to whatever end.
pub(crate) async fn run_job(queue: Rc<Queue>, job: Job, aborted: Rc<Notify>) {
    let done = tokio::select! {
        done = tokio::time::timeout(PATIENCE, work_on(&queue, &job)) => {
            done.unwrap_or_else(|_| Err(Failure::Passing("LLM_TIMEOUT: the job took too long".to_owned())))
        }
        () = aborted.notified() => Err(Failure::Aborted),
    };
    kit::fault_point!("curator.done");
    queue.finish(&job, done);
    kit::fault_point!("curator.finished");
    queue.flying.borrow_mut().remove(&job.view.info.id);
    queue.wake.notify_one();
}

/// Does it, and gives memory the result.
async fn work_on(queue: &Queue, job: &Job) -> Result<Done, Failure> {
    let id = job.view.info.id;
    if job.view.info.kind == JobKind::Ask {
        return crate::prompt::answer(queue, job).await;
    }
    let Some(given) = queue.work(id) else { return Err(Failure::Gone) };
    let settled = crate::finish::handle(queue, job, &given).await?;
    kit::fault_point!("curator.answered");
    match queue.settle(&given.scope, settled).await {
        // The plain record stands; the lack of a result is reported as well, so that it is not offered again.
        Err(Failure::Unusable(reason)) => {
            let Some(nothing) = nothing(&job.view.info) else { return Err(Failure::Permanent(reason)) };
            tracing::warn!(job = %id, reason, "what came of it is not kept");
            queue.settle(&given.scope, nothing).await?;
        }
        settled => settled?,
    }
    kit::fault_point!("curator.settled");
    Ok(Done::Settled)
}
