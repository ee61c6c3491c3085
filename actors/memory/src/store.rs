//! The database and what is written to it. A change is one transaction or none; nothing that was not [`Scanned`] is
//! taken, and no statement is without a scope.

use crate::change::{self, Told};
use crate::embed::Embedder;
use crate::find::taken_by;
use crate::library::Library;
use crate::limits::{self, Limits};
use crate::row::{COLUMNS, decoded, key, kind_code};
use crate::salvage::Damage;
use crate::scope::{self, Number};
use crate::screen::Scanned;
use crate::sessions;
use crate::uses::Uses;
use ipc_proto::ids::MemoryId;
use ipc_proto::label::Trust;
use ipc_proto::memory::{Area, Capture, Entry, KindName, MemoryError, Refusal, Row, Scope, State};
use rusqlite::{Connection, ErrorCode, OptionalExtension, Transaction, TransactionBehavior, params};
use std::cell::RefCell;

/// The open database.
#[derive(Debug)]
pub(crate) struct Store {
    pub(crate) db: Connection,
    /// Borrowed by one search or one change at a time: the store has one thread.
    pub(crate) library: RefCell<Library>,
    /// What was read since the last change.
    pub(crate) uses: RefCell<Uses>,
    pub(crate) limits: Limits,
    /// What makes it one that is only read.
    pub(crate) damage: Option<Damage>,
    /// Whose vectors are kept.
    pub(crate) embedder: Option<Embedder>,
    /// When it is asked, unix ms: what has expired by then is in no answer.
    pub(crate) now_ms: u64,
    /// What has expired could not be taken away when that was last tried.
    pub(crate) is_stuck: bool,
    /// Bytes that the log had when it was emptied; 0 once it has them again.
    pub(crate) log_had: u64,
    /// Changes since then, none of which purged anything.
    pub(crate) since_emptied: u8,
}

/// Why the open database did not do as it was asked.
#[derive(Debug, thiserror::Error)]
pub(crate) enum StoreError {
    /// SQLite failed; the change was rolled back.
    #[error("the memory database failed: {0}")]
    Database(#[from] rusqlite::Error),
    /// A column holds what its type does not allow.
    #[error("the memory database holds a row whose {0} is not valid")]
    Column(&'static str),
    /// It is damaged.
    #[error("the memory database is damaged and only read")]
    ReadOnly,
    /// There is no such row in this scope.
    #[error("no such row")]
    NotFound,
    /// Another row stands in its place.
    #[error("this row is not the current one any more")]
    NotCurrent(MemoryId),
    /// A vector is not one of those that are kept.
    #[error("the vector is not of the embedder whose vectors are kept")]
    OtherEmbedder,
    /// What is settled cannot be kept.
    #[error("what came of the work is not kept: {0:?}")]
    NotAdmitted(Admission),
}

impl From<StoreError> for MemoryError {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::ReadOnly => Self::ReadOnly,
            StoreError::NotFound => Self::NotFound,
            StoreError::OtherEmbedder => Self::OtherEmbedder,
            StoreError::NotCurrent(id) => Self::NotCurrent(id),
            StoreError::NotAdmitted(admission) => {
                admission.refusal().unwrap_or(Self::Refused(Refusal::IdInUse))
            }
            StoreError::Database(error) if is_damage(&error) => Self::Damaged,
            StoreError::Database(_) | StoreError::Column(_) => Self::Storage,
        }
    }
}

/// Whether a row may be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Admission {
    /// It is new, and there is room.
    New,
    /// This very row is there already.
    Already,
    /// Its id names another row, here or in another area.
    Taken,
    /// Its id names a row that was deleted for good, or a fact that its owner did not want.
    Purged,
    /// It would take away what is trusted more.
    LessTrusted,
    /// It says of itself that it is forgotten by now.
    Expired,
    /// Its owner has as many rows as one may have.
    Full,
    /// Its owner's rows take as much as they may.
    ShareFull,
    /// It would be a fact that no person stands for.
    NeedsPerson,
    /// What it revises is not here.
    Unknown,
    /// What it revises was revised or removed; this row stands in its place.
    NotCurrent(MemoryId),
}

