//! Rows that are restored as they were: with their id, their times, their state and their source text. They pass the
//! screen like every other, and never replace better knowledge: one of two notes or facts with one key holds.

use crate::change::{self, IndexChange};
use crate::error::{Admission, StoreError};
use crate::find::taken_by;
use crate::limits::Limits;
use crate::rows::{one, same_key};
use crate::scope::{self, Number};
use crate::screen::Scanned;
use crate::store::Store;
use ipc_proto::ids::MemoryId;
use ipc_proto::label::Trust;
use ipc_proto::memory::{KindName, Over, Row, Scope, State};
use rusqlite::{Transaction, TransactionBehavior};

impl Store {
    /// Returns whether a row would be put back.
    pub(crate) fn takes_back(&self, scope: &Scope, row: &Row, over: Over) -> Result<bool, StoreError> {
        Ok(match (self.read(scope, row.entry.id)?, over) {
            (None, _) | (Some(_), Over::Replace) => true,
            (Some(_), Over::Skip) => false,
            (Some(here), Over::Merge) => later(row.state) > later(here.state),
        })
    }

    /// Restores a row, whose texts are those of `scanned`, or with `dry_run` only returns the result. None if the
    /// present row was left as it is.
    pub(crate) fn restore(
        &mut self,
        scope: &Scope,
        (scanned, row): (&Scanned, &Row),
        (over, dry_run): (Over, bool),
        now_ms: u64,
    ) -> Result<Option<MemoryId>, StoreError> {
        self.changed_or_tried(dry_run, |change, limits, changes| {
            let restored = RestoredRow { change, limits, scope, scanned, row, now_ms };
            restored.restored(over, changes)
        })
    }

    /// One change, or with `dry_run` only its result: its transaction is rolled back.
    pub(crate) fn changed_or_tried<T>(
        &mut self,
        dry_run: bool,
        of: impl FnOnce(&Transaction<'_>, &Limits, &mut Vec<IndexChange>) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        if !dry_run {
            return self.changed(of);
        }
        self.writable()?;
        let change = self.db.transaction_with_behavior(TransactionBehavior::Immediate)?;
        of(&change, &self.limits, &mut Vec::new())
    }
}

/// A row that comes back, within a change.
struct RestoredRow<'a> {
    change: &'a Transaction<'a>,
    limits: &'a Limits,
    scope: &'a Scope,
    /// Its texts.
    scanned: &'a Scanned,
    row: &'a Row,
    now_ms: u64,
}

