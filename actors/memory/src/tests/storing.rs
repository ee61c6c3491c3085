//! Tests that written rows are found again, as they were written.

use super::*;
use ipc_proto::memory::{Importance, Source, SourceType, StateName};

// Holds P5-12.
#[test]
fn a_row_comes_back_as_it_was_written_with_its_label() {
    let mut held = Held::new();
    let mut written = tagged(1, "Anna's cat is called Mimi\0 \u{1f408}", &["pets", "Zoë \"x\""]);
    written.label = Label::of(Trust::Untrusted, Class::Sensitive, "web").join(&Label::of(
        Trust::User,
        Class::Public,
        "a",
    ));
    written.detail = Detail {
        kind: Kind::Note { key: Some(Text::clip("cat")) },
        source: Source {
            r#type: SourceType::AiInference,
            message: Some(Text::clip("m")),
            tool: Some(Name::clip("t")),
            external: true,
            row: Some(id(9)),
        },
        importance: Importance::of(5),
        project: Some(Text::clip("/p")),
        expires_ms: Some(u64::from(u32::MAX)),
    };
    let area = Area::Agent(Name::clip("helper"));
    let scope = scope(1, area.clone());
    assert_eq!(held.write(&scope, written.clone()), Admission::New);
    let held = held.reopened();
    let row = held.store.read(&scope, id(1)).unwrap().unwrap();
    assert_eq!((&row.entry, &row.area, row.created_ms), (&written, &area, 1));
    assert_eq!(held.listed(&scope, 10, 0), std::slice::from_ref(&row));
    assert_eq!(held.hits(&scope, "mimi", &[], 10)[0].row, row);
}

// Holds P7-16.
#[test]
fn the_same_write_twice_is_one_row_and_another_under_its_id_is_refused() {
    let mut held = Held::new();
    let mine = user(1);
    assert_eq!(held.write(&mine, entry(1, "one")), Admission::New);
    assert_eq!(held.write(&mine, entry(1, "one")), Admission::Already);
    assert_eq!(held.write(&mine, entry(1, "two")), Admission::Taken);
    assert_eq!(held.write(&mine, tagged(1, "one", &["tag"])), Admission::Taken);
    assert_eq!(held.write(&scope(1, Area::Global), entry(1, "one")), Admission::Taken);
    assert_eq!(held.listed(&mine, 10, 0).len(), 1);
    holds_together(&held.store);
}

// Holds P5-12.
#[test]
fn a_repeat_under_a_heavier_label_does_not_pass_for_the_row_that_is_kept() {
    let mut held = Held::new();
    held.write(&user(1), entry(1, "one"));
    let mut heavier = entry(1, "one");
    heavier.label.trust = Trust::Untrusted;
    assert_eq!(held.write(&user(1), heavier), Admission::Taken);
    let mut lighter = entry(1, "one");
    lighter.label = Label::bottom();
    assert_eq!(held.write(&user(1), lighter), Admission::Already);
    assert_eq!(held.store.read(&user(1), id(1)).unwrap().unwrap().entry.label, entry(1, "").label);
}

// Holds B-114.
#[test]
fn an_owner_has_at_most_so_many_rows_over_all_areas() {
    let mut held = Held::new();
    held.store.limits.rows = 2;
    for (number, area) in [(1, Area::User), (2, Area::Global)] {
        assert_eq!(held.write(&scope(1, area), entry(number, "x")), Admission::New);
    }
    assert_eq!(held.store.admit(&user(1), &scanned(entry(3, "x"))).unwrap(), Admission::Full);
    assert_eq!(held.write(&user(1), entry(3, "x")), Admission::Full);
    assert_eq!(held.write(&user(1), entry(1, "x")), Admission::Already);
    assert_eq!(held.write(&user(2), entry(3, "x")), Admission::New);
    held.purge(&user(1), id(1));
    assert_eq!(held.write(&user(1), entry(4, "x")), Admission::New);
}

#[test]
fn rows_are_listed_newest_first_by_pages() {
    let mut held = Held::new();
    for number in 1..=5 {
        held.write(&user(1), entry(number, &format!("row {number}")));
    }
    let ids = |limit, offset| -> Vec<MemoryId> {
        held.listed(&user(1), limit, offset).into_iter().map(|row| row.entry.id).collect()
    };
    assert_eq!(ids(2, 0), [id(5), id(4)]);
    assert_eq!(ids(10, 3), [id(2), id(1)]);
    assert_eq!(ids(10, u32::MAX), []);
    assert_eq!(ids(0, 0), []);
}

