//! How long rows are kept, and how many: what goes by itself, and what never does.

use super::*;
use crate::limits::Limits;
use ipc_proto::memory::{Category, Fact, Importance, KindName, Manner, ObservationType};

const DAY: u64 = 86_400_000;

fn said(number: u8, content: &str) -> Entry {
    let kind = Kind::Episodic { role: Name::clip("user") };
    Entry { detail: Detail { kind, ..Detail::default() }, ..entry(number, content) }
}

fn fact(number: u8, key: &str) -> Entry {
    let kind = Kind::Semantic(Fact { category: Category::Fact, key: Text::clip(key), confidence: 1000 });
    Entry { detail: Detail { kind, ..Detail::default() }, ..entry(number, "v") }
}

fn contents(held: &Held) -> Vec<String> {
    held.listed(&user(1), 100, 0).into_iter().map(|row| row.entry.content.into_string()).collect()
}

#[test]
fn what_expires_is_gone_from_that_moment_and_an_episodic_row_expires_by_itself() {
    let mut held = Held::new();
    held.store.limits = Limits { episodic_days: 90, ..Limits::none() };
    let mut brief = entry(1, "brief");
    brief.detail.expires_ms = Some(500);
    held.write(&user(1), brief);
    held.write(&user(1), said(2, "said"));
    held.write(&user(1), entry(3, "note"));
    held.store.expire(499).unwrap();
    assert_eq!(contents(&held).len(), 3);
    held.store.expire(500).unwrap();
    assert_eq!(contents(&held), ["note", "said"]);
    held.store.expire(90 * DAY).unwrap();
    assert_eq!(contents(&held), ["note", "said"]);
    held.store.expire(90 * DAY + 1).unwrap();
    assert_eq!(contents(&held), ["note"]);
    assert!(held.found(&user(1), "said").is_empty());
    assert_eq!(held.write(&user(1), said(2, "said")), Admission::Taken, "it does not come back");
    holds_together(&held.store);
}

#[test]
fn the_oldest_episodic_row_of_an_owner_goes_for_the_next_and_a_fact_too_many_is_refused() {
    let mut held = Held::quick();
    held.store.limits = Limits { episodic: 2, semantic: 2, rows: 8, ..Limits::none() };
    held.write(&scope(1, Area::Global), said(1, "first"));
    held.write(&user(2), said(2, "of another"));
    for number in 3..=5 {
        assert_eq!(held.write(&user(1), said(number, &format!("said {number}"))), Admission::New);
    }
    assert_eq!(contents(&held), ["said 5", "said 4"]);
    assert!(held.listed(&scope(1, Area::Global), 9, 0).is_empty());
    assert_eq!(held.listed(&user(2), 9, 0).len(), 1);
    for (number, key, kept) in [
        (11, "a", Admission::New),
        (12, "b", Admission::New),
        (13, "c", Admission::Full),
        (14, "b", Admission::New),
    ] {
        assert_eq!(held.write(&user(1), fact(number, key)), kept, "{key}");
    }
    holds_together(&held.store);
}

#[test]
fn observations_and_what_no_longer_holds_go_with_time_and_notes_stay() {
    let mut held = Held::quick();
    held.store.limits = Limits { retention_days: 10, ..Limits::none() };
    held.write(&user(1), observed(1, "seen", "t"));
    held.write(&user(1), entry(2, "note"));
    held.write(&user(1), entry(3, "removed"));
    held.store.remove(&user(1), id(3), "", 5 * DAY).unwrap();
    held.store.tidy(10 * DAY).unwrap();
    assert_eq!(contents(&held).len(), 2);
    held.store.tidy(11 * DAY).unwrap();
    assert_eq!(contents(&held), ["note"]);
    assert!(held.store.read(&user(1), id(3)).unwrap().is_some());
    held.store.tidy(16 * DAY).unwrap();
    assert_eq!(held.store.read(&user(1), id(3)).unwrap(), None);
    holds_together(&held.store);
}

