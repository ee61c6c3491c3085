//! Recorded output of the programs, and any other that could come in its place.

use super::state;
use super::{End, Parser};
use ipc_proto::engine::{EngineEvent, Format};
use proptest::prelude::*;
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::symlink;

/// The events of a program's output, whole and in pieces of this size.
fn heard(format: Format, lines: &[Value], size: usize) -> (Vec<EngineEvent>, Parser) {
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    let mut parser = Parser::new(format);
    let mut events: Vec<EngineEvent> =
        text.as_bytes().chunks(size).flat_map(|piece| parser.push(piece)).collect();
    events.extend(parser.finish());
    (events, parser)
}

/// Events in few words.
fn told(events: &[EngineEvent]) -> Vec<String> {
    let word = |event: &EngineEvent| match event {
        EngineEvent::Started => "started".into(),
        EngineEvent::Text(text) => format!("text {text}"),
        EngineEvent::ToolStart { number, tool, args } => format!("{number} {tool} {args}"),
        EngineEvent::ToolProgress { number, line } => format!("{number} goes on {line}"),
        EngineEvent::ToolEnd { number, failed, output } => {
            format!("{number} {} {output}", if *failed { "failed" } else { "gave" })
        }
        EngineEvent::Completed { text } => format!("completed {text}"),
        EngineEvent::Error(why) => format!("error {why}"),
    };
    events.iter().map(word).collect()
}

fn codex() -> Vec<Value> {
    vec![
        json!({"type": "thread.started", "thread_id": "01a203d1-8652"}),
        json!({"type": "item.completed", "item": {"id": "item_0", "type": "error", "message": "Model metadata"}}),
        json!({"type": "turn.started"}),
        json!({"type": "item.completed", "item": {"id": "item_1", "type": "agent_message", "text": "I look."}}),
        json!({"type": "item.started", "item": {"id": "item_2", "type": "command_execution",
            "command": "cat note.txt", "aggregated_output": "", "exit_code": null, "status": "in_progress"}}),
        json!({"type": "item.updated", "item": {"id": "item_2", "type": "command_execution",
            "command": "cat note.txt", "status": "in_progress"}}),
        json!({"type": "item.completed", "item": {"id": "item_2", "type": "command_execution",
            "command": "cat note.txt", "aggregated_output": "harbour\n", "exit_code": 0, "status": "completed"}}),
        json!({"type": "item.completed", "item": {"id": "item_3", "type": "agent_message", "text": "Harbour."}}),
        json!({"type": "turn.completed", "usage": {"input_tokens": 3}}),
    ]
}

