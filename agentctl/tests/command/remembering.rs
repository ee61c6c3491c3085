//! Memories that are changed, forgotten and taken in, and the hooks of coding agents.

use crate::canned::{Canned, MEMORY, SESSION};
use crate::host::{Host, agentctl, document, stderr, stdout};
use crate::recalled::MemoryCall;
use ipc_proto::memory::{CaptureEvent, Forget, Muted, SESSIONS};
use serde_json::{Value, json};
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixListener;
use std::process::{Output, Stdio};
use std::time::{Duration, Instant};

/// A hook of Claude Code, with what it tells.
fn told(event: &str, more: &Value) -> String {
    let mut told = json!({ "session_id": "s1", "cwd": "/nowhere/ferry", "hook_event_name": event });
    told.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    told.to_string()
}

fn hook(host: &Host, words: &[&str], told: &str) -> Output {
    let output = host.run_with(&[&["hook"], words].concat(), told.as_bytes());
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    output
}

#[test]
fn a_hook_captures_its_event_and_prints_the_context() {
    let host = Host::new(Canned::default());
    let claude = ["claude-code"];
    let started = document(&hook(&host, &claude, &told("SessionStart", &json!({ "source": "startup" }))));
    let expected = json!({ "hookEventName": "SessionStart", "additionalContext": "what is remembered" });
    assert_eq!(started["hookSpecificOutput"], expected);
    let tool = json!({ "tool_name": "Read", "tool_use_id": "t1", "tool_input": {}, "tool_response": "harbour-light" });
    assert!(hook(&host, &claude, &told("PostToolUse", &tool)).stdout.is_empty());
    let asked =
        document(&hook(&host, &claude, &told("UserPromptSubmit", &json!({ "prompt": "which light?" }))));
    assert_eq!(asked["hookSpecificOutput"]["hookEventName"], "UserPromptSubmit");
    let system = json!({ "directory": "/nowhere/ferry", "input": { "sessionID": "s2" } }).to_string();
    let given = hook(&host, &["opencode", "experimental.chat.system.transform"], &system);
    assert_eq!(document(&given), json!({ "context": "what is remembered" }));

    let asks = host.canned.get(|state| state.memories.clone());
    let shown: Vec<String> = asks.iter().map(shown).collect();
    let expected = [
        "block Some(4000) tokens",
        "claude-code s1 /nowhere/ferry started",
        "claude-code s1 /nowhere/ferry Read t1: harbour-light\n\ninput: {}",
        "block Some(1000) tokens, only for which light?",
        "claude-code s1 /nowhere/ferry which light?",
        "block Some(4000) tokens",
    ];
    assert_eq!(shown, expected);
}

fn shown(ask: &MemoryCall) -> String {
    match ask {
        MemoryCall::Block(block) if block.words.is_empty() => format!("block {:?} tokens", block.tokens),
        MemoryCall::Block(block) => {
            let only = if block.only { "only " } else { "" };
            format!("block {:?} tokens, {only}for {}", block.tokens, block.words)
        }
        MemoryCall::Capture(capture) => {
            let what = match &capture.event {
                CaptureEvent::Started => "started".to_owned(),
                CaptureEvent::Tool { tool, call, output, .. } => format!("{tool} {call}: {output}"),
                CaptureEvent::Message { text, .. } => text.to_string(),
                other => format!("{other:?}"),
            };
            format!("{} {} {} {what}", capture.client, capture.session, capture.project)
        }
        other => format!("{other:?}"),
    }
}

#[test]
fn without_tokens_a_hook_captures_but_prints_nothing() {
    let host = Host::new(Canned::default());
    let start = told("SessionStart", &json!({}));
    assert!(hook(&host, &["claude-code", "--tokens", "0"], &start).stdout.is_empty());
    let asked = told("UserPromptSubmit", &json!({ "prompt": "which light?" }));
    assert!(hook(&host, &["claude-code", "--prompt-tokens", "0"], &asked).stdout.is_empty());
    assert_eq!(host.canned.get(|state| state.memories.len()), 2);
}

