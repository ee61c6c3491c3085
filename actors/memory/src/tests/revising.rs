//! Tests that a row is never changed: a newer one takes its place, and the older one stays readable.

use super::*;
use crate::error::StoreError;
use ipc_proto::memory::{Category, Fact, Over, State, StateName, Summary};

fn revised(held: &mut Held, of: u8, entry: Entry, time: u64) -> Admission {
    held.store.insert(&user(1), &revision(of, entry, "it moved"), time).unwrap()
}

fn keyed(number: u8, key: &str, content: &str) -> Entry {
    let kind = Kind::Note { key: Some(Text::clip(key)) };
    Entry { detail: Detail { kind, ..Detail::default() }, ..entry(number, content) }
}

fn fact(number: u8, category: Category, key: &str, content: &str) -> Entry {
    let kind = Kind::Semantic(Fact { category, key: Text::clip(key), confidence: 900 });
    Entry { detail: Detail { kind, ..Detail::default() }, ..entry(number, content) }
}

fn state(held: &Held, number: u8) -> State {
    held.store.read(&user(1), id(number)).unwrap().unwrap().state
}

fn history(held: &Held, number: u8) -> Vec<MemoryId> {
    let rows = held.store.history(&user(1), id(number)).unwrap();
    rows.into_iter().map(|row| row.entry.id).collect()
}

#[test]
fn a_revision_takes_the_place_of_a_row_which_stays_in_its_history() {
    let mut held = Held::new();
    held.write(&user(1), observed(1, "the office opens at seven", "office"));
    assert_eq!(revised(&mut held, 1, observed(2, "the office opens at eight", "office"), 5), Admission::New);
    assert_eq!(
        revised(&mut held, 1, observed(2, "the office opens at eight", "office"), 6),
        Admission::Already
    );
    assert_eq!(held.found(&user(1), "office opens"), ["the office opens at eight"]);
    let old = held.store.read(&user(1), id(1)).unwrap().unwrap();
    assert_eq!((old.state, old.reason.as_str()), (State::Superseded { by: id(2), at_ms: 5 }, "it moved"));
    assert_eq!(held.store.read(&user(1), id(2)).unwrap().unwrap().revises, Some(id(1)));
    assert_eq!(revised(&mut held, 2, observed(3, "it is closed", "office"), 7), Admission::New);
    for number in 1..=3 {
        assert_eq!(history(&held, number), [id(1), id(2), id(3)]);
    }
    assert_eq!(revised(&mut held, 1, observed(4, "x", "office"), 8), Admission::NotCurrent(id(3)));
    assert_eq!(revised(&mut held, 9, observed(4, "x", "office"), 8), Admission::Unknown);
    let past = Filter { state: StateName::Superseded, ..Filter::default() };
    assert_eq!(held.store.list(&user(1), &past, 9, &Start::After(0)).unwrap().len(), 2);
    let question = Question { filter: past, ..question("SEVEN opens", &[], 9) };
    assert_eq!(held.store.find(&user(1), &question, 1).unwrap().len(), 1);
    holds_together(&held.store);
    assert_eq!(history(&held.reopened(), 1).len(), 3);
}

// Holds P5-13.
#[test]
fn a_revision_never_carries_a_lighter_label_than_what_it_revises() {
    let mut held = Held::quick();
    let mut planted = observed(1, "planted", "t");
    planted.label = Label::of(Trust::Untrusted, Class::Sensitive, "web");
    held.write(&user(1), planted);
    revised(&mut held, 1, observed(2, "corrected", "t"), 2);
    let label = held.store.read(&user(1), id(2)).unwrap().unwrap().entry.label;
    assert_eq!((label.trust, label.class), (Trust::Untrusted, Class::Sensitive));
    assert_eq!(revised(&mut held, 2, fact(3, Category::Fact, "k", "v"), 3), Admission::NeedsPerson);
}

#[test]
fn a_note_with_a_key_and_a_fact_take_the_place_of_the_one_before() {
    let mut held = Held::new();
    held.write(&user(1), keyed(1, "door", "4711"));
    held.write(&user(1), keyed(2, "door", "4712"));
    held.write(&user(1), keyed(3, "window", "open"));
    held.write(&scope(1, Area::Global), keyed(4, "door", "of everybody"));
    held.write(&user(1), fact(5, Category::Preference, "door", "left"));
    held.write(&user(1), fact(6, Category::Fact, "door", "green"));
    held.write(&user(1), fact(7, Category::Fact, "door", "red"));
    assert_eq!(state(&held, 1), State::Superseded { by: id(2), at_ms: 1 });
    assert_eq!(state(&held, 6), State::Superseded { by: id(7), at_ms: 1 });
    assert_eq!(held.found(&user(1), "door").len(), 3, "a key is found as a word");
    let kept = held.store.read(&user(1), id(7)).unwrap().unwrap().entry;
    assert_eq!(kept, fact(7, Category::Fact, "door", "red"));
    assert_eq!(history(&held, 2), [id(1), id(2)]);
    holds_together(&held.store);
}

