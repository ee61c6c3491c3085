//! Opens the database. It touches `memory.db`, its log and a copy of it in one folder. A damaged database is never
//! deleted nor written to: it is opened read-only, as far as it can be read.

use crate::error::StoreError;
use crate::library::Library;
use crate::limits::Limits;
use crate::migrate;
use crate::salvage;
use crate::store::{Damage, Store};
use migration::MigrationFault;
use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode, OpenFlags};
use std::cell::RefCell;
use std::path::Path;
use std::time::Duration;

/// The database file in the process's own folder.
pub(crate) const FILE: &str = "memory.db";

/// The settings of the connection before anything is read.
/// - `EXCLUSIVE` before `WAL`: the log's index is in this process's memory, so no shared memory is mapped, and a
///   second process on the same file is refused;
/// - `temp_store`, `mmap_size`: no file beside the folder's own, no page of the file in the address space;
/// - `cache_size`: 1 MiB;
/// - `secure_delete`: deleted bytes are overwritten;
/// - `trusted_schema`, `cell_size_check`: a damaged or planted file may do less.
const SETTINGS: &[(&str, &str)] = &[
    ("locking_mode", "EXCLUSIVE"),
    ("journal_mode", "WAL"),
    ("synchronous", "FULL"),
    ("temp_store", "MEMORY"),
    ("mmap_size", "0"),
    ("cache_size", "-1024"),
    ("secure_delete", "ON"),
    ("foreign_keys", "ON"),
    ("trusted_schema", "OFF"),
    ("cell_size_check", "ON"),
];

/// Bytes of the log that are there from the start and stay when they are in the database: a little more than SQLite lets come
/// together before it puts them there. A purge leaves none: they are there again after [`CALM`].
/// Overwriting a file reaches the disk sooner than lengthening it.
const LOG_BYTES: u32 = if cfg!(test) { 256 << 10 } else { 4 << 20 };
/// Changes in a row without a purge before the log is filled again: the caller of the last of them waits for it, and in
/// a series of purges, as in an import that removes, it would be filled for each in vain.
pub(crate) const CALM: u8 = if cfg!(test) { 4 } else { 64 };
/// Prepared statements that are kept.
const STATEMENTS: usize = 128;

/// How long to wait for a file that another process still holds, such as one that is just being killed.
const HELD: Duration = Duration::from_secs(1);

/// Why the database was not opened. In no case was anything deleted.
#[derive(Debug, thiserror::Error)]
pub(crate) enum OpenError {
    /// Its content does not hold together.
    #[error("{0} is damaged ({1})")]
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

impl Store {
    /// Opens or makes the database in `folder`, which others know as `named`, checks it whole and brings it to this program's
    /// version; one that is damaged is opened to be read.
    pub(crate) fn open(folder: &Path, named: &str) -> Result<Self, OpenError> {
        let path = folder.join(FILE);
        match Self::sound(&path, named) {
            Err(damaged @ OpenError::Damaged(..)) => Self::damaged(&path, named, damaged.to_string()),
            opened => opened,
        }
    }

