//! Opens a database and brings it to the version that its program knows: a copy of it as it was, and then all steps in one
//! transaction with the version's number, so that a kill at any moment leaves the version before the first of them or the
//! one after the last, and the copy is always of what was there before any. It touches the database's own folder, and must
//! never touch a database of a newer program.
//!
//! Going back is putting the copy in the database's place and starting the program of that version.

use nix::sys::statvfs::statvfs;
use rusqlite::config::DbConfig;
use rusqlite::{Connection, TransactionBehavior};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// Why a database was not brought up to date; it is as it was.
#[derive(Debug, thiserror::Error)]
pub enum MigrationFault {
    /// A newer program wrote it; nothing was touched.
    #[error("it is of version {found}, and this program knows {known}")]
    Newer {
        /// The version it has.
        found: i64,
        /// The newest version that is known.
        known: i64,
    },
    /// No step is taken without a copy to go back to.
    #[error("it is of version {found}, and no copy of it could be made before the next: {cause}")]
    NotCopied {
        /// The version it has.
        found: i64,
        /// Why not.
        cause: String,
    },
    /// SQLite failed.
    #[error("{0}")]
    Database(#[from] rusqlite::Error),
}

/// Settings before the first read. Exclusive locking comes first, so that the log needs no shared memory file;
/// nothing spills to a temporary folder, which the seal does not reach.
const SETTINGS: &str = "
    PRAGMA locking_mode = EXCLUSIVE;
    PRAGMA journal_mode = WAL;
    PRAGMA synchronous = FULL;
    PRAGMA temp_store = MEMORY;
    PRAGMA cache_size = -512;
    PRAGMA trusted_schema = OFF;
";

/// Bytes that are free on a disk on which a log takes room ahead.
const SPARE: u64 = 64 << 20;

/// The room of a database.
#[derive(Clone, Copy, Debug)]
pub struct Room {
    /// Bytes of the log that are there from the start and stay on the disk once they are in the database. A commit within
    /// them changes what the file holds and not its length, which the disk has done sooner.
    pub log_bytes: u32,
    /// Prepared statements that are kept.
    pub statements: usize,
}

/// Opens the database in `file` for this process alone, makes it or brings it up to date as [`migrate`] does. Each commit
/// is durable when it returns. Nothing that SQLite opens by itself is left for after the seal.
///
/// # Errors
/// [`MigrationFault`].
pub fn open(file: &Path, steps: &[&str], room: Room) -> Result<Connection, MigrationFault> {
    let mut db = Connection::open(file)?;
    db.execute_batch(SETTINGS)?;
    db.pragma_update(None, "journal_size_limit", room.log_bytes)?;
    // Else a kept statement whose plan might be another for other values, by its LIMIT or a partial index, is made anew each
    // time it is used.
    db.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    db.set_prepared_statement_cache_capacity(room.statements);
    migrate(&mut db, file, steps)?;
    // SQLite reads its seed from /dev/urandom at the first use; after the seal that would be too late.
    db.query_row("SELECT random()", [], |_| Ok(()))?;
    lengthen_log(file, room.log_bytes);
    Ok(db)
}

/// Has the log of the open database in `file` be so many bytes long, as [`Room::log_bytes`] says. One that has no room ahead of
/// it, on a disk with little, grows as it is written.
pub fn lengthen_log(file: &Path, bytes: u32) {
    let log = beside(file, "-wal");
    let room = statvfs(&log).map_or(0, |about| about.blocks_available() * about.fragment_size());
    if room >= SPARE {
        drop(filled(&log, bytes.into()));
    }
}

/// The bytes of the log of the open database in `file`.
#[must_use]
pub fn log_length(file: &Path) -> u64 {
    fs::metadata(beside(file, "-wal")).map_or(0, |log| log.len())
}

/// Gives the log of the open database in `file` the length again that it had before it was cut, which takes no more of the disk
/// than it did then. It asks for nothing that a sealed process may not.
pub fn refill_log(file: &Path, had: u64) {
    drop(filled(&beside(file, "-wal"), had));
}

/// Fills a log up to this length. SQLite ends its reading of one at the first frame whose sum is wrong, and zeros are none.
fn filled(log: &Path, bytes: u64) -> io::Result<()> {
    let mut file = OpenOptions::new().append(true).open(log)?;
    let had = file.metadata()?.len();
    if had >= bytes {
        return Ok(());
    }
    // Zeros that are written, since room that is only set aside is no faster to write to than room that is not there.
    let filled = io::copy(&mut io::repeat(0).take(bytes - had), &mut file);
    filled.and_then(|_| file.sync_all()).or_else(|_| file.set_len(had))
}

/// Takes the steps that `db`, the database in `file`, has not had yet, all of them or none; step n leads to version n,
/// counted from 1. One that has had some already is copied first to `FILE.vN` beside it, N being its version; copies of
/// other versions are removed once the steps are taken.
///
/// # Errors
/// [`MigrationFault`].
pub fn migrate(db: &mut Connection, file: &Path, steps: &[&str]) -> Result<(), MigrationFault> {
    let found: i64 = db.pragma_query_value(None, "user_version", |row| row.get(0))?;
    let known = i64::try_from(steps.len()).unwrap_or(i64::MAX);
    if !(0..=known).contains(&found) {
        return Err(MigrationFault::Newer { found, known });
    }
    if found == known {
        return Ok(());
    }
    if found > 0 {
        copy(db, file, found)
            .map_err(|fault| MigrationFault::NotCopied { found, cause: fault.to_string() })?;
    }
    // Between two steps no program would go on with what is there, and a copy made then would be of no use to any.
    let change = db.transaction_with_behavior(TransactionBehavior::Immediate)?;
    for (_, step) in (1_i64..).zip(steps).filter(|(version, _)| *version > found) {
        change.execute_batch(step)?;
    }
    change.pragma_update(None, "user_version", known)?;
    change.commit()?;
    remove_others(file, found);
    Ok(())
}

/// Why there is no copy.
#[derive(Debug, thiserror::Error)]
enum CopyFault {
    #[error(transparent)]
    Io(#[from] io::Error),
    #[error(transparent)]
    Database(#[from] rusqlite::Error),
    #[error("its path is not text")]
    Path,
}

/// A copy that is there under its name is whole and on the disk: it is made under another name first.
fn copy(db: &Connection, file: &Path, version: i64) -> Result<(), CopyFault> {
    let (part, whole) = (beside(file, ".part"), beside(file, &format!(".v{version}")));
    match fs::remove_file(&part) {
        Err(fault) if fault.kind() != io::ErrorKind::NotFound => return Err(fault.into()),
        _ => {}
    }
    // SQLite takes an empty file as the place of a new database, and leaves its mode alone.
    drop(OpenOptions::new().write(true).create_new(true).mode(0o600).open(&part)?);
    db.execute("VACUUM INTO ?1", [part.to_str().ok_or(CopyFault::Path)?])?;
    File::open(&part)?.sync_all()?;
    fs::rename(&part, &whole)?;
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty());
    File::open(folder.unwrap_or(Path::new(".")))?.sync_all()?;
    Ok(())
}

/// Removes copies of other versions than the one it came from. One that stays takes room and does no harm.
fn remove_others(file: &Path, kept: i64) {
    let Some(name) = file.file_name().and_then(|name| name.to_str()) else { return };
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let found = entry.file_name();
        let version = found.to_str().and_then(|it| it.strip_prefix(name)?.strip_prefix(".v"));
        if version.and_then(|version| version.parse::<i64>().ok()).is_some_and(|version| version != kept) {
            drop(fs::remove_file(entry.path()));
        }
    }
}

fn beside(file: &Path, suffix: &str) -> PathBuf {
    let mut name = file.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rusqlite::StatementStatus;
    use std::os::unix::fs::PermissionsExt;
    use tempfile::TempDir;

    const FIRST: &str = "CREATE TABLE a (x); INSERT INTO a VALUES (1);";
    const SECOND: &str = "INSERT INTO a VALUES (3);";

    fn database() -> (TempDir, PathBuf, Connection) {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("some.db");
        let db = Connection::open(&file).unwrap();
        db.execute_batch("PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = WAL;").unwrap();
        (folder, file, db)
    }

    fn version(db: &Connection) -> i64 {
        db.pragma_query_value(None, "user_version", |row| row.get(0)).unwrap()
    }

    fn sum(db: &Connection) -> i64 {
        db.query_row("SELECT sum(x) FROM a", [], |row| row.get(0)).unwrap()
    }

    fn names(folder: &TempDir) -> Vec<String> {
        let names = fs::read_dir(folder.path()).unwrap();
        let mut names: Vec<_> =
            names.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn a_step_is_taken_once_and_one_that_fails_leaves_the_version_before() {
        let (_folder, file, mut db) = database();
        migrate(&mut db, &file, &[FIRST]).unwrap();
        let broken = "INSERT INTO a VALUES (2); CREATE TABLE a (x);";
        assert!(matches!(migrate(&mut db, &file, &[FIRST, broken]), Err(MigrationFault::Database(_))));
        assert_eq!((version(&db), sum(&db)), (1, 1));
        migrate(&mut db, &file, &[FIRST, SECOND]).unwrap();
        migrate(&mut db, &file, &[FIRST, SECOND]).unwrap();
        assert_eq!((version(&db), sum(&db)), (2, 4));
    }

    // Holds P7-65.
    #[test]
    fn steps_that_fail_leave_the_database_as_it_was_and_the_copy_is_of_that() {
        let (folder, file, mut db) = database();
        migrate(&mut db, &file, &[FIRST]).unwrap();
        let broken = "INSERT INTO a VALUES (2); CREATE TABLE a (x);";
        assert!(migrate(&mut db, &file, &[FIRST, SECOND, broken]).is_err());
        assert_eq!((version(&db), sum(&db)), (1, 1));
        migrate(&mut db, &file, &[FIRST, SECOND, SECOND]).unwrap();
        assert_eq!((version(&db), sum(&db)), (3, 7));
        assert_eq!(names(&folder), ["some.db", "some.db-wal", "some.db.v1"]);
        let before = Connection::open(folder.path().join("some.db.v1")).unwrap();
        assert_eq!((version(&before), sum(&before)), (1, 1));
    }

    #[test]
    fn before_a_step_there_is_a_whole_copy_and_of_several_the_last_stays() {
        let (folder, file, mut db) = database();
        migrate(&mut db, &file, &[FIRST]).unwrap();
        assert_eq!(names(&folder), ["some.db", "some.db-wal"], "a new database needs no copy");
        // Cut short by a kill.
        fs::write(folder.path().join("some.db.part"), "half a copy").unwrap();
        migrate(&mut db, &file, &[FIRST, SECOND]).unwrap();
        assert_eq!(names(&folder), ["some.db", "some.db-wal", "some.db.v1"]);
        let copy = folder.path().join("some.db.v1");
        assert_eq!(fs::metadata(&copy).unwrap().permissions().mode() & 0o777, 0o600);
        let before = Connection::open(&copy).unwrap();
        assert_eq!((version(&before), sum(&before)), (1, 1));
        migrate(&mut db, &file, &[FIRST, SECOND, SECOND]).unwrap();
        assert_eq!(names(&folder), ["some.db", "some.db-wal", "some.db.v2"]);
    }

    #[test]
    fn a_statement_that_is_kept_is_made_once_whatever_it_is_given() {
        let folder = tempfile::tempdir().unwrap();
        let room = Room { log_bytes: 1 << 20, statements: 4 };
        let db = open(&folder.path().join("some.db"), &[FIRST, SECOND], room).unwrap();
        let sql = "SELECT x FROM a ORDER BY x LIMIT ?";
        for (most, rows) in [(1_i64, 1), (0, 0), (2, 2)] {
            let mut statement = db.prepare_cached(sql).unwrap();
            assert_eq!(statement.query_map([most], |_| Ok(())).unwrap().count(), rows);
        }
        let made_anew = db.prepare_cached(sql).unwrap().get_status(StatementStatus::RePrepare);
        assert_eq!(made_anew, 0);
    }

    // Holds P7-64.
    #[test]
    fn a_log_has_its_length_from_the_start_and_survives_a_kill() {
        let folder = tempfile::tempdir().unwrap();
        let (file, killed) = (folder.path().join("some.db"), folder.path().join("killed.db"));
        let room = Room { log_bytes: 1 << 20, statements: 4 };
        let db = open(&file, &[FIRST], room).unwrap();
        let length = |file: &Path| fs::metadata(beside(file, "-wal")).unwrap().len();
        assert_eq!(length(&file), 1 << 20);
        for value in 0..100 {
            db.execute("INSERT INTO a VALUES (?)", [value]).unwrap();
        }
        assert_eq!(length(&file), 1 << 20, "it is written from its beginning");
        // As a kill leaves them.
        for (from, to) in [(file.clone(), killed.clone()), (beside(&file, "-wal"), beside(&killed, "-wal"))] {
            fs::copy(from, to).unwrap();
        }
        let found = open(&killed, &[FIRST, SECOND], room).unwrap();
        assert_eq!((version(&found), sum(&found)), (2, 99 * 50 + 1 + 3));
    }

    // Holds P7-70.
    #[test]
    fn without_a_copy_no_step_is_taken() {
        let (folder, file, mut db) = database();
        migrate(&mut db, &file, &[FIRST]).unwrap();
        fs::create_dir(folder.path().join("some.db.part")).unwrap();
        let refused = migrate(&mut db, &file, &[FIRST, SECOND]);
        assert!(matches!(refused, Err(MigrationFault::NotCopied { found: 1, .. })));
        assert_eq!((version(&db), sum(&db)), (1, 1));
    }

    // Holds P7-70.
    #[test]
    fn a_database_of_a_newer_program_is_refused_untouched() {
        let (folder, file, mut db) = database();
        db.pragma_update(None, "user_version", 7).unwrap();
        let refused = migrate(&mut db, &file, &[FIRST]);
        assert!(matches!(refused, Err(MigrationFault::Newer { found: 7, known: 1 })));
        let tables: i64 = db.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0)).unwrap();
        assert_eq!((version(&db), tables), (7, 0));
        assert_eq!(names(&folder), ["some.db", "some.db-wal"]);
    }
}
