//! Opening: the settings that confinement rests on, and files that must not be opened.

use super::*;
use crate::store::{FILE, OpenError};
use rusqlite::Connection;

#[test]
fn the_log_needs_no_shared_memory_and_every_commit_is_durable() {
    let mut held = Held::new();
    held.write(&user(1), entry(1, "x"));
    let setting = |name: &str| -> String {
        let value: rusqlite::types::Value =
            held.store.db.pragma_query_value(None, name, |row| row.get(0)).unwrap();
        match value {
            rusqlite::types::Value::Integer(number) => number.to_string(),
            rusqlite::types::Value::Text(text) => text,
            other => format!("{other:?}"),
        }
    };
    assert_eq!(
        ["journal_mode", "locking_mode", "synchronous", "temp_store"].map(setting),
        ["wal", "exclusive", "2", "2"]
    );
    let mut files: Vec<_> = held
        .folder
        .path()
        .read_dir()
        .unwrap()
        .map(|file| file.unwrap().file_name().into_string().unwrap())
        .collect();
    files.sort();
    assert_eq!(files, [FILE, "memory.db-wal"]);
}

#[test]
fn a_second_process_on_the_same_file_is_refused() {
    let held = Held::new();
    assert!(matches!(Store::open(held.folder.path()), Err(OpenError::InUse(_))));
}

#[test]
fn a_damaged_file_is_named_and_left_as_it_is() {
    let mut held = Held::new();
    for number in 1..=200 {
        held.write(&user(1), entry(number, &format!("row {number} {}", "x".repeat(500))));
    }
    let Held { store, folder } = held;
    drop(store);
    let path = folder.path().join(FILE);
    let whole = std::fs::read(&path).unwrap();
    for (from, to) in [(0, 100), (4096, 4200), (whole.len() / 2, whole.len() / 2 + 4096)] {
        let mut damaged = whole.clone();
        damaged[from..to].fill(0x5a);
        std::fs::write(&path, &damaged).unwrap();
        let told = Store::open(folder.path()).unwrap_err();
        assert!(matches!(&told, OpenError::Damaged(..)), "{told}");
        assert!(told.to_string().contains(path.to_str().unwrap()), "{told}");
        assert_eq!(std::fs::read(&path).unwrap(), damaged);
    }
    std::fs::write(&path, &whole).unwrap();
    assert_eq!(Store::open(folder.path()).unwrap().list(&user(1), 100, 0).unwrap().len(), 100);
}

#[test]
fn a_file_of_a_newer_program_is_refused_and_left_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let newer = Connection::open(folder.path().join(FILE)).unwrap();
    newer.execute_batch("CREATE TABLE later (x); PRAGMA user_version = 99;").unwrap();
    drop(newer);
    let told = Store::open(folder.path()).unwrap_err();
    assert!(matches!(&told, OpenError::Newer(..)), "{told}");
    let kept = Connection::open(folder.path().join(FILE)).unwrap();
    assert!(kept.prepare("SELECT x FROM later").is_ok());
}

#[test]
fn a_folder_that_is_not_there_is_told() {
    let folder = tempfile::tempdir().unwrap();
    assert!(matches!(Store::open(&folder.path().join("none")), Err(OpenError::Failed(..))));
}
