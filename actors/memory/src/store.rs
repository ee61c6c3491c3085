//! The database: opening it, and every change to it. It touches `memory.db` and its log in one folder. A change is
//! one transaction or none; nothing that was not [`Scanned`] is taken, and no statement is without a scope.

use crate::library::Library;
use crate::migrate;
use crate::row::{class_code, decoded, listed, trust_code};
use crate::scope::{self, Number};
use crate::screen::Scanned;
use ipc_proto::ids::MemoryId;
use ipc_proto::memory::{Area, Entry, Row, Scope};
use migration::MigrationFault;
use rusqlite::{
    Connection, ErrorCode, OpenFlags, OptionalExtension, Transaction, TransactionBehavior, params,
};
use std::cell::RefCell;
use std::path::Path;
use std::time::Duration;

/// The database file in the process's own folder.
pub(crate) const FILE: &str = "memory.db";

/// Deleted ids remembered in one scope.
const GONE_KEPT: i64 = 1000;

/// What the connection is set to before anything is read.
/// - `EXCLUSIVE` before `WAL`: the log's index is in this process's memory, so no shared memory is mapped, and a
///   second process on the same file is refused;
/// - `temp_store`, `mmap_size`: no file beside the folder's own, no page of the file in the address space;
/// - `cache_size`: 1 MiB; `journal_size_limit`: what the log shrinks to when it was larger;
/// - `secure_delete`: what is deleted is overwritten;
/// - `trusted_schema`, `cell_size_check`: a damaged or planted file may do less.
const SETTINGS: &[(&str, &str)] = &[
    ("locking_mode", "EXCLUSIVE"),
    ("journal_mode", "WAL"),
    ("synchronous", "FULL"),
    ("temp_store", "MEMORY"),
    ("mmap_size", "0"),
    ("cache_size", "-1024"),
    ("journal_size_limit", "1048576"),
    ("secure_delete", "ON"),
    ("foreign_keys", "ON"),
    ("trusted_schema", "OFF"),
    ("cell_size_check", "ON"),
];

/// How long to wait for a file that another process still holds, such as one that is just being killed.
const HELD: Duration = Duration::from_secs(1);

/// The open database.
#[derive(Debug)]
pub(crate) struct Store {
    pub(crate) db: Connection,
    /// Borrowed by one search or one change at a time: the store has one thread.
    pub(crate) library: RefCell<Library>,
}

/// Why the database was not opened. In no case was anything deleted.
#[derive(Debug, thiserror::Error)]
pub(crate) enum OpenError {
    /// Its content does not hold together.
    #[error(
        "{0} is damaged ({1}); it was left as it is: put a good copy back, or move it away to begin anew"
    )]
    Damaged(String, String),
    /// A newer program wrote it.
    #[error("{0} was written by a newer program ({1}); it was left as it is: use that program")]
    Newer(String, MigrationFault),
    /// An older program wrote it, and nothing to go back to could be made.
    #[error("{0} was left as it is: {1}")]
    NotCopied(String, MigrationFault),
    /// Another process has it open.
    #[error("{0} is in use by another process")]
    InUse(String),
    /// Anything else.
    #[error("{0} cannot be opened: {1}")]
    Failed(String, rusqlite::Error),
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
}

/// Whether a row may be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Admission {
    /// It is new, and there is room.
    New,
    /// This very row is there already.
    Already,
    /// Its id names another row, here or elsewhere, or one that was deleted.
    Taken,
    /// Its owner has as many rows as one may have.
    Full,
}

/// What a row that is to be deleted is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Doomed {
    /// Here.
    Here(Box<Row>),
    /// Deleted before.
    Gone,
    /// Never was in this scope.
    Unknown,
}

