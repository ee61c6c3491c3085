//! Opening: the settings that confinement rests on, and files that must not be opened.

use super::*;
use crate::opening::{FILE, OpenError};
use crate::store::StoreError;
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
fn a_damaged_file_is_read_as_far_as_it_can_be_and_never_changed() {
    let mut held = Held::new();
    for number in 1..=200 {
        held.write(&user(1), entry(number, &format!("row {number} {}", "x".repeat(500))));
    }
    let Held { store, folder } = held;
    drop(store);
    let path = folder.path().join(FILE);
    let whole = std::fs::read(&path).unwrap();
    let mut read = 0;
    for (from, to) in [(0, 100), (whole.len() / 2, whole.len() / 2 + 4096), (whole.len() - 4096, whole.len())]
    {
        let mut damaged = whole.clone();
        damaged[from..to].fill(0x5a);
        std::fs::write(&path, &damaged).unwrap();
        let mut store = Store::open(folder.path()).unwrap();
        let told = store.damage.clone().unwrap();
        assert!(told.contains(path.to_str().unwrap()), "{told}");
        read += (1..=200).filter(|number| matches!(store.read(&user(1), id(*number)), Ok(Some(_)))).count();
        let refused = [
            store.insert(&user(1), &scanned(entry(201, "x")), 1).err(),
            store.remove(&user(1), id(1), "", 1).err(),
            store.reindex(&user(1)).err(),
            store.waiting(&[], 1, 1, 1).err(),
        ];
        assert!(refused.iter().all(|error| matches!(error, Some(StoreError::ReadOnly))), "{refused:?}");
        drop(store.expire(u64::MAX));
        drop(store.tidy(u64::MAX));
        drop(store);
        assert_eq!(std::fs::read(&path).unwrap(), damaged);
    }
    assert!(read > 200, "{read} rows could be read");
    std::fs::write(&path, &whole).unwrap();
    let store = Store::open(folder.path()).unwrap();
    assert_eq!(store.damage, None);
    assert_eq!(store.list(&user(1), &Filter::default(), 100, 0).unwrap().len(), 100);
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
