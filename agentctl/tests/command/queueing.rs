//! Messages after they were sent: shown, taken back, put in again, paused and stopped.

use crate::canned::Canned;
use crate::host::{Host, document, stderr, stdout};
use crate::samples::{AFTER, MESSAGE};
use ipc_proto::config::UserRole;
use serde_json::{Value, json};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

fn at<'a>(document: &'a Value, pointer: &str) -> &'a Value {
    document.pointer(pointer).unwrap_or_else(|| panic!("{pointer} is missing in {document}"))
}

fn id() -> String {
    MESSAGE.to_string()
}

#[test]
fn the_queue_is_one_document_and_sentences_as_text() {
    let host = Host::new(Canned::default());
    for (words, pointer, expected) in [
        ("message list --dead", "/messages/0/state", json!("quarantined")),
        ("session show s1", "/statistics/tool_calls/refused", json!(0)),
        ("queue", "/queue/dead", json!(2)),
        ("queue", "/queue/paused_sessions/0", json!("s1")),
        ("pause --session s1", "/paused", json!(true)),
        ("resume", "/session", json!(null)),
        ("resume", "/still_paused/0", json!("s1")),
        ("stop --all", "/waiting", json!(2)),
    ] {
        let words: Vec<&str> = words.split(' ').collect();
        assert_eq!(at(&host.json(&words), pointer), &expected, "{words:?}");
        let plain = host.run(&words);
        assert!(plain.status.success() && !plain.stdout.is_empty(), "{words:?}");
        assert!(!plain.stdout.contains(&0x1b), "{words:?}: {}", stdout(&plain));
    }
}

#[test]
fn a_call_of_unknown_effect_is_shown_with_what_to_do_and_no_other_is() {
    let host = Host::new(Canned::default());
    let document = host.json(&["message", "show", &id()]);
    for (pointer, expected) in [
        ("/message/state", json!("quarantined")),
        ("/message/states/1/at_ms", json!(1_250)),
        ("/message/calls/0/effect", json!("done")),
        ("/message/calls/0/advice", Value::Null),
        ("/message/calls/1/effect", json!("unknown")),
        ("/message/finished/end", json!("quarantined")),
        ("/message/replaced_by", json!(AFTER.to_string())),
        ("/message/stands_for", Value::Null),
    ] {
        assert_eq!(at(&document, pointer), &expected, "{pointer}");
    }
    let advice = at(&document, "/message/calls/1/advice").as_str().unwrap();
    assert!(advice.starts_with("may have taken effect"), "{advice}");
    let shown = stdout(&host.run(&["message", "show", &id()]));
    assert_eq!(shown.matches(advice).count(), 1, "{shown}");
    assert!(shown.contains("harbour fee") && !shown.contains('\u{1b}'), "{shown}");
}

#[test]
fn a_recalled_message_prints_its_text_and_a_begun_one_is_refused() {
    let host = Host::new(Canned::default());
    let taken = host.json(&["message", "recall", &id()]);
    assert!(at(&taken, "/text").as_str().unwrap().contains("harbour fee"), "{taken}");
    let late = host.run(&["message", "recall", &AFTER.to_string(), "--json"]);
    assert_eq!((late.status.code(), at(&document(&late), "/error/type")), (Some(1), &json!("too_late")));
    assert!(stdout(&late).contains("agentctl stop"), "{}", stdout(&late));
}

#[test]
fn a_steering_message_is_sent_once_and_a_refusal_says_how_to_send_it() {
    let host = Host::new(Canned::default());
    let said = host.json(&["steer", "--session", "work", "--urgent", "only the red ones"]);
    assert_eq!(at(&said, "/session"), &json!("work"), "{said}");
    let asked: Vec<_> = host.canned.get(|state| {
        state.said.iter().map(|it| (it.session.to_string(), it.text.to_string(), it.urgent)).collect()
    });
    assert_eq!(asked, [("work".to_owned(), "only the red ones".to_owned(), true)]);
    let quiet = host.run(&["steer", "--session", "quiet", "hello"]);
    assert_eq!(quiet.status.code(), Some(1));
    let told = String::from_utf8_lossy(&quiet.stderr).into_owned();
    assert!(told.contains("no turn of a conversation is under way"), "{told}");
    assert!(told.contains("agentctl chat --session quiet --message"), "{told}");
    let refused = host.run(&["steer", "--session", "quiet", "hello", "--json"]);
    assert_eq!(at(&document(&refused), "/error/type"), &json!("not_under_way"));
}

/// An editor that does this to the file it is given.
fn editor(host: &Host, does: &str) -> PathBuf {
    let path = host.folder.path().join("editor");
    std::fs::write(&path, format!("#!/bin/sh\n{does}\n")).unwrap();
    std::fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).unwrap();
    path
}

fn requeued_with(host: &Host, editor: &PathBuf) -> std::process::Output {
    let mut command = host.command(&["message", "requeue", &id(), "--edit", "--json"]);
    command.env_remove("EDITOR").env("VISUAL", editor).output().unwrap()
}

