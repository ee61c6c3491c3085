//! Tests of two owners over arbitrary operations with arbitrary text: one owner's answers do not depend on the other's
//! rows, ranking included, and no text is an error.

use super::*;
use crate::capture;
use crate::unread::FIRST;
use ipc_proto::memory::{BlockAsk, Capture, CaptureEvent, Category, Fact, Muted, Over, StateName};
use proptest::prelude::*;

#[derive(Clone, Debug)]
enum Operation {
    Write { id: u8, kind: u8, content: String, tags: Vec<String> },
    Restore { id: u8, content: String },
    Revise { old: u8, id: u8, content: String },
    Remove { id: u8 },
    Forget { what: u8, id: u8, words: String, purge: bool },
    Capture { ended: bool, call: String, text: String },
    Mute { words: String, mute: bool },
    Query { words: String, tags: Vec<String>, limit: u16, state: u8 },
    Read { id: u8 },
    List { words: String, limit: u16, offset: u32 },
    Timeline { id: Option<u8>, words: String },
    History { id: u8 },
    Sessions { words: String },
    Block { words: String },
    Propose { id: u8, content: String },
    Hold { id: u8, accepted: bool },
    Meet { id: u8, words: String, mine: bool },
    Stats,
    Reindex,
}

/// Words that both owners use, wildcards, quotes, operators, columns, other scripts, controls, and anything.
fn text() -> impl Strategy<Value = String> {
    let known = prop::sample::select(vec![
        "garden", "gardens", "cat", "mimi", "the", "what", "*", "%", "_", "\"", "''", "\"\"", "AND", "OR",
        "NOT", "NEAR(", "content:", "tags:", "rows_1", "words_1", "^", "{", "}", "(", ")", "-", "+", ":",
        ";--", "\\", "\0", "\u{202e}", "猫が好き", "ünïcödé", "e\u{301}", "\u{1f408}", "[", "]", "<b>",
        "ga*", "\"garden", "c'est", "null",
    ]);
    let piece = prop_oneof![8 => known.prop_map(str::to_owned), 1 => ".{0,6}", 1 => any::<String>()];
    prop::collection::vec(piece, 0..7).prop_map(|pieces| pieces.join(" "))
}

fn tags() -> impl Strategy<Value = Vec<String>> {
    prop::collection::vec(prop_oneof![Just("pets".to_owned()), Just("%".to_owned()), text()], 0..3)
}

