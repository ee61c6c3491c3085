//! How much may be kept and for how long, and what goes by itself when that is reached. Notes, facts
//! and summaries never go to make room, whoever wrote them: then the next write is refused.

use crate::change::{self, Told};
use crate::filter::ms;
use crate::row::{COLUMNS, decoded, kind_code};
use crate::scope::{self, Number};
use crate::store::{Store, StoreError};
use ipc_proto::memory::{Entry, KindName, Row, Scope};
use rusqlite::{Connection, Transaction, params};

/// Rows that go in one transaction.
const AT_ONCE: i64 = 100;
const DAY_MS: u64 = 86_400_000;

/// Limits of the store.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// Rows of one owner, whatever became of them.
    pub(crate) rows: u32,
    /// Episodic rows of one owner; the oldest go.
    pub(crate) episodic: u32,
    /// Semantic rows of one owner; the next is refused.
    pub(crate) semantic: u32,
    /// Days that an episodic row is kept which does not say how long.
    pub(crate) episodic_days: u32,
    /// Days that observations are kept, and what was superseded or removed; 0 is for ever.
    pub(crate) retention_days: u32,
    /// Bytes of the database.
    pub(crate) bytes: u64,
}

impl Limits {
    /// For a store that is not bounded.
    pub(crate) const fn none() -> Self {
        Self {
            rows: u32::MAX,
            episodic: u32::MAX,
            semantic: u32::MAX,
            episodic_days: 0,
            retention_days: 0,
            bytes: u64::MAX,
        }
    }

    /// Whether there is room for an entry, which is to take the place of `old`.
    pub(crate) fn have_room(
        &self,
        db: &Connection,
        scope: &Scope,
        entry: &Entry,
        old: Option<&Row>,
    ) -> Result<bool, StoreError> {
        let kind = entry.detail.kind.name();
        let replaces = old.is_some_and(|row| row.entry.detail.kind.name() == kind);
        if kind == KindName::Semantic && !replaces && count(db, scope, kind)? >= i64::from(self.semantic) {
            return Ok(false);
        }
        // The oldest episodic row goes for a new one.
        let makes_room = kind == KindName::Episodic && count(db, scope, kind)? >= i64::from(self.episodic);
        if !makes_room && scope::held_by_owner(db, scope)? >= i64::from(self.rows) {
            return Ok(false);
        }
        Ok(used(db)? < self.bytes)
    }

    /// When an entry of now goes by itself.
    pub(crate) fn expiry(&self, entry: &Entry, now_ms: u64) -> Option<u64> {
        let days = match entry.detail.kind.name() {
            KindName::Episodic if self.episodic_days > 0 => Some(u64::from(self.episodic_days)),
            _ => None,
        };
        entry.detail.expires_ms.or_else(|| Some(now_ms.saturating_add(days?.saturating_mul(DAY_MS))))
    }
}

/// Current rows of a kind that an owner has, in all scopes.
fn count(db: &Connection, scope: &Scope, kind: KindName) -> rusqlite::Result<i64> {
    let mut count = db.prepare_cached(
        "SELECT count(*) FROM kept WHERE kind = ?2 AND kind <> 0 AND state = 0
         AND scope IN (SELECT n FROM scope WHERE owner = ?1)",
    )?;
    count.query_row(params![scope.owner.bytes(), kind_code(kind)], |row| row.get(0))
}

/// Bytes of the database that hold something.
fn used(db: &Connection) -> rusqlite::Result<u64> {
    let number = |pragma| db.prepare_cached(pragma)?.query_row([], |row| row.get::<_, i64>(0));
    let pages = number("PRAGMA page_count")?.saturating_sub(number("PRAGMA freelist_count")?);
    Ok(u64::try_from(pages.saturating_mul(number("PRAGMA page_size")?)).unwrap_or_default())
}

