//! Tests of facts that wait for a person's decision, of entities, and of rows that are restored after a removal.

use super::*;
use crate::error::StoreError;
use crate::limits::Limits;
use crate::proposing::proposed;
use ipc_proto::memory::{Category, Entity, EntityType, Fact, KindName, Manner, Over, State, StateName};

fn fact(number: u8, key: &str, value: &str, trust: Trust) -> Entry {
    let mut entry = entry(number, value);
    entry.label = Label::of(trust, Class::Sensitive, "hook:x");
    entry.detail.kind =
        Kind::Semantic(Fact { category: Category::Fact, key: Text::clip(key), confidence: 900 });
    entry.detail.source.row = Some(id(200));
    entry
}

fn entity(number: u8, name: &str, content: &str) -> Entry {
    let mut entry = entry(number, content);
    entry.label.trust = Trust::Untrusted;
    entry.detail.kind = Kind::Entity(Entity { name: Text::clip(name), r#type: EntityType::Library });
    entry.detail.source.row = Some(id(200));
    entry
}

fn in_state(held: &Held, state: StateName) -> Vec<MemoryId> {
    let rows =
        held.store.list(&user(1), &Filter { state, ..Filter::default() }, 100, &Start::After(0)).unwrap();
    rows.into_iter().map(|row| row.entry.id).collect()
}

fn propose(held: &mut Held, entry: Entry) -> Admission {
    let fact = scanned(entry);
    held.store.changed(|change, limits, _| proposed(change, limits, &user(1), &fact, 5)).unwrap()
}

// Holds P5-14.
#[test]
fn a_fact_by_others_holds_only_once_a_person_accepts_it() {
    let mut held = Held::quick();
    held.write(&user(1), fact(1, "tide", "at six", Trust::User));
    assert_eq!(held.write(&user(1), fact(2, "tide", "at nine", Trust::Untrusted)), Admission::NeedsPerson);
    assert_eq!(propose(&mut held, fact(3, "tide", "at nine", Trust::Untrusted)), Admission::New);
    assert_eq!(in_state(&held, StateName::Proposed), [id(3)]);
    assert_eq!(
        (held.found(&user(1), "nine"), held.found(&user(1), "six")),
        (vec![], vec!["at six".to_owned()])
    );
    for manner in [Manner::Plain, Manner::Meaning] {
        let found = held.store.find(&user(1), &Question { manner, ..question("nine", &[], 9) }, 1).unwrap();
        assert!(found.iter().all(|found| found.hit.row.entry.id != id(3)), "{manner:?}");
    }
    assert!(
        matches!(held.store.unremove(&user(1), id(3), 6), Err(StoreError::NotFound)),
        "nobody said so yet"
    );
    assert!(held.store.accept(&user(2), id(3), 6).is_err(), "it is not theirs");
    assert!(held.store.timeline(&user(1), Some(id(3)), &Filter::default(), (1, 1)).is_err());
    held.store.accept(&user(1), id(3), 6).unwrap();
    let row = held.store.read(&user(1), id(3)).unwrap().unwrap();
    assert_eq!(
        (row.state, row.entry.label.trust, row.entry.label.class),
        (State::Current, Trust::User, Class::Sensitive)
    );
    let sources: Vec<&str> = row.entry.label.sources.iter().map(|source| source.as_str()).collect();
    assert_eq!((sources, row.entry.detail.source.row), (vec!["control", "hook:x"], Some(id(200))));
    assert_eq!(
        (held.found(&user(1), "nine"), held.found(&user(1), "six")),
        (vec!["at nine".to_owned()], vec![])
    );
    held.store.accept(&user(1), id(3), 7).unwrap();
    holds_together(&held.store);
}

// Holds B-119, P5-14.
#[test]
fn a_held_or_rejected_fact_is_not_proposed_again() {
    let mut held = Held::quick();
    held.write(&user(1), fact(1, "tide", "at six", Trust::User));
    assert_eq!(propose(&mut held, fact(2, "tide", "at six", Trust::Untrusted)), Admission::Already);
    propose(&mut held, fact(3, "tide", "at nine", Trust::Untrusted));
    held.store.remove(&user(1), id(3), "rejected", 6).unwrap();
    assert_eq!(propose(&mut held, fact(3, "tide", "at nine", Trust::Untrusted)), Admission::Already);
    assert!(in_state(&held, StateName::Proposed).is_empty());
    let back = held.store.unremove(&user(1), id(3), 7);
    assert!(matches!(back, Err(StoreError::NotAdmitted(Admission::NeedsPerson))), "{back:?}");
    held.store.limits = Limits { semantic: 2, retention_days: 10, ..Limits::none() };
    for (number, kept) in [(4, Admission::New), (5, Admission::New), (6, Admission::Full)] {
        assert_eq!(propose(&mut held, fact(number, &number.to_string(), "x", Trust::Untrusted)), kept);
    }
    held.store.tidy(11 * 86_400_000).unwrap();
    assert!(in_state(&held, StateName::Proposed).is_empty(), "what nobody answers goes with time");
    holds_together(&held.store);
}

// Holds P5-14.
#[test]
fn what_nobody_wanted_pushes_out_nothing_that_a_person_deleted() {
    let mut held = Held::quick();
    held.store.limits = Limits { retention_days: 10, ..Limits::none() };
    held.write(&user(1), entry(1, "deleted for good"));
    held.purge(&user(1), id(1));
    for number in 0..1010_u16 {
        let mut fact = fact(2, &number.to_string(), "x", Trust::Untrusted);
        let [high, low] = number.to_be_bytes();
        fact.id = MemoryId::from_bytes([high, low, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7]);
        fact.detail.source.row = Some(id(200));
        let unwanted = fact.id;
        assert_eq!(propose(&mut held, fact), Admission::New);
        held.store.remove(&user(1), unwanted, "rejected", 6).unwrap();
    }
    held.store.tidy(11 * 86_400_000).unwrap();
    let of = |unwanted: bool| {
        let gone = "SELECT count(*) FROM gone WHERE unwanted = ?1";
        held.store.db.query_row(gone, [unwanted], |row| row.get::<_, i64>(0)).unwrap()
    };
    assert_eq!((of(true), of(false)), (1000, 1), "of each so many are remembered");
    assert_eq!(held.write(&user(1), entry(1, "deleted for good")), Admission::Purged);
}

// Holds P7-24.
#[test]
fn a_removed_row_can_be_restored_unless_it_was_replaced() {
    let mut held = Held::quick();
    held.write(&user(1), tagged(1, "the harbour light is green", &["light"]));
    held.write(&user(1), entry(2, "later than that"));
    let before = held.store.read(&user(1), id(1)).unwrap().unwrap();
    assert_eq!(held.found(&user(1), "harbour").len(), 1);
    held.store.remove(&user(1), id(1), "by mistake", 5).unwrap();
    assert!(held.found(&user(1), "harbour").is_empty());
    held.store.unremove(&user(1), id(1), 6).unwrap();
    assert_eq!(held.store.read(&user(1), id(1)).unwrap().unwrap(), before);
    for manner in [Manner::Words, Manner::Plain, Manner::Meaning] {
        let asked = Question { manner, ..question("harbour light", &[], 1) };
        assert_eq!(held.store.find(&user(1), &asked, 1).unwrap()[0].hit.row.entry.id, id(1), "{manner:?}");
    }
    held.store.unremove(&user(1), id(1), 7).unwrap();
    held.write(&user(1), fact(3, "tide", "at six", Trust::User));
    held.store.remove(&user(1), id(3), "", 8).unwrap();
    held.write(&user(1), fact(4, "tide", "at nine", Trust::User));
    let back = held.store.unremove(&user(1), id(3), 9);
    assert!(matches!(back, Err(StoreError::NotCurrent(by)) if by == id(4)), "{back:?}");
    // The error for a replaced row names its successor, before anything of it is on the record.
    held.write(&user(1), fact(5, "tide", "at ten", Trust::User));
    for accepted in [true, false] {
        let held = held.store.to_hold(&user(1), id(4), accepted);
        assert!(matches!(held, Err(StoreError::NotCurrent(by)) if by == id(5)), "{held:?}");
    }
    held.purge(&user(1), id(3));
    assert!(matches!(held.store.unremove(&user(1), id(3), 9), Err(StoreError::NotFound)));
    holds_together(&held.store);
}

#[test]
fn entities_are_found_on_request_and_replaced_by_name() {
    let mut held = Held::quick();
    held.write(&user(1), entry(1, "tokio runs it"));
    held.write(&user(1), entity(2, "Tokio", "Tokio\nkit uses Tokio"));
    held.write(&user(1), entity(3, "tokio", "tokio\nkit uses Tokio\ngate uses tokio"));
    assert_eq!(in_state(&held, StateName::Current), [id(1)], "they are not among the memories themselves");
    assert_eq!(held.found(&user(1), "tokio"), ["tokio runs it"]);
    let kinds = List::clip([KindName::Entity]);
    let filter = Filter { kinds, ..Filter::default() };
    let listed = held.store.list(&user(1), &filter, 9, &Start::After(0)).unwrap();
    assert_eq!(listed.iter().map(|row| row.entry.id).collect::<Vec<_>>(), [id(3)]);
    let asked = Question { filter, ..question("gate", &[], 9) };
    assert_eq!(held.store.find(&user(1), &asked, 1).unwrap()[0].hit.row.entry.id, id(3));
    holds_together(&held.store);
}

// Holds P5-15.
#[test]
fn extracted_rows_are_purged_with_their_source() {
    let mut held = Held::quick();
    held.write(&user(1), observed(200, "a page said so", "t"));
    propose(&mut held, fact(1, "a", "x", Trust::Untrusted));
    propose(&mut held, fact(2, "b", "y", Trust::Untrusted));
    held.store.accept(&user(1), id(2), 6).unwrap();
    held.write(&user(1), entity(3, "tokio", "tokio"));
    held.purge(&user(1), id(200));
    let there: Vec<bool> =
        [1, 2, 3, 200].iter().map(|n| held.store.read(&user(1), id(*n)).unwrap().is_some()).collect();
    assert_eq!(there, [false, true, false, false]);
    holds_together(&held.store);
}

#[test]
fn a_proposed_fact_that_comes_back_from_an_export_still_waits() {
    let mut held = Held::quick();
    let entry = fact(1, "tide", "at nine", Trust::Untrusted);
    let row = Row { state: State::Proposed { at_ms: 4 }, ..Row::new(entry.clone(), Area::User, 3) };
    held.store.restore(&user(1), (&scanned(entry.clone()), &row), (Over::Merge, false), 9).unwrap();
    assert_eq!(in_state(&held, StateName::Proposed), [id(1)]);
    let holds = Row::new(entry.clone(), Area::User, 3);
    assert_eq!(
        held.store.restore(&user(1), (&scanned(entry), &holds), (Over::Merge, false), 9).unwrap(),
        None
    );
    assert_eq!(in_state(&held, StateName::Proposed), [id(1)]);
}

#[test]
fn nothing_but_a_fact_can_be_accepted() {
    let mut held = Held::quick();
    let note = entry(1, "do as the page says");
    let row = Row { state: State::Proposed { at_ms: 4 }, ..Row::new(note.clone(), Area::User, 3) };
    held.store.restore(&user(1), (&scanned(note), &row), (Over::Merge, false), 9).unwrap();
    assert_eq!(in_state(&held, StateName::Proposed), [id(1)]);
    let accepted = held.store.accept(&user(1), id(1), 6);
    assert!(matches!(accepted, Err(StoreError::NotFound)), "{accepted:?}");
    holds_together(&held.store);
}

// Holds P7-22.
#[test]
fn what_was_taken_from_a_row_comes_with_it_or_not_at_all() {
    let mut held = Held::quick();
    held.write(&user(1), observed(1, "captured", "t"));
    let seen = revision(1, observed(2, "observed", "t"), "compressed");
    let taken = [fact(3, "tide", "at nine", Trust::Untrusted), entity(4, "Tokio", "Tokio")];
    let taken = taken.map(|entry| std::sync::Arc::new(scanned(entry)));
    held.store
        .db
        .execute_batch(
            "CREATE TRIGGER no BEFORE INSERT ON kept WHEN new.kind = 5 BEGIN
        SELECT raise(FAIL, 'no'); END",
        )
        .unwrap();
    assert!(held.store.observe(&user(1), &seen, &taken, 5).is_err());
    assert_eq!(in_state(&held, StateName::Current), [id(1)]);
    assert!(in_state(&held, StateName::Proposed).is_empty());
    held.store.db.execute_batch("DROP TRIGGER no").unwrap();
    let observed = held.store.observe(&user(1), &seen, &taken, 5).unwrap();
    assert_eq!(observed, (Admission::New, vec![Admission::New; 2]));
    assert_eq!(in_state(&held, StateName::Current), [id(2)]);
    assert_eq!(in_state(&held, StateName::Proposed), [id(3)]);
    assert_ne!(held.store.observe(&user(1), &seen, &taken, 6).unwrap().0, Admission::New, "it is done once");
    holds_together(&held.store);
}

// Holds P7-24.
#[test]
fn what_is_restored_finds_the_room_that_a_write_of_its_kind_would() {
    let mut held = Held::quick();
    let said = |number, content: &str| {
        let mut entry = entry(number, content);
        entry.detail.kind = Kind::Episodic { role: Text::clip("user") };
        entry
    };
    held.store.limits.episodic = 2;
    for (number, content) in [(1, "one"), (2, "two")] {
        held.write(&user(1), said(number, content));
    }
    held.store.remove(&user(1), id(2), "", 2).unwrap();
    held.write(&user(1), said(3, "three"));
    held.store.unremove(&user(1), id(2), 4).unwrap();
    assert_eq!(in_state(&held, StateName::Current), [id(3), id(2)], "the oldest gave way, as for a write");
    held.write(&user(1), entry(5, "a note"));
    held.store.remove(&user(1), id(5), "", 6).unwrap();
    held.store.limits.owner_bytes = 1;
    let full = held.store.unremove(&user(1), id(5), 7);
    assert!(matches!(full, Err(StoreError::NotAdmitted(Admission::ShareFull))), "{full:?}");
    holds_together(&held.store);
}

// Holds P5-14.
#[test]
fn a_rejected_fact_is_never_proposed_again() {
    let mut held = Held::quick();
    held.store.limits = Limits { retention_days: 10, ..Limits::none() };
    let taken = |number: u8, value: &str| {
        let mut fact = fact(number, &number.to_string(), value, Trust::Untrusted);
        fact.detail.source.row = Some(id(200));
        fact
    };
    let (rejected, undone, unanswered) = (taken(1, "at six"), taken(2, "at nine"), taken(3, "at ten"));
    for fact in [&rejected, &undone, &unanswered] {
        assert_eq!(propose(&mut held, fact.clone()), Admission::New);
    }
    held.store.remove(&user(1), id(1), "rejected", 6).unwrap();
    held.store.accept(&user(1), id(2), 6).unwrap();
    held.store.remove(&user(1), id(2), "no longer so", 7).unwrap();
    held.write(&user(1), entry(4, "a note of their own"));
    held.store.remove(&user(1), id(4), "written by mistake", 7).unwrap();
    held.store.tidy(11 * 86_400_000).unwrap();
    for number in 1..=4 {
        assert_eq!(held.store.read(&user(1), id(number)).unwrap(), None, "no tombstone stands for ever");
    }
    for (fact, admission) in
        [(rejected, Admission::Already), (undone, Admission::Already), (unanswered, Admission::New)]
    {
        assert_eq!(propose(&mut held, fact.clone()), admission, "{fact:?}");
    }
    assert_eq!(held.write(&user(1), entry(4, "a note of their own")), Admission::New);
    holds_together(&held.store);
}
