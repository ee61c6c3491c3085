//! The number and size of the rows in a scope. It reads the open database and changes nothing but the indexes that it
//! is asked to rebuild.

use crate::error::StoreError;
use crate::row::{KINDS, TYPES};
use crate::scope::{self, Number};
use crate::store::Store;
use crate::work::ASIDE;
use ipc_proto::List;
use ipc_proto::memory::{Scope, Stats};
use rusqlite::params;

/// Rows of a scope whose background work is set aside; the leases of task 1 are of sessions.
const SET_ASIDE: &str = "SELECT count(DISTINCT l.n) FROM lease AS l JOIN kept AS e ON e.n = l.n
     WHERE e.scope = ?1 AND l.task <> 1 AND l.until_ms = ?2";
const TRIED_AGAIN: &str = "DELETE FROM lease WHERE task <> 1 AND until_ms = ?2
     AND n IN (SELECT n FROM kept WHERE scope = ?1)";

impl Store {
    /// How much there is.
    pub(crate) fn stats(&self, scope: &Scope) -> Result<Stats, StoreError> {
        let mut stats = Stats { embedder: self.embedder_name(), ..Stats::default() };
        let Some(number) = scope::find(&self.db, scope)? else { return Ok(stats) };
        let (mut kinds, mut types) = ([0_u32; KINDS.len()], [0_u32; TYPES.len()]);
        let mut rows = self.db.prepare(
            "SELECT kind, type, state, count(*), total(tokens), total(discovery), sum(plain > 0) FROM kept
             WHERE scope = ?1 GROUP BY kind, type, state",
        )?;
        let mut rows = rows.query([number.get()])?;
        while let Some(row) = rows.next()? {
            let count: u32 = row.get(3)?;
            match row.get::<_, i64>(2)? {
                0 => {
                    add(&mut kinds, Some(row.get(0)?), count);
                    add(&mut types, row.get(1)?, count);
                    stats.tokens += whole(row.get(4)?);
                    stats.discovery_tokens += whole(row.get(5)?);
                    stats.plain += row.get::<_, u32>(6)?;
                }
                1 => stats.superseded += count,
                2 => stats.removed += count,
                _ => stats.proposed += count,
            }
        }
        stats.kinds = List::clip(KINDS.into_iter().zip(kinds).filter(|(_, count)| *count > 0));
        stats.types = List::clip(TYPES.into_iter().zip(types).filter(|(_, count)| *count > 0));
        stats.sessions = self.counted("SELECT count(*) FROM session WHERE scope = ?1", number)?;
        stats.muted = List::clip(self.muted_projects(number)?);
        stats.embedded = self.embedded_rows(number)?;
        let aside = params![number.get(), ASIDE];
        stats.set_aside = self.db.query_row(SET_ASIDE, aside, |row| row.get(0))?;
        Ok(stats)
    }

    fn counted(&self, sql: &str, number: Number) -> Result<u32, StoreError> {
        Ok(self.db.query_row(sql, params![number.get()], |row| row.get(0))?)
    }

    /// Rebuilds the indexes of a scope, has its vectors made again, and retries work that was set aside.
    pub(crate) fn reindex(&mut self, scope: &Scope) -> Result<(), StoreError> {
        self.writable()?;
        let Some(number) = scope::find(&self.db, scope)? else { return Ok(()) };
        let words = number.words();
        self.db.execute(&format!("INSERT INTO {words} ({words}) VALUES ('rebuild')"), [])?;
        self.library.borrow_mut().forget(number);
        self.db.execute(TRIED_AGAIN, params![number.get(), ASIDE])?;
        self.embed_again(number)
    }
}

fn add<const N: usize>(counts: &mut [u32; N], code: Option<i64>, count: u32) {
    let at = code.and_then(|code| usize::try_from(code).ok());
    if let Some(counted) = at.and_then(|at| counts.get_mut(at)) {
        *counted += count;
    }
}

/// A sum as SQLite gives it.
fn whole(sum: f64) -> u64 {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a sum of counts is not below 0"
    )]
    let whole = sum as u64;
    whole
}