/// Has the oldest episodic rows of an owner go, so that there is room for a new one.
pub(crate) fn oldest_go(
    change: &Transaction<'_>,
    limits: &Limits,
    scope: &Scope,
    entry: &Entry,
    told: &mut Vec<Told>,
) -> Result<(), StoreError> {
    let kind = entry.detail.kind.name();
    if kind != KindName::Episodic {
        return Ok(());
    }
    let over = count(change, scope, kind)?.saturating_add(1).saturating_sub(i64::from(limits.episodic));
    if over <= 0 {
        return Ok(());
    }
    let which = "e.kind = 1 AND e.state = 0 AND e.scope IN (SELECT n FROM scope WHERE owner = ?1)
                 ORDER BY e.n LIMIT ?2";
    tracing::info!(rows = over, "the oldest episodic rows went for a new one");
    for (number, n, row) in doomed(change, which, params![scope.owner.bytes(), over])? {
        change::taken(change, number, n, row.entry.id, row.created_ms)?;
        told.push(Told::gone(number, n, row, true));
    }
    Ok(())
}

fn doomed(
    db: &Connection,
    which: &str,
    values: impl rusqlite::Params,
) -> Result<Vec<(Number, i64, Row)>, StoreError> {
    let mut rows = db.prepare(&format!("SELECT {COLUMNS}, e.scope FROM kept AS e WHERE {which}"))?;
    let mut rows = rows.query(values)?;
    let mut doomed = Vec::new();
    while let Some(columns) = rows.next()? {
        let number = Number::stored(columns.get("scope")?);
        let scope = scope::whose(db, number)?;
        doomed.push((number, columns.get("n")?, decoded(columns, &scope.area)?));
    }
    Ok(doomed)
}

impl Store {
    /// Has what is over its time go. Cheap where nothing is: it is asked before every question, so that no answer holds
    /// what has expired.
    pub(crate) fn expire(&mut self, now_ms: u64) -> Result<(), StoreError> {
        while self.go("e.expires_ms <= ?1 ORDER BY e.expires_ms LIMIT ?2", ms(now_ms), now_ms)? {}
        Ok(())
    }

    /// Has go what retention and the size of the database say: asked at the start and before each write.
    pub(crate) fn tidy(&mut self, now_ms: u64) -> Result<(), StoreError> {
        self.expire(now_ms)?;
        if self.limits.retention_days > 0 {
            let kept = u64::from(self.limits.retention_days).saturating_mul(DAY_MS);
            let before = ms(now_ms.saturating_sub(kept));
            while self.go("e.state <> 0 AND e.state_ms < ?1 LIMIT ?2", before, now_ms)? {}
            while self.go("e.kind = 3 AND e.state = 0 AND e.created_ms < ?1 LIMIT ?2", before, now_ms)? {}
        }
        while self.damage.is_none() && used(&self.db)? >= self.limits.bytes {
            let ended =
                self.go("e.state <> 0 AND e.state_ms <= ?1 ORDER BY e.state_ms LIMIT ?2", i64::MAX, now_ms)?;
            let oldest = "e.kind = 3 AND e.state = 0 AND e.created_ms <= ?1 ORDER BY e.created_ms LIMIT ?2";
            if !ended && !self.go(oldest, i64::MAX, now_ms)? {
                break;
            }
        }
        Ok(())
    }

    /// Takes some of these rows away; whether there were any.
    fn go(&mut self, which: &str, value: i64, now_ms: u64) -> Result<bool, StoreError> {
        if self.damage.is_some() {
            return Ok(false);
        }
        let found = doomed(&self.db, which, params![value, AT_ONCE])?;
        if found.is_empty() {
            return Ok(false);
        }
        tracing::info!(rows = found.len(), "rows went by their time or for want of room");
        self.changed(|change, _, told| {
            for (number, n, row) in found {
                change::taken(change, number, n, row.entry.id, now_ms)?;
                told.push(Told::gone(number, n, row, true));
            }
            Ok(true)
        })
    }
}
