//! Tests of the age and number of rows: the rows that expire or make room, and those that never do.

use super::*;
use crate::error::StoreError;
use crate::limits::Limits;
use crate::unread::FIRST;
use ipc_proto::memory::{
    BEHIND, BlockAsk, Category, Fact, Importance, KindName, Manner, Muted, ObservationType, Over, Unread,
};

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

// Holds B-116.
#[test]
fn an_expired_row_is_gone_at_once_and_episodes_expire() {
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
    assert_eq!(held.write(&user(1), said(2, "said")), Admission::New, "what went by itself may come back");
    holds_together(&held.store);
}

// Holds B-115.
#[test]
fn the_oldest_episode_makes_room_and_a_fact_too_many_fails() {
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

// Holds B-116.
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

// Holds B-117.
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
        let listed = held.store.list(&user(1), &filter, 9, &Start::After(0)).unwrap();
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

/// A database in which nothing can be written, as on a full disk.
fn stuck(held: &Held, is_stuck: bool) {
    held.store.db.pragma_update(None, "query_only", if is_stuck { "ON" } else { "OFF" }).unwrap();
}

// Holds P7-25.
#[test]
fn reads_go_on_without_room_and_hide_expired_rows() {
    let mut held = Held::quick();
    let mut brief = observed(1, "the tide is brief", "tide");
    brief.detail.expires_ms = Some(500);
    held.write(&user(1), brief);
    held.write(&user(1), observed(2, "the tide stays", "tide"));
    let seen = |held: &mut Held, now_ms: u64| {
        held.store.expire_if_it_can(now_ms);
        let ids = |rows: Vec<Row>| rows.into_iter().map(|row| row.entry.id).collect::<Vec<_>>();
        let timeline = held.store.timeline(&user(1), Some(id(2)), &Filter::default(), (5, 5)).unwrap();
        let by = |manner| {
            let found = held.store.find(&user(1), &Question { manner, ..question("tide", &[], 9) }, now_ms);
            found.unwrap().into_iter().map(|found| found.hit.row).collect()
        };
        let answers = [
            held.listed(&user(1), 9, 0),
            held.store.read_all(&user(1), &[id(2), id(1)]).unwrap(),
            timeline,
            by(Manner::Words),
            by(Manner::Plain),
            by(Manner::Meaning),
        ];
        answers.map(|rows| ids(rows).len())
    };
    assert_eq!(seen(&mut held, 499), [2; 6]);
    stuck(&held, true);
    assert_eq!(seen(&mut held, 500), [1; 6]);
    assert!(held.store.is_stuck && held.store.history(&user(1), id(1)).is_err());
    assert!(held.store.raw(&user(1), id(1)).is_err());
    stuck(&held, false);
    assert_eq!(seen(&mut held, 500), [1; 6]);
    let left: i64 = held.store.db.query_row("SELECT count(*) FROM kept", [], |row| row.get(0)).unwrap();
    assert_eq!((left, held.store.is_stuck), (1, false), "it goes once it can");
    holds_together(&held.store);
}

// Holds P7-25.
#[test]
fn a_row_that_cannot_be_read_hides_no_other_and_goes_in_its_time_like_any() {
    let mut held = Held::quick();
    let mut broken = entry(1, "the broken tide");
    broken.detail.expires_ms = Some(500);
    held.write(&user(1), broken);
    held.write(&user(1), entry(2, "the whole tide"));
    assert_eq!(held.found(&user(1), "tide").len(), 2);
    held.store.db.execute("UPDATE kept SET sources = 'no list' WHERE n = 1", []).unwrap();
    held.store.expire_if_it_can(499);
    assert_eq!(contents(&held), ["the whole tide"]);
    assert_eq!(held.found(&user(1), "tide"), ["the whole tide"]);
    assert!(held.store.read(&user(1), id(1)).is_err(), "its own id says that it cannot be read");
    held.store.expire_if_it_can(500);
    assert!(!held.store.is_stuck);
    assert_eq!(held.store.read(&user(1), id(1)).unwrap(), None);
    assert_eq!(held.found(&user(1), "tide"), ["the whole tide"]);
}

// Holds P7-28, P7-29.
#[test]
fn unreadable_rows_are_counted_and_end_no_list() {
    let mut held = Held::quick();
    for number in 1..=250 {
        held.write(&user(1), entry(number, if number == 1 { "the tide of spring" } else { "the tide" }));
    }
    let broken = "UPDATE kept SET sources = 'no list' WHERE n BETWEEN 60 AND 175 OR n = 250";
    held.store.db.execute(broken, []).unwrap();
    // A body that is no text at all is one row's fault as well.
    held.store.db.execute("UPDATE kept SET body = CAST(x'ff' AS TEXT) WHERE n = 1", []).unwrap();
    let expected: Vec<MemoryId> = (2..60).chain(176..250).rev().map(id).collect();
    let (mut listed, mut pages) = (Vec::new(), Vec::new());
    while pages.last().is_none_or(|rows| *rows == 100) {
        let start = Start::Behind(List::clip(listed.iter().rev().take(BEHIND).copied()));
        let rows = held.store.list(&user(1), &Filter::default(), 100, &start).unwrap();
        listed.extend(rows.iter().map(|row| row.entry.id));
        pages.push(rows.len());
    }
    assert_eq!((&listed, pages), (&expected, vec![100, 32]), "a whole page, and the rest");
    let counted = (0..3).flat_map(|page| held.listed(&user(1), 100, page * 100));
    let counted: Vec<MemoryId> = counted.map(|row| row.entry.id).collect();
    assert_eq!(counted, expected, "each once");
    assert_eq!(held.store.timeline(&user(1), None, &Filter::default(), (1, 1)).unwrap().len(), 2);
    let unread = |owner, each| held.store.unread(&user(owner), each, FIRST).unwrap().0;
    assert_eq!(unread(1, false), Unread::default(), "nothing is looked at for it");
    assert_eq!(unread(2, true), Unread::default());
    let unread = unread(1, true);
    assert_eq!((unread.damaged, unread.rows, unread.first.len()), (false, 118, 50));
    assert_eq!(unread.first[..2], [id(1), id(60)]);
    assert!(!held.found(&user(1), "tide").is_empty());
    assert!(held.found(&user(1), "spring").is_empty(), "the row that is no text, and nothing else");
}

// Holds P7-29.
#[test]
fn a_list_goes_on_behind_what_is_still_here_of_what_was_listed() {
    let mut held = Held::quick();
    for number in 1..=9 {
        held.write(&user(1), entry(number, "the tide"));
    }
    held.write(&user(2), entry(101, "another's"));
    let begins = |held: &Held, ids: &[u8]| {
        let start = Start::Behind(List::clip(ids.iter().copied().map(id)));
        let rows = held.store.list(&user(1), &Filter::default(), 1, &start)?;
        Ok::<_, StoreError>(rows.first().map(|row| row.entry.id))
    };
    assert_eq!(begins(&held, &[9, 8, 7]).unwrap(), Some(id(6)));
    held.purge(&user(1), id(7));
    held.store.remove(&user(1), id(8), "", 5).unwrap();
    assert_eq!(begins(&held, &[9, 8, 7]).unwrap(), Some(id(6)), "behind a tombstone as well");
    assert_eq!(begins(&held, &[1]).unwrap(), None);
    for gone in [&[7][..], &[101]] {
        assert!(matches!(begins(&held, gone), Err(StoreError::NotFound)), "{gone:?}");
    }
}

// Holds P7-28.
#[test]
fn a_row_that_cannot_be_read_fails_no_block_and_no_reading_of_others() {
    let mut held = Held::quick();
    for (number, text) in [(1, "the broken tide"), (2, "the tide comes at six"), (3, "another broken tide")] {
        held.write(&user(1), entry(number, text));
    }
    held.store.db.execute("UPDATE kept SET project = CAST(x'ff' AS TEXT) WHERE n = 1", []).unwrap();
    held.store.db.execute("UPDATE kept SET sources = 'no list' WHERE n = 3", []).unwrap();
    let met = session(1, SessionStatus::Completed);
    assert!(held.store.restore_session(&user(1), &met, (Over::Skip, true, false)).unwrap());
    held.store.db.execute("UPDATE session SET project = CAST(x'ff' AS TEXT)", []).unwrap();
    assert_eq!(
        held.store.sessions(&user(1), None, 9, &Start::After(0)).unwrap()[0].project.as_str(),
        "\u{fffd}"
    );
    held.store.mute(&user(1), &Muted::Project(Text::clip("/muted")), true).unwrap();
    held.store.db.execute("UPDATE muted SET name = CAST(x'ff' AS TEXT)", []).unwrap();
    assert_eq!(held.store.stats(&user(1)).unwrap().muted[0].as_str(), "\u{fffd}");
    for only in [false, true] {
        let ask = BlockAsk { words: Text::clip("tide"), only, ..BlockAsk::new(None, None, 3) };
        let block = held.store.block(&user(1), &ask, 9).unwrap();
        assert!(block.text.contains("at six") && !block.text.contains("broken"), "{}", block.text.as_str());
    }
    let read = held.store.read_all(&user(1), &[id(3), id(2)]).unwrap();
    assert_eq!(read.iter().map(|row| row.entry.id).collect::<Vec<_>>(), [id(2)]);
    assert!(held.store.read_all(&user(1), &[id(3)]).is_err(), "its own id says that it cannot be read");
}

// Holds B-118.
#[test]
fn one_owner_cannot_use_up_what_another_has_a_share_of() {
    let mut held = Held::quick();
    held.store.limits = Limits { owner_bytes: 200_000, ..Limits::none() };
    let note = |number: u8| entry(number, &format!("{number} {}", "note ".repeat(4000)));
    held.write(&user(1), observed(1, &"seen ".repeat(4000), "t"));
    let refused = (2..50).find(|number| held.write(&user(1), note(*number)) != Admission::New).unwrap();
    assert_eq!(held.write(&user(1), note(refused)), Admission::ShareFull);
    assert_eq!(
        held.write(&scope(1, Area::Global), note(refused)),
        Admission::ShareFull,
        "the share is for all areas"
    );
    let named = Admission::ShareFull.refusal().unwrap().to_string();
    assert!(named.contains("memory.max_owner_mib"), "{named}");
    assert_eq!(held.write(&user(2), observed(101, "seen by another", "t")), Admission::New);
    held.store.tidy(9).unwrap();
    assert_eq!(held.store.read(&user(1), id(1)).unwrap(), None, "their own observations make room");
    assert_eq!(held.listed(&user(2), 9, 0).len(), 1, "and nobody else's");
    assert_eq!(held.write(&user(1), entry(200, "room again")), Admission::New);
    holds_together(&held.store);
}

// Holds B-118.
#[test]
fn of_a_full_database_whoever_has_most_makes_room() {
    let mut held = Held::quick();
    held.write(&user(2), observed(1, "the oldest of all", "t"));
    for number in 2..=120 {
        held.write(&user(1), observed(number, &format!("{number} {}", "seen ".repeat(2000)), "t"));
    }
    held.store.limits = Limits { bytes: 700_000, ..Limits::none() };
    held.store.tidy(9).unwrap();
    assert!(held.listed(&user(1), 100, 0).len() < 60);
    assert_eq!(held.listed(&user(2), 9, 0).len(), 1);
    holds_together(&held.store);
}
