//! What was deleted is gone: from answers, from the index, from the files; and it does not come back by itself.

use super::*;
use crate::store::{Doomed, FILE};

#[test]
fn a_deleted_row_is_found_by_nothing_and_a_delete_twice_is_one() {
    let mut held = Held::new();
    held.write(&user(1), entry(1, "forget me"));
    held.write(&user(1), entry(2, "keep me"));
    assert!(matches!(held.store.doomed(&user(1), id(1)).unwrap(), Doomed::Here(_)));
    held.store.delete(&user(1), id(1), 5).unwrap();
    held.store.delete(&user(1), id(1), 5).unwrap();
    assert_eq!(held.store.doomed(&user(1), id(1)).unwrap(), Doomed::Gone);
    assert_eq!(held.store.read(&user(1), id(1)).unwrap(), None);
    assert_eq!(held.found(&user(1), "forget me"), Vec::<String>::new());
    assert_eq!(held.found(&user(1), "keep"), ["keep me"]);
    holds_together(&held.store);
}

#[test]
fn a_write_that_is_asked_again_after_the_delete_brings_nothing_back() {
    let mut held = Held::new();
    held.write(&user(1), entry(1, "once"));
    held.store.delete(&user(1), id(1), 5).unwrap();
    let mut held = held.reopened();
    assert_eq!(held.write(&user(1), entry(1, "once")), Admission::Taken);
    assert!(held.found(&user(1), "once").is_empty());
}

#[test]
fn another_scope_can_neither_see_nor_delete_a_row() {
    let mut held = Held::new();
    held.write(&user(1), entry(1, "mine"));
    for other in [user(2), scope(1, Area::Global), scope(1, Area::Agent(Text::clip("a")))] {
        held.write(&other, entry(other.owner.bytes()[0] + 10, "theirs"));
        assert_eq!(held.store.doomed(&other, id(1)).unwrap(), Doomed::Unknown);
        held.store.delete(&other, id(1), 5).unwrap();
        assert_eq!(held.store.read(&other, id(1)).unwrap(), None);
    }
    assert_eq!(held.found(&user(1), "mine"), ["mine"]);
}

#[test]
fn the_text_of_a_deleted_row_is_in_neither_file() {
    let mut held = Held::new();
    for number in 2..=60 {
        held.write(&user(1), entry(number, &format!("ordinary row number {number}")));
    }
    held.write(&user(1), tagged(1, "xylophonic quetzalcoatl confession", &["zugzwangish"]));
    for number in 61..=120 {
        held.write(&user(1), entry(number, &format!("ordinary row number {number}")));
    }
    let folder = held.folder.path().to_owned();
    // Words are looked for without their endings: the index holds stems.
    let present =
        || ["xylophon", "quetzalcoatl", "confess", "zugzwang"].map(|word| files_hold(&folder, word));
    assert_eq!(present(), [true; 4]);
    held.store.delete(&user(1), id(1), 5).unwrap();
    assert_eq!(present(), [false; 4]);
    holds_together(&held.store);
}

#[test]
fn so_many_deleted_ids_are_remembered_and_no_more() {
    let mut held = Held::quick();
    let mut numbered = |number: u16| {
        let mut entry = entry(1, "x");
        let [high, low] = number.to_be_bytes();
        entry.id = MemoryId::from_bytes([high, low, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1]);
        held.write(&user(1), entry.clone());
        held.store.delete(&user(1), entry.id, 5).unwrap();
    };
    (0..1010).for_each(&mut numbered);
    let gone: i64 = held.store.db.query_row("SELECT count(*) FROM gone", [], |row| row.get(0)).unwrap();
    assert_eq!(gone, 1000);
}

fn files_hold(folder: &std::path::Path, word: &str) -> bool {
    [FILE.to_owned(), format!("{FILE}-wal")].iter().any(|file| {
        let bytes = std::fs::read(folder.join(file)).unwrap_or_default();
        bytes.windows(word.len()).any(|window| window.eq_ignore_ascii_case(word.as_bytes()))
    })
}
