//! Every field is honoured or refused by its name, with a memory that answers as each test says.

mod canned;

use crate::request::{Answer, Request};
use crate::store::Trouble;
use canned::CannedStore;
use ipc_proto::ids::{MemoryId, SessionId};
use ipc_proto::label::{Class, Label, Trust};
use ipc_proto::memory::{
    Answered, Area, Detail, Entry, Found, HITS, Hit, Kind, MemoryError, Observation, ObservationType, Over,
    Raw, Refusal, Row, SessionRow, SessionStatus, SourceType, Start, State, Unread, Why,
};
use ipc_proto::{List, Text};
use proptest::prelude::*;
use serde_json::{Map, Value, json};
use std::sync::Mutex;

fn row(title: &str) -> Row {
    let label = Label::of(Trust::Untrusted, Class::Internal, "control");
    let mut entry = Entry::new(MemoryId::random(), Text::clip("why it is so"), label);
    entry.detail.kind =
        Kind::Observation(Box::new(Observation { title: Text::clip(title), ..Observation::default() }));
    Row::new(entry, Area::User, 1_700_000_000_000)
}

fn found(count: usize) -> Answer {
    let rows = (0..count).map(|at| Found {
        hit: Hit { row: row(&format!("row {at}")), snippet: Text::clip("a [word]"), score: 1500 },
        why: Why::default(),
    });
    Answer::Found(Box::new(Answered::of(rows)))
}

/// The field that a refusal names.
fn refused(answer: &Value) -> &str {
    assert_eq!(answer["error"]["code"], "VALIDATION_ERROR", "{answer}");
    assert_eq!(answer["data"], Value::Null);
    assert!(answer["error"]["details"].get("valid").is_some(), "{answer}");
    answer["error"]["details"]["field"].as_str().unwrap()
}

/// A tool, arguments for it, and the field of them that is wrong.
type Wrong = (&'static str, Value, &'static str);

fn wrong_questions() -> Vec<Wrong> {
    let id = MemoryId::random().to_string();
    vec![
        ("mem-find", json!({}), "query"),
        ("mem-find", json!({ "query": 5 }), "query"),
        ("mem-find", json!({ "query": "q", "limit": 0 }), "limit"),
        ("mem-find", json!({ "query": "q", "limit": 51 }), "limit"),
        ("mem-find", json!({ "query": "q", "limit": 1.5 }), "limit"),
        ("mem-find", json!({ "query": "q", "limit": "5" }), "limit"),
        ("mem-find", json!({ "query": "q", "scope": "everybody" }), "scope"),
        ("mem-find", json!({ "query": "q", "types": "decision" }), "types"),
        ("mem-find", json!({ "query": "q", "types": ["decision", "guess"] }), "types[1]"),
        ("mem-find", json!({ "query": "q", "include": { "all": true } }), "include.all"),
        ("mem-find", json!({ "query": "q", "include": { "scores": "yes" } }), "include.scores"),
        ("mem-find", json!({ "query": "q", "cursor": "abc" }), "cursor"),
        ("mem-find", json!({ "query": "q", "project": "/etc" }), "project"),
        ("mem-history", json!({ "limit": 21 }), "limit"),
        ("mem-history", json!({ "anchor": "none" }), "anchor"),
        ("mem-history", json!({ "anchor": id, "depthBefore": 21 }), "depthBefore"),
        ("mem-history", json!({ "anchor": id, "cursor": "x" }), "cursor"),
        ("mem-get", json!({}), "ids"),
        ("mem-get", json!({ "ids": [] }), "ids"),
        ("mem-get", json!({ "ids": [id, "x"] }), "ids[1]"),
        ("mem-get", json!({ "ids": [id], "includeHistory": 1 }), "includeHistory"),
    ]
}

