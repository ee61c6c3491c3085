//! Laws of an index as a whole.

use crate::{Index, Lexicon, Limits, Question, Turn, Vector};
use proptest::prelude::*;
use std::collections::HashSet;
use std::sync::{Arc, LazyLock};

const DAY_MS: u64 = 86_400_000;
static LEXICON: LazyLock<Arc<Lexicon>> = LazyLock::new(|| Arc::new(Lexicon::new()));

#[derive(Clone, Debug)]
struct Said {
    session: u8,
    speaker: &'static str,
    text: String,
}

fn turn<'a>(n: usize, said: &'a Said, tags: &'a [&'a str]) -> Turn<'a> {
    let day = u64::try_from(n).unwrap() + 19_000;
    let n = i64::try_from(n).unwrap();
    Turn { n, session: Some([said.session; 16]), time_ms: day * DAY_MS, tags, text: &said.text }
}

fn index(turns: &[Said]) -> Index {
    let mut index = Index::new(Arc::clone(&LEXICON));
    for (n, said) in turns.iter().enumerate() {
        index.add(turn(n, said, &[said.speaker]));
    }
    index
}

fn found(index: &Index, text: &str) -> Vec<(i64, f32)> {
    let question = Question::of(text, 19_100 * DAY_MS, index.lexicon());
    let limits = Limits { most: 100, ..Limits::default() };
    index.by_words(&question, &limits).into_iter().map(|scored| (scored.n, scored.score)).collect()
}

fn near(index: &Index, text: &str) -> Vec<i64> {
    index.by_code(&index.vector(text), &Limits { most: 100, ..Limits::default() })
}

fn text() -> impl Strategy<Value = String> {
    let known = [
        "garden", "guitar", "Ida", "went", "going", "yesterday", "May", "8th", "2022", "last", "week", "the",
        "when", "?", ".", "'s", "two", "ago", "猫が好き", "ünïcödé", "\0",
    ];
    let piece =
        prop_oneof![9 => prop::sample::select(known.to_vec()).prop_map(str::to_owned), 1 => any::<String>()];
    prop::collection::vec(piece, 0..9).prop_map(|pieces| pieces.join(" "))
}

fn said() -> impl Strategy<Value = Said> {
    let speaker = prop::sample::select(vec!["Ida", "Ruben", "the"]);
    (0..3_u8, speaker, text()).prop_map(|(session, speaker, text)| Said { session, speaker, text })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn rows_that_left_are_as_if_they_had_never_been_there(
        turns in prop::collection::vec(said(), 1..20),
        leave in prop::collection::vec(any::<bool>(), 20),
        question in text(),
    ) {
        let mut whole = index(&turns);
        let mut rest = Index::new(Arc::clone(&LEXICON));
        for ((n, said), leaves) in turns.iter().enumerate().zip(&leave) {
            if *leaves {
                whole.remove(turn(n, said, &[said.speaker]));
            } else {
                rest.add(turn(n, said, &[said.speaker]));
            }
        }
        prop_assert_eq!(whole.rows(), rest.rows());
        prop_assert_eq!(found(&whole, &question), found(&rest, &question));
        whole.renumber();
        prop_assert_eq!(found(&whole, &question), found(&rest, &question));
        prop_assert_eq!(near(&whole, &question), near(&rest, &question));
        // Places behind the last that is there may be given again.
        let last = turns.iter().zip(&leave).rposition(|(_, leaves)| !leaves).map_or(0, |last| last + 1);
        whole.add(turn(last, &turns[0], &[]));
        rest.add(turn(last, &turns[0], &[]));
        prop_assert_eq!(found(&whole, &question), found(&rest, &question));
    }

    #[test]
    fn any_question_finds_each_row_once_best_first_and_within_limits(
        turns in prop::collection::vec(said(), 0..20),
        question in text(),
        most in 0..12_usize,
    ) {
        let index = index(&turns);
        let all = found(&index, &question);
        prop_assert!(all.iter().all(|(_, score)| *score > 0.0 && score.is_finite()));
        prop_assert!(all.is_sorted_by(|one, other| (one.1, one.0) >= (other.1, other.0)));
        prop_assert_eq!(all.iter().map(|(n, _)| *n).collect::<HashSet<_>>().len(), all.len());
        let only: HashSet<i64> = [0, 2, 4].into();
        let since_ms = Some(19_001 * DAY_MS);
        let limits = Limits { most, only: Some(&only), since_ms, until_ms: Some(19_004 * DAY_MS) };
        let asked = Question::of(&question, 19_100 * DAY_MS, index.lexicon());
        let few = index.by_words(&asked, &limits);
        let want: Vec<i64> = all.iter().map(|(n, _)| *n).filter(|n| *n == 2).take(most).collect();
        prop_assert_eq!(few.iter().map(|scored| scored.n).collect::<Vec<_>>(), want);
        prop_assert!(index.by_code(&index.vector(&question), &limits).len() <= most);
    }
}

