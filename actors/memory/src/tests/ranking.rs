//! Tests of the order in which rows are found: the gain by the index in memory over words alone, and that it stays in
//! step with the rows.

use super::*;
use crate::library::Library;
use ipc_proto::ids::SessionId;
use ipc_proto::memory::Manner;

/// Says it in a session, on a day.
fn say(held: &mut Held, number: u8, session: u8, day: u64, speaker: &str, text: &str) {
    let mut entry = tagged(number, text, &[speaker]);
    entry.session = Some(SessionId::from_bytes([session; 16]));
    let written = held.store.insert(&user(1), &scanned(entry), day * 86_400_000).unwrap();
    assert_eq!(written, Admission::New);
}

fn talk() -> Held {
    let mut held = Held::quick();
    say(&mut held, 1, 1, 19_000, "Ida", "Where did you go last Friday?");
    say(&mut held, 2, 1, 19_000, "Ruben", "To the lighthouse, with the dog.");
    say(&mut held, 3, 1, 19_000, "Ida", "Nice.");
    say(&mut held, 4, 2, 19_030, "Ida", "I bought a cello yesterday.");
    say(&mut held, 5, 2, 19_030, "Ruben", "Congratulations!");
    say(&mut held, 6, 3, 19_060, "Tom", "The ferry was late again.");
    held
}

fn many(n: u64) -> MemoryId {
    MemoryId::from_bytes(u128::from(n).to_be_bytes())
}

fn ids(held: &Held, words: &str) -> Vec<MemoryId> {
    held.hits(&user(1), words, &[], 100).into_iter().map(|hit| hit.row.entry.id).collect()
}

fn by(held: &Held, words: &str, manner: Manner) -> Vec<MemoryId> {
    let question = Question { manner, ..question(words, &[], 20) };
    let found = held.store.find(&user(1), &question, 1).unwrap();
    found.into_iter().map(|found| found.hit.row.entry.id).collect()
}

#[test]
fn the_answer_is_found_beside_the_question_that_has_the_words() {
    let found = ids(&talk(), "Where did Ruben go on Friday?");
    assert_eq!(found[0], id(2));
    assert!(!found.contains(&id(6)), "another session has nothing of it");
}

// Holds P3-31.
#[test]
fn a_sentence_finds_the_rest_of_its_sessions_and_words_do_not() {
    let mut held = Held::quick();
    let said =
        ["The ferry leaves at noon.", "Plum.", "Fig.", "Pear.", "Quince.", "Medlar.", "Sloe.", "Damson."];
    for (number, said) in (1..).zip(said) {
        say(&mut held, number, 1, 19_000, "Ida", said);
    }
    say(&mut held, 20, 2, 19_000, "Tom", "Hazel.");
    assert_eq!(ids(&held, "when does the ferry leave?"), (1..=8).map(id).collect::<Vec<_>>());
    assert_eq!(ids(&held, "ferry"), (1..=4).map(id).collect::<Vec<_>>());
    let few = held.hits(&user(1), "when does the ferry leave?", &[], 6);
    assert_eq!(
        few.iter().map(|hit| hit.row.entry.id).collect::<Vec<_>>(),
        (1..=6).map(id).collect::<Vec<_>>()
    );
}

// Holds P5-19.
#[test]
fn neighbours_count_for_talk_and_not_for_observations() {
    for (is_talk, expected) in [(true, vec![id(1), id(2)]), (false, vec![id(1)])] {
        let mut held = Held::quick();
        for (number, text) in [(1, "the lamp is lit at dusk"), (2, "nothing of the kind")] {
            let mut entry = if is_talk { entry(number, text) } else { observed(number, text, "t") };
            entry.session = Some(SessionId::from_bytes([9; 16]));
            held.write(&user(1), entry);
        }
        assert_eq!(ids(&held, "lamp lit"), expected);
        // The index is the same whether it was built at once or told row by row.
        held.write(&user(1), entry(7, "another"));
        assert_eq!(ids(&held.reopened(), "lamp lit"), expected);
    }
}

#[test]
fn a_kind_finds_its_member_and_a_day_what_was_done_on_it() {
    let held = talk();
    assert_eq!(ids(&held, "Which instrument does Ida play?")[0], id(4));
    // The day before row 4 was said, and row 4 says "yesterday".
    assert_eq!(ids(&held, "What happened on 6 February 2022?")[0], id(4));
}

