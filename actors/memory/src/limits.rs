//! The bounds on the number and age of rows, and the rows that make room when a bound is reached. Notes, facts and
//! summaries never make room, whoever wrote them: the next write is refused instead.

use crate::error::{Admission, StoreError};
use crate::scope;
use ipc_proto::memory::{Entry, KindName, Row, Scope, State};
use rusqlite::{Connection, params};

pub(crate) const DAY_MS: u64 = 86_400_000;

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
    /// Days that observations, and superseded or removed rows, are stored; 0 is for ever.
    pub(crate) retention_days: u32,
    /// Bytes of the database.
    pub(crate) bytes: u64,
    /// Bytes that the rows of one owner take, as they are counted.
    pub(crate) owner_bytes: u64,
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
            owner_bytes: u64::MAX,
        }
    }

    /// The admission of an entry that is to replace `old`; full if a bound is reached.
    pub(crate) fn room(
        &self,
        db: &Connection,
        scope: &Scope,
        entry: &Entry,
        old: Option<&Row>,
    ) -> Result<Admission, StoreError> {
        if self.has_its_facts(db, scope, entry, old)? {
            return Ok(Admission::Full);
        }
        self.room_for_one(db, scope, entry.detail.kind.name())
    }

    /// Returns whether an owner has as many facts as may hold, and this would be one more of them.
    fn has_its_facts(
        &self,
        db: &Connection,
        scope: &Scope,
        entry: &Entry,
        old: Option<&Row>,
    ) -> Result<bool, StoreError> {
        let kind = entry.detail.kind.name();
        let replaces = old.is_some_and(|row| row.entry.detail.kind.name() == kind);
        let is_one_more = kind == KindName::Semantic && !replaces;
        Ok(is_one_more && scope::facts_of_owner(db, scope)? >= i64::from(self.semantic))
    }

    /// The same for a fact that a person is still to accept.
    pub(crate) fn room_to_propose(&self, db: &Connection, scope: &Scope) -> Result<Admission, StoreError> {
        if proposed(db, scope)? >= i64::from(self.semantic) {
            return Ok(Admission::Full);
        }
        self.room_for_one(db, scope, KindName::Semantic)
    }

    /// The same for a stored row that comes to hold: it is one of the owner's rows already.
    pub(crate) fn room_to_hold(
        &self,
        db: &Connection,
        scope: &Scope,
        entry: &Entry,
        old: Option<&Row>,
    ) -> Result<Admission, StoreError> {
        if self.has_its_facts(db, scope, entry, old)? {
            return Ok(Admission::Full);
        }
        self.room_for_bytes(db, scope)
    }

    /// The same for a row that is restored with this state. None is removed for it: rows that an import reports as
    /// stored stay so.
    pub(crate) fn room_to_come_back(
        &self,
        db: &Connection,
        scope: &Scope,
        (entry, state): (&Entry, State),
        old: Option<&Row>,
    ) -> Result<Admission, StoreError> {
        let kind = entry.detail.kind.name();
        let is_full = state == State::Current
            && (kind == KindName::Episodic
                && scope::episodes_of_owner(db, scope)? >= i64::from(self.episodic)
                || self.has_its_facts(db, scope, entry, old)?);
        if is_full || scope::held_by_owner(db, scope)? >= i64::from(self.rows) {
            return Ok(Admission::Full);
        }
        self.room_for_bytes(db, scope)
    }

    fn room_for_one(&self, db: &Connection, scope: &Scope, kind: KindName) -> Result<Admission, StoreError> {
        // The oldest episodic row goes for a new one.
        let makes_room =
            kind == KindName::Episodic && scope::episodes_of_owner(db, scope)? >= i64::from(self.episodic);
        if !makes_room && scope::held_by_owner(db, scope)? >= i64::from(self.rows) {
            return Ok(Admission::Full);
        }
        self.room_for_bytes(db, scope)
    }

    fn room_for_bytes(&self, db: &Connection, scope: &Scope) -> Result<Admission, StoreError> {
        if scope::bytes_of_owner(db, scope)? >= self.owner_bytes {
            return Ok(Admission::ShareFull);
        }
        Ok(if used(db)? < self.bytes { Admission::New } else { Admission::Full })
    }

    /// The time at which an entry of now expires.
    pub(crate) fn expiry(&self, entry: &Entry, now_ms: u64) -> Option<u64> {
        let days = match entry.detail.kind.name() {
            KindName::Episodic if self.episodic_days > 0 => Some(u64::from(self.episodic_days)),
            _ => None,
        };
        entry.detail.expires_ms.or_else(|| Some(now_ms.saturating_add(days?.saturating_mul(DAY_MS))))
    }
}

/// Facts that an owner's person is still to accept, in all scopes.
fn proposed(db: &Connection, scope: &Scope) -> rusqlite::Result<i64> {
    let mut count = db.prepare_cached(
        "SELECT count(*) FROM kept WHERE kind = 2 AND state = 3 AND scope IN (SELECT n FROM scope WHERE owner = ?1)",
    )?;
    count.query_row(params![scope.owner.bytes()], |row| row.get(0))
}

/// Bytes of the database that hold something.
pub(crate) fn used(db: &Connection) -> rusqlite::Result<u64> {
    let number = |pragma| db.prepare_cached(pragma)?.query_row([], |row| row.get::<_, i64>(0));
    let pages = number("PRAGMA page_count")?.saturating_sub(number("PRAGMA freelist_count")?);
    Ok(u64::try_from(pages.saturating_mul(number("PRAGMA page_size")?)).unwrap_or_default())
}