fn wrong_changes() -> Vec<Wrong> {
    let id = MemoryId::random().to_string();
    let long = "x".repeat(3000);
    let created = json!({ "title": "t", "type": "change", "narrative": "n" });
    let with = |name: &str, value: Value| {
        let mut created = created.clone();
        created[name] = value;
        created
    };
    vec![
        ("mem-create", json!({ "title": "t", "type": "change" }), "narrative"),
        ("mem-create", with("title", json!("  ")), "title"),
        ("mem-create", with("type", json!("hypothesis")), "type"),
        ("mem-create", with("importance", json!(6)), "importance"),
        ("mem-create", with("concepts", json!(vec!["c"; 17])), "concepts"),
        ("mem-create", with("files", json!([7])), "files[0]"),
        ("mem-create", with("concepts", json!(["gotcha", " "])), "concepts[1]"),
        ("mem-create", with("files", json!([""])), "files[0]"),
        ("mem-create", with("scope", json!("all")), "scope"),
        ("mem-create", with("trust", json!("user")), "trust"),
        ("mem-revise", json!({ "title": "t" }), "id"),
        ("mem-remove", json!({ "id": id, "reason": long }), "reason"),
        ("mem-export", json!({ "format": "xml" }), "format"),
        ("mem-export", json!({ "type": ["change"] }), "type"),
        ("mem-import", json!({}), "payload"),
        ("mem-import", json!({ "payload": "{" }), "payload"),
        ("mem-import", json!({ "payload": [] }), "payload"),
        ("mem-import", json!({ "payload": "[1]" }), "payload"),
        ("mem-import", json!({ "payload": { "memories": [["a"]] } }), "payload.memories[0]"),
        ("mem-import", json!({ "payload": { "summaries": [{ "id": " " }] } }), "payload.summaries[0].id"),
        ("mem-import", json!({ "payload": {}, "mode": "append" }), "mode"),
        ("mem-import", json!({ "payload": { "version": 2 } }), "payload.version"),
        (
            "mem-import",
            json!({ "payload": { "observations": [{ "id": "a" }, {}] } }),
            "payload.observations[1]",
        ),
        (
            "mem-import",
            json!({ "payload": { "observations": [{ "id": "a", "title": 5 }] } }),
            "payload.observations[0].title",
        ),
        (
            "mem-import",
            json!({ "payload": { "summaries": [{ "id": "a", "createdAt": "soon" }] } }),
            "payload.summaries[0].createdAt",
        ),
        (
            "mem-import",
            json!({ "payload": { "observations": [{ "id": "a", "importance": 9 }] } }),
            "payload.observations[0].importance",
        ),
        ("mem-maintenance", json!({ "action": "clean" }), "action"),
        ("mem-help", json!({ "topic": "x" }), "topic"),
    ]
}

// Holds P3-22.
#[test]
fn a_wrong_field_is_refused_by_name_with_what_is_valid_and_asks_no_memory() {
    for (tool, given, field) in wrong_questions().into_iter().chain(wrong_changes()) {
        let store = CannedStore::of([]);
        assert_eq!(refused(&store.call(tool, &given)), field, "{tool} {given}");
        assert_eq!(store.asked(), [], "{tool} {given}");
    }
}

#[test]
fn a_client_without_a_project_is_told_that_it_has_none() {
    let store = CannedStore { answers: Mutex::new([Ok(found(0))].into()), ..CannedStore::default() };
    let answer = store.call("mem-find", &json!({ "query": "q", "scope": "project" }));
    assert_eq!(refused(&answer), "scope");
    assert_eq!(answer["error"]["details"]["valid"], json!(["user", "all"]));
    assert_eq!(store.call("mem-find", &json!({ "query": "q" }))["error"], Value::Null);
    let asked_for = store.asked();
    let [Request::Find(question)] = asked_for.as_slice() else { panic!("another question") };
    assert_eq!(question.filter.project, None);
}

