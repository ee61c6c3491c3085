//! Tests of opening: the settings that confinement rests on, and files that must not be opened.

use super::*;
use crate::error::StoreError;
use crate::opening::{CALM, FILE, OpenError};
use crate::scope;
use crate::unread::FIRST;
use ipc_proto::memory::{BlockAsk, Manner, Muted};
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

// Holds P7-64.
#[test]
fn the_log_has_room_ahead_at_the_start_and_after_a_purge() {
    let mut held = Held::new();
    let log = held.folder.path().join("memory.db-wal");
    let length = || std::fs::metadata(&log).unwrap().len();
    let room = length();
    assert!(room >= 256 << 10, "{room}");
    held.write(&user(1), entry(1, "the tide"));
    assert_eq!(length(), room, "what is written lengthens nothing");
    held.purge(&user(1), id(1));
    assert_eq!(length(), 0, "nothing of what was deleted stays in it");
    for n in 2..CALM + 1 {
        held.write(&user(1), entry(n, "the ebb"));
        assert!(length() < room, "no change waits for what the next purge may take away again: {n}");
    }
    held.write(&user(1), entry(CALM + 1, "the ebb"));
    assert_eq!(length(), room, "where none follows it is as long as it was");
    held.write(&user(1), entry(CALM + 2, "the flood"));
    held.purge(&user(1), id(2));
    let held = held.reopened();
    assert_eq!(held.found(&user(1), "flood").len(), 1);
    assert_eq!(std::fs::metadata(held.folder.path().join("memory.db-wal")).unwrap().len(), room);
}

#[test]
fn a_statement_that_is_kept_is_made_once_whatever_it_is_given() {
    let held = Held::new();
    let sql = "SELECT n FROM kept WHERE kind = ?1 AND kind <> 0 ORDER BY n LIMIT ?2";
    for kind in 1..=3 {
        let mut statement = held.store.db.prepare_cached(sql).unwrap();
        assert_eq!(statement.query_map([kind, 4 - kind], |_| Ok(())).unwrap().count(), 0);
    }
    let statement = held.store.db.prepare_cached(sql).unwrap();
    assert_eq!(statement.get_status(rusqlite::StatementStatus::RePrepare), 0);
}

#[test]
fn a_second_process_on_the_same_file_is_refused() {
    let held = Held::new();
    assert!(matches!(Store::open(held.folder.path(), FILE), Err(OpenError::InUse(_))));
}

// Holds P7-26.
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
        let mut store = opened(folder.path());
        let told = store.damage.as_ref().unwrap().why.clone();
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
    let store = opened(folder.path());
    assert!(store.damage.is_none());
    assert_eq!(store.list(&user(1), &Filter::default(), 100, &Start::After(0)).unwrap().len(), 100);
}

#[test]
fn a_file_of_a_newer_program_is_refused_and_left_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let newer = Connection::open(folder.path().join(FILE)).unwrap();
    newer.execute_batch("CREATE TABLE later (x); PRAGMA user_version = 99;").unwrap();
    drop(newer);
    let told = Store::open(folder.path(), FILE).unwrap_err();
    assert!(matches!(&told, OpenError::Newer(..)), "{told}");
    let kept = Connection::open(folder.path().join(FILE)).unwrap();
    assert!(kept.prepare("SELECT x FROM later").is_ok());
}

#[test]
fn a_folder_that_is_not_there_is_told() {
    let folder = tempfile::tempdir().unwrap();
    assert!(matches!(Store::open(&folder.path().join("none"), FILE), Err(OpenError::Failed(..))));
}

