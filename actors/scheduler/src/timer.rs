//! The one timer. It wakes at the next time of any job, and at least once a minute while there are jobs, since the clock may be set;
//! while messages are under way it looks at them more often. Without jobs it sleeps until one is added.

use crate::jobs::Jobs;
use crate::store::StoreFault;
use ipc_proto::scheduler::{FireState, HISTORY_DAYS};
use std::rc::Rc;
use std::time::Duration;

/// The longest sleep. In a debug build the clock can be stepped, which tests do not wait a minute for.
const REST: Duration =
    if cfg!(debug_assertions) { Duration::from_millis(500) } else { Duration::from_secs(60) };
/// How often messages under way are looked at, by their number.
const LOOK: [(usize, Duration); 2] = [(16, Duration::from_secs(1)), (usize::MAX, Duration::from_secs(5))];
/// When a submission is tried again that failed for now.
const AGAIN: Duration = Duration::from_secs(2);
const DAY_MS: u64 = 86_400_000;

/// Works for as long as the process lives.
pub(crate) async fn run(jobs: Rc<Jobs>) {
    let mut forgotten = 0;
    let mut failed =
        jobs.set_times().inspect_err(|fault| tracing::error!(%fault, "times cannot be set")).is_err();
    loop {
        let now_ms = kit::now_ms();
        if now_ms.abs_diff(forgotten) >= DAY_MS {
            forgotten = now_ms;
            let oldest = now_ms.saturating_sub(u64::from(HISTORY_DAYS) * DAY_MS);
            if let Err(fault) = jobs.store.forget(oldest) {
                tracing::error!(%fault, "old times cannot be forgotten");
            }
        }
        if let Err(fault) = jobs.work().await {
            tracing::error!(%fault, "jobs wait");
            failed = true;
        }
        let rest = if std::mem::take(&mut failed) { Ok(Some(AGAIN)) } else { rest(&jobs) };
        let sleep = async {
            match rest.unwrap_or(Some(AGAIN)) {
                Some(rest) => tokio::time::sleep(rest).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            () = jobs.wake.notified() => {}
            () = sleep => {}
        }
    }
}

/// How long nothing happens by itself; none for ever.
fn rest(jobs: &Jobs) -> Result<Option<Duration>, StoreFault> {
    let now_ms = kit::now_ms();
    let next = jobs.store.next()?.map(|next| Duration::from_millis(next.saturating_sub(now_ms)).min(REST));
    let submits = !jobs.store.fires_in(FireState::Due)?.is_empty();
    let running = jobs.store.fires_in(FireState::Running)?.len();
    let looks = LOOK.iter().find(|(most, _)| running <= *most).map(|(_, rest)| *rest).filter(|_| running > 0);
    Ok([next, looks, submits.then_some(AGAIN)].into_iter().flatten().min())
}