impl Admission {
    /// What is said of one that is not admitted.
    pub(crate) const fn refusal(self) -> Option<MemoryError> {
        match self {
            Self::New | Self::Already => None,
            Self::Taken => Some(MemoryError::Refused(Refusal::IdInUse)),
            Self::Purged => Some(MemoryError::Refused(Refusal::Purged)),
            Self::LessTrusted => Some(MemoryError::Refused(Refusal::LessTrusted)),
            Self::Expired => Some(MemoryError::Refused(Refusal::Expired)),
            Self::Full => Some(MemoryError::Full),
            Self::ShareFull => Some(MemoryError::ShareFull),
            Self::NeedsPerson => Some(MemoryError::NeedsPerson),
            Self::Unknown => Some(MemoryError::NotFound),
            Self::NotCurrent(id) => Some(MemoryError::NotCurrent(id)),
        }
    }
}

impl Store {
    /// That changes are taken at all.
    pub(crate) fn writable(&self) -> Result<(), StoreError> {
        if self.damage.is_some() { Err(StoreError::ReadOnly) } else { Ok(()) }
    }

    /// Returns whether `scanned` may be written to `scope`.
    pub(crate) fn admit(&self, scope: &Scope, scanned: &Scanned) -> Result<Admission, StoreError> {
        self.writable()?;
        Ok(admission(&self.db, &self.limits, scope, scanned)?.0)
    }

    /// Writes a row if it may be: the row, its place in the index and the owner's count, and what it takes the place of,
    /// or nothing.
    pub(crate) fn insert(
        &mut self,
        scope: &Scope,
        scanned: &Scanned,
        now_ms: u64,
    ) -> Result<Admission, StoreError> {
        self.changed(|change, limits, told| inserted(change, limits, scope, scanned, now_ms, told))
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
        self.changed(|change, limits, told| {
            let number = scope::find_or_make(change, scope)?;
            let admission = match scanned {
                Some(scanned) => inserted(change, limits, scope, scanned, now_ms, told)?,
                None => Admission::New,
            };
            sessions::touched(change, number, session, capture, now_ms)?;
            Ok(admission)
        })
    }

