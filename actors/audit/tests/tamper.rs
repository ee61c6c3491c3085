//! Tests that the offline program finds and locates each change to a log, with the public key and nothing else.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "helpers of tests, which fail where they panic"
)]

mod log;

use log::{Log, entries, flip};
use std::fs;

/// Two full bundles and 88 entries of a third.
const ENTRIES: u64 = 600;

fn whole() -> Log {
    let log = Log::new();
    log.append(ENTRIES);
    log
}

#[test]
fn a_whole_log_holds_and_says_that_its_key_comes_from_the_same_folder() {
    let log = whole();
    let (code, found) = log.verify(&[]);
    assert_eq!((code, found["ok"].as_bool(), found["entries"].as_u64()), (0, Some(true), Some(ENTRIES)));
    assert_eq!(found["key_from"], "the record's own folder");
    let key = log.keep("key.pub");
    fs::remove_file(log.path("key")).unwrap();
    let (code, found) = log.verify(&["--key", key.to_str().unwrap()]);
    assert_eq!((code, found["key_from"].as_str()), (0, Some("given")));
}

// Holds P6-02.
#[test]
fn an_edited_byte_of_an_entry_is_found_and_placed() {
    for (file, entry, index) in
        [("tile/entries/000", 100, 100), ("tile/entries/001", 0, 256), ("tile/entries/002.tail", 38, 550)]
    {
        let log = whole();
        let path = log.path(file);
        let range = entries(&fs::read(&path).unwrap()).remove(entry);
        flip(&path, range.start + 150);
        log.refuses("edited", Some(index));
        let (_, found) = log.verify(&[]);
        assert!(
            found["trustworthy"].as_str().unwrap().contains("every entry below 600 but those named"),
            "{found}"
        );
    }
}

#[test]
fn an_edited_length_of_an_entry_is_found_and_placed() {
    for (file, entry, index) in [("tile/entries/000", 100, 100), ("tile/entries/002.tail", 38, 550)] {
        let log = whole();
        let path = log.path(file);
        let range = entries(&fs::read(&path).unwrap()).remove(entry);
        flip(&path, range.start - 1);
        log.refuses("edited", Some(index));
    }
}

#[test]
fn an_edited_tile_is_told_from_an_edited_entry() {
    for (file, at, index) in [("tile/0/001", 5 * 32, 261), ("tile/0/002.p/88", 3 * 32, 515)] {
        let log = whole();
        flip(&log.path(file), at);
        log.refuses("tile", Some(index));
    }
    let log = whole();
    flip(&log.path("tile/1/000.p/2"), 40);
    log.refuses("tile", Some(256));
}

#[test]
fn what_was_put_behind_the_copy_of_a_bundle_in_part_is_found() {
    let log = whole();
    let copy = log.path("tile/entries/002.p/88");
    fs::write(&copy, [fs::read(&copy).unwrap().as_slice(), &[0; 40]].concat()).unwrap();
    log.refuses("tile", Some(512));
}

// Holds P6-02.
#[test]
fn an_edited_entry_with_its_tile_made_to_fit_is_found_by_what_was_signed() {
    let log = whole();
    let bundle = log.path("tile/entries/000");
    let range = entries(&fs::read(&bundle).unwrap()).remove(9);
    flip(&bundle, range.start + 150);
    let bytes = fs::read(&bundle).unwrap();
    let leaf = log::leaf(&bytes[entries(&bytes).remove(9)]);
    let tile = log.path("tile/0/000");
    let mut hashes = fs::read(&tile).unwrap();
    hashes[9 * 32..10 * 32].copy_from_slice(&leaf);
    fs::write(&tile, hashes).unwrap();
    let (code, found) = log.verify(&[]);
    assert_eq!(code, 1, "{found}");
}

// Holds P6-03.
#[test]
fn a_deleted_entry_is_found_and_placed() {
    for (file, entry, index) in [("tile/entries/000", 100, 100), ("tile/entries/002.tail", 38, 550)] {
        let log = whole();
        let path = log.path(file);
        let mut bytes = fs::read(&path).unwrap();
        let range = entries(&bytes).remove(entry);
        bytes.drain(range.start - 2..range.end);
        fs::write(&path, bytes).unwrap();
        log.refuses("deleted", Some(index));
    }
    for (file, index) in [("tile/entries/000", 0), ("tile/entries/001", 256)] {
        let log = whole();
        fs::remove_file(log.path(file)).unwrap();
        log.refuses("deleted", Some(index));
        fs::remove_file(log.path(&file.replace("entries", "0"))).unwrap();
        log.refuses("deleted", Some(index));
    }
}

