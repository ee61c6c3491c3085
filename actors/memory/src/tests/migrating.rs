//! Tests of databases of every version: they are opened with everything that is in them. A made-up further step leaves a copy
//! with which the version before it continues.

use super::*;
use crate::migrate::STEPS;
use crate::opening::FILE;
use migration::migrate;
use rusqlite::Connection;
use std::path::Path;

/// By version.
const FIXTURES: [&str; 1] = [include_str!("fixtures/v1.sql")];
/// A step as a later version might have it.
const FURTHER: &str = "ALTER TABLE kept ADD COLUMN used_ms INTEGER; UPDATE kept SET used_ms = created_ms;";

/// A folder with a database as the release of its version made it.
fn found(fixture: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    Connection::open(folder.path().join(FILE)).unwrap().execute_batch(fixture).unwrap();
    folder
}

fn version(file: &Path) -> usize {
    let db = Connection::open(file).unwrap();
    let version: u32 = db.pragma_query_value(None, "user_version", |row| row.get(0)).unwrap();
    usize::try_from(version).unwrap()
}

/// The owner finds all rows of the fixtures, and nobody else does.
fn is_all_there(held: &mut Held) {
    let harbour = "the harbour office opens at 07:40";
    assert_eq!(held.found(&user(1), "harbour"), [harbour]);
    assert_eq!(held.found(&user(2), "harbour"), ["the harbour office of another owner"]);
    let rows = held.listed(&user(1), 10, 0);
    let ids: Vec<MemoryId> = rows.iter().map(|row| row.entry.id).collect();
    assert_eq!(ids, [id(0x12), id(0x11)]);
    let tags: Vec<&str> = rows[1].entry.tags.iter().map(|tag| tag.as_str()).collect();
    assert_eq!((tags, rows[1].created_ms), (vec!["town", "hours"], 1000));
    assert_eq!(rows[0].entry.label, Label::of(Trust::User, Class::Sensitive, "control"));
    let ferry = held.listed(&scope(1, Area::Agent(Text::clip("default"))), 10, 0);
    assert_eq!(ferry[0].entry.label.trust, Trust::Untrusted);
    assert!(held.store.is_deleted(&user(1), id(0x19)).unwrap());
    assert_eq!(held.write(&user(1), entry(0x19, "what was deleted does not come back")), Admission::Purged);
    holds_together(&held.store);
}

// Holds P7-69.
#[test]
fn rows_of_every_version_are_read_written_and_deleted() {
    assert_eq!(FIXTURES.len(), STEPS.len(), "a version without its fixture");
    for fixture in FIXTURES {
        let folder = found(fixture);
        let mut held = Held { store: opened(folder.path()), folder };
        is_all_there(&mut held);
        assert_eq!(
            held.write(&user(1), entry(0x21, "the harbour office is closed on Mondays")),
            Admission::New
        );
        held.purge(&user(1), id(0x11));
        assert_eq!(held.found(&user(1), "harbour"), ["the harbour office is closed on Mondays"]);
        holds_together(&held.store);
        let held = held.reopened();
        assert_eq!(held.listed(&user(1), 10, 0).len(), 2);
    }
}

// Holds P7-69.
#[test]
fn a_further_migration_keeps_every_row_and_a_copy() {
    for (at, fixture) in (1_usize..).zip(FIXTURES) {
        let folder = found(fixture);
        let file = folder.path().join(FILE);
        drop(opened(folder.path()));
        let steps: Vec<&str> = STEPS.iter().copied().chain([FURTHER]).collect();
        let mut db = Connection::open(&file).unwrap();
        migrate(&mut db, &file, &steps).unwrap();
        let sum: i64 =
            db.query_row("SELECT sum(used_ms) FROM kept WHERE n <= 4", [], |row| row.get(0)).unwrap();
        drop(db);
        assert_eq!((version(&file), sum), (STEPS.len() + 1, 10_000), "from version {at}");
        assert!(Store::open(folder.path(), FILE).is_err(), "a newer one is not guessed at");
        let copy = folder.path().join(format!("{FILE}.v{}", STEPS.len()));
        assert_eq!(version(&copy), STEPS.len());
        for name in [FILE.to_owned(), format!("{FILE}-wal"), format!("{FILE}-shm")] {
            drop(std::fs::remove_file(folder.path().join(name)));
        }
        std::fs::rename(copy, &file).unwrap();
        is_all_there(&mut Held { store: opened(folder.path()), folder });
    }
}
