//! Rows that come back as they were: with their id, their times, their state and what they were made from. They pass the
//! screen like every other, and never take away what is known better here: of two notes or facts with one key one holds.

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

    /// Puts a row back, whose texts are those of `scanned`, or with `dry_run` only says what would come of it. None if the
    /// row that is here was left as it is.
    pub(crate) fn restore(
        &mut self,
        scope: &Scope,
        (scanned, row): (&Scanned, &Row),
        (over, dry_run): (Over, bool),
        now_ms: u64,
    ) -> Result<Option<MemoryId>, StoreError> {
        self.changed_or_tried(dry_run, |change, limits, told| {
            let came = Came { change, limits, scope, scanned, row, now_ms };
            came.restored(over, told)
        })
    }

    /// One change, or with `dry_run` only what it would come to: its transaction is rolled back.
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
struct Came<'a> {
    change: &'a Transaction<'a>,
    limits: &'a Limits,
    scope: &'a Scope,
    /// Its texts.
    scanned: &'a Scanned,
    row: &'a Row,
    now_ms: u64,
}

impl Came<'_> {
    fn restored(&self, over: Over, told: &mut Vec<IndexChange>) -> Result<Option<MemoryId>, StoreError> {
        let number = scope::find_or_make(self.change, self.scope)?;
        if let Some((n, here)) = one(self.change, number, &self.scope.area, self.row.entry.id)? {
            match over {
                Over::Skip => return Ok(None),
                Over::Merge => {
                    return merged(self.change, number, (n, here), self.row, self.scanned, told);
                }
                // What is taken away so is gone for good: what others wrote takes nothing of the person's own.
                Over::Replace if self.scanned.entry().label.trust > here.entry.label.trust => {
                    return Err(StoreError::NotAdmitted(Admission::LessTrusted));
                }
                Over::Replace => away(self.change, number, (n, here), told)?,
            }
        }
        self.may_be_put()?;
        self.put(number, told).map(Some)
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

    /// Puts it among the others: of two of one key the one holds that was written later, unless it is trusted less. What is
    /// kept for a time is kept so from now on.
    fn put(&self, number: Number, told: &mut Vec<IndexChange>) -> Result<MemoryId, StoreError> {
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
                    told.push(IndexChange::gone(number, m, older, false));
                }
                told.push(IndexChange::new(number, n, entry, row.created_ms));
            }
            (state, _) => stated(change, number, n, state, self.scanned.reason())?,
        }
        Ok(id)
    }
}

/// Has the later of two states hold: nothing that was superseded or removed comes to hold again.
fn merged(
    change: &Transaction<'_>,
    number: Number,
    (n, here): (i64, Row),
    row: &Row,
    scanned: &Scanned,
    told: &mut Vec<IndexChange>,
) -> Result<Option<MemoryId>, StoreError> {
    if later(row.state) <= later(here.state) {
        return Ok(None);
    }
    // A tombstone can be lifted again; what stands in a row's place for good needs a word as good as its own.
    let replaces = matches!(row.state, State::Superseded { .. });
    if replaces && scanned.entry().label.trust > here.entry.label.trust {
        return Err(StoreError::NotAdmitted(Admission::LessTrusted));
    }
    stated(change, number, n, row.state, scanned.reason())?;
    let id = here.entry.id;
    if here.state == State::Current {
        let purges = matches!(row.state, State::Removed { .. });
        told.push(IndexChange::gone(number, n, here, purges));
    }
    Ok(Some(id))
}

/// Of two states of one row the later holds.
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
    told: &mut Vec<IndexChange>,
) -> rusqlite::Result<()> {
    change::taken(change, number, n)?;
    if here.state == State::Current {
        told.push(IndexChange::gone(number, n, here, true));
    }
    Ok(())
}
