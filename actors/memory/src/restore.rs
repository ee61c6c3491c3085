//! Rows that come back as they were: with their id, their times, their state and what they were made from. They pass the
//! screen like every other, and never take away what is known better here: of two notes or facts with one key one holds.

use crate::change::{self, Told};
use crate::limits;
use crate::scope::{self, Number};
use crate::screen::Scanned;
use crate::store::{Admission, Store, StoreError, is_taken, one, same_key};
use ipc_proto::ids::MemoryId;
use ipc_proto::label::Trust;
use ipc_proto::memory::{KindName, Over, Row, Scope, State};
use rusqlite::{Transaction, params};

impl Store {
    /// Whether a row would be put back.
    pub(crate) fn takes_back(&self, scope: &Scope, row: &Row, over: Over) -> Result<bool, StoreError> {
        Ok(match (self.read(scope, row.entry.id)?, over) {
            (None, _) | (Some(_), Over::Replace) => true,
            (Some(_), Over::Skip) => false,
            (Some(here), Over::Merge) => later(row.state) > later(here.state),
        })
    }

    /// Puts a row back, whose texts are those of `scanned`. None if the row that is here was left as it is.
    pub(crate) fn restore(
        &mut self,
        scope: &Scope,
        scanned: &Scanned,
        row: &Row,
        over: Over,
    ) -> Result<Option<MemoryId>, StoreError> {
        self.changed(|change, limits, told| {
            let number = scope::find_or_make(change, scope)?;
            let id = row.entry.id;
            let refused = |admission| Err(StoreError::NotAdmitted(admission));
            if let Some((n, here)) = one(change, number, &scope.area, id)? {
                match over {
                    Over::Skip => return Ok(None),
                    Over::Merge => return merged(change, number, (n, here), row, scanned, told),
                    // What is taken away so is gone for good: what others wrote takes nothing of the person's own.
                    Over::Replace if scanned.entry().label.trust > here.entry.label.trust => {
                        return refused(Admission::Taken);
                    }
                    Over::Replace => away(change, number, (n, here), told)?,
                }
            }
            if is_taken(change, scope, id)? {
                return refused(Admission::Taken);
            }
            let mut entry = scanned.entry().clone();
            let may_hold = !matches!(row.state, State::Proposed { .. } | State::Removed { .. });
            let needs_person =
                entry.detail.kind.name() == KindName::Semantic && entry.label.trust > Trust::User;
            if may_hold && needs_person {
                return refused(Admission::NeedsPerson);
            }
            let rival =
                same_key(change, number, &scope.area, &entry)?.filter(|_| row.state == State::Current);
            let room = limits.room(change, scope, &entry, rival.as_ref().map(|(_, row)| row))?;
            if room != Admission::New {
                return refused(room);
            }
            entry.detail.expires_ms = limits.expiry(&entry, row.created_ms);
            limits::oldest_go(change, limits, scope, &entry, told)?;
            let n = change::put(change, number, &entry, row.revises, row.created_ms)?;
            change::put_raw(change, n, scanned.raw(), None)?;
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
                        told.push(Told::gone(number, m, older, false));
                    }
                    told.push(Told::new(number, n, entry, row.created_ms));
                }
                (state, _) => stated(change, number, n, state, scanned.reason())?,
            }
            Ok(Some(id))
        })
    }
}

/// Has the later of two states hold: nothing that was superseded or removed comes to hold again.
fn merged(
    change: &Transaction<'_>,
    number: Number,
    (n, here): (i64, Row),
    row: &Row,
    scanned: &Scanned,
    told: &mut Vec<Told>,
) -> Result<Option<MemoryId>, StoreError> {
    if later(row.state) <= later(here.state) {
        return Ok(None);
    }
    stated(change, number, n, row.state, scanned.reason())?;
    let id = here.entry.id;
    if here.state == State::Current {
        let purges = matches!(row.state, State::Removed { .. });
        told.push(Told::gone(number, n, here, purges));
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
    told: &mut Vec<Told>,
) -> rusqlite::Result<()> {
    let id = here.entry.id;
    change::taken(change, number, n, id, here.created_ms)?;
    change.execute("DELETE FROM gone WHERE scope = ?1 AND id = ?2", params![number.get(), id.bytes()])?;
    if here.state == State::Current {
        told.push(Told::gone(number, n, here, true));
    }
    Ok(())
}
