//! Rows that an export brings back go the way of every write: judged, on the record, done.

use super::{Intake, event};
use crate::screen::{Proposal, Scanned};
use crate::sessions;
use crate::store::Store;
use crate::writer::{ask, change};
use ipc_proto::audit::{Action, Result3};
use ipc_proto::ids::MemoryId;
use ipc_proto::memory::{MemoryError, Over, Row, Scope, SessionRow, State};
use std::sync::Arc;

impl Intake {
    /// Restores a row as it was, or with `dry_run` only returns the result. None if the present row is left as it is.
    pub(crate) async fn restore(
        self,
        scope: Scope,
        row: Row,
        raw: &str,
        (over, dry_run): (Over, bool),
    ) -> Result<Option<MemoryId>, MemoryError> {
        let (of, about) = (scope.clone(), row.clone());
        let wanted = ask(&self.writer, move |store, _| {
            store.writable()?;
            Ok((store.takes_back(&of, &about, over)?, store.read(&of, about.entry.id)?))
        });
        let (wanted, here) = wanted.await?;
        if !wanted {
            return Ok(None);
        }
        let sources: Vec<&str> = row.entry.label.sources.iter().map(|source| source.as_str()).collect();
        self.fit(&scope, &sources.join("\n"), true).await?;
        let proposal = Proposal::of(row.entry.clone());
        let proposal = proposal.map(|proposal| proposal.made_from(raw).because(&row.reason));
        if dry_run {
            let scanned = self.tried(&scope, proposal).await?;
            let tried = move |store: &mut Store, now_ms| {
                store.restore(&scope, (&scanned, &past(row, now_ms)), (over, true), now_ms)
            };
            return change(&self.writer, tried).await;
        }
        let scanned = self.scanned(&scope, proposal).await?;
        self.clone().lasting(self.put_back(scope, row, scanned, (over, here))).await
    }

    /// Puts a client's session back; whether it was. Its names are looked at as those that a hook tells of.
    pub(crate) async fn restore_session(
        self,
        scope: Scope,
        session: SessionRow,
        how: (Over, bool, bool),
    ) -> Result<bool, MemoryError> {
        sessions::may_be(&session.client)?;
        let names = [session.client.as_str(), session.name.as_str(), session.project.as_str()];
        self.fit(&scope, &names.join("\n"), true).await?;
        let put =
            move |store: &mut Store, now_ms| store.restore_session(&scope, &told_by(session, now_ms), how);
        change(&self.writer, put).await
    }

    /// A merge changes the state of the present row; its text is not written.
    async fn put_back(
        self,
        scope: Scope,
        row: Row,
        scanned: Arc<Scanned>,
        (over, here): (Over, Option<Row>),
    ) -> Result<Option<MemoryId>, MemoryError> {
        let taken =
            |result| here.as_ref().map(|row| event(Action::MemoryDeleted, result, &scope, &row.entry));
        let writes = here.is_none() || over == Over::Replace;
        let written = |result| writes.then(|| event(Action::MemoryWritten, result, &scope, scanned.entry()));
        if let Some(taken) = taken(Result3::Success) {
            self.record(taken.because(if writes { "replaced" } else { "merged" })).await?;
        }
        if let Some(written) = written(Result3::Success) {
            self.record(written.because("restored")).await?;
        }
        kit::fault_point!("memory.restore.recorded");
        let (of, texts) = (scope.clone(), Arc::clone(&scanned));
        let put = change(&self.writer, move |store, now_ms| {
            // It makes no room for itself: an import removes no present row.
            store.lapse(now_ms)?;
            store.restore(&of, (&texts, &past(row, now_ms)), (over, false), now_ms)
        })
        .await;
        if let Err(error) = put {
            for event in [taken(Result3::Error), written(Result3::Error)].into_iter().flatten() {
                self.undone(event, error).await;
            }
        }
        put
    }
}

/// The row as of now: one that claims a later time would not expire, and stand before all others until then.
fn past(mut row: Row, now_ms: u64) -> Row {
    row.created_ms = row.created_ms.min(now_ms);
    if let State::Superseded { at_ms, .. } | State::Removed { at_ms } | State::Proposed { at_ms } =
        &mut row.state
    {
        *at_ms = (*at_ms).min(now_ms);
    }
    row
}

/// The same of a session.
fn told_by(mut session: SessionRow, now_ms: u64) -> SessionRow {
    session.started_ms = session.started_ms.min(now_ms);
    session.ended_ms = session.ended_ms.map(|ended| ended.min(now_ms));
    session
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{entry, id, session};
    use ipc_proto::memory::{Area, SessionStatus};

    #[test]
    fn nothing_that_comes_back_is_of_a_later_time_than_now() {
        let states = [
            State::Current,
            State::Superseded { by: id(2), at_ms: u64::MAX },
            State::Removed { at_ms: u64::MAX },
            State::Proposed { at_ms: u64::MAX },
        ];
        for state in states {
            let row = past(Row { state, ..Row::new(entry(1, "x"), Area::User, u64::MAX) }, 7);
            assert_eq!(row.created_ms, 7);
            match row.state {
                State::Current => {}
                State::Superseded { at_ms, .. } | State::Removed { at_ms } | State::Proposed { at_ms } => {
                    assert_eq!(at_ms, 7);
                }
            }
            assert_eq!(past(row.clone(), 9), row, "what is past stays as it is");
        }
        let session = session(1, SessionStatus::Completed);
        let later = SessionRow { started_ms: u64::MAX, ended_ms: Some(u64::MAX), ..session.clone() };
        let now = told_by(later, 7);
        assert_eq!((now.started_ms, now.ended_ms), (7, Some(7)));
        assert_eq!(told_by(session.clone(), 9), session);
    }
}