impl Store {
    /// Opens or makes the database in `folder`, checks it whole and brings it to this program's version.
    pub(crate) fn open(folder: &Path) -> Result<Self, OpenError> {
        let path = folder.join(FILE);
        let named = std::path::absolute(&path).unwrap_or_else(|_| path.clone()).display().to_string();
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
            | OpenFlags::SQLITE_OPEN_CREATE
            | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let failed = |error| failed(&named, error);
        let mut db = Connection::open_with_flags(&path, flags).map_err(failed)?;
        db.busy_timeout(HELD).map_err(failed)?;
        for (setting, value) in SETTINGS {
            db.pragma_update(None, setting, value).map_err(failed)?;
        }
        let found: String = db.query_row("PRAGMA quick_check (1)", [], |row| row.get(0)).map_err(failed)?;
        if found != "ok" {
            return Err(OpenError::Damaged(named, found));
        }
        match migration::migrate(&mut db, &path, migrate::STEPS) {
            Ok(()) => Ok(Self { db, library: RefCell::new(Library::new()) }),
            Err(MigrationFault::Database(error)) => Err(failed(error)),
            Err(newer @ MigrationFault::Newer { .. }) => Err(OpenError::Newer(named, newer)),
            Err(not_copied) => Err(OpenError::NotCopied(named, not_copied)),
        }
    }

    /// A store that ends with this process: nothing of it is written to any disk.
    pub(crate) fn fleeting() -> Result<Self, StoreError> {
        let db = Connection::open_in_memory()?;
        for (setting, value) in SETTINGS.iter().filter(|(setting, _)| *setting != "journal_mode") {
            db.pragma_update(None, setting, value)?;
        }
        migrate::STEPS.iter().try_for_each(|step| db.execute_batch(step))?;
        Ok(Self { db, library: RefCell::new(Library::new()) })
    }

    /// Whether `scanned` may be written to `scope`, where an owner may have `most` rows in all.
    pub(crate) fn admit(&self, scope: &Scope, scanned: &Scanned, most: u32) -> Result<Admission, StoreError> {
        admission(&self.db, scope, scanned.entry(), most)
    }

    /// Writes a row if it may be: the row, its place in the index and the owner's count, or nothing.
    pub(crate) fn insert(
        &mut self,
        scope: &Scope,
        scanned: &Scanned,
        most: u32,
        now_ms: u64,
    ) -> Result<Admission, StoreError> {
        let change = self.db.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let admission = admission(&change, scope, scanned.entry(), most)?;
        if admission == Admission::New {
            let number = scope::find_or_make(&change, scope)?;
            let n = put(&change, number, scanned.entry(), now_ms)?;
            change.commit()?;
            self.library.borrow_mut().added(number, n, scanned.entry(), now_ms);
        }
        Ok(admission)
    }

    /// What a delete of `id` would find.
    pub(crate) fn doomed(&self, scope: &Scope, id: MemoryId) -> Result<Doomed, StoreError> {
        let Some(number) = scope::find(&self.db, scope)? else { return Ok(Doomed::Unknown) };
        if let Some((_, row)) = one(&self.db, number, &scope.area, id)? {
            return Ok(Doomed::Here(Box::new(row)));
        }
        let gone = is_gone(&self.db, number, id)?;
        Ok(if gone { Doomed::Gone } else { Doomed::Unknown })
    }

    /// Deletes a row, if it is there, from the table, the index and both files.
    pub(crate) fn delete(&mut self, scope: &Scope, id: MemoryId, now_ms: u64) -> Result<(), StoreError> {
        let change = self.db.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let Some(number) = scope::find(&change, scope)? else { return Ok(()) };
        let Some((n, row)) = one(&change, number, &scope.area, id)? else { return Ok(()) };
        take(&change, number, n, &row.entry)?;
        remember_gone(&change, number, id, now_ms)?;
        change.commit()?;
        self.library.borrow_mut().removed(number, n, &row.entry, row.created_ms);
        // The log holds the deleted text until it is emptied. If that fails it is done at the next checkpoint.
        if let Err(error) = self.db.query_row("PRAGMA wal_checkpoint (TRUNCATE)", [], |_| Ok(())) {
            tracing::warn!(%error, "the log still holds what was deleted");
        }
        Ok(())
    }
}

/// The row with this id in this scope, and its place.
pub(crate) fn one(
    db: &Connection,
    number: Number,
    area: &Area,
    id: MemoryId,
) -> Result<Option<(i64, Row)>, StoreError> {
    let columns = crate::row::COLUMNS;
    let mut rows =
        db.prepare(&format!("SELECT {columns}, e.n FROM entry AS e WHERE e.scope = ?1 AND e.id = ?2"))?;
    let mut rows = rows.query(params![number.get(), id.bytes()])?;
    let Some(columns) = rows.next()? else { return Ok(None) };
    Ok(Some((columns.get("n")?, decoded(columns, area)?)))
}

