//! What the queue forgets by itself: what was given up or answered and is old or too much, and work that nobody offers any
//! more. It touches the queue alone, and tells memory of what it gave up; it never takes away what somebody still waits for.

use super::{Queue, STALE};
use crate::failure::Failure;
use crate::store::StoreFault;
use crate::work::{nothing, scope_of};
use ipc_proto::curator::{JobKind, JobState};

/// How long a job of memory's waits without being offered again before it is forgotten, ms: somebody else settled it.
const ORPHANED_MS: u64 = 600_000;

impl Queue {
    /// Forgets what is too old or too much, and what nobody offers any more.
    pub(super) async fn sweep(&self) {
        let now_ms = kit::now_ms();
        self.sweep_old(now_ms).await;
        if let Err(error) = self.sweep_orphans(now_ms) {
            tracing::error!(%error, "what nobody offers could not be forgotten");
        }
    }

    /// Forgets what is too old or too much. Of what was given up memory is told first, so that it is not offered again.
    pub(super) async fn sweep_old(&self, now_ms: u64) {
        if let Err(error) = self.store.forget_days(now_ms) {
            tracing::error!(%error, "the tokens of former days could not be forgotten");
        }
        let old = self.store.old(now_ms).unwrap_or_default();
        for info in old.into_iter().map(|job| job.view.info) {
            let told = match nothing(&info).filter(|_| info.state == JobState::Dead) {
                Some(nothing) => self.settle(&scope_of(&info), nothing).await,
                None => Ok(()),
            };
            let removed = match told {
                Ok(()) | Err(Failure::Gone | Failure::Unusable(_)) => self.store.remove(info.id),
                Err(_) => Ok(()),
            };
            if let Err(error) = removed {
                tracing::error!(%error, "what is old could not be forgotten");
            }
        }
    }

    /// Forgets jobs whose work nobody offers any more.
    fn sweep_orphans(&self, now_ms: u64) -> Result<(), StoreFault> {
        let store = &self.store;
        if self.gathering.get().elapsed() < STALE {
            return Ok(());
        }
        let texts = self.texts.borrow();
        for job in store.list(JobState::Waiting)? {
            let info = job.view.info;
            let old = info.due_ms.saturating_add(ORPHANED_MS) < now_ms;
            if old && info.kind != JobKind::Ask && !texts.contains_key(&info.id) {
                store.remove(info.id)?;
            }
        }
        Ok(())
    }
}
