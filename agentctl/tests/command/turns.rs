//! A turn seen from outside: its stream, its end, Ctrl-C, and a control that restarts in the middle.

use crate::canned::{Canned, WORKSPACE, denied, done, output, said, tool, tool_end};
use crate::host::{ATTACHED_ID, Host, document, stderr, stdout, until};
use ipc_proto::Text;
use ipc_proto::control::ControlError;
use ipc_proto::router::{End, RouterError, Task, TurnEvent};
use serde_json::{Value, json};
use std::os::unix::fs::MetadataExt;

fn conversation() -> Vec<TurnEvent> {
    vec![
        TurnEvent::Started { attempt: 1 },
        said("Let me look.\n"),
        tool(None),
        tool_end(),
        said("It opens "),
        said("at 07:40."),
        done(End::Answered, "It opens at 07:40."),
    ]
}

fn pointer<'a>(document: &'a Value, pointer: &str) -> &'a Value {
    document.pointer(pointer).unwrap_or_else(|| panic!("{pointer} is missing in {document}"))
}

#[test]
fn the_reply_goes_to_standard_output_once_and_tool_calls_beside_it() {
    let host = Host::new(Canned::with(conversation()));
    let output = host.run(&["chat", "--session", "s1", "-m", "when?"]);
    assert!(output.status.success());
    assert_eq!(stdout(&output), "Let me look.\nIt opens at 07:40.\n");
    assert!(stderr(&output).contains("read") && stderr(&output).contains("record 42"));
}

#[test]
fn json_gives_turn_reply_label_calls_timings_and_end() {
    let host = Host::new(Canned::with(conversation()));
    let document = host.json(&["chat", "--session", "s1", "-m", "when?"]);
    for (at, expected) in [
        ("/ok", json!(true)),
        ("/turn", json!("01010101-0101-0101-0101-010101010101")),
        ("/session", json!("s1")),
        ("/reply", json!("It opens at 07:40.")),
        ("/label/class", json!("internal")),
        ("/calls/0/tool", json!("read")),
        ("/calls/0/verdict", json!("run")),
        ("/calls/0/record", json!(42)),
        ("/calls/0/outcome", json!("success")),
        ("/calls/0/duration_ms", json!(7)),
        ("/attempts", json!(1)),
        ("/usage/input", json!(10)),
        ("/end", json!("answered")),
    ] {
        assert_eq!(pointer(&document, at), &expected, "{at}");
    }
    assert!(
        pointer(&document, "/timings/total_ms").is_u64()
            && pointer(&document, "/timings/first_text_ms").is_u64()
    );
}

#[test]
fn a_long_wait_is_explained_once_on_standard_error() {
    for (json, told) in [(None, "(waiting: gate is"), (Some("--json"), "agentctl: waiting: gate is")] {
        let host = Host::new(Canned::with(conversation()));
        host.canned.set(|state| state.silences = 2);
        let words = ["chat", "-m", "when?"].into_iter().chain(json);
        let output = host.run(&words.collect::<Vec<_>>());
        assert!(output.status.success());
        assert_eq!(stderr(&output).matches(told).count(), 1, "{}", stderr(&output));
        assert!(json.is_none() || document(&output)["reply"] == "It opens at 07:40.");
    }
}

#[test]
fn a_refused_call_is_shown_with_the_reason_and_as_blocked() {
    let events = vec![tool(Some("not in this agent's list")), done(End::Answered, "I may not.")];
    let document = Host::new(Canned::with(events)).json(&["chat", "-m", "read it"]);
    assert_eq!(pointer(&document, "/calls/0/verdict"), "refused");
    assert_eq!(pointer(&document, "/calls/0/reason"), "not in this agent's list");
    assert_eq!(pointer(&document, "/calls/0/outcome"), "blocked");
}

#[test]
fn an_end_that_is_no_answer_is_a_failure_with_the_same_fields() {
    for (end, kind) in [
        (End::Blocked(Text::clip("why")), "blocked"),
        (End::TimedOut, "timed_out"),
        (End::Failed(Text::clip("the model failed")), "failed"),
        (End::Recalled, "recalled"),
        (End::Quarantined(Text::clip("its runner died three times")), "quarantined"),
    ] {
        let host = Host::new(Canned::with(vec![said("half"), done(end, "half")]));
        let output = host.run(&["chat", "-m", "x", "--json"]);
        let document = document(&output);
        assert_eq!(output.status.code(), Some(1));
        assert_eq!((pointer(&document, "/ok"), pointer(&document, "/end")), (&json!(false), &json!(kind)));
        assert_eq!(pointer(&document, "/error/type"), kind);
        assert!(pointer(&document, "/turn").is_string());
    }
}