// Holds P3-22.
#[test]
fn every_option_of_a_search_reaches_memory_and_a_cursor_fits_one_question() {
    let store = CannedStore::of([found(5), found(5), found(0)]);
    let asked = json!({ "query": "a b", "types": ["decision", "bugfix"], "scope": "user", "limit": 2,
        "include": { "snippets": false, "scores": true, "relations": true } });
    let first = store.call("mem-find", &asked);
    let results = first["data"]["results"].as_array().unwrap();
    assert_eq!((results.len(), &results[0]["title"], &results[0]["rank"]), (2, &json!("row 0"), &json!(1)));
    assert!(results[0].get("snippet").is_none() && results[0]["score"] == 1.5, "{first}");
    assert!(results[0]["relations"].is_object());
    let asked_for = store.asked();
    let [Request::Find(question)] = asked_for.as_slice() else { panic!("another question") };
    assert_eq!(*question.filter.types, [ObservationType::Decision, ObservationType::Bugfix]);
    assert_eq!((question.filter.project.as_deref(), question.limit), (Some(""), 3));

    let mut next = asked.clone();
    next["cursor"] = first["meta"]["nextCursor"].clone();
    let second = store.call("mem-find", &next);
    assert_eq!(second["data"]["results"][0]["title"], "row 2", "{second}");
    for (name, value) in [
        ("query", json!("a c")),
        ("types", json!(["decision"])),
        ("scope", json!("all")),
        ("include", json!({})),
    ] {
        let mut other = next.clone();
        other[name] = value;
        assert_eq!(refused(&store.call("mem-find", &other)), "cursor", "{name}");
    }
    let mut fewer = next;
    fewer["limit"] = json!(1);
    assert_eq!(store.call("mem-find", &fewer)["error"], Value::Null, "how many are wanted may change");
}

// Holds P3-26.
#[test]
fn a_query_of_any_length_is_asked_by_its_beginning_and_the_answer_says_so() {
    let store = CannedStore::of([found(1), found(1)]);
    let long = store.call("mem-find", &json!({ "query": "lämp ".repeat(2000) }));
    assert_eq!(long["error"], Value::Null, "{long}");
    assert!(long["meta"]["notes"][0].as_str().unwrap().contains("2048 bytes"), "{long}");
    let short = store.call("mem-find", &json!({ "query": "ä".repeat(1024) }));
    assert_eq!(short["meta"]["notes"], Value::Null, "{short}");
    let asked: Vec<usize> = store
        .asked()
        .iter()
        .map(|ask| if let Request::Find(it) = ask { it.words.len() } else { 0 })
        .collect();
    assert!((2040..=2048).contains(&asked[0]) && asked[1] == 2048, "{asked:?}");
}

/// A client may check arguments by the schema that it was given: what passes there is not too long for the tool.
// Holds P3-25.
#[test]
fn no_schema_lets_through_what_is_refused_as_too_long_by_another_measure() {
    for tool in &crate::catalogue::TOOLS {
        let schema = Value::Object(tool.schema()).to_string();
        assert!(!schema.contains("maxLength"), "{}: characters are no bytes", tool.name);
    }
    for (field, value) in [("title", json!("ü".repeat(101))), ("concepts", json!(["ü".repeat(33)]))] {
        let mut created = json!({ "title": "t", "type": "change", "narrative": "n" });
        created[field] = value;
        let refused = CannedStore::of([]).call("mem-create", &created);
        assert!(refused["error"]["details"]["valid"].to_string().contains("bytes"), "{refused}");
        assert_eq!(refused["error"]["code"], "VALIDATION_ERROR", "{refused}");
    }
}

// Holds B-130.
#[test]
fn a_search_ends_at_a_hundred_results() {
    let store = CannedStore::of([found(51), found(100)]);
    let first = store.call("mem-find", &json!({ "query": "q", "limit": 50 }));
    let cursor = first["meta"]["nextCursor"].clone();
    let last = store.call("mem-find", &json!({ "query": "q", "limit": 50, "cursor": cursor }));
    assert_eq!(last["data"]["results"].as_array().map(Vec::len), Some(50));
    assert!(last["meta"].get("nextCursor").is_none(), "{last}");
}

