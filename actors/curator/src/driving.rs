//! Jobs from their beginning to whatever end: the loop that the process lives by, one job, and giving back what came of it.
//! It holds nothing of its own; what is due and what may begin is the desk's to say.

use crate::desk::{Desk, STALE};
use crate::failure::Failure;
use crate::finish::Done;
use crate::store::Job;
use crate::work::nothing;
use ipc_proto::curator::JobKind;
use std::rc::Rc;
use std::time::Duration;
use tokio::sync::Notify;

/// Longest that one job may take.
const PATIENCE: Duration = Duration::from_secs(300);

/// Works for as long as the process lives.
pub(crate) async fn drive(desk: Rc<Desk>) {
    loop {
        desk.let_go(STALE);
        desk.take().await;
        if let Err(error) = desk.begin() {
            tracing::error!(%error, "nothing can be begun");
        }
        let rest = desk.rest();
        tokio::select! {
            () = desk.wake.notified() => {}
            () = tokio::time::sleep(rest) => {}
        }
    }
}

/// One job, from its beginning to whatever end.
pub(crate) async fn fly(desk: Rc<Desk>, job: Job, aborted: Rc<Notify>) {
    let done = tokio::select! {
        done = tokio::time::timeout(PATIENCE, work_on(&desk, &job)) => {
            done.unwrap_or_else(|_| Err(Failure::Passing("LLM_TIMEOUT: the job took too long".to_owned())))
        }
        () = aborted.notified() => Err(Failure::Aborted),
    };
    kit::fault_point!("curator.done");
    desk.finish(&job, done);
    kit::fault_point!("curator.finished");
    desk.flying.borrow_mut().remove(&job.view.info.id);
    desk.wake.notify_one();
}

/// Does it, and gives what came of it to memory.
async fn work_on(desk: &Desk, job: &Job) -> Result<Done, Failure> {
    let id = job.view.info.id;
    if job.view.info.kind == JobKind::Ask {
        return crate::prompt::answer(desk, job).await;
    }
    let Some(given) = desk.work(id) else { return Err(Failure::Gone) };
    let settled = crate::finish::handle(desk, job, &given).await?;
    kit::fault_point!("curator.answered");
    match desk.settle(&given.scope, settled).await {
        // The plain record stands; that nothing comes of it is said as well, so that it is not offered again.
        Err(Failure::Unusable(reason)) => {
            let Some(nothing) = nothing(&job.view.info) else { return Err(Failure::Permanent(reason)) };
            tracing::warn!(job = %id, reason, "what came of it is not kept");
            desk.settle(&given.scope, nothing).await?;
        }
        settled => settled?,
    }
    kit::fault_point!("curator.settled");
    Ok(Done::Settled)
}