fn operation() -> impl Strategy<Value = Operation> {
    use Operation::*;
    let id = || 0..12_u8;
    prop_oneof![
        6 => (id(), 0..4_u8, text(), tags())
            .prop_map(|(id, kind, content, tags)| Write { id, kind, content, tags }),
        4 => (text(), tags(), prop::sample::select(vec![0, 1, 3, 100, u16::MAX]), 0..8_u8)
            .prop_map(|(words, tags, limit, state)| Query { words, tags, limit, state }),
        1 => (id(), text()).prop_map(|(id, content)| Restore { id, content }),
        2 => (id(), id(), text()).prop_map(|(old, id, content)| Revise { old, id, content }),
        1 => id().prop_map(|id| Remove { id }),
        1 => (0..5_u8, id(), text(), any::<bool>())
            .prop_map(|(what, id, words, purge)| Forget { what, id, words, purge }),
        2 => (any::<bool>(), text(), text()).prop_map(|(ended, call, text)| Capture { ended, call, text }),
        1 => (text(), any::<bool>()).prop_map(|(words, mute)| Mute { words, mute }),
        1 => (id(), text()).prop_map(|(id, content)| Propose { id, content }),
        1 => (id(), any::<bool>()).prop_map(|(id, accepted)| Hold { id, accepted }),
        1 => (id(), text(), any::<bool>()).prop_map(|(id, words, mine)| Meet { id, words, mine }),
        1 => id().prop_map(|id| Read { id }),
        1 => (text(), any::<u16>(), 0..5_u32)
            .prop_map(|(words, limit, offset)| List { words, limit, offset }),
        1 => (prop::option::of(id()), text()).prop_map(|(id, words)| Timeline { id, words }),
        1 => id().prop_map(|id| History { id }),
        1 => text().prop_map(|words| Sessions { words }),
        1 => text().prop_map(|words| Block { words }),
        1 => Just(Stats),
        1 => Just(Reindex),
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

/// An entry of some kind, with words for its names.
fn some_entry(id: MemoryId, kind: u8, content: &str, tags: &[String]) -> Entry {
    let mut entry = match kind {
        0 => entry(0, content),
        1 => observed(0, content, "a title"),
        2 => {
            let mut entry = entry(0, content);
            entry.detail.kind = Kind::Note { key: Some(Text::clip(content)) };
            entry
        }
        3 => {
            let mut entry = entry(0, content);
            entry.detail.kind = Kind::Episodic { role: Name::clip("user") };
            entry
        }
        _ => {
            let mut entry = entry(0, content);
            let key = Text::clip("tide");
            entry.detail.kind = Kind::Semantic(Fact { category: Category::Fact, key, confidence: 500 });
            entry.label.trust = Trust::Untrusted;
            entry
        }
    };
    entry.id = id;
    entry.tags = List::clip(names(tags));
    entry
}

/// An owner's answer, as text, and the rows in it. Both owners use the same ids.
#[expect(clippy::too_many_lines, reason = "one arm an operation")]
fn perform(store: &mut Store, owner: u8, place: u8, operation: &Operation) -> (String, Vec<Row>) {
    let own = id;
    let scope = scope(owner, area(place));
    let of = |words: &str| Filter { any_tags: List::clip([Name::clip(words)]), ..Filter::default() };
    let admitted = |entry: Entry, old: Option<u8>| {
        let proposal = Proposal::of(entry).ok()?;
        let proposal = match old {
            Some(old) => proposal.instead_of(own(old), "because"),
            None => proposal,
        };
        proposal.judged(&passed()).ok()
    };
    let rows = match operation {
        Operation::Write { id, kind, content, tags } => {
            let scanned = admitted(some_entry(own(*id), *kind, content, tags), None);
            let written = scanned.map(|scanned| store.insert(&scope, &scanned, 9).unwrap());
            return (format!("{written:?}"), Vec::new());
        }
        Operation::Restore { id, content } => {
            let Some(scanned) = admitted(some_entry(own(*id), 0, content, &[]), None) else {
                return Default::default();
            };
            let row = Row::new(scanned.entry().clone(), scope.area.clone(), 3);
            let restored = store.restore(&scope, (&scanned, &row), (Over::Merge, false), 9);
            return (format!("{restored:?}"), Vec::new());
        }
        Operation::Revise { old, id, content } => {
            let scanned = admitted(some_entry(own(*id), 1, content, &[]), Some(*old));
            let written = scanned.map(|scanned| store.insert(&scope, &scanned, 9).unwrap());
            return (format!("{written:?}"), Vec::new());
        }
        Operation::Remove { id } => {
            return (format!("{:?}", store.remove(&scope, own(*id), "because", 9)), Vec::new());
        }
        Operation::Forget { what, id, words, purge } => {
            let what = match what {
                0 => Forget::Ids(List::clip([own(*id)])),
                1 => Forget::Project(Text::clip("/p")),
                2 => Forget::Session(SessionId::from_bytes([0; 16])),
                3 => Forget::Before(9),
                _ => Forget::Topic(Text::clip(words)),
            };
            let chosen = store.chosen(&scope, &what, *purge).unwrap();
            let ids: Vec<MemoryId> = chosen.rows.iter().map(|row| row.entry.id).collect();
            match purge {
                true => store.purge(&scope, &what, &ids, 9).unwrap(),
                false => store.entomb(&scope, &ids, "because", 9).unwrap(),
            }
            chosen.rows
        }
        Operation::Capture { ended, call, text } => {
            let output = Text::clip(&format!("{text} and enough words to be worth keeping them"));
            let event = match ended {
                true => CaptureEvent::Ended,
                false => CaptureEvent::Tool {
                    tool: Text::clip("Read"),
                    call: Text::clip(call),
                    title: Text::default(),
                    file: None,
                    output,
                },
            };
            let capture = Capture {
                client: Text::clip("c"),
                session: Text::clip("s"),
                project: Text::clip("/p"),
                event,
            };
            let seen = capture::seen(&scope, &capture, &capture::Ignored::default());
            let scanned = seen.and_then(|seen| admitted(seen.entry, None));
            return (format!("{:?}", store.take_down(&scope, &capture, scanned.as_ref(), 9)), Vec::new());
        }
        Operation::Mute { words, mute } => {
            store.mute(&scope, &Muted::Project(Text::clip(words)), *mute).unwrap();
            return (format!("{:?}", store.is_muted(&scope, Some("*"), None)), Vec::new());
        }
        Operation::Propose { id, content } => {
            let Some(scanned) = admitted(some_entry(own(*id), 4, content, &[]), None) else {
                return Default::default();
            };
            let proposed = store
                .changed(|change, limits, _| crate::proposing::proposed(change, limits, &scope, &scanned, 9));
            return (format!("{proposed:?}"), Vec::new());
        }
        Operation::Hold { id, accepted } => {
            let held = match accepted {
                true => store.accept(&scope, own(*id), 9),
                false => store.unremove(&scope, own(*id), 9),
            };
            return (format!("{held:?}"), Vec::new());
        }
        Operation::Meet { id, words, mine } => {
            let told = SessionRow { project: Text::clip(words), ..session(*id, SessionStatus::Active) };
            return (
                format!("{:?}", store.restore_session(&scope, &told, (Over::Replace, *mine, false))),
                Vec::new(),
            );
        }
        Operation::Query { words, tags, limit, state } => {
            let mut question = question(words, &names(tags), *limit);
            question.filter.state = match state {
                0 => StateName::Superseded,
                1 => StateName::Removed,
                _ => StateName::Current,
            };
            let found = store.find(&scope, &question, 1).unwrap();
            let rows = found.iter().map(|found| found.hit.row.clone()).collect();
            return (format!("{found:?}"), rows);
        }
        Operation::Read { id } => {
            let raw = store.raw(&scope, own(*id)).map(|raw| raw.text.into_string()).unwrap_or_default();
            return (raw, store.read_all(&scope, &[own(*id)]).unwrap());
        }
        Operation::List { words, limit, offset } => {
            store.list(&scope, &of(words), *limit, &Start::After(*offset)).unwrap()
        }
        Operation::Timeline { id, words } => {
            store.timeline(&scope, id.map(own), &of(words), (3, 3)).unwrap_or_default()
        }
        Operation::History { id } => store.history(&scope, own(*id)).unwrap_or_default(),
        Operation::Sessions { words } => {
            let all = store.sessions(&scope, None, 9, &Start::After(0)).unwrap();
            return (
                format!("{all:?}{:?}", store.sessions(&scope, Some(words), 9, &Start::After(0))),
                Vec::new(),
            );
        }
        Operation::Block { words } => {
            let ask = BlockAsk { words: Text::clip(words), ..BlockAsk::new(Some(Text::clip("/p")), None, 3) };
            return (format!("{:?}", store.block(&scope, &ask, 1).unwrap()), Vec::new());
        }
        Operation::Reindex => {
            store.reindex(&scope).unwrap();
            return (format!("{:?}", store.unread(&scope, true, FIRST).unwrap()), Vec::new());
        }
        Operation::Stats => return (format!("{:?}", store.stats(&scope).unwrap()), Vec::new()),
    };
    (format!("{rows:?}"), rows)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    // Holds P5-09.
    #[test]
    fn one_owner_is_answered_the_same_whether_or_not_there_is_another(
        operations in prop::collection::vec((1..=2_u8, 0..4_u8, operation()), 1..80),
    ) {
        let (mut both, mut alone) = (Held::quick(), Held::quick());
        for (owner, place, operation) in &operations {
            let (answer, rows) = perform(&mut both.store, *owner, *place, operation);
            for row in rows {
                prop_assert_eq!(&row.area, &area(*place));
            }
            if *owner == 1 {
                prop_assert_eq!(answer, perform(&mut alone.store, 1, *place, operation).0);
            }
        }
        holds_together(&both.store);
    }

    #[test]
    fn a_foreign_id_reads_changes_and_overwrites_nothing(content in "[a-z ]{1,20}z", other in "[a-z ]{1,20}z") {
        let mut held = Held::quick();
        held.write(&user(1), entry(1, &content));
        let before = held.store.read(&user(1), id(1)).unwrap();
        prop_assert_eq!(held.store.read(&user(2), id(1)).unwrap(), None);
        let revised = held.store.insert(&user(2), &revision(1, entry(2, &other), "mine now"), 5).unwrap();
        prop_assert_eq!(revised, Admission::Unknown);
        held.purge(&user(2), id(1));
        prop_assert!(held.store.remove(&user(2), id(1), "", 5).is_err());
        prop_assert!(held.store.raw(&user(2), id(1)).is_err() && held.store.history(&user(2), id(1)).is_err());
        held.store.distinct(&user(2), id(1)).unwrap();
        held.store.supersede(&user(2), (id(1), id(1)), "", 5).unwrap();
        prop_assert_eq!(held.store.read(&user(1), id(1)).unwrap(), before);
        prop_assert!(held.found(&user(2), &content).is_empty());
    }

    // Holds P5-11.
    #[test]
    fn an_id_is_free_for_one_owner_whatever_another_has(
        content in "[a-z ]{1,20}z", other in "[a-z ]{1,20}z", gone in any::<bool>(),
    ) {
        let mut held = Held::quick();
        held.write(&user(1), entry(1, &content));
        if gone {
            held.purge(&user(1), id(1));
        }
        prop_assert_eq!(held.write(&user(2), entry(1, &other)), Admission::New);
        let taken_in = entry(2, &other);
        held.write(&user(1), entry(2, &content));
        let row = Row::new(taken_in.clone(), Area::User, 3);
        let restored = held.store.restore(&user(2), (&scanned(taken_in), &row), (Over::Replace, false), 9).unwrap();
        prop_assert_eq!(restored, Some(id(2)));
        prop_assert_eq!(held.listed(&user(2), 9, 0).len(), 2);
        prop_assert_eq!(held.write(&scope(2, Area::Global), entry(1, &other)), Admission::Taken, "their own areas share ids");
        held.purge(&user(2), id(2));
        prop_assert_eq!(&*held.store.read(&user(1), id(2)).unwrap().unwrap().entry.content, &*content);
        holds_together(&held.store);
    }
}