#[test]
fn what_a_model_keeps_is_its_own_conclusion_and_reasons_are_not_lost() {
    let (kept, new) = (row("before"), MemoryId::random());
    let id = kept.entry.id.to_string();
    let rows = || Answer::Rows(List::clip([kept.clone()]));
    let store = CannedStore::of([Answer::Id(new), rows(), Answer::Id(new), rows(), Answer::Done, rows()]);
    let created = json!({ "title": "t", "type": "decision", "narrative": "n", "concepts": ["c"], "files": ["f"],
        "importance": 5 });
    assert_eq!(store.call("mem-create", &created)["data"]["id"], new.to_string());
    let revised = store.call("mem-revise", &json!({ "id": id, "title": "after", "reason": "it moved" }));
    assert_eq!(revised["data"], json!({ "id": new.to_string(), "revisionOf": id }));
    let removed = store.call("mem-remove", &json!({ "id": id, "reason": "wrong" }));
    assert_eq!(removed["data"]["removed"], true);
    let same = store.call("mem-revise", &json!({ "id": id, "title": "before" }));
    assert_eq!(same["error"]["code"], "VALIDATION_ERROR", "nothing would be different: {same}");

    let asked = store.asked();
    let Request::Write(entry) = &asked[0] else { panic!("{asked:?}") };
    let Kind::Observation(seen) = &entry.detail.kind else { panic!("{asked:?}") };
    assert_eq!(
        (seen.title.as_str(), seen.r#type, seen.files_modified.len()),
        ("t", ObservationType::Decision, 1)
    );
    assert_eq!((entry.detail.importance.get(), entry.detail.project.as_deref()), (5, Some("/srv/p")));
    assert!(entry.detail.source.external && entry.detail.source.r#type == SourceType::AiInference);
    let Request::Revise { id: old, entry, reason } = &asked[2] else { panic!("{asked:?}") };
    assert_eq!((*old, reason.as_str(), entry.content.as_str()), (kept.entry.id, "it moved", "why it is so"));
    let Request::Remove { reason, .. } = &asked[4] else { panic!("{asked:?}") };
    assert_eq!(reason.as_str(), "wrong");
}

#[test]
fn a_revised_row_conflicts_and_names_the_newest_and_a_removed_one_is_gone() {
    let newest = row("revised twice");
    let between = Row { state: State::Superseded { by: newest.entry.id, at_ms: 2 }, ..row("revised") };
    let superseded = Row { state: State::Superseded { by: between.entry.id, at_ms: 1 }, ..row("a") };
    let removed = Row { state: State::Removed { at_ms: 1 }, ..row("b") };
    for (tool, extra) in [("mem-revise", json!({ "title": "c" })), ("mem-remove", json!({}))] {
        for (row, code) in
            [(Some(&superseded), "CONFLICT"), (Some(&removed), "NOT_FOUND"), (None, "NOT_FOUND")]
        {
            let history = [superseded.clone(), between.clone(), newest.clone()];
            let store =
                CannedStore::of([Answer::Rows(List::clip(row.cloned())), Answer::Rows(List::clip(history))]);
            let mut given = extra.clone();
            given["id"] = json!(superseded.entry.id.to_string());
            let answer = store.call(tool, &given);
            assert_eq!(answer["error"]["code"], code, "{tool} {answer}");
            let current = &answer["error"]["details"]["current"];
            assert!(code != "CONFLICT" || *current == newest.entry.id.to_string(), "{answer}");
        }
    }
}

#[test]
fn rows_are_read_with_their_history_and_those_that_are_not_here_are_named() {
    let (row, other) = (row("a"), MemoryId::random());
    let rows = || Answer::Rows(List::clip([row.clone()]));
    let store = CannedStore::of([rows(), rows(), Answer::Rows(List::default())]);
    let id = row.entry.id.to_string();
    let given = json!({ "ids": [id, id, other.to_string()], "includeHistory": true });
    let answer = store.call("mem-get", &given);
    assert_eq!(answer["data"]["observations"][0]["history"][0]["id"], id);
    assert_eq!(answer["data"]["missing"], json!([other.to_string()]));
    assert_eq!(store.asked()[1], Request::History(row.entry.id));
    let none = store.call("mem-get", &json!({ "ids": [other.to_string()] }));
    assert_eq!(none["error"]["code"], "NOT_FOUND");
    let fewer =
        CannedStore::of([rows()]).call("mem-get", &json!({ "ids": [id, other.to_string()], "limit": 1 }));
    assert_eq!(fewer["meta"]["omitted"], json!([other.to_string()]));
}

// Holds P7-30.
#[test]
fn sessions_have_their_summaries_and_one_by_name_has_its_memories() {
    let summary = Row {
        entry: Entry {
            detail: Detail { kind: Kind::Summary(Box::default()), ..Detail::default() },
            ..row("a").entry
        },
        ..row("a")
    };
    let session = SessionRow {
        id: SessionId::random(),
        client: Text::clip("opencode"),
        name: Text::clip("ses_1"),
        project: Text::clip("/srv/p"),
        started_ms: 1_700_000_000_000,
        ended_ms: None,
        status: SessionStatus::Idle,
        observations: 3,
        summary: Some(summary.entry.id),
        muted: false,
    };
    let sessions = || Answer::Sessions(List::clip([session.clone(), session.clone()]));
    let rows = || Answer::Rows(List::clip([summary.clone()]));
    let store = CannedStore::of([sessions(), rows(), sessions(), rows()]);
    let listed = store.call("mem-history", &json!({ "limit": 1 }));
    let told = &listed["data"]["sessions"][0];
    assert_eq!(told["session"]["startedAt"], "2023-11-14T22:13:20.000Z", "{listed}");
    assert_eq!((&told["session"]["endedAt"], &told["session"]["status"]), (&Value::Null, &json!("idle")));
    assert_eq!((&told["summary"]["summary"], &told["observationCount"]), (&json!("why it is so"), &json!(3)));
    assert!(listed["meta"]["nextCursor"].is_string(), "there is another");
    let one = store.call("mem-history", &json!({ "sessionId": "ses_1" }));
    assert_eq!(one["data"]["observations"][0]["id"], summary.entry.id.to_string(), "{one}");
    let Request::List { filter, .. } = &store.asked()[3] else { panic!("another question") };
    assert_eq!(filter.session, Some(session.id));
    let next = json!({ "limit": 1, "cursor": listed["meta"]["nextCursor"] });
    let store = CannedStore::of([Answer::Sessions(List::default())]);
    assert_eq!(store.call("mem-history", &next)["data"]["sessions"], json!([]));
    let Request::Sessions { start, .. } = &store.asked()[0] else { panic!("another question") };
    assert_eq!(*start, Start::Behind(List::clip([session.id])), "whatever came since");
    let gone = CannedStore { place: store.place.clone(), ..CannedStore::default() };
    gone.answers.lock().unwrap().push_back(Err(Trouble::Memory(MemoryError::NotFound)));
    assert_eq!(refused(&gone.call("mem-history", &next)), "cursor");
}

// Holds P3-37.
#[test]
fn a_missing_session_or_anchor_is_refused_and_a_name_is_sought_among_all() {
    let gone = || Err(Trouble::Memory(MemoryError::NotFound));
    let none = || Ok(Answer::Rows(List::default()));
    let told = |answers: Vec<Result<Answer, Trouble>>| CannedStore {
        answers: Mutex::new(answers.into()),
        ..CannedStore::default()
    };
    let session = |name: &str| SessionRow {
        id: SessionId::random(),
        client: Text::clip("opencode"),
        name: Text::clip(name),
        project: Text::default(),
        started_ms: 1,
        ended_ms: None,
        status: SessionStatus::Idle,
        observations: 0,
        summary: None,
        muted: false,
    };
    let page = |sessions: Vec<SessionRow>| Ok(Answer::Sessions(List::clip(sessions)));
    let foreign = SessionId::random().to_string();
    for more in [json!({}), json!({ "depthBefore": 1 })] {
        let mut asked = more;
        asked["sessionId"] = json!(foreign);
        let refusal = told(vec![gone(), page(vec![]), none(), gone()]).call("mem-history", &asked);
        assert_eq!(refusal["error"]["code"], "NOT_FOUND", "{refusal}");
        assert_eq!(refusal["error"]["details"]["id"], foreign, "{refusal}");
    }
    let old = session("old");
    let newer: Vec<SessionRow> = (0..HITS).map(|_| session("newer")).collect();
    let store = told(vec![page(newer), page(vec![old.clone()]), none(), page(vec![old.clone()])]);
    let shown = store.call("mem-history", &json!({ "sessionId": "old" }));
    assert_eq!(shown["data"]["observations"], json!([]), "{shown}");
    let Request::List { filter, .. } = &store.asked()[2] else { panic!("another question") };
    assert_eq!(filter.session, Some(old.id));

    let anchor = row("of no session");
    let asked = json!({ "anchor": anchor.entry.id.to_string() });
    let refusal = told(vec![gone()]).call("mem-history", &asked);
    assert_eq!(refusal["error"]["details"]["id"], asked["anchor"], "{refusal}");
    let store = told(vec![page(vec![old.clone()]), Ok(Answer::Rows(List::clip([anchor])))]);
    let both = json!({ "anchor": asked["anchor"], "sessionId": old.id.to_string() });
    assert_eq!(refused(&store.call("mem-history", &both)), "anchor");
}

// Holds P3-40.
#[test]
fn an_export_comes_back_with_its_ids_its_mode_and_each_row_s_source_text() {
    let row = Row { revises: Some(MemoryId::random()), ..row("a") };
    let raw = Answer::Raw(Raw { text: Text::clip("output"), label: row.entry.label.clone() });
    let none = || Answer::Rows(List::default());
    let out = CannedStore::of([
        Answer::Rows(List::clip([row.clone()])),
        raw,
        none(),
        none(),
        Answer::Unread(Unread::default()),
    ]);
    let payload = out.call("mem-export", &json!({ "type": "discovery" }))["data"]["payload"].clone();
    assert_eq!(payload["observations"][0]["rawToolOutput"], "output", "{payload}");
    for (mode, over, field) in [
        ("skip", Over::Skip, "skipped"),
        ("merge", Over::Merge, "merged"),
        ("replace", Over::Replace, "replaced"),
    ] {
        let here = Answer::Rows(List::clip([row.clone()]));
        let taken = Answer::Restored(Some(row.entry.id).filter(|_| over != Over::Skip));
        let store = CannedStore::of([here, taken]);
        let answer = store.call("mem-import", &json!({ "payload": payload.to_string(), "mode": mode }));
        assert_eq!(answer["data"][field], 1, "{answer}");
        let Request::Restore(put) = &store.asked()[1] else { panic!("{answer}") };
        let (put, raw, with, mine) = (&put.row, &put.raw, put.over, put.mine);
        assert_eq!((put.entry.id, put.revises, raw.as_str()), (row.entry.id, row.revises, "output"));
        assert_eq!((with, mine, put.created_ms), (over, false, row.created_ms));
    }
}

// Holds P7-28.
#[test]
fn an_export_counts_the_rows_it_lacks_and_those_without_their_source_text() {
    let none = || Ok(Answer::Rows(List::default()));
    let away = |error| Err(Trouble::Memory(error));
    let unread = |damaged, rows| Ok(Answer::Unread(Unread { damaged, rows, ..Unread::default() }));
    for (raw, unread, unreadable, without_raw) in [
        (MemoryError::Damaged, unread(true, 3), json!(3), json!(1)),
        (MemoryError::Storage, unread(false, 1), json!(1), json!(1)),
        (MemoryError::Storage, unread(false, 0), Value::Null, json!(1)),
        (MemoryError::Damaged, unread(true, 0), json!(0), json!(1)),
    ] {
        let rows = Ok(Answer::Rows(List::clip([row("a")])));
        let store = CannedStore {
            answers: Mutex::new([rows, away(raw), none(), none(), unread].into()),
            ..CannedStore::default()
        };
        let answer = store.call("mem-export", &json!({}));
        assert_eq!(answer["data"]["payload"]["observations"].as_array().map(Vec::len), Some(1), "{answer}");
        assert_eq!(
            (&answer["meta"]["unreadable"], &answer["meta"]["withoutRaw"]),
            (&unreadable, &without_raw),
            "{answer}"
        );
        assert_eq!(store.asked().last(), Some(&Request::Unread { each: true }));
    }
}

/// Behind what the last list that was asked for was to begin.
fn behind(store: &CannedStore) -> Vec<MemoryId> {
    let asked = store.asked();
    let starts = asked.iter().rev().find_map(|ask| match ask {
        Request::List { start: Start::Behind(rows), .. } => Some(rows.to_vec()),
        _ => None,
    });
    starts.unwrap()
}

// Holds P7-29.
#[test]
fn a_list_goes_on_behind_the_rows_that_were_given_and_not_by_their_number() {
    let none = || Ok(Answer::Rows(List::default()));
    let given = [row("a"), row("b"), row("c")];
    let [first, second, third] = given.clone().map(|row| row.entry.id);
    let raw = || Ok(Answer::Raw(Raw { text: Text::default(), label: given[0].entry.label.clone() }));
    let page = |rows: &[Row]| Ok(Answer::Rows(List::clip(rows.iter().cloned())));
    let gone = || Err(Trouble::Memory(MemoryError::NotFound));
    let told = |answers: Vec<Result<Answer, Trouble>>| CannedStore {
        answers: Mutex::new(answers.into()),
        ..CannedStore::default()
    };

    let store = told(vec![page(&given[..2]), gone(), raw()]);
    let exported = store.call("mem-export", &json!({ "limit": 2 }));
    let ids = |answer: &Value| {
        let rows = answer["data"]["payload"]["observations"].as_array().unwrap().clone();
        rows.iter().map(|row| row["id"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(
        ids(&exported),
        [second.to_string()],
        "what was forgotten since it was listed is in no document"
    );
    let next = json!({ "cursor": exported["meta"]["nextCursor"] });
    let store = told(vec![page(&given[2..]), raw(), none(), none(), Ok(Answer::Unread(Unread::default()))]);
    let rest = store.call("mem-export", &next);
    assert_eq!((ids(&rest), &rest["meta"]["nextCursor"]), (vec![third.to_string()], &Value::Null), "{rest}");
    let Request::List { start, .. } = &store.asked()[0] else { panic!("{rest}") };
    assert_eq!(start, &Start::Behind(List::clip([first, second])));
    assert_eq!(behind(&store), [], "the next state is read from its beginning");
    assert_eq!(
        refused(&told(vec![gone()]).call("mem-export", &next)),
        "cursor",
        "nothing is left to go on behind"
    );

    let session = json!({ "sessionId": SessionId::from_bytes([7; 16]).to_string(), "limit": 1 });
    let sessions = || Ok(Answer::Sessions(List::default()));
    let shown = told(vec![sessions(), page(&given[..2])]).call("mem-history", &session);
    assert_eq!(shown["data"]["observations"][0]["id"], first.to_string(), "{shown}");
    let mut next = session;
    next["cursor"] = shown["meta"]["nextCursor"].clone();
    let store = told(vec![sessions(), page(&given[1..])]);
    let shown = store.call("mem-history", &next);
    assert_eq!(
        (&shown["data"]["observations"][0]["id"], behind(&store)),
        (&json!(second.to_string()), vec![first])
    );
}

#[test]
fn faults_of_memory_and_of_the_host_have_the_codes_of_the_contract() {
    let current = MemoryId::random();
    for (trouble, code) in [
        (Trouble::Memory(MemoryError::NotFound), "NOT_FOUND"),
        (Trouble::Memory(MemoryError::Refused(Refusal::Injection)), "VALIDATION_ERROR"),
        (Trouble::Memory(MemoryError::NotCurrent(current)), "CONFLICT"),
        (Trouble::Memory(MemoryError::Full), "CONFLICT"),
        (Trouble::Memory(MemoryError::ReadOnly), "LOCKED_BY_ENV"),
        (Trouble::Memory(MemoryError::ScannerDown), "INTERNAL_ERROR"),
        (Trouble::Locked("no".to_owned()), "LOCKED_BY_ENV"),
        (Trouble::Away("gone".to_owned(), Some(2)), "INTERNAL_ERROR"),
    ] {
        let store = CannedStore { answers: Mutex::new([Err(trouble)].into()), ..CannedStore::default() };
        let answer = store.call("mem-find", &json!({ "query": "q" }));
        assert_eq!(answer["error"]["code"], code, "{answer}");
    }
    assert_eq!(CannedStore::of([]).call("mem-nothing", &json!({}))["error"]["code"], "NOT_FOUND");
    let folder = CannedStore::of([]).call("mem-maintenance", &json!({ "action": "folderContextClean" }));
    assert_eq!(folder["error"]["code"], "LOCKED_BY_ENV");
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        ".{0,12}".prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 12, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map("[a-zA-Z]{1,8}", inner, 0..4)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

proptest! {
    // Holds P3-22.
    #[test]
    fn any_arguments_at_all_are_answered_in_the_envelope(
        tool in prop::sample::select(crate::catalogue::TOOLS.map(|tool| tool.name).to_vec()),
        field in prop::sample::select(vec!["query", "ids", "payload", "types", "include", "cursor", "limit", "id", "anchor"]),
        value in any_json(),
    ) {
        let mut given = Map::new();
        given.insert(field.to_owned(), value);
        let answer = CannedStore::of([]).call(tool, &Value::Object(given));
        prop_assert_eq!(answer.as_object().map(|it| it.keys().cloned().collect::<Vec<_>>()),
            Some(vec!["data".to_owned(), "error".to_owned(), "meta".to_owned()]));
    }
}
