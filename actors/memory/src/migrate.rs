//! Brings a database to the version this program knows: each step in one transaction with its version number, so
//! that a kill at any moment leaves one version or the next. It must never touch a database of a newer program.

use rusqlite::{Connection, TransactionBehavior};

/// The steps, in order. A released step is never edited: what is to change comes as a further one.
pub(crate) const STEPS: &[&str] = &["
    -- Whose memory, and which part of it. Every statement on rows names one of these numbers.
    CREATE TABLE scope (
        n INTEGER PRIMARY KEY,
        owner BLOB NOT NULL CHECK (length(owner) = 16),
        area INTEGER NOT NULL CHECK (area BETWEEN 0 AND 2),
        agent TEXT NOT NULL,
        held INTEGER NOT NULL DEFAULT 0 CHECK (held >= 0),
        UNIQUE (owner, area, agent)
    ) STRICT;
    CREATE TABLE entry (
        n INTEGER PRIMARY KEY,
        scope INTEGER NOT NULL REFERENCES scope (n),
        id BLOB NOT NULL UNIQUE CHECK (length(id) = 16),
        content TEXT NOT NULL,
        tags TEXT NOT NULL,
        trust INTEGER NOT NULL CHECK (trust BETWEEN 0 AND 3),
        class INTEGER NOT NULL CHECK (class BETWEEN 0 AND 3),
        sources TEXT NOT NULL,
        session BLOB CHECK (length(session) = 16),
        created_ms INTEGER NOT NULL
    ) STRICT;
    CREATE INDEX entry_by_scope ON entry (scope, n);
    -- Ids of rows that were deleted lately: a delete asked again is one delete, a write asked again after it is none.
    CREATE TABLE gone (
        n INTEGER PRIMARY KEY,
        scope INTEGER NOT NULL REFERENCES scope (n),
        id BLOB NOT NULL UNIQUE,
        gone_ms INTEGER NOT NULL
    ) STRICT;
    CREATE INDEX gone_by_scope ON gone (scope, n);
"];

/// Why a database was not brought to this version; it is as it was, or at the last step that succeeded.
#[derive(Debug, thiserror::Error)]
pub(crate) enum MigrateError {
    /// A newer program wrote it.
    #[error("it is of version {found}, this program knows {known}")]
    Newer {
        /// The version it has.
        found: i64,
        /// The newest version that is known.
        known: i64,
    },
    /// A step failed.
    #[error("{0}")]
    Database(#[from] rusqlite::Error),
}

/// Takes the steps that `db` has not had yet.
pub(crate) fn apply(db: &mut Connection, steps: &[&str]) -> Result<(), MigrateError> {
    let found: i64 = db.pragma_query_value(None, "user_version", |row| row.get(0))?;
    let known = i64::try_from(steps.len()).unwrap_or(i64::MAX);
    if !(0..=known).contains(&found) {
        return Err(MigrateError::Newer { found, known });
    }
    for (version, step) in (1_i64..).zip(steps).filter(|(version, _)| *version > found) {
        let change = db.transaction_with_behavior(TransactionBehavior::Immediate)?;
        change.execute_batch(step)?;
        change.pragma_update(None, "user_version", version)?;
        change.commit()?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn version(db: &Connection) -> i64 {
        db.pragma_query_value(None, "user_version", |row| row.get(0)).unwrap()
    }

    #[test]
    fn a_step_is_taken_once_and_one_that_fails_leaves_the_version_before() {
        let mut db = Connection::open_in_memory().unwrap();
        let first = "CREATE TABLE a (x); INSERT INTO a VALUES (1);";
        apply(&mut db, &[first]).unwrap();
        let broken = "INSERT INTO a VALUES (2); CREATE TABLE a (x);";
        assert!(matches!(apply(&mut db, &[first, broken]), Err(MigrateError::Database(_))));
        assert_eq!(version(&db), 1);
        apply(&mut db, &[first, "INSERT INTO a VALUES (3);"]).unwrap();
        assert_eq!(version(&db), 2);
        let sum: i64 = db.query_row("SELECT sum(x) FROM a", [], |row| row.get(0)).unwrap();
        assert_eq!(sum, 4);
    }

    #[test]
    fn a_database_of_a_newer_program_is_refused_untouched() {
        let mut db = Connection::open_in_memory().unwrap();
        db.pragma_update(None, "user_version", 7).unwrap();
        assert!(matches!(apply(&mut db, STEPS), Err(MigrateError::Newer { found: 7, .. })));
        let tables: i64 = db.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0)).unwrap();
        assert_eq!((version(&db), tables), (7, 0));
    }
}