#[test]
fn words_are_found_by_stem_case_and_accent_best_first() {
    let mut held = Held::new();
    let rows = [
        "The café closes at eight",
        "She was remembering the garden",
        "the the the the",
        "A garden and a gardener's garden",
        "Nothing of this kind",
        "Ünter den Linden",
        "my e-mail is lost",
    ];
    for (number, content) in (1..).zip(rows) {
        held.write(&user(1), entry(number, content));
    }
    assert_eq!(held.found(&user(1), "CAFE"), [rows[0]]);
    assert_eq!(held.found(&user(1), "what did she remember?"), [rows[1]]);
    assert_eq!(held.found(&user(1), "garden"), [rows[3], rows[1]]);
    assert_eq!(held.found(&user(1), "the linden"), [rows[5]]);
    assert_eq!(held.found(&user(1), "mail")[0], rows[6]);
    assert!(held.found(&user(1), "absent").is_empty());
}

#[test]
fn words_that_nothing_has_find_what_begins_like_them() {
    let mut held = Held::new();
    let rows = ["photosynthesis in plants", "a telegraph"];
    held.write(&user(1), entry(1, rows[0]));
    held.write(&user(1), entry(2, rows[1]));
    for beginning in ["ph", "photos", "photosy", "photosynth", "PLA"] {
        assert_eq!(held.found(&user(1), beginning), [rows[0]], "{beginning}");
    }
    assert_eq!(held.found(&user(1), "pla tel").len(), 2);
    assert!(held.found(&user(1), "hotos").is_empty());
}

#[test]
fn tags_narrow_a_query_and_are_enough_without_words() {
    let mut held = Held::new();
    held.write(&user(1), tagged(1, "cat food", &["shopping", "Pets"]));
    held.write(&user(1), tagged(2, "cat toys", &["shopping"]));
    held.write(&user(1), tagged(3, "tea", &["pets"]));
    let ids = |words: &str, tags: &[&str]| -> Vec<MemoryId> {
        let tags: Vec<Name> = tags.iter().map(|tag| Name::clip(tag)).collect();
        let hits = held.hits(&user(1), words, &tags, 10);
        hits.into_iter().map(|hit| hit.row.entry.id).collect()
    };
    assert_eq!(ids("cat", &["pets"]), [id(1)]);
    assert_eq!(ids("cat", &["pets", "shopping"]), [id(1)]);
    assert_eq!(ids("cat", &["%"]), []);
    assert_eq!(ids("", &["pets"]), [id(3), id(1)]);
    assert_eq!(ids("", &[]), []);
    assert_eq!(ids("pets", &[]).len(), 2, "a tag is found as a word as well");
}

#[test]
fn a_snippet_shows_the_words_around_the_match_and_a_score_falls() {
    let mut held = Held::new();
    let long = format!("{} the needle is here {}", "hay ".repeat(500), "straw ".repeat(500));
    held.write(&user(1), entry(1, &long));
    held.write(&user(1), entry(2, "needle needle"));
    for number in 3..=20 {
        held.write(&user(1), entry(number, "nothing"));
    }
    let hits = held.hits(&user(1), "needle", &[], 10);
    assert_eq!(hits[0].snippet.as_str(), "[needle] [needle]");
    assert!(hits[1].snippet.contains("the [needle] is here"), "{}", hits[1].snippet.as_str());
    assert!(hits[1].snippet.starts_with('…') && hits[1].snippet.len() < 300);
    assert!(hits[0].score > hits[1].score && hits[1].score > 0, "{} {}", hits[0].score, hits[1].score);
}

#[test]
fn rows_by_others_replace_nothing_of_the_persons_own() {
    let keyed = |number, content: &str, trust| {
        let mut entry = entry(number, content);
        entry.label.trust = trust;
        entry.detail.kind = Kind::Note { key: Some(Text::clip("editor")) };
        entry
    };
    let mut held = Held::new();
    assert_eq!(held.write(&user(1), keyed(1, "a stranger's", Trust::Untrusted)), Admission::New);
    assert_eq!(held.write(&user(1), keyed(2, "the person's", Trust::User)), Admission::New);
    assert_eq!(
        held.write(&user(1), keyed(3, "a stranger's again", Trust::Untrusted)),
        Admission::NeedsPerson
    );
    assert_eq!(held.write(&user(1), keyed(4, "the person's new one", Trust::User)), Admission::New);
    let standing = held.listed(&user(1), 10, 0);
    assert_eq!(standing.iter().map(|row| row.entry.id).collect::<Vec<_>>(), [id(4)]);
}

// Holds P3-32.
#[test]
fn what_no_longer_holds_is_found_in_either_case_of_any_letter() {
    let mut held = Held::quick();
    for (number, content) in [(1, "Москва и ÄRGER"), (2, "Рим")] {
        held.write(&user(1), entry(number, content));
        held.store.remove(&user(1), id(number), "", 5).unwrap();
    }
    for words in ["москва", "МОСКВА", "ärger москва", "Ärger"] {
        let filter = Filter { state: StateName::Removed, ..Filter::default() };
        let asked = Question { filter, ..question(words, &[], 9) };
        let found = held.store.find(&user(1), &asked, 9).unwrap();
        assert_eq!(found.iter().map(|found| found.hit.row.entry.id).collect::<Vec<_>>(), [id(1)], "{words}");
    }
}
