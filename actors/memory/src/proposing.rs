//! Rows that come to hold by a person's word: facts that a model extracted from others' text, and rows that were
//! removed by mistake. Only [`Store::accept`] makes a model's word a person's, and no agent and no client may call it.

use crate::change::{self, IndexChange};
use crate::error::{Admission, StoreError};
use crate::expiry;
use crate::find::taken_by;
use crate::limits::Limits;
use crate::rows::{one, same_key, tip};
use crate::scope;
use crate::screen::Scanned;
use crate::store::Store;
use crate::write::inserted;
use ipc_proto::ids::MemoryId;
use ipc_proto::label::{Label, Trust};
use ipc_proto::memory::{Entry, KindName, Row, Scope, State};
use rusqlite::Transaction;
use std::sync::Arc;

/// The source of an accepted fact.
const PERSON: &str = "control";

impl Store {
    /// Replaces a captured row by its observation, and adds the entries extracted from it, in one transaction: if the
    /// row no longer holds, nothing is stored. Returns the result for the observation, and for each of the others.
    pub(crate) fn observe(
        &mut self,
        scope: &Scope,
        seen: &Scanned,
        taken: &[Arc<Scanned>],
        now_ms: u64,
    ) -> Result<(Admission, Vec<Admission>), StoreError> {
        self.changed(|change, limits, changes| {
            let admission = inserted(change, limits, scope, seen, now_ms, changes)?;
            if admission != Admission::New {
                return Ok((admission, Vec::new()));
            }
            kit::fault_point!("memory.observe.row");
            let taken = taken.iter().map(|scanned| match scanned.entry().detail.kind.name() {
                KindName::Semantic => proposed(change, limits, scope, scanned, now_ms),
                _ => inserted(change, limits, scope, scanned, now_ms, changes),
            });
            Ok((admission, taken.collect::<Result<_, _>>()?))
        })
    }

    /// The row that holds under the key of another one, which is not written yet.
    pub(crate) fn of_the_same_key(&self, scope: &Scope, entry: &Entry) -> Result<Option<Row>, StoreError> {
        let Some(number) = scope::find(&self.db, scope)? else { return Ok(None) };
        Ok(same_key(&self.db, number, &scope.area, entry)?.map(|(_, row)| row))
    }

    /// A row that is to hold, with the label that it then has: a proposed one if it is `accepted`, else one that was removed.
    pub(crate) fn to_hold(&self, scope: &Scope, id: MemoryId, accepted: bool) -> Result<Row, StoreError> {
        self.writable()?;
        let number = scope::find(&self.db, scope)?.ok_or(StoreError::NotFound)?;
        let mut row = self.one(number, scope, id)?.ok_or(StoreError::NotFound)?.1;
        if matches!(row.state, State::Superseded { .. }) {
            return Err(StoreError::NotCurrent(tip(&self.db, number, id)?));
        }
        row.entry.label = label(&row, accepted)?;
        Ok(row)
    }

    /// Has a proposed fact hold as the person's own word. One that holds under its key is superseded.
    pub(crate) fn accept(&mut self, scope: &Scope, id: MemoryId, now_ms: u64) -> Result<(), StoreError> {
        self.hold(scope, id, true, now_ms)
    }

    /// Has a row hold again that was removed, unless another stands in its place by now.
    pub(crate) fn unremove(&mut self, scope: &Scope, id: MemoryId, now_ms: u64) -> Result<(), StoreError> {
        self.hold(scope, id, false, now_ms)
    }

    fn hold(&mut self, scope: &Scope, id: MemoryId, accepted: bool, now_ms: u64) -> Result<(), StoreError> {
        let held = self.changed(|change, limits, changes| {
            let number = scope::find(change, scope)?.ok_or(StoreError::NotFound)?;
            let (n, row) = one(change, number, &scope.area, id)?.ok_or(StoreError::NotFound)?;
            let label = match row.state {
                State::Current => return Ok(None),
                State::Superseded { .. } => return Err(StoreError::NotCurrent(tip(change, number, id)?)),
                State::Removed { .. } | State::Proposed { .. } => label(&row, accepted)?,
            };
            let rival = same_key(change, number, &scope.area, &row.entry)?;
            if let Some((_, rival)) = rival.as_ref().filter(|_| !accepted) {
                return Err(StoreError::NotCurrent(rival.entry.id));
            }
            let room = limits.room_to_hold(change, scope, &row.entry, rival.as_ref().map(|(_, row)| row))?;
            if room != Admission::New {
                return Err(StoreError::NotAdmitted(room));
            }
            expiry::oldest_go(change, limits, scope, &row.entry, changes)?;
            if let Some((m, rival)) = rival {
                change::superseded(change, number, m, id, "accepted", now_ms)?;
                changes.push(IndexChange::gone(number, m, rival, false));
            }
            change::held(change, number, n, &label)?;
            kit::fault_point!("memory.hold.held");
            Ok(Some(number))
        })?;
        // An index takes rows in the order of their places, and this one's is behind others.
        held.into_iter().for_each(|number| self.library.borrow_mut().forget(number));
        Ok(())
    }
}

/// Writes a fact that a person is to accept or reject. A fact that holds already, or was proposed or rejected before,
/// is not proposed again.
pub(crate) fn proposed(
    change: &Transaction<'_>,
    limits: &Limits,
    scope: &Scope,
    scanned: &Scanned,
    now_ms: u64,
) -> Result<Admission, StoreError> {
    let (entry, number) = (scanned.entry(), scope::find_or_make(change, scope)?);
    if taken_by(change, scope, entry.id)?.is_some() {
        return Ok(Admission::Already);
    }
    let known = same_key(change, number, &scope.area, entry)?;
    if known.is_some_and(|(_, row)| row.entry.content == entry.content) {
        return Ok(Admission::Already);
    }
    let room = limits.room_to_propose(change, scope)?;
    if room == Admission::New {
        let n = change::put(change, number, entry, None, (now_ms, now_ms))?;
        change::proposed(change, number, n, now_ms)?;
    }
    Ok(room)
}

/// The label of a row that comes to hold. A person's word raises its trust, and never lowers its confidentiality.
fn label(row: &Row, accepted: bool) -> Result<Label, StoreError> {
    let label = &row.entry.label;
    match (row.state, accepted) {
        // A fact is shown in full to the person who accepts it; other rows that came back from an export as proposed
        // stay so.
        (State::Proposed { .. }, true) if row.entry.detail.kind.name() == KindName::Semantic => {
            let trust = label.trust.min(Trust::User);
            let sources = label.join(&Label::of(Trust::System, label.class, PERSON)).sources;
            Ok(Label { trust, class: label.class, sources })
        }
        (State::Removed { .. }, false)
            if row.entry.detail.kind.name() == KindName::Semantic && label.trust > Trust::User =>
        {
            Err(StoreError::NotAdmitted(Admission::NeedsPerson))
        }
        (State::Removed { .. }, false) | (State::Current, _) => Ok(label.clone()),
        (State::Superseded { .. } | State::Removed { .. } | State::Proposed { .. }, _) => {
            Err(StoreError::NotFound)
        }
    }
}