// Holds P6-03.
#[test]
fn entries_in_another_order_are_found_and_placed() {
    for (file, one, other, index) in [("tile/entries/000", 10, 20, 10), ("tile/entries/002.tail", 1, 2, 513)]
    {
        let log = whole();
        let path = log.path(file);
        let bytes = fs::read(&path).unwrap();
        let mut parts: Vec<&[u8]> =
            entries(&bytes).into_iter().map(|range| &bytes[range.start - 2..range.end]).collect();
        parts.swap(one, other);
        fs::write(&path, parts.concat()).unwrap();
        log.refuses("reordered", Some(index));
    }
}

// Holds P6-04.
#[test]
fn two_bundles_that_were_exchanged_stand_in_another_order() {
    let log = whole();
    let [one, other] = ["tile/entries/000", "tile/entries/001"].map(|file| log.path(file));
    let bytes = [fs::read(&one).unwrap(), fs::read(&other).unwrap()];
    fs::write(&one, &bytes[1]).unwrap();
    fs::write(&other, &bytes[0]).unwrap();
    log.refuses("reordered", Some(0));
}

// Holds P6-04.
#[test]
fn an_edited_number_of_an_entry_is_an_edit_and_no_other_order() {
    for (file, entry, index) in
        [("tile/entries/000", 100, 100), ("tile/entries/001", 44, 300), ("tile/entries/002.tail", 38, 550)]
    {
        for digit in b"0129" {
            let log = whole();
            let path = log.path(file);
            let mut bytes = fs::read(&path).unwrap();
            let at = entries(&bytes).remove(entry).start + "{\"index\":".len();
            if bytes[at] != *digit {
                bytes[at] = *digit;
                fs::write(&path, bytes).unwrap();
                log.refuses("edited", Some(index));
            }
        }
    }
}

// Holds P6-03.
#[test]
fn a_tail_that_was_cut_off_is_found_and_placed() {
    let log = whole();
    let path = log.path("tile/entries/002.tail");
    let bytes = fs::read(&path).unwrap();
    let cut = entries(&bytes)[80].start - 2;
    for length in [cut, cut + 1, cut + 30] {
        fs::write(&path, &bytes[..length]).unwrap();
        log.refuses("truncated", Some(592));
        assert_eq!(log.verify(&[]).1["trustworthy"], "entries 0 to 591, as they were signed");
    }
    fs::remove_file(&path).unwrap();
    log.refuses("truncated", Some(512));
}

// Holds P6-03.
#[test]
fn a_log_that_was_set_back_is_found_by_a_checkpoint_that_was_kept() {
    let log = Log::new();
    log.append(300);
    let before = log.copy();
    log.append(300);
    let kept = log.keep("checkpoint");
    assert_eq!(before.verify(&[]).0, 0);
    let (code, found) = before.verify(&["--checkpoint", kept.to_str().unwrap()]);
    assert_eq!(
        (code, found["error"]["type"].as_str(), found["error"]["index"].as_u64()),
        (1, Some("truncated"), Some(300))
    );
    let old = before.keep("checkpoint");
    assert_eq!(log.verify(&["--checkpoint", old.to_str().unwrap()]).0, 0);
}

// Holds P6-03.
#[test]
fn two_copies_that_went_apart_are_found_and_placed() {
    let log = Log::new();
    log.append(300);
    let other = log.copy();
    log.append(10);
    other.append(20);
    let kept = other.keep("checkpoint");
    let against = ["--against", other.folder().to_str().unwrap()];
    let (code, found) = log.verify(&against);
    assert_eq!(
        (code, found["error"]["type"].as_str(), found["error"]["index"].as_u64()),
        (1, Some("fork"), Some(300))
    );
    let (code, found) = other.verify(&["--checkpoint", log.keep("checkpoint").to_str().unwrap()]);
    assert_eq!((code, found["error"]["type"].as_str()), (1, Some("fork")), "{found}");
    let (code, found) = log.verify(&["--checkpoint", kept.to_str().unwrap()]);
    assert_eq!((code, found["error"]["type"].as_str()), (1, Some("truncated")), "{found}");
    let copy = log.copy();
    assert_eq!(log.verify(&["--against", copy.folder().to_str().unwrap()]).0, 0);
}

// Holds P6-08.
#[test]
fn a_torn_last_write_is_found_and_placed_and_the_next_start_repairs_it() {
    for rest in [&[1_u8][..], &[0, 200], b"\x00\xc8{\"index\":600,\"time", b"\0\0\0\0\xc8{\0\0\0"] {
        let log = whole();
        let path = log.path("tile/entries/002.tail");
        let bytes = [fs::read(&path).unwrap(), rest.to_vec()].concat();
        fs::write(&path, bytes).unwrap();
        log.refuses("torn", Some(600));
        log.append(1);
        let (code, found) = log.verify(&[]);
        assert_eq!((code, found["entries"].as_u64()), (0, Some(602)), "{found}");
    }
}

