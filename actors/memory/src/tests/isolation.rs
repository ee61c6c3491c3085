//! Two owners over arbitrary operations with arbitrary text: what one is answered depends on the other in nothing,
//! ranking included, and no text is an error.

use super::*;
use crate::store::Doomed;
use ipc_proto::memory::{Found, Row};
use proptest::prelude::*;

#[derive(Clone, Debug)]
enum Operation {
    Write { area: u8, id: u8, content: String, tags: Vec<String> },
    Query { area: u8, words: String, tags: Vec<String>, limit: u16 },
    Read { area: u8, id: u8 },
    List { area: u8, limit: u16, offset: u32 },
    Delete { area: u8, id: u8 },
}

#[derive(Debug, PartialEq)]
enum Answer {
    Written(Option<Admission>),
    Found(Vec<Found>),
    Row(Option<Row>),
    Rows(Vec<Row>),
    Deleted(Doomed),
}

/// Words that both owners use, wildcards, quotes, operators, columns, other scripts, controls, and anything.
fn text() -> impl Strategy<Value = String> {
    let known = prop::sample::select(vec![
        "garden",
        "gardens",
        "cat",
        "mimi",
        "the",
        "what",
        "*",
        "%",
        "_",
        "\"",
        "''",
        "\"\"",
        "AND",
        "OR",
        "NOT",
        "NEAR(",
        "content:",
        "tags:",
        "rows_1",
        "words_1",
        "^",
        "{",
        "}",
        "(",
        ")",
        "-",
        "+",
        ":",
        ";--",
        "\\",
        "\0",
        "\u{202e}",
        "猫が好き",
        "ünïcödé",
        "e\u{301}",
        "\u{1f408}",
        "[",
        "]",
        "<b>",
        "ga*",
        "\"garden",
        "c'est",
        "null",
    ]);
    let piece = prop_oneof![8 => known.prop_map(str::to_owned), 1 => ".{0,6}", 1 => any::<String>()];
    prop::collection::vec(piece, 0..7).prop_map(|pieces| pieces.join(" "))
}

fn tags() -> impl Strategy<Value = Vec<String>> {
    prop::collection::vec(prop_oneof![Just("pets".to_owned()), Just("%".to_owned()), text()], 0..3)
}

fn operation() -> impl Strategy<Value = Operation> {
    let (area, id) = (0..4_u8, 0..12_u8);
    prop_oneof![
        4 => (area.clone(), id.clone(), text(), tags())
            .prop_map(|(area, id, content, tags)| Operation::Write { area, id, content, tags }),
        4 => (area.clone(), text(), tags(), prop::sample::select(vec![0, 1, 3, 100, u16::MAX]))
            .prop_map(|(area, words, tags, limit)| Operation::Query { area, words, tags, limit }),
        1 => (area.clone(), id.clone()).prop_map(|(area, id)| Operation::Read { area, id }),
        1 => (area.clone(), any::<u16>(), 0..5_u32)
            .prop_map(|(area, limit, offset)| Operation::List { area, limit, offset }),
        1 => (area, id).prop_map(|(area, id)| Operation::Delete { area, id }),
    ]
}

fn area(number: u8) -> Area {
    match number {
        0 => Area::User,
        1 => Area::Global,
        2 => Area::Agent(Name::clip("a")),
        _ => Area::Agent(Name::clip("b")),
    }
}

fn names(tags: &[String]) -> Vec<Name> {
    tags.iter().map(|tag| Name::clip(tag)).collect()
}

/// Ids of the two owners are apart, as random ids are; asking for the other's is a law of its own below.
fn perform(store: &mut Store, owner: u8, operation: &Operation) -> Answer {
    let own = |number: u8| id(owner * 100 + number);
    let place = |number: u8| scope(owner, area(number));
    match operation {
        Operation::Write { area, id, content, tags } => {
            let mut entry = entry(0, content);
            entry.id = own(*id);
            entry.tags = List::clip(names(tags));
            let written = Proposal::of(entry).ok().map(|proposal| {
                let scanned = proposal.judged(&passed(), Some(&passed())).unwrap();
                store.insert(&place(*area), &scanned, 9, 1).unwrap()
            });
            Answer::Written(written)
        }
        Operation::Query { area, words, tags, limit } => {
            let question = question(words, &names(tags), *limit);
            Answer::Found(store.find(&place(*area), &question, 1).unwrap())
        }
        Operation::Read { area, id } => Answer::Row(store.read(&place(*area), own(*id)).unwrap()),
        Operation::List { area, limit, offset } => {
            Answer::Rows(store.list(&place(*area), *limit, *offset).unwrap())
        }
        Operation::Delete { area, id } => {
            let doomed = store.doomed(&place(*area), own(*id)).unwrap();
            store.delete(&place(*area), own(*id), 2).unwrap();
            Answer::Deleted(doomed)
        }
    }
}

fn rows(answer: &Answer) -> Vec<&Row> {
    match answer {
        Answer::Found(found) => found.iter().map(|found| &found.hit.row).collect(),
        Answer::Rows(rows) => rows.iter().collect(),
        Answer::Row(row) => row.iter().collect(),
        Answer::Deleted(Doomed::Here(row)) => vec![row],
        Answer::Deleted(_) | Answer::Written(_) => Vec::new(),
    }
}

fn asked(operation: &Operation) -> Area {
    match operation {
        Operation::Write { area: number, .. }
        | Operation::Query { area: number, .. }
        | Operation::Read { area: number, .. }
        | Operation::List { area: number, .. }
        | Operation::Delete { area: number, .. } => area(*number),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn one_owner_is_answered_the_same_whether_or_not_there_is_another(
        operations in prop::collection::vec((1..=2_u8, operation()), 1..60),
    ) {
        let (mut both, mut alone) = (Held::quick(), Held::quick());
        for (owner, operation) in &operations {
            let answer = perform(&mut both.store, *owner, operation);
            for row in rows(&answer) {
                prop_assert_eq!(row.entry.id.bytes()[0] / 100, *owner);
                prop_assert_eq!(&row.area, &asked(operation));
            }
            if *owner == 1 {
                prop_assert_eq!(answer, perform(&mut alone.store, 1, operation));
            }
        }
        holds_together(&both.store);
    }

    #[test]
    fn a_foreign_id_reads_deletes_and_overwrites_nothing(content in "[a-z ]{1,20}z", other in "[a-z ]{1,20}z") {
        let mut held = Held::quick();
        held.write(&user(1), entry(1, &content));
        let before = held.store.read(&user(1), id(1)).unwrap();
        prop_assert_eq!(held.write(&user(2), entry(1, &other)), Admission::Taken);
        prop_assert_eq!(held.store.read(&user(2), id(1)).unwrap(), None);
        held.store.delete(&user(2), id(1), 5).unwrap();
        prop_assert_eq!(held.store.read(&user(1), id(1)).unwrap(), before);
        prop_assert!(held.found(&user(2), &content).is_empty());
    }
}