#[test]
fn a_dead_letter_goes_again_with_its_own_words_or_with_others() {
    let host = Host::new(Canned::default());
    let accepted = host.json(&["message", "requeue", &id()]);
    assert_eq!(at(&accepted, "/message"), &json!(AFTER.to_string()));
    let _ = host.json(&["message", "requeue", &id(), "--text", "pay half of it"]);
    let edited = requeued_with(&host, &editor(&host, "echo 'in the editor' > \"$1\""));
    assert_eq!(at(&document(&edited), "/requeued"), &json!(true), "{}", stderr(&edited));
    let sent = host.canned.get(|state| state.requeued.clone());
    assert_eq!(sent, [None, Some("pay half of it".to_owned()), Some("in the editor".to_owned())]);
}

#[test]
fn an_unchanged_or_empty_text_or_a_failed_editor_sends_nothing() {
    let host = Host::new(Canned::default());
    let left = requeued_with(&host, &editor(&host, "true"));
    assert_eq!((left.status.code(), at(&document(&left), "/requeued")), (Some(0), &json!(false)));
    for (does, kind, exit) in [("exit 3", "editor", 1), (": > \"$1\"", "usage", 64), ("rm \"$1\"", "file", 1)]
    {
        let output = requeued_with(&host, &editor(&host, does));
        assert_eq!((output.status.code(), at(&document(&output), "/error/type")), (Some(exit), &json!(kind)));
    }
    assert!(host.canned.get(|state| state.requeued.is_empty()));
}

#[test]
fn a_pause_names_its_session_and_a_stop_requires_one_or_all() {
    let host = Host::new(Canned::default());
    for words in [&["pause", "--session", "s1"][..], &["resume", "-s", "s1"], &["pause"], &["resume"]] {
        assert_eq!(at(&host.json(words), "/ok"), &json!(true), "{words:?}");
    }
    let pauses = host.canned.get(|state| state.pauses.clone());
    let s1 = || Some("s1".to_owned());
    assert_eq!(pauses, [(s1(), true), (s1(), false), (None, true), (None, false)]);
    assert_eq!(at(&host.json(&["stop", "--session", "s1"]), "/running"), &json!(1));
    let _ = host.json(&["stop", "--all"]);
    assert_eq!(host.run(&["stop"]).status.code(), Some(64));
    assert_eq!(host.canned.get(|state| state.stops.clone()), [s1(), None]);
}

#[test]
fn only_the_owner_asks_the_record_for_statistics_of_a_session() {
    let host = Host::new(Canned::default());
    host.canned.set(|state| state.records = 3);
    let shown = host.json(&["session", "show", "s1"]);
    assert!(at(&shown, "/statistics/errors").is_u64() && at(&shown, "/no_statistics").is_null(), "{shown}");
    let asked = host.canned.get(|state| state.queries);
    assert!(asked > 0);
    host.canned.set(|state| state.role = Some(UserRole::User));
    let shown = host.json(&["session", "show", "s1"]);
    assert_eq!(at(&shown, "/statistics"), &Value::Null);
    assert!(at(&shown, "/no_statistics").as_str().unwrap().contains("owner"), "{shown}");
    assert_eq!(host.canned.get(|state| state.queries), asked);
    assert!(stdout(&host.run(&["session", "show", "s1"])).contains("only the owner"));
}

// Holds B-24, P9-08.
#[test]
fn a_session_is_counted_from_the_records_end_with_the_first_entry_read() {
    let host = Host::new(Canned::default());
    host.canned.set(|state| (state.records, state.page) = (1_000_000, Some(4096)));
    let shown = host.json(&["session", "show", "s1"]);
    let least = host.canned.get(|state| state.least_asked).unwrap();
    assert!(least > 800_000, "it read on to entry {least}");
    assert_eq!(at(&shown, "/statistics/since_entry"), &json!(least), "{shown}");
    assert!(stdout(&host.run(&["session", "show", "s1"])).contains(&format!("since entry {least}")));
    host.canned.set(|state| state.records = 3);
    assert_eq!(at(&host.json(&["session", "show", "s1"]), "/statistics/since_entry"), &Value::Null);
}

#[test]
fn an_unrecorded_difference_is_reported_and_changes_nothing_else() {
    #[expect(clippy::disallowed_methods, reason = "an unconfined process to look at")]
    let mut idle = std::process::Command::new("sleep").arg("60").spawn().unwrap();
    let host = Host::new(Canned::default());
    host.canned.set(|state| {
        state.processes = vec![("memory", idle.id())];
        state.refuse_drift = true;
    });
    let output = host.run(&["attest", "--json"]);
    let plain = host.run(&["attest"]);
    idle.kill().unwrap();
    idle.wait().unwrap();
    let document = document(&output);
    assert_eq!((output.status.code(), at(&document, "/error/type")), (Some(1), &json!("different")));
    assert!(at(&document, "/not_recorded").as_str().unwrap().contains("owner"), "{document}");
    assert!(stdout(&plain).contains("not on the record"), "{}", stdout(&plain));
}
