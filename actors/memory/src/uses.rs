//! Counts how often rows are read whole or captured again, in memory. The counts are written with the next change of
//! the store, so that no read ever waits for the disk; counts that are not written when the process ends are lost.

use crate::filter::ms;
use crate::scope::Number;
use ipc_proto::ids::MemoryId;
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
    /// Counts a row.
    pub(crate) fn add(&mut self, number: Number, id: MemoryId, now_ms: u64) {
        let key = (number, id.bytes());
        if self.0.len() < PENDING || self.0.contains_key(&key) {
            self.0.insert(key, now_ms);
        }
    }

    /// Writes the counts, within a change that is made anyway.
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

    /// Clears the counts, which have been written.
    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }
}