/// The label need not be the same: it is enough that the one that is kept says all that the new one does.
fn admission(db: &Connection, scope: &Scope, entry: &Entry, most: u32) -> Result<Admission, StoreError> {
    if let Some(number) = scope::find(db, scope)?
        && let Some((_, row)) = one(db, number, &scope.area, entry.id)?
    {
        let kept = row.entry;
        let same =
            kept.content == entry.content && kept.tags == entry.tags && entry.label.within(&kept.label);
        return Ok(if same { Admission::Already } else { Admission::Taken });
    }
    if is_taken(db, entry.id)? {
        return Ok(Admission::Taken);
    }
    let full = scope::held_by_owner(db, scope)? >= i64::from(most);
    Ok(if full { Admission::Full } else { Admission::New })
}

/// The one question that is asked across scopes, and its answer is one bit: ids are unique in the whole store.
fn is_taken(db: &Connection, id: MemoryId) -> rusqlite::Result<bool> {
    let any =
        "SELECT EXISTS (SELECT 1 FROM entry WHERE id = ?1) OR EXISTS (SELECT 1 FROM gone WHERE id = ?1)";
    db.query_row(any, params![id.bytes()], |row| row.get(0))
}

fn is_gone(db: &Connection, number: Number, id: MemoryId) -> rusqlite::Result<bool> {
    let gone = "SELECT 1 FROM gone WHERE scope = ?1 AND id = ?2";
    let found = db.query_row(gone, params![number.get(), id.bytes()], |_| Ok(())).optional()?;
    Ok(found.is_some())
}

/// Gives the row's place.
fn put(change: &Transaction<'_>, number: Number, entry: &Entry, now_ms: u64) -> rusqlite::Result<i64> {
    let (words, tags) = (number.words(), listed(&entry.tags));
    change.execute(
        "INSERT INTO entry (scope, id, content, tags, trust, class, sources, session, created_ms)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
        params![
            number.get(),
            entry.id.bytes(),
            entry.content.as_str(),
            tags,
            trust_code(entry.label.trust),
            class_code(entry.label.class),
            listed(&entry.label.sources),
            entry.session.map(ipc_proto::ids::SessionId::bytes),
            ms(now_ms),
        ],
    )?;
    let n = change.last_insert_rowid();
    let index = format!("INSERT INTO {words} (rowid, content, tags) VALUES (?1, ?2, ?3)");
    change.execute(&index, params![n, entry.content.as_str(), tags])?;
    scope::count(change, number, 1)?;
    Ok(n)
}

/// The index is told first: it needs the very text that it was given.
fn take(change: &Transaction<'_>, number: Number, n: i64, entry: &Entry) -> rusqlite::Result<()> {
    let words = number.words();
    let index = format!("INSERT INTO {words} ({words}, rowid, content, tags) VALUES ('delete', ?1, ?2, ?3)");
    change.execute(&index, params![n, entry.content.as_str(), listed(&entry.tags)])?;
    change.execute("DELETE FROM entry WHERE scope = ?1 AND n = ?2", params![number.get(), n])?;
    scope::count(change, number, -1)
}

fn remember_gone(
    change: &Transaction<'_>,
    number: Number,
    id: MemoryId,
    now_ms: u64,
) -> rusqlite::Result<()> {
    let gone = "INSERT INTO gone (scope, id, gone_ms) VALUES (?1, ?2, ?3)";
    change.execute(gone, params![number.get(), id.bytes(), ms(now_ms)])?;
    change.execute(
        "DELETE FROM gone WHERE scope = ?1
         AND n <= (SELECT n FROM gone WHERE scope = ?1 ORDER BY n DESC LIMIT 1 OFFSET ?2)",
        params![number.get(), GONE_KEPT],
    )?;
    Ok(())
}

fn ms(now_ms: u64) -> i64 {
    i64::try_from(now_ms).unwrap_or(i64::MAX)
}

fn failed(named: &str, error: rusqlite::Error) -> OpenError {
    match error.sqlite_error_code() {
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => {
            OpenError::Damaged(named.to_owned(), error.to_string())
        }
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => OpenError::InUse(named.to_owned()),
        _ => OpenError::Failed(named.to_owned(), error),
    }
}
