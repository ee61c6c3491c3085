//! Tests that deleted rows are gone: from answers, from the index, from the files; and that they do not come back by
//! themselves.

use super::*;
use crate::opening::FILE;
use ipc_proto::memory::{Over, State, StateName};
use proptest::prelude::*;

fn chosen(held: &Held, what: &Forget, purge: bool) -> (Vec<MemoryId>, u32) {
    let chosen = held.store.chosen(&user(1), what, purge).unwrap();
    (chosen.rows.iter().map(|row| row.entry.id).collect(), chosen.all)
}

#[test]
fn a_purged_row_is_found_by_nothing_and_a_purge_twice_is_one() {
    let mut held = Held::new();
    held.write(&user(1), entry(1, "forget me"));
    held.write(&user(1), entry(2, "keep me"));
    let what = Forget::Ids(List::clip([id(1), id(7)]));
    assert_eq!(chosen(&held, &what, true), (vec![id(1)], 1));
    held.purge(&user(1), id(1));
    held.purge(&user(1), id(1));
    let again = held.store.chosen(&user(1), &what, true).unwrap();
    assert_eq!((again.rows.len(), again.before), (0, 1));
    assert_eq!(held.store.read(&user(1), id(1)).unwrap(), None);
    assert_eq!(held.found(&user(1), "forget me"), Vec::<String>::new());
    assert_eq!(held.found(&user(1), "keep"), ["keep me"]);
    holds_together(&held.store);
}

// Holds P7-16.
#[test]
fn a_write_that_is_asked_again_after_the_purge_brings_nothing_back() {
    let mut held = Held::new();
    held.write(&user(1), entry(1, "once"));
    held.purge(&user(1), id(1));
    let mut held = held.reopened();
    assert_eq!(held.write(&user(1), entry(1, "once")), Admission::Purged);
    assert!(held.found(&user(1), "once").is_empty());
}

#[test]
fn another_scope_can_neither_see_nor_forget_a_row() {
    let mut held = Held::new();
    held.write(&user(1), entry(1, "mine"));
    for other in [user(2), scope(1, Area::Global), scope(1, Area::Agent(Text::clip("a")))] {
        held.write(&other, entry(other.owner.bytes()[0] + 10, "theirs"));
        let what = Forget::Ids(List::clip([id(1)]));
        assert_eq!(held.store.chosen(&other, &what, true).unwrap().all, 0);
        held.store.purge(&other, &what, &[id(1)], 5).unwrap();
        held.store.entomb(&other, &[id(1)], "", 5).unwrap();
        assert!(held.store.remove(&other, id(1), "", 5).is_err());
        assert_eq!(held.store.read(&other, id(1)).unwrap(), None);
    }
    assert_eq!(held.found(&user(1), "mine"), ["mine"]);
}

#[test]
fn rows_are_forgotten_by_project_session_time_and_topic_and_said_before() {
    let mut held = Held::quick();
    for (number, time, content) in [(1, 10, "the harbour office"), (2, 20, "an office"), (3, 30, "the tide")]
    {
        held.store.insert(&user(1), &scanned(observed(number, content, "t")), time).unwrap();
    }
    held.store.insert(&user(1), &scanned(tagged(4, "else", &["Harbour Office"])), 40).unwrap();
    let cases = [
        (Forget::Project(Text::clip("/p")), vec![id(1), id(2), id(3)]),
        (Forget::Project(Text::clip("/")), vec![]),
        (Forget::Project(Text::clip("%")), vec![]),
        (Forget::Session(SessionId::from_bytes([2; 16])), vec![id(2)]),
        (Forget::Before(20), vec![id(1)]),
        (Forget::Topic(Text::clip("the office")), vec![id(1)]),
        (Forget::Topic(Text::clip("harbour office")), vec![id(1), id(4)]),
        (Forget::Topic(Text::clip("*")), vec![]),
        (Forget::Topic(Text::clip("")), vec![]),
    ];
    for (what, ids) in cases {
        assert_eq!(chosen(&held, &what, false).0, ids, "{what:?}");
        assert_eq!(chosen(&held, &what, true).0, ids, "{what:?}");
    }
    held.store.entomb(&user(1), &[id(1)], "forgotten", 50).unwrap();
    let (office, kept) =
        (Forget::Topic(Text::clip("harbour office")), held.store.read(&user(1), id(1)).unwrap());
    assert_eq!(chosen(&held, &office, false).0, [id(4)]);
    assert_eq!(chosen(&held, &office, true).0, [id(1), id(4)], "a tombstone can still be purged");
    assert!(matches!(kept.unwrap().state, State::Removed { at_ms: 50 }));
    let removed = Filter { state: StateName::Removed, ..Filter::default() };
    assert_eq!(held.store.list(&user(1), &removed, 9, &Start::After(0)).unwrap().len(), 1);
    assert!(held.found(&user(1), "harbour").is_empty() || held.found(&user(1), "harbour") == ["else"]);
    holds_together(&held.store);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn any_text_is_a_topic(topic in any::<String>()) {
        let mut held = Held::quick();
        held.write(&user(1), entry(1, "some words"));
        let what = Forget::Topic(Text::clip(&topic));
        let _ = held.store.chosen(&user(1), &what, true).unwrap();
        let _ = held.store.chosen(&user(1), &what, false).unwrap();
    }
}