// Holds P5-13.
#[test]
fn only_a_persons_own_word_makes_a_fact() {
    let mut held = Held::quick();
    for (trust, kept) in [
        (Trust::System, Admission::New),
        (Trust::User, Admission::New),
        (Trust::Verified, Admission::NeedsPerson),
        (Trust::Untrusted, Admission::NeedsPerson),
    ] {
        for category in [Category::Fact, Category::Preference, Category::Instruction] {
            let number = 10 * (trust as u8) + category as u8;
            let mut fact = fact(number, category, &number.to_string(), "v");
            fact.label.trust = trust;
            assert_eq!(held.write(&user(1), fact), kept, "{trust:?} {category:?}");
        }
    }
}

#[test]
fn a_session_has_one_summary() {
    let mut held = Held::quick();
    for number in [1, 2] {
        let mut summary = entry(number, "what came of it");
        summary.session = Some(SessionId::from_bytes([9; 16]));
        summary.detail.kind = Kind::Summary(Box::default());
        held.write(&user(1), summary);
    }
    assert!(matches!(state(&held, 1), State::Superseded { .. }));
    let told = Summary { request: Text::clip("asked for lighthouses"), ..Summary::default() };
    let mut other = entry(3, "of another one");
    other.detail.kind = Kind::Summary(Box::new(told));
    held.write(&user(1), other.clone());
    assert_eq!(held.store.read(&user(1), id(3)).unwrap().unwrap().entry, other);
    assert_eq!(held.found(&user(1), "lighthouse"), ["of another one"]);
}

#[test]
fn a_removed_row_is_a_tombstone_that_its_id_and_history_show() {
    let mut held = Held::new();
    let seen = Proposal::of(observed(1, "a mistake", "t")).unwrap().made_from("what it was made from");
    held.store.insert(&user(1), &seen.judged(&passed()).unwrap(), 1).unwrap();
    assert_eq!(held.store.raw(&user(1), id(1)).unwrap().text.as_str(), "what it was made from");
    held.store.remove(&user(1), id(1), "it is wrong", 7).unwrap();
    held.store.remove(&user(1), id(1), "again", 8).unwrap();
    let row = held.store.read(&user(1), id(1)).unwrap().unwrap();
    assert_eq!((row.state, row.reason.as_str()), (State::Removed { at_ms: 7 }, "it is wrong"));
    assert_eq!(held.store.raw(&user(1), id(1)).unwrap().text.as_str(), "");
    assert!(held.found(&user(1), "mistake").is_empty() && held.listed(&user(1), 9, 0).is_empty());
    assert_eq!(history(&held, 1), [id(1)]);
    assert_eq!(revised(&mut held, 1, observed(2, "x", "t"), 9), Admission::NotCurrent(id(1)));
    assert!(matches!(held.store.remove(&user(1), id(5), "", 9), Err(StoreError::NotFound)));
    holds_together(&held.store);
}

#[test]
fn what_a_row_was_made_from_goes_along_with_its_revisions() {
    let mut held = Held::quick();
    let seen = Proposal::of(observed(1, "plain", "t")).unwrap().made_from("the whole output");
    held.store.insert(&user(1), &seen.judged(&passed()).unwrap(), 1).unwrap();
    revised(&mut held, 1, observed(2, "compressed", "t"), 2);
    assert_eq!(held.store.raw(&user(1), id(2)).unwrap().text.as_str(), "the whole output");
    assert_eq!(held.store.raw(&user(1), id(1)).unwrap().text.as_str(), "");
}

// Holds B-127.
#[test]
fn a_history_that_runs_in_a_circle_ends() {
    let mut held = Held::quick();
    held.write(&user(1), observed(1, "one", "t"));
    revised(&mut held, 1, observed(2, "two", "t"), 2);
    let circle = "UPDATE kept SET revises = ?1, superseded_by = ?1, state = 1, state_ms = 1 WHERE id = ?2";
    held.store.db.execute(circle, [id(2).bytes(), id(1).bytes()]).unwrap();
    held.store.db.execute(circle, [id(1).bytes(), id(2).bytes()]).unwrap();
    assert_eq!(held.store.history(&user(1), id(1)).unwrap().len(), 2);
    assert!(matches!(revised(&mut held, 1, observed(3, "x", "t"), 9), Admission::NotCurrent(_)));
}