#[test]
fn a_turn_is_followed_from_where_it_stood_when_control_restarts() {
    for cut in 0..7 {
        let host = Host::new(Canned::with(conversation()));
        host.canned.set(|state| state.cuts = [cut].into());
        let output = host.run(&["chat", "-m", "when?"]);
        assert_eq!(
            stdout(&output),
            "Let me look.\nIt opens at 07:40.\n",
            "cut at {cut}: {}",
            stderr(&output)
        );
        assert_eq!(host.canned.get(|state| state.asks.len()), 1, "submitted once");
        let follows = host.canned.get(|state| state.follows.clone());
        assert!(follows.windows(2).all(|pair| pair[0] <= pair[1]), "{follows:?}");
        assert!(follows.windows(2).any(|pair| pair == [cut, cut]), "asked again at {cut}: {follows:?}");
    }
}

#[test]
fn a_message_without_acknowledgement_is_resent_under_the_same_key() {
    let host = Host::new(Canned::with(conversation()));
    host.canned.set(|state| state.cut_submits = 2);
    assert!(host.run(&["chat", "-m", "when?"]).status.success());
    let asks = host.canned.get(|state| state.asks.clone());
    assert_eq!(asks.len(), 3);
    assert!(asks.iter().all(|ask| *ask == asks[0]) && asks[0].key.len() == 36);
}

#[test]
fn restarted_and_missed_text_still_ends_in_the_whole_answer() {
    let events = vec![
        said("It opens at 8"),
        TurnEvent::Again,
        said("It opens at 0"),
        done(End::Answered, "It opens at 07:40."),
    ];
    let output = Host::new(Canned::with(events)).run(&["chat", "-m", "when?"]);
    assert!(stdout(&output).ends_with("It opens at 07:40.\n"), "{}", stdout(&output));
    assert!(stderr(&output).contains("begins again"));
    let output =
        Host::new(Canned::with(vec![done(End::Answered, "all of it")])).run(&["chat", "-m", "when?"]);
    assert_eq!(stdout(&output), "all of it\n");
}

#[test]
fn what_a_model_says_cannot_steer_the_terminal() {
    let evil = "\u{1b}]0;owned\u{7}\u{1b}[2J\u{202e}text";
    let host = Host::new(Canned::with(vec![said(evil), done(End::Answered, evil)]));
    let output = host.run(&["chat", "-m", "x"]);
    assert!(!output.stdout.contains(&0x1b) && stdout(&output).contains("\\u{1b}]0;owned"));
}

#[test]
fn ctrl_c_cancels_the_turn_and_its_end_is_awaited() {
    let host = Host::new(Canned::with(vec![TurnEvent::Started { attempt: 1 }]));
    let child = host.start(&["chat", "-m", "long", "--json"]);
    until("the turn is followed", || host.canned.get(|state| state.follows.len() >= 2));
    child.interrupt();
    let output = child.end();
    assert_eq!(host.canned.get(|state| state.cancelled), 1);
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(pointer(&document(&output), "/end"), "cancelled");
}

#[test]
fn lines_of_standard_input_are_turns_of_one_session() {
    let host = Host::new(Canned::with(vec![done(End::Answered, "yes")]));
    let output = host.run_with(&["chat", "--session", "talk"], b"one\n\ntwo\n");
    assert!(output.status.success(), "{}", stderr(&output));
    let said: Vec<_> = host.canned.get(|state| state.asks.iter().map(|ask| ask.content.plain()).collect());
    assert_eq!(said, ["one", "two"]);
    assert!(host.canned.get(|state| state.asks.iter().all(|ask| ask.session.as_str() == "talk")));
    assert_eq!(stdout(&output).matches("yes\n").count(), 2);
}

#[test]
fn a_message_comes_from_standard_input_and_over_its_bound_it_is_refused() {
    let host = Host::new(Canned::with(vec![done(End::Answered, "yes")]));
    assert!(host.run_with(&["chat", "-m", "-"], "two\nlines".as_bytes()).status.success());
    assert_eq!(host.canned.get(|state| state.asks[0].content.plain()), "two\nlines");
    let output = host.run_with(&["chat", "-m", "-", "--json"], &vec![b'x'; 300_000]);
    assert_eq!(pointer(&document(&output), "/error/type"), "too_long");
    assert!(pointer(&document(&output), "/error/message").as_str().unwrap().contains("262144"));
}

#[test]
fn a_workspace_is_handed_over_as_a_descriptor_and_used_by_its_id() {
    let host = Host::new(Canned::with(vec![done(End::Answered, "yes")]));
    let folder = host.folder.path();
    let output = host.run(&["chat", "--workspace", folder.to_str().unwrap(), "-m", "x"]);
    assert!(output.status.success(), "{}", stderr(&output));
    assert_eq!(host.canned.get(|state| state.directories.clone()), [folder.metadata().unwrap().ino()]);
    let ask = host.canned.get(|state| state.asks[0].clone());
    assert_eq!(ask.workspace, Some(ATTACHED_ID));
    assert_eq!(ask.session.as_str(), format!("workspace-{ATTACHED_ID}"));
}