#[test]
fn a_free_place_is_reused_and_many_free_places_are_dropped() {
    let said = |text: &str| Said { session: 1, speaker: "Ida", text: text.to_owned() };
    let mut index = index(&[said("a harbour"), said("a lighthouse"), said("a ferry")]);
    let light = index.weight();
    for _ in 0..2 {
        for (n, text) in [(2, "a ferry"), (1, "a lighthouse")] {
            index.remove(turn(n, &said(text), &["Ida"]));
        }
        assert_eq!(found(&index, "lighthouse ferry"), []);
        for (n, text) in [(1, "a lighthouse"), (2, "a ferry")] {
            index.add(turn(n, &said(text), &["Ida"]));
        }
        assert_eq!(found(&index, "lighthouse").first().map(|found| found.0), Some(1));
    }
    for n in 3..5000 {
        index.add(turn(n, &said("a ferry"), &["Ida"]));
    }
    (3..5000).for_each(|n| index.remove(turn(n, &said("a ferry"), &["Ida"])));
    assert_eq!(index.rows(), 3);
    assert!(index.weight() < light + 2000 * 100, "{}", index.weight());
}

// Holds P5-26.
#[test]
fn the_best_by_meaning_are_the_same_with_a_first_pass_by_code_and_without() {
    let word = |number: usize| format!("w{}", number * 7919 % 1999);
    // Each subject has some rows that say it with one word changed.
    let of_subject = |subject: usize| (0..8).map(move |place| word(subject * 8 + place));
    let texts: Vec<String> = (0..2000_usize)
        .map(|n| {
            let changed =
                |(place, said): (usize, String)| if place == n / 250 { word(n + 5000) } else { said };
            of_subject(n % 250).enumerate().map(changed).collect::<Vec<_>>().join(" ")
        })
        .collect();
    let said = |text: &String| Said { session: 0, speaker: "Ida", text: text.clone() };
    let index = index(&texts.iter().map(said).collect::<Vec<_>>());
    for subject in [0, 17, 101, 249] {
        let asked = index.vector(&of_subject(subject).collect::<Vec<_>>().join(" "));
        let likeness = |n: i64| {
            let text = &texts[usize::try_from(n).unwrap()];
            Vector::of(text, index.lexicon()).likeness(&asked)
        };
        let best = |mut rows: Vec<i64>| {
            rows.sort_by(|one, other| likeness(*other).total_cmp(&likeness(*one)).then(other.cmp(one)));
            rows.truncate(8);
            rows
        };
        let near = index.by_code(&asked, &Limits { most: 128, ..Limits::default() });
        assert_eq!(best(near), best((0..2000).collect()), "{subject}");
    }
}

// Holds P3-30.
#[test]
fn a_misspelled_word_or_a_code_finds_what_is_like_it() {
    let say = |session, text: &str| Said { session, speaker: "Ida", text: text.to_owned() };
    let rows = index(&[
        say(0, "The new government moved to Bergen"),
        say(1, "Ticket SUP-10471 is about the printer"),
        say(2, "Tracked as BUG7781 since then"),
        say(0, "Nothing of the kind"),
    ]);
    for (asked, n) in [("goverment", 0), ("SUP10471", 1), ("bug 7781", 2)] {
        assert_eq!(found(&rows, asked).first().map(|(n, _)| *n), Some(n), "{asked}");
    }
    assert!(found(&rows, "7782").is_empty());
}

// Holds B-139.
#[test]
fn others_stand_in_for_four_terms_of_a_question_and_sixteen_for_each() {
    let say = |session, text: String| Said { session, speaker: "Ida", text };
    let endings = (b'a'..=b'z').map(|letter| format!("garden{0}{0}", char::from(letter)));
    let rows = index(&(0..).zip(endings).map(|(n, text)| say(n, text)).collect::<Vec<_>>());
    assert_eq!(found(&rows, "gardenqx").len(), 16);
    assert_eq!(found(&rows, "quincey medlark sorbus gardenqx").len(), 16);
    assert!(found(&rows, "quincey medlark sorbus rowanne gardenqx").is_empty());
}
