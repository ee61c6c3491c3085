//! How often rows are read whole or captured again. It is counted in memory and written with the next change of the store,
//! so that no read ever waits for the disk; what was not written when the process ends is not counted.

use crate::filter::ms;
use crate::scope::{self, Number};
use crate::store::{Store, StoreError};
use ipc_proto::ids::MemoryId;
use ipc_proto::memory::{Row, Scope, State};
use rusqlite::{Transaction, params};
use std::collections::BTreeMap;

/// A row is counted once in an hour, however often it is read: no loop makes it matter more.
const APART_MS: u64 = 3_600_000;
/// Rows between two changes; more are not counted.
const PENDING: usize = 512;

/// Rows that were read since the last change, by scope and id, and when.
#[derive(Debug, Default)]
pub(crate) struct Uses(BTreeMap<(Number, [u8; 16]), u64>);

impl Uses {
    fn add(&mut self, number: Number, id: MemoryId, now_ms: u64) {
        let key = (number, id.bytes());
        if self.0.len() < PENDING || self.0.contains_key(&key) {
            self.0.insert(key, now_ms);
        }
    }

    /// Writes what was counted, within a change that is made anyway.
    pub(crate) fn put(&self, change: &Transaction<'_>) -> rusqlite::Result<()> {
        let mut used = change.prepare_cached(
            "INSERT INTO used (n, times, last_ms)
                 SELECT n, 1, ?3 FROM kept WHERE scope = ?1 AND id = ?2 AND state = 0
             ON CONFLICT (n) DO UPDATE SET times = min(times + 1, 100), last_ms = excluded.last_ms
                 WHERE excluded.last_ms - last_ms >= ?4",
        )?;
        for ((number, id), at_ms) in &self.0 {
            used.execute(params![number.get(), id, ms(*at_ms), ms(APART_MS)])?;
        }
        Ok(())
    }

    /// What was counted is written.
    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }
}

impl Store {
    /// These rows were given to somebody whole.
    pub(crate) fn were_read(&self, scope: &Scope, rows: &[Row]) -> Result<(), StoreError> {
        let Some(number) = scope::find(&self.db, scope)? else { return Ok(()) };
        let mut uses = self.uses.borrow_mut();
        for row in rows.iter().filter(|row| row.state == State::Current) {
            uses.add(number, row.entry.id, self.now_ms);
        }
        Ok(())
    }

    /// What this row says was captured again.
    pub(crate) fn came_again(&self, scope: &Scope, id: MemoryId) -> Result<(), StoreError> {
        let Some(number) = scope::find(&self.db, scope)? else { return Ok(()) };
        self.uses.borrow_mut().add(number, id, self.now_ms);
        Ok(())
    }
}