#[test]
fn a_workspace_that_is_refused_says_why_and_nothing_is_submitted() {
    let host = Host::new(Canned::with(conversation()));
    let folder = host.folder.path().to_str().unwrap().to_owned();
    let file = host.folder.path().join("file");
    std::fs::write(&file, "").unwrap();
    let chat = |directory: &str| host.run(&["chat", "-m", "x", "--json", "--workspace", directory]);
    let kind = |output| pointer(&document(&output), "/error/type").clone();
    assert_eq!(kind(chat(file.to_str().unwrap())), "not_a_directory");
    assert_eq!(kind(chat("/nonexistent")), "file");
    for (answer, expected, exit) in
        [(2, "not_yours", 77), (3, "not_a_directory", 1), (4, "too_many_attached", 1)]
    {
        host.canned.set(|state| state.attach = answer);
        let output = chat(&folder);
        assert_eq!(output.status.code(), Some(exit));
        assert_eq!(kind(output), expected);
    }
    assert!(host.canned.get(|state| state.asks.is_empty()));
}

#[test]
fn a_commands_output_and_status_pass_through() {
    let events = vec![output(false, b"out \xff"), output(true, b"err"), done(End::Exited { status: 42 }, "")];
    let host = Host::new(Canned::with(events));
    let run = host.run(&["sandbox", "run", "--", "sh", "-c", "exit 42"]);
    assert_eq!(
        (run.status.code(), run.stdout.as_slice(), run.stderr.as_slice()),
        (Some(42), &b"out \xff"[..], &b"err"[..])
    );
    let ask = host.canned.get(|state| state.asks[0].clone());
    let Task::Command { argv } = ask.task else { panic!("not a command") };
    assert_eq!(argv.iter().map(|word| word.as_str()).collect::<Vec<_>>(), ["sh", "-c", "exit 42"]);
    // Nobody named the session, so it is ended and its folder removed.
    assert_eq!(host.canned.get(|state| state.ended.clone()), [ask.session.to_string()]);
    assert_eq!(host.canned.get(|state| state.removed.clone()), [WORKSPACE]);
}

#[test]
fn a_command_in_a_named_session_leaves_it_as_it_is() {
    let host = Host::new(Canned::with(vec![done(End::Exited { status: 0 }, "")]));
    assert!(host.run(&["sandbox", "run", "--session", "s1", "--", "true"]).status.success());
    assert!(host.canned.get(|state| state.ended.is_empty() && state.removed.is_empty()));
}

#[test]
fn a_command_that_cordon_ended_exits_124_or_125() {
    for (end, exit) in [
        (End::TimedOut, 124),
        (End::Failed(Text::clip("no such program")), 125),
        (End::Blocked(Text::clip("why")), 125),
    ] {
        let host = Host::new(Canned::with(vec![done(end.clone(), "")]));
        assert_eq!(host.run(&["sandbox", "run", "--", "x"]).status.code(), Some(exit), "{end:?}");
        let output = host.run(&["sandbox", "run", "--json", "--", "x"]);
        assert_eq!((output.status.code(), pointer(&document(&output), "/ok")), (Some(exit), &json!(false)));
    }
    let host = Host::new(Canned::default());
    let refusal = ControlError::NotAllowed(denied("guest"));
    host.canned.set(|state| state.refuse = Some(refusal));
    assert_eq!(host.run(&["sandbox", "run", "--", "x"]).status.code(), Some(125));
}

#[test]
fn an_agent_that_there_is_not_and_a_session_of_another_are_named() {
    let host = Host::new(Canned::default());
    for (refusal, kind, says) in [
        (
            RouterError::NoAgent(Text::clip("default, other")),
            "no_agent",
            "no agent nope; name one of: default, other",
        ),
        (RouterError::Taken, "taken", "session s1 already has another agent"),
    ] {
        host.canned.set(|state| state.refuse = Some(ControlError::Router(refusal)));
        for words in [&["chat", "-m", "x"][..], &["run"]] {
            let words = [
                words,
                &["-a", "nope", "-s", "s1", "--json"],
                if words.len() > 1 { &[] } else { &["--", "x"] },
            ];
            let said = document(&host.run(&words.concat()));
            let message = pointer(&said, "/error/message").as_str().unwrap_or_default();
            assert!(pointer(&said, "/error/type") == kind && message.contains(says), "{said}");
        }
    }
}

#[test]
fn a_commands_output_stands_in_the_document() {
    let events = vec![output(false, b"out"), output(true, b"\xff"), done(End::Exited { status: 3 }, "")];
    let output = Host::new(Canned::with(events)).run(&["sandbox", "run", "--json", "--", "x"]);
    let document = document(&output);
    assert_eq!((output.status.code(), pointer(&document, "/status")), (Some(3), &json!(3)));
    assert_eq!(
        (pointer(&document, "/stdout"), pointer(&document, "/stderr_base64")),
        (&json!("out"), &json!("/w=="))
    );
}

#[test]
fn a_process_is_restarted_once_even_if_the_answer_was_lost() {
    let host = Host::new(Canned::default());
    host.canned.set(|state| state.cut_restart = true);
    let output = host.run(&["restart", "router"]);
    assert!(output.status.success(), "{}", stderr(&output));
    assert_eq!(host.canned.get(|state| state.restarts), 1);
}