#[test]
fn it_is_said_of_each_row_why_it_was_found() {
    let held = talk();
    let question = Question { manner: Manner::Fused, ..question("When did Ida buy the cello?", &[], 5) };
    let found = held.store.find(&user(1), &question, 1).unwrap();
    let why = &found[0].why;
    assert_eq!((found[0].hit.row.entry.id, why.by_words), (id(4), Some(1)));
    assert!(why.named && why.answers && !why.dated && why.own > 0 && why.by_meaning.is_some());
}

#[test]
fn rows_are_found_within_times_and_tags_alone() {
    let held = talk();
    let narrowed = |since, until, tags: &[Name]| {
        let mut question = question("Ruben dog cello", tags, 20);
        (question.filter.since_ms, question.filter.until_ms) = (since, until);
        let found = held.store.find(&user(1), &question, 1).unwrap();
        found.into_iter().map(|found| found.hit.row.entry.id).collect::<Vec<_>>()
    };
    let second = Some(19_030 * 86_400_000);
    assert!(narrowed(None, None, &[]).len() > 3);
    assert_eq!(narrowed(second, None, &[Name::clip("ruben")]), [id(5)]);
    assert!(narrowed(None, second, &[]).iter().all(|found| [id(1), id(2), id(3)].contains(found)));
}

#[test]
fn a_misspelt_word_is_found_by_meaning_and_with_both_rankings() {
    let held = talk();
    for manner in [Manner::Meaning, Manner::Fused, Manner::Weighted] {
        assert_eq!(by(&held, "lighthuose", manner)[0], id(2), "{manner:?}");
    }
    assert_eq!(by(&held, "lighthouse", Manner::Plain), [id(2)]);
}

#[test]
fn an_updated_index_answers_like_a_new_one() {
    let mut held = talk();
    let questions =
        ["Where did Ruben go?", "Ida cello", "ferry", "Congratulations on the instrument", "Friday"];
    let answers = |held: &Held| -> Vec<Vec<Hit>> {
        questions.iter().map(|words| held.hits(&user(1), words, &[], 100)).collect()
    };
    answers(&held);
    for number in [2, 6] {
        held.purge(&user(1), id(number));
    }
    say(&mut held, 7, 1, 19_001, "Ruben", "We took the ferry home on Monday.");
    say(&mut held, 8, 3, 19_061, "Ida", "I play the cello to the dog.");
    let followed = answers(&held);
    held.store.library.replace(Library::new());
    assert_eq!(followed, answers(&held));
    assert!(followed.iter().flatten().all(|hit| hit.row.entry.id != id(2)));
}

// Holds B-136.
#[test]
fn a_large_index_is_built_over_several_questions() {
    let mut held = Held::quick();
    for n in 0..1500_u64 {
        let text = if n == 40 || n == 1490 { "the lighthouse" } else { "a ferry" };
        held.write(&user(1), Entry { id: many(n), ..entry(1, text) });
    }
    held.store.library.replace(Library::hurried());
    // The full-text index alone knows of no turns around a row.
    let by_index = |held: &Held| {
        let found = held.store.find(&user(1), &question("lighthouse", &[], 20), 1).unwrap();
        assert!(found.len() >= 2);
        found.iter().any(|found| found.why.around > 0)
    };
    assert!(!by_index(&held));
    held.store.remove(&user(1), many(41), "", 5).unwrap();
    held.write(&user(1), Entry { id: many(1500), ..entry(1, "a ferry to the harbour") });
    assert!(!by_index(&held));
    while held.store.library.borrow().growing() {
        by_index(&held);
    }
    assert!(by_index(&held));
    let answers = |held: &Held| ["harbour", "ferry lighthouse"].map(|words| ids(held, words));
    let grown = answers(&held);
    held.store.library.replace(Library::unhurried());
    assert_eq!(grown, answers(&held));
}

// Holds B-135.
#[test]
fn a_scope_too_large_for_memory_is_searched_by_the_full_text_index() {
    let held = talk();
    held.store.library.replace(Library::of_at_most(10));
    assert_eq!(ids(&held, "lighthouse"), [id(2)]);
    assert_eq!(held.store.library.borrow().held(), 0);
}

// Holds B-135.
#[test]
fn indexes_asked_longest_ago_make_room_and_are_built_again_when_asked() {
    /// The size of an index of this one row: the row, its five words, and a byte for the row by each.
    const ONE: usize = 80 + 5 * 113;
    let mut held = Held::quick();
    for owner in 1..=3_u8 {
        held.write(&user(owner), entry(owner, "a harbour of four words"));
    }
    held.store.library.replace(Library::of_at_most(2 * ONE + ONE / 2));
    for owner in [1, 2, 3, 1] {
        assert_eq!(held.found(&user(owner), "harbour").len(), 1);
        assert!(held.store.library.borrow().held() <= 2);
    }
}