/// The numbers of rows that a search and a list give in a damaged store; each listed row is read whole by its id.
fn still_read(store: &Store) -> (usize, usize) {
    let list = |offset| store.list(&user(1), &Filter::default(), 100, &Start::After(offset)).unwrap();
    let listed: Vec<Row> = list(0).into_iter().chain(list(100)).collect();
    for row in &listed {
        assert_eq!(store.read(&user(1), row.entry.id).unwrap().as_ref(), Some(row));
    }
    let found = store.find(&user(1), &question("harbour", &[], 100), 1).unwrap();
    let plain = Question { manner: Manner::Plain, ..question("harbour", &[], 100) };
    assert_eq!(store.find(&user(1), &plain, 1).unwrap().len(), found.len());
    assert!(store.find(&user(1), &question("beginningless", &[], 9), 1).unwrap().is_empty());
    (listed.len(), found.len())
}

// Holds P7-27.
#[test]
fn rows_of_sound_pages_are_found_and_the_others_counted() {
    let mut held = Held::quick();
    for number in 1..=150 {
        held.write(&user(1), observed(number, &format!("harbour {number} {}", "x".repeat(300)), "t"));
    }
    held.write(&user(1), entry(151, &format!("harbour {}", "long ".repeat(4000))));
    held.write(&user(2), entry(1, "of another owner"));
    let Held { mut store, folder } = held;
    store.emptied_log();
    drop(store);
    let path = folder.path().join(FILE);
    let whole = std::fs::read(&path).unwrap();
    let (mut lost, mut silent) = (Vec::new(), Vec::new());
    for page in 0..whole.len() / 4096 {
        let mut damaged = whole.clone();
        damaged[page * 4096..(page + 1) * 4096].fill(0x5a);
        drop(std::fs::remove_file(folder.path().join("memory.db-wal")));
        std::fs::write(&path, &damaged).unwrap();
        let store = opened(folder.path());
        if store.damage.is_none() {
            continue;
        }
        match store.unread(&user(1), false, FIRST).map(|(unread, _)| unread.rows) {
            Ok(unread) if scope::find(&store.db, &user(1)).is_ok_and(|number| number.is_some()) => {
                let (listed, found) = still_read(&store);
                assert_eq!(listed + usize::try_from(unread).unwrap(), 151, "page {page}");
                if listed == 0 {
                    silent.push(page);
                    continue;
                }
                assert_eq!(found, listed.min(100), "page {page}");
                assert!(listed >= 130, "page {page}: {listed} rows of 151");
                lost.push(unread);
            }
            _ => silent.push(page),
        }
        drop(store);
        assert_eq!(std::fs::read(&path).unwrap(), damaged);
    }
    assert!(silent.len() <= 4, "of these pages nothing can be read at all: {silent:?}");
    assert!(lost.contains(&0) && lost.iter().any(|rows| (1..=20).contains(rows)), "{lost:?}");
}

// Holds P7-27.
#[test]
fn where_it_cannot_be_read_what_is_muted_nothing_is_given_to_anybody() {
    let mut held = Held::quick();
    held.write(&user(1), entry(1, "the harbour light is red"));
    held.store.mute(&user(1), &Muted::Project(Text::clip("/quiet")), true).unwrap();
    let told = |store: &Store| store.block(&user(1), &BlockAsk::new(None, None, 1), 9).unwrap();
    assert!(!told(&held.store).muted);
    let page = "SELECT rootpage FROM sqlite_schema WHERE name = 'muted'";
    let page: u32 = held.store.db.query_row(page, [], |row| row.get(0)).unwrap();
    let page = usize::try_from(page).unwrap();
    let Held { mut store, folder } = held;
    store.emptied_log();
    drop(store);
    let path = folder.path().join(FILE);
    let mut damaged = std::fs::read(&path).unwrap();
    damaged[(page - 1) * 4096..page * 4096].fill(0x5a);
    drop(std::fs::remove_file(folder.path().join("memory.db-wal")));
    std::fs::write(&path, &damaged).unwrap();
    let store = opened(folder.path());
    let block = told(&store);
    assert!(block.muted && block.text.is_empty(), "{block:?}");
    assert_eq!(
        store.list(&user(1), &Filter::default(), 9, &Start::After(0)).unwrap().len(),
        1,
        "the person reads it"
    );
}
