//! Removes and forgets rows: each removal is on the record before it is done, and none is done that could not be
//! recorded.

use super::{Intake, event};
use crate::error::StoreError;
use crate::writer::{ask, change};
use ipc_proto::List;
use ipc_proto::audit::{Action, Result3};
use ipc_proto::ids::MemoryId;
use ipc_proto::memory::{Forget, Forgotten, MemoryError, Row, Scope, State};

impl Intake {
    /// Leaves a row as a tombstone.
    pub(crate) async fn remove(self, scope: Scope, id: MemoryId, reason: String) -> Result<(), MemoryError> {
        // It is stored beside the row under the row's own label, whoever removes it.
        self.fit(&scope, &reason, true).await?;
        let of = scope.clone();
        let row = ask(&self.writer, move |store, _| {
            store.writable()?;
            store.read(&of, id)?.ok_or(StoreError::NotFound)
        })
        .await?;
        if matches!(row.state, State::Removed { .. }) {
            return Ok(());
        }
        self.clone().lasting(self.removed(scope, row, reason)).await
    }

    async fn removed(self, scope: Scope, row: Row, reason: String) -> Result<(), MemoryError> {
        let about = event(Action::MemoryDeleted, Result3::Success, &scope, &row.entry).because("removed");
        self.record(about).await?;
        kit::fault_point!("memory.remove.recorded");
        let (of, id) = (scope.clone(), row.entry.id);
        let removed = change(&self.writer, move |store, now_ms| store.remove(&of, id, &reason, now_ms)).await;
        if let Err(error) = removed {
            self.undone(event(Action::MemoryDeleted, Result3::Error, &scope, &row.entry), error).await;
        }
        removed
    }

    /// Forgets rows, as many as are forgotten at once, or says which they would be.
    pub(crate) async fn forget(
        self,
        scope: Scope,
        what: Forget,
        (purge, dry_run): (bool, bool),
    ) -> Result<Forgotten, MemoryError> {
        let (of, about) = (scope.clone(), what.clone());
        let (chosen, ids) = ask(&self.writer, move |store, _| {
            if !dry_run {
                store.writable()?;
            }
            let chosen = store.chosen(&of, &about, purge)?;
            let ids = if purge && !dry_run {
                store.with_revisions(&of, &about, &chosen)?
            } else {
                chosen.rows.iter().map(|row| row.entry.id).collect()
            };
            Ok((chosen, ids))
        })
        .await?;
        let first: Vec<MemoryId> = chosen.rows.iter().map(|row| row.entry.id).collect();
        let done = u32::try_from(first.len()).unwrap_or(u32::MAX);
        let forgotten = Forgotten {
            rows: if dry_run { chosen.all } else { done.saturating_add(chosen.before) },
            first: List::clip(first),
            more: chosen.all > done,
        };
        if !dry_run {
            self.clone().lasting(self.gone(scope, what, ids, purge)).await?;
        }
        Ok(forgotten)
    }

    async fn gone(
        self,
        scope: Scope,
        what: Forget,
        ids: Vec<MemoryId>,
        purge: bool,
    ) -> Result<(), MemoryError> {
        let reason = if purge { "purged" } else { "forgotten" };
        let (mut recorded, mut undone) = (Vec::new(), Vec::new());
        // One at a time: a long history is larger than the memory of this process.
        for id in ids {
            let of = scope.clone();
            let Some(row) = ask(&self.writer, move |store, _| store.read(&of, id)).await? else { continue };
            let about = event(Action::MemoryDeleted, Result3::Success, &scope, &row.entry);
            self.record(about.because(reason)).await?;
            recorded.push(id);
            undone.push(event(Action::MemoryDeleted, Result3::Error, &scope, &row.entry));
        }
        kit::fault_point!("memory.delete.recorded");
        let of = scope.clone();
        let done = change(&self.writer, move |store, now_ms| match purge {
            true => store.purge(&of, &what, &recorded, now_ms),
            false => store.entomb(&of, &recorded, reason, now_ms),
        })
        .await;
        kit::fault_point!("memory.delete.done");
        if let Err(error) = done {
            for event in undone {
                self.undone(event, error).await;
            }
        }
        done
    }
}