// Holds P6-10, P6-21.
#[test]
fn room_set_aside_is_no_write_and_nothing_is_repaired() {
    let log = whole();
    let (grows, next) = (log.path("tile/entries/002.tail"), log.path("tile/entries/003.tail"));
    let bytes = [fs::read(&grows).unwrap(), vec![0; 5000]].concat();
    fs::write(&grows, bytes).unwrap();
    fs::write(&next, [0; 5000]).unwrap();
    let (code, found) = log.verify(&[]);
    assert_eq!((code, found["entries"].as_u64()), (0, Some(ENTRIES)), "{found}");
    flip(&next, 4000);
    log.refuses("torn", Some(ENTRIES));
    log.append(300);
    assert!(!log.path("tile/entries/004.tail").exists());
    let (code, found) = log.verify(&[]);
    assert_eq!((code, found["entries"].as_u64()), (0, Some(ENTRIES + 300)), "{found}");
    fs::write(log.path("tile/entries/004.tail"), [0; 5000]).unwrap();
    fs::remove_file(&next).unwrap();
    log.refuses("truncated", Some(768));
}

// Holds P6-06.
#[test]
fn another_key_another_log_and_its_checkpoint_are_named_as_such() {
    let (log, other) = (whole(), whole());
    for words in [
        ["--key", other.path("key.pub").to_str().unwrap()],
        ["--checkpoint", other.path("checkpoint").to_str().unwrap()],
        ["--against", other.folder().to_str().unwrap()],
    ] {
        let (code, found) = log.verify(&words);
        assert_eq!((code, found["error"]["type"].as_str()), (1, Some("other_log")), "{found}");
    }
    let key = log.keep("key.pub");
    let (code, found) = other.verify(&["--key", key.to_str().unwrap()]);
    assert_eq!((code, found["error"]["type"].as_str()), (1, Some("other_log")), "{found}");
    assert_eq!(found["trustworthy"], "nothing is vouched for by this key");
    flip(&key, 50);
    let (code, found) = log.verify(&["--key", key.to_str().unwrap()]);
    assert_eq!((code, found["error"]["type"].as_str()), (1, Some("wrong_key")), "{found}");
    let nothing = tempfile::tempdir().unwrap();
    let (code, found) = log::run(&["verify", "--dir", nothing.path().to_str().unwrap(), "--json"]);
    assert_eq!((code, log::json(&found)["error"]["type"].as_str()), (1, Some("unreadable")));
}

// Holds P6-21.
#[test]
fn a_foreign_key_beside_the_log_is_found_with_the_right_one() {
    let log = whole();
    let key = log.keep("key.pub");
    let words = ["--key", key.to_str().unwrap()];
    for edited in [fs::read_to_string(whole().path("key.pub")).unwrap(), String::new(), "key".to_owned()] {
        fs::write(log.path("key.pub"), edited).unwrap();
        let (code, found) = log.verify(&words);
        assert_eq!((code, found["error"]["type"].as_str()), (1, Some("tile")), "{found}");
        assert_eq!(found["entries"].as_u64(), Some(ENTRIES));
    }
    fs::remove_file(log.path("key.pub")).unwrap();
    assert_eq!(log.verify(&words).0, 0, "a copy may come without it");
}

// Holds P6-06.
#[test]
fn a_key_or_a_checkpoint_without_an_end_is_refused() {
    let log = whole();
    let folder = log.folder().to_str().unwrap();
    for (option, endless) in
        [("--key", "/dev/zero"), ("--key", "/dev/urandom"), ("--checkpoint", "/dev/zero")]
    {
        let refused = log::run(&["verify", "--dir", folder, option, endless]);
        assert_eq!(refused, (1, String::new()), "{option} {endless}");
    }
}

#[test]
fn a_checkpoint_that_was_edited_or_is_gone_is_found() {
    let log = whole();
    let note = fs::read_to_string(log.path("checkpoint")).unwrap();
    for edited in [
        note.replace("600", "601"),
        note.replace("\n600\n", "\n599\n"),
        String::new(),
        note.replace('\u{2014}', "-"),
    ] {
        fs::write(log.path("checkpoint"), edited).unwrap();
        log.refuses("checkpoint", None);
    }
    fs::remove_file(log.path("checkpoint")).unwrap();
    log.refuses("checkpoint", None);
}

// Holds P6-02.
#[test]
fn an_edited_byte_in_any_file_but_the_secret_key_is_found() {
    let log = Log::new();
    log.append_on(1, 300);
    log.append_on(2, 300);
    let files = log.files();
    assert!(files.iter().any(|file| file.starts_with("digests/")), "{files:?}");
    for file in files.iter().filter(|file| *file != "key") {
        let path = log.path(file);
        let bytes = fs::read(&path).unwrap();
        for at in [0, 1, bytes.len() / 3, bytes.len() / 2, bytes.len() - 2, bytes.len() - 1] {
            flip(&path, at);
            let (code, found) = log.verify(&[]);
            assert_eq!(code, 1, "{file}, byte {at}: {found}");
            fs::write(&path, &bytes).unwrap();
        }
    }
    assert_eq!(log.verify(&[]).0, 0);
}