fn claude() -> Vec<Value> {
    let delta = |text: &str| {
        json!({"type": "stream_event", "parent_tool_use_id": null,
            "event": {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": text}}})
    };
    let said = |content: Value| json!({"type": "assistant", "parent_tool_use_id": null, "message": {"role": "assistant", "content": content}});
    vec![
        json!({"type": "system", "subtype": "init", "session_id": "7e8f2ca5-c00b"}),
        delta("I "),
        delta("look."),
        said(json!([{"type": "text", "text": "I look."}])),
        said(
            json!([{"type": "tool_use", "id": "toolu_1", "name": "Bash", "input": {"command": "cat note.txt"}}]),
        ),
        json!({"type": "user", "parent_tool_use_id": null, "message": {"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": "toolu_1", "content": [{"type": "text", "text": "harbour"}]}]}}),
        said(json!([{"type": "text", "text": "Harbour."}])),
        json!({"type": "assistant", "parent_tool_use_id": "toolu_9", "message": {"content": [{"type": "text", "text": "of another"}]}}),
        json!({"type": "result", "subtype": "success", "is_error": false, "result": "Harbour.", "session_id": "other"}),
    ]
}

fn opencode() -> Vec<Value> {
    let part = |kind: &str, part: Value| json!({"type": kind, "sessionID": "ses_dfc2", "part": part});
    vec![
        part("step_start", json!({"type": "step-start"})),
        part("text", json!({"type": "text", "text": "I look."})),
        part(
            "tool_use",
            json!({"type": "tool", "tool": "read", "callID": "call_b8",
            "state": {"status": "completed", "input": {"filePath": "note.txt"}, "output": "harbour"}}),
        ),
        part("text", json!({"type": "text", "text": "Harbour."})),
        part("step_finish", json!({"type": "step-finish", "reason": "stop"})),
    ]
}

#[test]
fn what_each_program_says_is_heard_the_same_however_it_is_cut() {
    let cases = [
        (
            Format::Codex,
            codex(),
            "01a203d1-8652",
            "command_execution {\"command\":\"cat note.txt\"}",
            "harbour\n",
        ),
        (Format::ClaudeCode, claude(), "7e8f2ca5-c00b", "Bash {\"command\":\"cat note.txt\"}", "harbour"),
        (Format::Opencode, opencode(), "ses_dfc2", "read {\"filePath\":\"note.txt\"}", "harbour"),
    ];
    for (format, lines, token, tool, gave) in cases {
        for size in [1, 7, 4096] {
            let (events, parser) = heard(format, &lines, size);
            let mut told = told(&events);
            told.retain(|event| !event.contains("goes on"));
            let (said, tools): (Vec<&String>, Vec<&String>) =
                told.iter().partition(|it| it.starts_with("text "));
            let said: String = said.iter().filter_map(|it| it.strip_prefix("text ")).collect();
            assert_eq!(said, "I look.Harbour.", "{format:?}");
            assert_eq!(tools, [&format!("0 {tool}"), &format!("0 gave {gave}")], "{format:?}");
            assert_eq!(parser.token().map(|it| it.as_str()), Some(token), "{format:?}");
            let completed = matches!(parser.end(), Some(End::Completed(_)));
            assert_eq!(completed, format != Format::Opencode, "{format:?}");
        }
    }
}

#[test]
fn an_error_is_the_end_only_if_nothing_follows() {
    let error = json!({"type": "error", "sessionID": "ses_1", "error": {"name": "APIError",
        "data": {"message": "overloaded", "statusCode": 503}}});
    let (_, parser) = heard(Format::Opencode, &[error.clone(), opencode()[3].clone()], 4096);
    assert_eq!(parser.end(), None, "its exit status says that it has answered");
    let (_, parser) = heard(Format::Opencode, &[opencode()[3].clone(), error], 4096);
    let Some(End::Failed { why, for_good }) = parser.end() else { panic!("{:?}", parser.end()) };
    assert!(why.contains("overloaded") && !for_good, "{why}");
}

// Holds P1-35.
#[test]
fn input_taken_in_is_counted_and_is_no_event() {
    let again = |text: &str| {
        json!({"type": "user", "isReplay": true, "parent_tool_use_id": null,
        "message": {"role": "user", "content": text}})
    };
    let result = json!({"type": "user", "parent_tool_use_id": null, "message": {"role": "user",
        "content": [{"type": "tool_result", "tool_use_id": "t", "content": "x"}]}});
    let (events, parser) = heard(Format::ClaudeCode, &[again("question"), result, again("in red")], 4096);
    assert_eq!((told(&events), parser.inputs_taken()), (vec![], 2));
}

#[test]
fn places_that_lie_in_each_other_are_kept_once() {
    let (home, next) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    fs::create_dir_all(home.path().join(".x/y")).unwrap();
    fs::write(home.path().join(".x/y/z"), "kept").unwrap();
    let state = state::pack(home.path(), [".x", ".x/y", ".x/y/z"].into_iter()).unwrap();
    state::unpack(next.path(), &state).unwrap();
    assert_eq!(fs::read_to_string(next.path().join(".x/y/z")).unwrap(), "kept");
}

#[test]
fn what_is_no_event_is_text_and_an_event_that_is_not_known_is_nothing() {
    for format in [Format::Codex, Format::ClaudeCode, Format::Opencode] {
        let mut parser = Parser::new(format);
        let events =
            parser.push(b"plain words\n{\"no\":\"type\"}\n{\"type\":\"of.tomorrow\"}\n{\"type\":7}\n[1");
        let rest = parser.finish();
        let told = told(&[events, rest].concat()).concat();
        assert_eq!(
            told.replace("text ", ""),
            "plain words\n{\"no\":\"type\"}\n{\"type\":7}\n[1\n",
            "{format:?}"
        );
        assert_eq!((parser.end(), parser.token()), (None, None));
    }
    let mut parser = Parser::new(Format::Text);
    assert_eq!(told(&parser.push(b"{\"type\":\"error\"}\n")).concat(), "text {\"type\":\"error\"}text \n");
}

#[test]
fn a_failure_is_heard_with_its_words_and_whether_another_try_would_help() {
    let failures = [
        (Format::Codex, json!({"type": "turn.failed", "error": {"message": "stream disconnected"}}), false),
        (Format::Codex, json!({"type": "turn.failed", "error": {"message": "unexpected status 401"}}), true),
        (
            Format::Codex,
            json!({"type": "turn.failed", "error": {"message": "no thread 01a401d1-8403"}}),
            false,
        ),
        (
            Format::ClaudeCode,
            json!({"type": "result", "subtype": "error_during_execution", "is_error": true}),
            false,
        ),
        (
            Format::ClaudeCode,
            json!({"type": "result", "subtype": "success", "is_error": true, "api_error_status": 403}),
            true,
        ),
        (
            Format::Opencode,
            json!({"type": "error", "error": {"name": "APIError", "data": {"statusCode": 401}}}),
            true,
        ),
        (Format::Opencode, json!({"type": "error", "error": {"name": "UnknownError"}}), false),
    ];
    for (format, line, expected) in failures {
        let (_, parser) = heard(format, std::slice::from_ref(&line), 4096);
        let Some(End::Failed { for_good, .. }) = parser.end() else { panic!("{line}") };
        assert_eq!(*for_good, expected, "{line}");
    }
}

#[test]
fn a_name_of_a_session_that_could_be_an_option_or_a_path_is_none() {
    for name in ["--all", "", "a b", "../x", "a\nb", "ä", &"x".repeat(129)] {
        let (_, parser) = heard(Format::Codex, &[json!({"type": "thread.started", "thread_id": name})], 9);
        assert_eq!(parser.token(), None, "{name:?}");
    }
}

#[test]
fn a_tool_goes_on_under_the_number_that_it_began_with() {
    let told = told(&heard(Format::Codex, &codex(), 4096).0);
    assert!(told.contains(&"0 goes on in_progress".to_owned()), "{told:?}");
    let stranger =
        json!({"type": "item.updated", "item": {"id": "x", "type": "todo_list", "status": "in_progress"}});
    assert!(heard(Format::Codex, &[stranger], 4096).0.is_empty());
}

// Holds B-80.
#[test]
fn endless_tools_are_bounded_and_a_lone_end_is_nothing() {
    let begun =
        |n: usize| json!({"type": "item.started", "item": {"id": format!("i{n}"), "type": "mcp_tool_call"}});
    let lines: Vec<Value> = (0..1000).map(begun).collect();
    assert_eq!(heard(Format::Codex, &lines, 4096).0.len(), 64);
    let end = json!({"type": "user", "message": {"content": [{"type": "tool_result", "tool_use_id": "x", "content": "y"}]}});
    assert!(heard(Format::ClaudeCode, &[end], 4096).0.is_empty());
}

#[test]
fn a_state_comes_back_as_it_was_and_nothing_but_files_beneath_the_home() {
    let (home, next) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    fs::create_dir_all(home.path().join(".codex/sessions/2026")).unwrap();
    fs::write(home.path().join(".codex/sessions/2026/rollout.jsonl"), "{}\n").unwrap();
    fs::write(home.path().join(".codex/config.toml"), "not kept").unwrap();
    symlink("/etc/passwd", home.path().join(".codex/sessions/link")).unwrap();
    let state = state::pack(home.path(), [".codex/sessions", ".absent"].into_iter()).unwrap();
    state::unpack(next.path(), &state).unwrap();
    let kept = fs::read_to_string(next.path().join(".codex/sessions/2026/rollout.jsonl")).unwrap();
    assert_eq!(kept, "{}\n");
    assert!(!next.path().join(".codex/config.toml").exists());
    assert!(!next.path().join(".codex/sessions/link").exists());
}

// Holds B-82.
#[test]
fn an_oversized_state_is_dropped_and_a_hostile_one_not_unpacked() {
    let home = tempfile::tempdir().unwrap();
    let mut noise = Vec::with_capacity(2 << 20);
    let mut seed = 7_u64;
    while noise.len() < 2 << 20 {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        noise.extend_from_slice(&seed.to_le_bytes());
    }
    fs::write(home.path().join("noise"), &noise).unwrap();
    assert!(state::pack(home.path(), ["noise"].into_iter()).is_none());
    let mut archive =
        tar::Builder::new(flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best()));
    let mut header = tar::Header::new_gnu();
    header.set_size(64 << 20);
    header.set_entry_type(tar::EntryType::Regular);
    header.set_path("bomb").unwrap();
    header.set_cksum();
    archive.append(&header, std::io::Read::take(std::io::repeat(0), 64 << 20)).unwrap();
    let bomb = archive.into_inner().unwrap().finish().unwrap();
    let next = tempfile::tempdir().unwrap();
    assert!(state::unpack(next.path(), &bomb).is_err());
    assert!(fs::metadata(next.path().join("bomb")).unwrap().len() < 36 << 20);
}