#[test]
fn a_timeline_is_what_was_around_a_row() {
    let mut held = Held::quick();
    (1..=9).for_each(|number| {
        held.write(&user(1), observed(number, &format!("row {number}"), "t"));
    });
    let around = |anchor: Option<u8>, before, after| -> Vec<MemoryId> {
        let rows =
            held.store.timeline(&user(1), anchor.map(id), &Filter::default(), (before, after)).unwrap();
        rows.into_iter().map(|row| row.entry.id).collect()
    };
    assert_eq!(around(Some(5), 2, 1), [id(3), id(4), id(5), id(6)]);
    assert_eq!(around(None, 1, 5), [id(8), id(9)]);
    assert_eq!(around(Some(1), u16::MAX, 0), [id(1)]);
    let foreign = held.store.timeline(&user(2), Some(id(5)), &Filter::default(), (1, 1));
    assert!(matches!(foreign, Err(StoreError::NotFound)));
}

// Holds P7-17.
#[test]
fn a_change_that_is_broken_off_at_any_step_leaves_no_trace() {
    type Step = fn(&mut Held) -> Result<(), StoreError>;
    let mut held = Held::new();
    held.write(&user(1), observed(1, "before", "t"));
    let steps: [Step; 4] = [
        |held| {
            held.store.changed(|change, limits, told| {
                let revision = revision(1, observed(2, "after", "t"), "because");
                crate::write::inserted(change, limits, &user(1), &revision, 2, told)?;
                Err(StoreError::ReadOnly)
            })
        },
        |held| {
            held.store.changed(|change, _, _| {
                let number = crate::scope::find(change, &user(1))?.ok_or(StoreError::NotFound)?;
                crate::change::superseded(change, number, 1, id(2), "because", 2)?;
                Err(StoreError::ReadOnly)
            })
        },
        |held| {
            held.store.changed(|change, _, _| {
                let number = crate::scope::find(change, &user(1))?.ok_or(StoreError::NotFound)?;
                crate::change::removed(change, number, 1, "because", 2)?;
                Err(StoreError::ReadOnly)
            })
        },
        |held| {
            held.store.changed(|change, _, _| {
                let number = crate::scope::find(change, &user(1))?.ok_or(StoreError::NotFound)?;
                crate::change::deleted(change, number, 1)?;
                Err(StoreError::ReadOnly)
            })
        },
    ];
    for step in steps {
        assert!(step(&mut held).is_err());
        assert_eq!(held.found(&user(1), "before"), ["before"]);
        held = held.reopened();
        assert_eq!(held.listed(&user(1), 9, 0).len(), 1);
        assert_eq!(state(&held, 1), State::Current);
        holds_together(&held.store);
    }
}

#[test]
fn what_others_wrote_replaces_nothing_of_the_persons_own() {
    let mut held = Held::quick();
    held.write(&user(1), entry(1, "the person's own"));
    let mut other = entry(1, "planted");
    other.label.trust = Trust::Untrusted;
    let row = Row::new(other.clone(), Area::User, 2);
    let refused = held.store.restore(&user(1), (&scanned(other), &row), (Over::Replace, false), 9);
    assert!(matches!(refused, Err(StoreError::NotAdmitted(Admission::LessTrusted))), "{refused:?}");
    assert_eq!(held.found(&user(1), "own"), ["the person's own"]);
    let superseded = State::Superseded { by: id(7), at_ms: 3 };
    let row = Row { state: superseded, ..row };
    let refused = held.store.restore(&user(1), (&scanned(row.entry.clone()), &row), (Over::Merge, false), 9);
    assert!(matches!(refused, Err(StoreError::NotAdmitted(Admission::LessTrusted))), "{refused:?}");
    assert_eq!(state(&held, 1), State::Current);
    let row = Row::new(entry(1, "as it was"), Area::User, 2);
    let put = held.store.restore(&user(1), (&scanned(row.entry.clone()), &row), (Over::Replace, false), 9);
    assert_eq!(put.unwrap(), Some(id(1)));
    assert_eq!(held.found(&user(1), "was"), ["as it was"]);
    holds_together(&held.store);
}