    /// One change, in one transaction; the indexes in memory are told once it is done.
    pub(crate) fn changed<T>(
        &mut self,
        of: impl FnOnce(&Transaction<'_>, &Limits, &mut Vec<Told>) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        self.writable()?;
        let change = self.db.transaction_with_behavior(TransactionBehavior::Immediate)?;
        self.uses.borrow().put(&change)?;
        let mut told = Vec::new();
        let done = of(&change, &self.limits, &mut told)?;
        kit::fault_point!("memory.change.open");
        change.commit()?;
        self.uses.borrow_mut().clear();
        let purges = told.iter().any(|told| told.purges);
        self.library.borrow_mut().told(told);
        if purges {
            kit::fault_point!("memory.change.purged");
            self.emptied_log();
        } else {
            self.refilled_log();
        }
        Ok(done)
    }

    /// Leaves a row as a tombstone; one that is one already stays as it is.
    pub(crate) fn remove(
        &mut self,
        scope: &Scope,
        id: MemoryId,
        reason: &str,
        now_ms: u64,
    ) -> Result<(), StoreError> {
        self.changed(|change, _, told| {
            let number = scope::find(change, scope)?.ok_or(StoreError::NotFound)?;
            let (n, row) = one(change, number, &scope.area, id)?.ok_or(StoreError::NotFound)?;
            match row.state {
                State::Removed { .. } => Ok(()),
                State::Superseded { .. } => Err(StoreError::NotCurrent(tip(change, number, id)?)),
                State::Current | State::Proposed { .. } => {
                    change::removed(change, number, n, reason, now_ms)?;
                    told.push(Told::gone(number, n, row, true));
                    Ok(())
                }
            }
        })
    }
}

/// The row with this id in this scope, and its place.
pub(crate) fn one(
    db: &Connection,
    number: Number,
    area: &Area,
    id: MemoryId,
) -> Result<Option<(i64, Row)>, StoreError> {
    at(db, number, area, "e.id = ?2", id.bytes())
}

/// The row at a place of this scope.
pub(crate) fn placed(
    db: &Connection,
    number: Number,
    area: &Area,
    n: i64,
) -> Result<Option<Row>, StoreError> {
    Ok(at(db, number, area, "e.n = ?2", n)?.map(|(_, row)| row))
}

/// Nothing where one row cannot be read: it hides no other, and its own id says that it cannot be.
pub(crate) fn unless_of_a_row(read: Result<Option<Row>, StoreError>) -> Result<Option<Row>, StoreError> {
    match read {
        Err(error) if error.is_of_a_row() => {
            tracing::error!(%error, "a row was left out");
            Ok(None)
        }
        read => read,
    }
}

fn at(
    db: &Connection,
    number: Number,
    area: &Area,
    which: &str,
    value: impl rusqlite::ToSql,
) -> Result<Option<(i64, Row)>, StoreError> {
    let sql = format!("SELECT {COLUMNS} FROM kept AS e WHERE e.scope = ?1 AND {which}");
    let mut rows = db.prepare_cached(&sql)?;
    let mut rows = rows.query(params![number.get(), value])?;
    let Some(columns) = rows.next()? else { return Ok(None) };
    Ok(Some((columns.get("n")?, decoded(columns, area)?)))
}

/// The row that stands in the place of one, after every revision of it.
pub(crate) fn tip(db: &Connection, number: Number, id: MemoryId) -> rusqlite::Result<MemoryId> {
    let mut tip = id;
    let mut next = db.prepare_cached("SELECT superseded_by FROM kept WHERE scope = ?1 AND id = ?2")?;
    for _ in 0..crate::history::HOPS {
        let by: Option<Option<[u8; 16]>> =
            next.query_row(params![number.get(), tip.bytes()], |row| row.get(0)).optional()?;
        match by.flatten() {
            Some(by) if MemoryId::from_bytes(by) != id => tip = MemoryId::from_bytes(by),
            _ => break,
        }
    }
    Ok(tip)
}

/// What is written in the place of what: the row as it is kept, and the one that it supersedes.
type Judged = (Admission, Option<Box<(i64, Row)>>);

/// The label need not be the same: it is enough that the one that is kept says all that the new one does.
fn admission(
    db: &Connection,
    limits: &Limits,
    scope: &Scope,
    scanned: &Scanned,
) -> Result<Judged, StoreError> {
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
    // A key is chosen by whoever writes: by it alone, what others wrote stands in the place of nothing of the person's own.
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

/// Returns whether it was written so already. When it goes by itself was then said by the store.
fn same(kept: &Entry, entry: &Entry) -> bool {
    let mut detail = entry.detail.clone();
    detail.expires_ms = detail.expires_ms.or(kept.detail.expires_ms);
    kept.content == entry.content
        && kept.tags == entry.tags
        && kept.detail == detail
        && entry.label.within(&kept.label)
}

/// The row that one of the same key takes the place of.
pub(crate) fn same_key(
    db: &Connection,
    number: Number,
    area: &Area,
    entry: &Entry,
) -> Result<Option<(i64, Row)>, StoreError> {
    let Some(key) = key(entry) else { return Ok(None) };
    let n = db.query_row(
        "SELECT n FROM kept WHERE scope = ?1 AND kind = ?2 AND key = ?3 AND state = 0",
        params![number.get(), kind_code(entry.detail.kind.name()), key],
        |row| row.get::<_, i64>(0),
    );
    let Some(n) = n.optional()? else { return Ok(None) };
    Ok(placed(db, number, area, n)?.map(|row| (n, row)))
}

/// Writes a row within a change, if it may be written.
pub(crate) fn inserted(
    change: &Transaction<'_>,
    limits: &Limits,
    scope: &Scope,
    scanned: &Scanned,
    now_ms: u64,
    told: &mut Vec<Told>,
) -> Result<Admission, StoreError> {
    let (admission, old) = admission(change, limits, scope, scanned)?;
    if admission != Admission::New {
        return Ok(admission);
    }
    let number = scope::find_or_make(change, scope)?;
    let mut entry = scanned.entry().clone();
    entry.detail.expires_ms = limits.expiry(&entry, now_ms);
    limits::oldest_go(change, limits, scope, &entry, told)?;
    let mut from = None;
    if let Some((n, row)) = old.map(|old| *old) {
        if scanned.revises().is_some() {
            entry.label = entry.label.join(&row.entry.label);
        }
        change::superseded(change, number, n, entry.id, scanned.reason(), now_ms)?;
        kit::fault_point!("memory.revise.superseded");
        from = Some((n, row.entry.id));
        told.push(Told::gone(number, n, row, false));
    }
    let n = change::put(change, number, &entry, from.map(|(_, id)| id), (now_ms, now_ms))?;
    change::put_raw(change, n, scanned.raw(), from.map(|(n, _)| n))?;
    told.push(Told::new(number, n, entry, now_ms));
    Ok(Admission::New)
}

/// Returns whether the file itself is at fault.
fn is_damage(error: &rusqlite::Error) -> bool {
    let code = error.sqlite_error_code();
    matches!(code, Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase))
}