// Holds B-141, P7-32.
#[test]
fn a_hook_never_fails_and_neither_prints_nor_logs_its_input() {
    let host = Host::new(Canned::default());
    let secret = "hunter2";
    let big = format!("{{\"session_id\":\"{}", "x".repeat(17 * 1024 * 1024));
    for told in [
        "",
        "{",
        "null",
        "[1]",
        "\u{0}\u{1b}[2J",
        &format!("{{\"session_id\":\"{secret}\"}}"),
        &format!("\"{secret}"),
        &told("PostToolUse", &json!({ "tool_response": secret })),
        &told("UserPromptSubmit", &json!({ "prompt": [secret] })),
        &big,
    ] {
        for words in
            [&["claude-code"][..], &["claude-code", "PostToolUse"], &["opencode"], &["opencode", "event"]]
        {
            let output = hook(&host, words, told);
            assert!(output.stdout.is_empty() && !stderr(&output).contains(secret), "{}", stderr(&output));
        }
    }
    assert!(host.canned.get(|state| state.memories.is_empty()));
    let log = std::fs::read_to_string(host.folder.path().join("cordon/hook.log")).unwrap();
    assert!(log.contains("has no cwd") && log.contains("not JSON"), "{log}");
    assert!(!log.contains(secret) && !log.contains('\u{1b}'), "{log}");
}

// Holds P7-32.
#[test]
fn a_hook_ends_at_once_without_a_host_and_in_time_with_a_silent_one() {
    let folder = tempfile::tempdir().unwrap();
    let silent = folder.path().join("silent.sock");
    let _listener = UnixListener::bind(&silent).unwrap();
    for (socket, least, most) in [("/nowhere.sock", 0, 5), (silent.to_str().unwrap(), 1, 6)] {
        let began = Instant::now();
        let mut child = agentctl(&["--socket", socket, "hook", "claude-code", "--timeout", "1000"])
            .env("XDG_STATE_HOME", folder.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        child.stdin.take().unwrap().write_all(told("Stop", &json!({})).as_bytes()).unwrap();
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(0));
        assert!(output.stdout.is_empty() && !output.stderr.is_empty(), "{socket}");
        let took = began.elapsed();
        assert!(took >= Duration::from_secs(least) && took < Duration::from_secs(most), "{socket}: {took:?}");
    }
}