impl RestoredRow<'_> {
    fn restored(&self, over: Over, changes: &mut Vec<IndexChange>) -> Result<Option<MemoryId>, StoreError> {
        let number = scope::find_or_make(self.change, self.scope)?;
        if let Some((n, here)) = one(self.change, number, &self.scope.area, self.row.entry.id)? {
            match over {
                Over::Skip => return Ok(None),
                Over::Merge => {
                    return merged(self.change, number, (n, here), self.row, self.scanned, changes);
                }
                // A replaced row is gone for good: text by others takes nothing of the person's own.
                Over::Replace if self.scanned.entry().label.trust > here.entry.label.trust => {
                    return Err(StoreError::NotAdmitted(Admission::LessTrusted));
                }
                Over::Replace => away(self.change, number, (n, here), changes)?,
            }
        }
        self.may_be_put()?;
        self.put(number, changes).map(Some)
    }

    /// Returns whether it may be here at all.
    fn may_be_put(&self) -> Result<(), StoreError> {
        let (entry, state) = (self.scanned.entry(), self.row.state);
        let refused = |admission| Err(StoreError::NotAdmitted(admission));
        if let Some(taken) = taken_by(self.change, self.scope, entry.id)? {
            return refused(taken);
        }
        if entry.detail.expires_ms.is_some_and(|expires| expires <= self.now_ms) {
            return refused(Admission::Expired);
        }
        let may_hold = !matches!(state, State::Proposed { .. } | State::Removed { .. });
        let needs_person = entry.detail.kind.name() == KindName::Semantic && entry.label.trust > Trust::User;
        if may_hold && needs_person { refused(Admission::NeedsPerson) } else { Ok(()) }
    }

    /// Puts it among the others: the later of two rows of one key holds, unless it is trusted less. A row with a
    /// lifetime gets that from now on.
    fn put(&self, number: Number, changes: &mut Vec<IndexChange>) -> Result<MemoryId, StoreError> {
        let (change, row) = (self.change, self.row);
        let mut entry = self.scanned.entry().clone();
        let rival = same_key(change, number, &self.scope.area, &entry)?;
        let rival = rival.filter(|_| row.state == State::Current);
        let old = rival.as_ref().map(|(_, row)| row);
        let room = self.limits.room_to_come_back(change, self.scope, (&entry, row.state), old)?;
        if room != Admission::New {
            return Err(StoreError::NotAdmitted(room));
        }
        let id = entry.id;
        entry.detail.expires_ms = self.limits.expiry(&entry, self.now_ms);
        let n = change::put(change, number, &entry, row.revises, (row.created_ms, self.now_ms))?;
        change::put_raw(change, n, self.scanned.raw(), None)?;
        kit::fault_point!("memory.restore.put");
        match (row.state, rival) {
            (State::Current, Some((_, newer)))
                if newer.created_ms > row.created_ms || entry.label.trust > newer.entry.label.trust =>
            {
                change::superseded(change, number, n, newer.entry.id, "", newer.created_ms)?;
            }
            (State::Current, older) => {
                if let Some((m, older)) = older {
                    change::superseded(change, number, m, id, "", row.created_ms)?;
                    changes.push(IndexChange::gone(number, m, older, false));
                }
                changes.push(IndexChange::new(number, n, entry, row.created_ms));
            }
            (state, _) => stated(change, number, n, state, self.scanned.reason())?,
        }
        Ok(id)
    }
}

/// Has the later of two states hold: no superseded or removed row comes to hold again.
fn merged(
    change: &Transaction<'_>,
    number: Number,
    (n, here): (i64, Row),
    row: &Row,
    scanned: &Scanned,
    changes: &mut Vec<IndexChange>,
) -> Result<Option<MemoryId>, StoreError> {
    if later(row.state) <= later(here.state) {
        return Ok(None);
    }
    // A tombstone can be lifted again; a row that replaces another for good needs at least its trust.
    let replaces = matches!(row.state, State::Superseded { .. });
    if replaces && scanned.entry().label.trust > here.entry.label.trust {
        return Err(StoreError::NotAdmitted(Admission::LessTrusted));
    }
    stated(change, number, n, row.state, scanned.reason())?;
    let id = here.entry.id;
    if here.state == State::Current {
        let purges = matches!(row.state, State::Removed { .. });
        changes.push(IndexChange::gone(number, n, here, purges));
    }
    Ok(Some(id))
}

/// The later of two states of one row holds.
const fn later(state: State) -> u8 {
    match state {
        State::Current | State::Proposed { .. } => 0,
        State::Superseded { .. } => 1,
        State::Removed { .. } => 2,
    }
}

fn stated(
    change: &Transaction<'_>,
    number: Number,
    n: i64,
    state: State,
    reason: &str,
) -> rusqlite::Result<()> {
    match state {
        State::Current => Ok(()),
        State::Superseded { by, at_ms } => change::superseded(change, number, n, by, reason, at_ms),
        State::Removed { at_ms } => change::removed(change, number, n, reason, at_ms),
        State::Proposed { at_ms } => change::proposed(change, number, n, at_ms),
    }
}

/// Takes away a row in whose place one with its own id comes.
fn away(
    change: &Transaction<'_>,
    number: Number,
    (n, here): (i64, Row),
    changes: &mut Vec<IndexChange>,
) -> rusqlite::Result<()> {
    change::deleted(change, number, n)?;
    if here.state == State::Current {
        changes.push(IndexChange::gone(number, n, here, true));
    }
    Ok(())
}
