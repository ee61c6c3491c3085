//! Writes and removes rows. A row is one transaction or nothing, and only a [`Scanned`] row is written.

use crate::change::{self, IndexChange};
use crate::error::{Admission, StoreError};
use crate::expiry;
use crate::find::taken_by;
use crate::limits::Limits;
use crate::rows::{one, same_key, tip};
use crate::scope;
use crate::screen::Scanned;
use crate::sessions;
use crate::store::Store;
use ipc_proto::ids::MemoryId;
use ipc_proto::label::Trust;
use ipc_proto::memory::{Capture, Entry, KindName, Row, Scope, State};
use rusqlite::{Connection, Transaction};

impl Store {
    /// Returns whether `scanned` may be written to `scope`.
    pub(crate) fn admit(&self, scope: &Scope, scanned: &Scanned) -> Result<Admission, StoreError> {
        self.writable()?;
        Ok(admission(&self.db, &self.limits, scope, scanned)?.0)
    }

    /// Writes a row if it may be: the row, its place in the index, the owner's count, and the row that it replaces, or
    /// nothing.
    pub(crate) fn insert(
        &mut self,
        scope: &Scope,
        scanned: &Scanned,
        now_ms: u64,
    ) -> Result<Admission, StoreError> {
        self.changed(|change, limits, changes| inserted(change, limits, scope, scanned, now_ms, changes))
    }

    /// Takes down that something happened in a client's session, and the row that it becomes, if it becomes one.
    pub(crate) fn take_down(
        &mut self,
        scope: &Scope,
        capture: &Capture,
        scanned: Option<&Scanned>,
        now_ms: u64,
    ) -> Result<Admission, StoreError> {
        let session = sessions::id(scope, capture);
        self.changed(|change, limits, changes| {
            let number = scope::find_or_make(change, scope)?;
            let admission = match scanned {
                Some(scanned) => inserted(change, limits, scope, scanned, now_ms, changes)?,
                None => Admission::New,
            };
            sessions::touched(change, number, session, capture, now_ms)?;
            Ok(admission)
        })
    }

    /// Leaves a row as a tombstone; one that is one already stays as it is.
    pub(crate) fn remove(
        &mut self,
        scope: &Scope,
        id: MemoryId,
        reason: &str,
        now_ms: u64,
    ) -> Result<(), StoreError> {
        self.changed(|change, _, changes| {
            let number = scope::find(change, scope)?.ok_or(StoreError::NotFound)?;
            let (n, row) = one(change, number, &scope.area, id)?.ok_or(StoreError::NotFound)?;
            match row.state {
                State::Removed { .. } => Ok(()),
                State::Superseded { .. } => Err(StoreError::NotCurrent(tip(change, number, id)?)),
                State::Current | State::Proposed { .. } => {
                    change::removed(change, number, n, reason, now_ms)?;
                    changes.push(IndexChange::gone(number, n, row, true));
                    Ok(())
                }
            }
        })
    }
}

/// The admission of a row, with its stored form and the row that it supersedes.
type Admitted = (Admission, Option<Box<(i64, Row)>>);

/// The label need not be the same: it is enough that the one that is kept says all that the new one does.
fn admission(
    db: &Connection,
    limits: &Limits,
    scope: &Scope,
    scanned: &Scanned,
) -> Result<Admitted, StoreError> {
    let (entry, number) = (scanned.entry(), scope::find(db, scope)?);
    let refused = |admission| Ok((admission, None));
    if let Some(number) = number
        && let Some((_, row)) = one(db, number, &scope.area, entry.id)?
    {
        return refused(if same(&row.entry, entry) { Admission::Already } else { Admission::Taken });
    }
    if let Some(taken) = taken_by(db, scope, entry.id)? {
        return refused(taken);
    }
    let old = match (number, scanned.revises()) {
        (None, Some(_)) => return refused(Admission::Unknown),
        (Some(number), Some(id)) => match one(db, number, &scope.area, id)? {
            None => return refused(Admission::Unknown),
            Some((_, row)) if row.state != State::Current => {
                return refused(Admission::NotCurrent(tip(db, number, id)?));
            }
            found => found,
        },
        (Some(number), None) => same_key(db, number, &scope.area, entry)?,
        (None, None) => None,
    };
    let trust = match &old {
        Some((_, row)) if scanned.revises().is_some() => row.entry.label.trust.max(entry.label.trust),
        _ => entry.label.trust,
    };
    if entry.detail.kind.name() == KindName::Semantic && trust > Trust::User {
        return refused(Admission::NeedsPerson);
    }
    // Any writer can choose a key: by a key alone, a row by others replaces nothing of the person's own.
    let by_key = old.as_ref().filter(|_| scanned.revises().is_none());
    if by_key.is_some_and(|(_, row)| entry.label.trust > row.entry.label.trust) {
        return refused(Admission::NeedsPerson);
    }
    let room = limits.room(db, scope, entry, old.as_ref().map(|(_, row)| row))?;
    if room != Admission::New {
        return refused(room);
    }
    Ok((Admission::New, old.map(Box::new)))
}

/// Returns true if it was written so already. The store set the time of its expiry then.
fn same(kept: &Entry, entry: &Entry) -> bool {
    let mut detail = entry.detail.clone();
    detail.expires_ms = detail.expires_ms.or(kept.detail.expires_ms);
    kept.content == entry.content
        && kept.tags == entry.tags
        && kept.detail == detail
        && entry.label.within(&kept.label)
}

/// Writes a row within a change, if it may be written.
pub(crate) fn inserted(
    change: &Transaction<'_>,
    limits: &Limits,
    scope: &Scope,
    scanned: &Scanned,
    now_ms: u64,
    changes: &mut Vec<IndexChange>,
) -> Result<Admission, StoreError> {
    let (admission, old) = admission(change, limits, scope, scanned)?;
    if admission != Admission::New {
        return Ok(admission);
    }
    let number = scope::find_or_make(change, scope)?;
    let mut entry = scanned.entry().clone();
    entry.detail.expires_ms = limits.expiry(&entry, now_ms);
    expiry::oldest_go(change, limits, scope, &entry, changes)?;
    let mut from = None;
    if let Some((n, row)) = old.map(|old| *old) {
        if scanned.revises().is_some() {
            entry.label = entry.label.join(&row.entry.label);
        }
        change::superseded(change, number, n, entry.id, scanned.reason(), now_ms)?;
        kit::fault_point!("memory.revise.superseded");
        from = Some((n, row.entry.id));
        changes.push(IndexChange::gone(number, n, row, false));
    }
    let n = change::put(change, number, &entry, from.map(|(_, id)| id), (now_ms, now_ms))?;
    change::put_raw(change, n, scanned.raw(), from.map(|(n, _)| n))?;
    changes.push(IndexChange::new(number, n, entry, now_ms));
    Ok(Admission::New)
}