    fn sound(path: &Path, named: &str) -> Result<Self, OpenError> {
        let failed = |error| failed(named, error);
        if std::fs::metadata(path).is_ok_and(|file| file.len() == 0) {
            // To SQLite an empty file is a database that nobody has written to yet; after a crash of the file system it
            // may be the remains of one.
            tracing::error!(
                database = %named,
                "the memory database was an empty file and is begun anew: if it held memories, stop the host and put a copy back \
                 (agentctl backup restore)"
            );
        }
        let mut db = connected(path, OpenFlags::SQLITE_OPEN_CREATE).map_err(failed)?;
        // If it turns out to be damaged, closing it must not write its log into it.
        db.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true).map_err(failed)?;
        for (setting, value) in SETTINGS {
            db.pragma_update(None, setting, value).map_err(failed)?;
        }
        db.pragma_update(None, "journal_size_limit", LOG_BYTES).map_err(failed)?;
        let found: String = db.query_row("PRAGMA quick_check (1)", [], |row| row.get(0)).map_err(failed)?;
        if found != "ok" {
            return Err(OpenError::Damaged(named.to_owned(), found));
        }
        db.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, false).map_err(failed)?;
        match migration::migrate(&mut db, path, migrate::STEPS) {
            Ok(()) => {
                let mut store = Self::of(db, None);
                // A process that died just after a purge left its log full.
                store.emptied_log();
                store.log_had = 0;
                migration::lengthen_log(path, LOG_BYTES);
                Ok(store)
            }
            Err(MigrationFault::Database(error)) => Err(failed(error)),
            Err(newer @ MigrationFault::Newer { .. }) => Err(OpenError::Newer(named.to_owned(), newer)),
            Err(not_copied) => Err(OpenError::NotCopied(named.to_owned(), not_copied)),
        }
    }

    /// For reading alone. The file is opened for writing only because its log can be read by none but who holds its lock;
    /// `query_only` refuses every change, and closing it leaves file and log as they are.
    fn damaged(path: &Path, named: &str, why: String) -> Result<Self, OpenError> {
        let failed = |error| OpenError::Failed(named.to_owned(), error);
        let db = connected(path, OpenFlags::empty()).map_err(failed)?;
        db.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true).map_err(failed)?;
        for (setting, value) in SETTINGS.iter().filter(|(setting, _)| *setting != "journal_mode") {
            // Settings that need a sound file are left out; the readable part is read without them.
            drop(db.pragma_update(None, setting, value));
        }
        // A table whose definition cannot be read hides no other.
        db.pragma_update(None, "writable_schema", "ON").map_err(failed)?;
        let damage = salvage::salvaged(&db, why);
        db.pragma_update(None, "query_only", "ON").map_err(failed)?;
        tracing::error!(
            database = %named, why = %damage.why, unread = damage.rows(),
            "the memory database is damaged; it is only read, and every change is refused: take along what can be read \
             (agentctl memory export), then stop the host and put a good copy in its place (agentctl backup restore), or move \
             it away to begin anew"
        );
        Ok(Self::of(db, Some(damage)))
    }

    /// A store that ends with this process: nothing of it is written to any disk.
    pub(crate) fn fleeting() -> Result<Self, StoreError> {
        let db = planned(Connection::open_in_memory()?)?;
        for (setting, value) in SETTINGS.iter().filter(|(setting, _)| *setting != "journal_mode") {
            db.pragma_update(None, setting, value)?;
        }
        migrate::STEPS.iter().try_for_each(|step| db.execute_batch(step))?;
        Ok(Self::of(db, None))
    }

    fn of(db: Connection, damage: Option<Damage>) -> Self {
        Self {
            db,
            library: RefCell::new(Library::new()),
            uses: RefCell::default(),
            limits: Limits::none(),
            damage,
            embedder: None,
            now_ms: 0,
            is_stuck: false,
            log_had: 0,
            since_emptied: 0,
        }
    }

    /// The log holds deleted text until it is emptied. If that fails it is done at the next start or purge.
    pub(crate) fn emptied_log(&mut self) {
        self.since_emptied = 0;
        self.log_had = self.log_had.max(migration::log_length(self.path()));
        if let Err(error) = self.db.query_row("PRAGMA wal_checkpoint (TRUNCATE)", [], |_| Ok(())) {
            tracing::warn!(%error, "the log still holds what was deleted");
        }
    }

    /// Counts a change that purged nothing, and has the log be as long again as it was before it was emptied once there were
    /// enough of them.
    pub(crate) fn refilled_log(&mut self) {
        if self.log_had == 0 {
            return;
        }
        self.since_emptied = self.since_emptied.saturating_add(1);
        if self.since_emptied >= CALM {
            let had = std::mem::take(&mut self.log_had).min(LOG_BYTES.into());
            migration::refill_log(self.path(), had);
        }
    }

    /// The database's file; of one in memory alone, none that there is.
    fn path(&self) -> &Path {
        Path::new(self.db.path().unwrap_or_default())
    }
}

fn connected(path: &Path, besides: OpenFlags) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX | besides;
    let db = Connection::open_with_flags(path, flags)?;
    db.busy_timeout(HELD)?;
    planned(db)
}

/// Has a kept statement be planned once. Else one whose plan might be another for other values, by its LIMIT or a partial index,
/// is made anew each time it is used.
fn planned(db: Connection) -> rusqlite::Result<Connection> {
    db.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    db.set_prepared_statement_cache_capacity(STATEMENTS);
    Ok(db)
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