// Holds P7-32.
#[test]
fn a_client_that_does_not_close_its_end_is_not_waited_for() {
    let host = Host::new(Canned::default());
    let mut command = host.command(&["hook", "claude-code", "--timeout", "300"]);
    let mut child = command.stdin(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let end = Instant::now() + Duration::from_secs(10);
    while child.try_wait().unwrap().is_none() {
        assert!(Instant::now() < end, "it waits for its client");
        std::thread::sleep(Duration::from_millis(10));
    }
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

// Holds P7-46.
#[test]
fn many_are_forgotten_only_by_somebody_who_says_so_and_then_to_the_last() {
    let host = Host::new(Canned::default());
    host.canned.set(|state| state.forgets = Some((50, 2)));
    let words = ["memory", "forget", "--session", "opencode:ses_1"];
    let refused = host.run(&[&words[..], &["--json"]].concat());
    assert_eq!(refused.status.code(), Some(64));
    assert!(stdout(&refused).contains("more than 50 memories"), "{}", stdout(&refused));
    let done = host.json(&[&words[..], &["--yes", "--purge"]].concat());
    assert_eq!((&done["rows"], &done["purged"]), (&json!(150), &json!(true)));
    let asks = host.canned.get(|state| state.memories.clone());
    let of_it = |ask: &&MemoryCall| matches!(ask, MemoryCall::Forget { what, purge: true, dry_run: false } if *what == Forget::Session(SESSION));
    assert_eq!(asks.iter().filter(of_it).count(), 3);
}

#[test]
fn a_memory_is_revised_in_the_editor_with_all_else_as_it_was() {
    let host = Host::new(Canned::default());
    let editor = host.folder.path().join("editor");
    let id = MEMORY.to_string();
    for (does, revised) in [("true", false), ("echo 'it opens at 08:00' > \"$1\"", true)] {
        std::fs::write(&editor, format!("#!/bin/sh\n{does}\n")).unwrap();
        std::fs::set_permissions(&editor, PermissionsExt::from_mode(0o755)).unwrap();
        let mut command = host.command(&["memory", "edit", &id, "--reason", "new hours", "--json"]);
        let output = command.env_remove("EDITOR").env("VISUAL", &editor).output().unwrap();
        assert_eq!(document(&output)["revised"], json!(revised), "{}", stderr(&output));
    }
    let asks = host.canned.get(|state| state.memories.clone());
    let Some(MemoryCall::Revise { id, entry, reason }) = asks.last() else { panic!("{asks:?}") };
    assert_eq!((*id, entry.content.as_str(), reason.as_str()), (MEMORY, "it opens at 08:00", "new hours"));
    assert!(entry.id != MEMORY && entry.tags.len() == 1 && entry.session == Some(SESSION));
}

// Holds P7-41.
#[test]
fn an_edited_text_stays_if_it_is_refused_and_is_removed_if_accepted() {
    let host = Host::new(Canned::default());
    let (editor, drafts) = (host.folder.path().join("editor"), host.folder.path().join("drafts"));
    std::fs::create_dir(&drafts).unwrap();
    for (does, kind) in [
        ("head -c 100001 /dev/zero | tr '\\0' a > \"$1\"", "too_long"),
        ("printf 'no text: \\377' > \"$1\"", "usage"),
        ("echo 'it opens at 08:00' > \"$1\"", ""),
    ] {
        std::fs::write(&editor, format!("#!/bin/sh\n{does}\n")).unwrap();
        std::fs::set_permissions(&editor, PermissionsExt::from_mode(0o755)).unwrap();
        let mut command = host.command(&["memory", "edit", &MEMORY.to_string(), "--json"]);
        command.env_remove("EDITOR").env("VISUAL", &editor).env("TMPDIR", &drafts);
        let told = document(&command.output().unwrap());
        let left: Vec<_> = std::fs::read_dir(&drafts).unwrap().map(|draft| draft.unwrap().path()).collect();
        if kind.is_empty() {
            assert_eq!((&told["revised"], left.as_slice()), (&json!(true), &[][..]), "{told}");
            continue;
        }
        let [draft] = left.as_slice() else { panic!("{told} {left:?}") };
        assert_eq!(told["error"]["type"], json!(kind), "{told}");
        let message = told["error"]["message"].as_str().unwrap();
        assert!(message.ends_with(&format!("the edited text is in {}", draft.display())), "{message}");
        assert!(std::fs::metadata(draft).unwrap().len() > 8);
        std::fs::remove_file(draft).unwrap();
    }
}

#[test]
fn a_session_is_muted_under_the_name_that_its_client_has_for_it() {
    let host = Host::new(Canned::default());
    let _ = host.json(&["memory", "mute", "--session", "claude-code:a:b"]);
    let asks = host.canned.get(|state| state.memories.clone());
    let Some(MemoryCall::Mute { what: Muted::Session(client, name), mute: true }) = asks.last() else {
        panic!("{asks:?}")
    };
    assert_eq!((client.as_str(), name.as_str()), ("claude-code", "a:b"));
}

// Holds P7-38.
#[test]
fn an_import_of_too_many_sessions_takes_the_newest() {
    let host = Host::new(Canned::default());
    let file = host.folder.path().join("export.jsonl");
    let path = file.to_str().unwrap();
    let _ = host.json(&["memory", "export", "--force", path]);
    let exported = std::fs::read_to_string(&file).unwrap();
    let session: Value = serde_json::from_str(exported.lines().last().unwrap()).unwrap();
    // The newest stand first; one of them is here already, beside whatever else may be.
    let lines = (0..SESSIONS + 2).map(|number| {
        let mut line = session.clone();
        if number != 7 {
            line["session"]["id"] = json!(format!("{number:08}-0000-4000-8000-000000000000"));
        }
        line["session"]["name"] = json!(format!("s{number}"));
        line.to_string() + "\n"
    });
    std::fs::write(&file, lines.collect::<String>()).unwrap();
    let output = host.run(&["memory", "import", path, "--json"]);
    let came: Value = serde_json::from_str(&stdout(&output)).unwrap();
    assert_eq!((&came["sessions"], &came["reasons"]), (&json!(SESSIONS), &json!({ "full": 2 })), "{came}");
    let refused: Vec<&Value> = came["refused"].as_array().unwrap().iter().map(|it| &it["line"]).collect();
    assert_eq!(refused, [&json!(SESSIONS + 1), &json!(SESSIONS + 2)]);
    let asks = host.canned.get(|state| state.memories.clone());
    let names = asks.iter().filter_map(|ask| match ask {
        MemoryCall::RestoreSession(session) => Some(session.session.name.to_string()),
        _ => None,
    });
    let names: Vec<String> = names.collect();
    assert_eq!((names.first().unwrap().as_str(), names.last().unwrap().as_str()), ("s4999", "s0"));
}

// Holds B-140.
#[test]
fn an_import_with_a_wrong_line_sends_nothing_and_names_the_line() {
    let host = Host::new(Canned::default());
    let file = host.folder.path().join("export.jsonl");
    let path = file.to_str().unwrap();
    let _ = host.json(&["memory", "export", "--force", path]);
    let good = std::fs::read_to_string(&file).unwrap();
    assert_eq!(good.lines().count(), 2, "a memory is there once, whatever its states, and a session: {good}");
    assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    std::fs::write(&file, format!("{good}{{\"v\":1}}\n")).unwrap();
    let output = host.run(&["memory", "import", path, "--json"]);
    let said = stdout(&output);
    assert_eq!(output.status.code(), Some(1));
    assert!(said.contains("line 3") && said.contains("malformed"), "{said}");
    let restored = |ask: &MemoryCall| matches!(ask, MemoryCall::Restore);
    assert!(!host.canned.get(|state| state.memories.iter().any(restored)));
    std::fs::write(&file, format!("\u{feff}{good}")).unwrap();
    assert_eq!(host.json(&["memory", "import", path])["taken"], json!(1), "whatever mark it begins with");
    assert!(host.canned.get(|state| state.memories.iter().any(restored)));
}

#[test]
fn a_transcript_of_claude_code_is_captured_as_its_hooks_would() {
    let host = Host::new(Canned::default());
    let folder = host.folder.path().join("projects");
    std::fs::create_dir(&folder).unwrap();
    let line = |uuid: &str, content: Value| {
        let message = json!({ "role": "user", "content": content });
        json!({ "type": "user", "sessionId": "s1", "cwd": "/nowhere/ferry", "uuid": uuid, "message": message }).to_string()
    };
    let lines = [
        line("u1", json!("which light?")),
        line("u2", json!("<local-command-stdout></local-command-stdout>")),
    ];
    std::fs::write(folder.join("s1.jsonl"), lines.join("\n")).unwrap();
    let path = folder.to_str().unwrap();
    let counted = host.json(&["memory", "import", path, "--dry-run"]);
    assert_eq!((&counted["taken"], &counted["sessions"]), (&json!(1), &json!(1)), "{counted}");
    assert!(host.canned.get(|state| state.memories.is_empty()), "nothing was sent");
    let taken = host.json(&["memory", "import", path]);
    assert_eq!((&taken["taken"], &taken["left"]), (&json!(1), &json!(0)), "{taken}");
    let sent = host.canned.get(|state| match state.memories.last() {
        Some(MemoryCall::Capture(capture)) => capture.event.clone(),
        _ => CaptureEvent::Idle,
    });
    let CaptureEvent::Message { message, text } = sent else { panic!("{sent:?}") };
    assert_eq!((message.as_str(), text.as_str()), ("u1", "which light?"));
}
