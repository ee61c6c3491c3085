//! The queue's own cleaning: it drops jobs that were given up or answered and are too old or too many, and work that
//! memory offers no longer. It touches the queue alone, and reports to memory the jobs it gave up; it never drops a job
//! that a caller still waits for.

use super::{Queue, STALE};
use crate::failure::Failure;
use crate::store::StoreFault;
use crate::work::{nothing, scope_of};
use ipc_proto::curator::{JobKind, JobState};

/// Time that a job of memory's waits without being offered again before it is forgotten, ms: another settled it.
const ORPHANED_MS: u64 = 600_000;

impl Queue {
    /// Forgets jobs that are too old or too many, and those that memory no longer offers.
    pub(super) async fn sweep(&self) {
        let now_ms = kit::now_ms();
        self.sweep_old(now_ms).await;
        if let Err(error) = self.sweep_orphans(now_ms) {
            tracing::error!(%error, "what nobody offers could not be forgotten");
        }
    }

    /// Forgets jobs that are too old or too many. Memory learns first of those that were given up, so that they are not
    /// offered again.
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

    /// Forgets jobs that memory no longer offers.
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