#[test]
fn a_database_at_its_size_lets_old_observations_go_and_never_a_note() {
    let mut held = Held::quick();
    held.write(&user(1), entry(1, &"note ".repeat(2000)));
    for number in 2..=120 {
        held.write(&user(1), observed(number, &format!("{number} {}", "seen ".repeat(2000)), "t"));
    }
    held.store.limits = Limits { bytes: 700_000, ..Limits::none() };
    assert_eq!(held.write(&user(1), entry(130, "x")), Admission::Full);
    held.store.tidy(9).unwrap();
    let left = held.listed(&user(1), 100, 0);
    assert!(left.iter().any(|row| row.entry.id == id(1)) && left.len() < 60, "{}", left.len());
    assert_eq!(held.write(&user(1), entry(130, "x")), Admission::New);
    holds_together(&held.store);
}

#[test]
fn every_filter_lets_through_what_it_says() {
    let mut held = Held::quick();
    let mut one = observed(1, "the tide table", "tide");
    one.tags = List::clip([Name::clip("Sea"), Name::clip("harbour")]);
    one.detail.importance = Importance::of(5);
    if let Kind::Observation(seen) = &mut one.detail.kind {
        seen.r#type = ObservationType::Decision;
        seen.files_read = List::clip([Text::clip("src/tide.rs")]);
    }
    held.store.insert(&user(1), &scanned(one.clone()), 10).unwrap();
    held.store.insert(&user(1), &scanned(tagged(2, "the tide turns", &["sea"])), 20).unwrap();
    held.store.insert(&user(1), &scanned(said(3, "the tide, said")), 30).unwrap();
    assert_eq!(held.store.read(&user(1), id(1)).unwrap().unwrap().entry, one);
    let none = Filter::default;
    let cases: [(Filter, &[u8]); 13] = [
        (none(), &[3, 2, 1]),
        (Filter { kinds: List::clip([KindName::Note, KindName::Episodic]), ..none() }, &[3, 2]),
        (Filter { types: List::clip([ObservationType::Decision]), ..none() }, &[1]),
        (Filter { types: List::clip([ObservationType::Bugfix]), ..none() }, &[]),
        (Filter { tags: List::clip([Name::clip("SEA"), Name::clip("harbour")]), ..none() }, &[1]),
        (Filter { any_tags: List::clip([Name::clip("x"), Name::clip("sea")]), ..none() }, &[2, 1]),
        (Filter { files: List::clip([Text::clip("x"), Text::clip("tide.rs")]), ..none() }, &[1]),
        (Filter { project: Some(Text::clip("/p")), ..none() }, &[1]),
        (Filter { session: Some(SessionId::from_bytes([2; 16])), ..none() }, &[2]),
        (Filter { importance: Some(4), ..none() }, &[1]),
        (Filter { importance_most: Some(4), ..none() }, &[3, 2]),
        (Filter { since_ms: Some(20), until_ms: Some(30), ..none() }, &[2]),
        (Filter { files: List::clip([Text::clip("%")]), ..none() }, &[]),
    ];
    for (filter, numbers) in cases {
        let ids: Vec<MemoryId> = numbers.iter().map(|number| id(*number)).collect();
        let listed = held.store.list(&user(1), &filter, 9, 0).unwrap();
        assert_eq!(listed.iter().map(|row| row.entry.id).collect::<Vec<_>>(), ids, "{filter:?}");
        let question = Question { filter: filter.clone(), ..question("tide", &[], 9) };
        for manner in [Manner::Words, Manner::Plain, Manner::Fused] {
            let found = held.store.find(&user(1), &Question { manner, ..question.clone() }, 1).unwrap();
            let mut found: Vec<MemoryId> = found.iter().map(|found| found.hit.row.entry.id).collect();
            found.sort_by_key(|id| std::cmp::Reverse(*id));
            assert_eq!(found, ids, "{manner:?} {filter:?}");
        }
    }
}

#[test]
fn an_index_that_is_built_anew_finds_the_same() {
    let mut held = Held::quick();
    held.write(&user(1), observed(1, "the tide table", "harbour"));
    held.write(&user(1), entry(2, "removed tide"));
    held.store.remove(&user(1), id(2), "", 5).unwrap();
    let plain = || Question { manner: Manner::Plain, ..question("harbour tide", &[], 9) };
    let before = held.store.find(&user(1), &plain(), 1).unwrap();
    held.store.reindex(&user(1)).unwrap();
    assert_eq!(held.store.find(&user(1), &plain(), 1).unwrap(), before);
    assert_eq!(before.len(), 1);
    holds_together(&held.store);
}
