//! The results of curator's work, on their way into the store. A result that comes a second time, or for a row that no
//! longer holds, changes nothing; and an entry made of a row gets that row's place, source and label, whoever made it.

use super::{Intake, event};
use crate::screen::{Proposal, Scanned};
use crate::store::Store;
use crate::writer::{ask, change};
use ipc_proto::audit::{Action, Result3};
use ipc_proto::ids::{MemoryId, SessionId};
use ipc_proto::memory::{Entry, Kind, MemoryError, Refusal, Scope, Settled};
use std::sync::Arc;

impl Intake {
    /// Stores the result of a piece of work.
    pub(crate) async fn settle(self, scope: Scope, settled: Settled) -> Result<(), MemoryError> {
        match settled {
            Settled::Compressed { id, entry, taken } => {
                self.compressed(scope, id, *entry, taken.into_vec()).await
            }
            Settled::Summarised { session, entry } => {
                self.summarised(scope, session, entry.map(|entry| *entry)).await
            }
            Settled::LeftPlain(id) => {
                change(&self.writer, move |store, _| store.left_plain(&scope, id)).await
            }
            Settled::Distinct(id) => change(&self.writer, move |store, _| store.distinct(&scope, id)).await,
            Settled::Duplicate { id, of } => {
                let again = scope.clone();
                change(&self.writer, move |store, _| store.came_again(&again, of)).await?;
                self.clone().lasting(self.superseded(scope, (id, of), "says the same")).await
            }
            Settled::Supersedes { id, old } => {
                self.clone().lasting(self.superseded(scope, (old, id), "outdated")).await
            }
            Settled::Embedded { id, vector } => {
                change(&self.writer, move |store, _| store.embedded(&scope, id, &vector)).await
            }
        }
    }

    /// The observation replaces the captured row, with the entries extracted from it beside it.
    async fn compressed(
        self,
        scope: Scope,
        id: MemoryId,
        mut entry: Entry,
        taken: Vec<Entry>,
    ) -> Result<(), MemoryError> {
        let (of, new) = (scope.clone(), entry.id);
        let found = ask(&self.writer, move |store, _| Ok((store.captured(&of, id)?, store.read(&of, new)?)));
        let (captured, settled) = found.await?;
        if settled.is_some() {
            return Ok(());
        }
        let Some(row) = captured else { return Err(MemoryError::NotFound) };
        let Kind::Observation(seen) = &mut entry.detail.kind else {
            return Err(MemoryError::Refused(Refusal::NotDone));
        };
        seen.plain = false;
        entry.session = row.entry.session;
        entry.detail.project = row.entry.detail.project;
        entry.detail.source = row.entry.detail.source;
        entry.detail.expires_ms = row.entry.detail.expires_ms;
        entry.label = entry.label.join(&row.entry.label);
        self.observed(scope, id, entry, taken).await
    }

    async fn summarised(
        self,
        scope: Scope,
        session: SessionId,
        entry: Option<Entry>,
    ) -> Result<(), MemoryError> {
        let mut scanned = None;
        if let Some(entry) = entry {
            let (of, id) = (scope.clone(), entry.id);
            let (entry, settled) = ask(&self.writer, move |store, _| {
                Ok((store.summary(&of, session, entry)?, store.read(&of, id)?.is_some()))
            })
            .await?;
            if settled {
                return Ok(());
            }
            scanned = Some(self.scanned(&scope, Proposal::of(entry)).await?);
        }
        self.clone().lasting(self.summed_up(scope, session, scanned)).await
    }

    async fn summed_up(
        self,
        scope: Scope,
        session: SessionId,
        scanned: Option<Arc<Scanned>>,
    ) -> Result<(), MemoryError> {
        if let Some(summary) = &scanned {
            self.record(event(Action::MemoryWritten, Result3::Success, &scope, summary.entry())).await?;
        }
        kit::fault_point!("memory.summary.recorded");
        let (of, about) = (scope.clone(), scanned.clone());
        let done = move |store: &mut Store, now_ms| store.summarised(&of, session, about.as_deref(), now_ms);
        let done = change(&self.writer, done).await;
        if let (Err(error), Some(summary)) = (done, scanned) {
            self.undone(event(Action::MemoryWritten, Result3::Error, &scope, summary.entry()), error).await;
        }
        done
    }

    /// One row takes the place of another, if it may.
    async fn superseded(
        self,
        scope: Scope,
        (old, new): (MemoryId, MemoryId),
        reason: &'static str,
    ) -> Result<(), MemoryError> {
        let of = scope.clone();
        let both =
            ask(&self.writer, move |store, _| Ok(store.captured(&of, old)?.zip(store.captured(&of, new)?)));
        if let Some((row, other)) = both.await?
            && other.entry.label.trust <= row.entry.label.trust
        {
            let about = event(Action::MemoryDeleted, Result3::Success, &scope, &row.entry);
            self.record(about.because("superseded")).await?;
        }
        change(&self.writer, move |store, now_ms| store.supersede(&scope, (old, new), reason, now_ms)).await
    }
}