#[test]
fn a_purge_takes_every_revision_and_what_they_were_made_from() {
    let mut held = Held::new();
    let first = Proposal::of(observed(1, "xylophonic one", "t")).unwrap().made_from("quetzalcoatl raw");
    held.store.insert(&user(1), &first.judged(&passed()).unwrap(), 1).unwrap();
    held.store.insert(&user(1), &revision(1, observed(2, "zugzwangish two", "t"), "because"), 2).unwrap();
    let folder = held.folder.path().to_owned();
    let present = || ["xylophon", "quetzalcoatl", "zugzwang"].map(|word| files_hold(&folder, word));
    assert_eq!(present(), [true; 3]);
    held.purge(&user(1), id(2));
    assert_eq!(present(), [false; 3]);
    assert_eq!(held.store.read(&user(1), id(1)).unwrap(), None);
    holds_together(&held.store);
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
    held.purge(&user(1), id(1));
    assert_eq!(present(), [false; 4]);
    holds_together(&held.store);
}

#[test]
fn a_purge_removes_the_copy_of_an_older_schema_too() {
    let mut held = Held::new();
    let copy = held.folder.path().join(format!("{FILE}.v1"));
    std::fs::write(&copy, "xylophonic").unwrap();
    for number in 1..=2 {
        held.write(&user(1), entry(number, "xylophonic"));
    }
    held.store.entomb(&user(1), &[id(1)], "forgotten", 5).unwrap();
    assert!(copy.exists());
    held.purge(&user(1), id(2));
    assert!(!copy.exists());
}

// Holds B-143.
#[test]
fn so_many_deleted_ids_are_remembered_and_no_more() {
    let mut held = Held::quick();
    let mut numbered = |number: u16| {
        let mut entry = entry(1, "x");
        let [high, low] = number.to_be_bytes();
        entry.id = MemoryId::from_bytes([high, low, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1]);
        held.write(&user(1), entry.clone());
        held.purge(&user(1), entry.id);
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

#[test]
fn a_purge_takes_the_whole_history_and_no_false_claimant() {
    let mut held = Held::quick();
    held.write(&user(1), observed(1, "number 1", "t"));
    for number in 2..=150 {
        let newer = revision(number - 1, observed(number, &format!("number {number}"), "t"), "");
        assert_eq!(held.store.insert(&user(1), &newer, 2).unwrap(), Admission::New);
    }
    held.write(&user(1), observed(200, "the same", "t"));
    held.store.supersede(&user(1), (id(200), id(150)), "says the same", 3).unwrap();
    held.write(&user(1), entry(210, "the person's own"));
    let mut planted = Row::new(entry(211, "planted"), Area::User, 4);
    planted.state = State::Superseded { by: id(210), at_ms: 4 };
    planted.revises = Some(id(210));
    held.store
        .restore(&user(1), (&scanned(planted.entry.clone()), &planted), (Over::Skip, false), 9)
        .unwrap();
    held.purge(&user(1), id(211));
    assert!(held.store.read(&user(1), id(210)).unwrap().is_some());
    held.purge(&user(1), id(1));
    let left: i64 = held.store.db.query_row("SELECT count(*) FROM kept", [], |row| row.get(0)).unwrap();
    assert_eq!(left, 1);
    holds_together(&held.store);
}

#[test]
fn a_topic_is_the_same_in_either_case_of_any_letter() {
    let mut held = Held::quick();
    held.write(&user(1), entry(1, "ein großes Ärgernis"));
    held.store.remove(&user(1), id(1), "", 5).unwrap();
    for topic in ["ärgernis", "Ärgernis", "ÄRGERNIS"] {
        let what = Forget::Topic(Text::clip(topic));
        assert_eq!(chosen(&held, &what, true).0, [id(1)], "{topic}");
        assert_eq!(chosen(&held, &what, false).1, 0, "{topic}");
    }
}