// Holds P1-37.
#[test]
fn a_state_of_another_s_making_writes_nothing_outside_of_the_home() {
    for (path, kind) in [
        ("../out", tar::EntryType::Regular),
        ("/tmp/out", tar::EntryType::Regular),
        ("link", tar::EntryType::Symlink),
        ("pipe", tar::EntryType::Fifo),
    ] {
        let mut archive =
            tar::Builder::new(flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast()));
        let mut header = tar::Header::new_gnu();
        header.set_size(1);
        header.set_entry_type(kind);
        // As no library writes it.
        header.as_old_mut().name[..path.len()].copy_from_slice(path.as_bytes());
        header.set_cksum();
        archive.append(&header, &b"x"[..]).unwrap();
        let state = archive.into_inner().unwrap().finish().unwrap();
        let folder = tempfile::tempdir().unwrap();
        let home = folder.path().join("home");
        fs::create_dir(&home).unwrap();
        drop(state::unpack(&home, &state));
        assert_eq!(fs::read_dir(&home).unwrap().count(), 0, "{path}");
        assert!(!folder.path().join("out").exists(), "{path}");
    }
}

proptest! {
    // Holds P1-37.
    #[test]
    fn whatever_a_program_says_is_heard_within_bounds(
        pieces in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..200), 0..20),
        words in prop::collection::vec(".{0,40}", 0..20),
    ) {
        for format in [Format::Codex, Format::ClaudeCode, Format::Opencode, Format::Text] {
            let mut parser = Parser::new(format);
            for piece in &pieces {
                let _ = parser.push(piece);
            }
            for word in &words {
                let line = json!({"type": word, "item": {"type": word, "id": word}, "part": {"text": word}, "error": word});
                let _ = parser.push(format!("{line}\n").as_bytes());
            }
            let _ = parser.finish();
            prop_assert!(parser.token().is_none_or(|token| !token.starts_with('-')));
        }
    }

    #[test]
    fn whatever_a_state_holds_it_is_laid_out_or_refused(state in prop::collection::vec(any::<u8>(), 0..400)) {
        let home = tempfile::tempdir().unwrap();
        let _ = state::unpack(home.path(), &state);
    }
}
