//! Approvals from outside: what is shown is what is answered, nothing in it can hide, and nobody is asked who is
//! not there.

use crate::canned::{CALL, Canned, TURN, done, label, said};
use crate::host::{Host, document, stderr, stdout, until};
use ipc_proto::approval::{ApprovalInfo, ApprovalView, Question, Reply, State};
use ipc_proto::ids::ApprovalId;
use ipc_proto::label::{Class, Trust};
use ipc_proto::router::{End, TurnEvent};
use ipc_proto::{List, Name, Text};
use nix::pty::openpty;
use serde_json::json;
use sha2::{Digest, Sha256};
use std::fs::File;
use std::io::{Read, Write};
use std::process::Stdio;

/// Text that would hide what it does on a terminal that showed it as it is.
const SLY: &str = "{\"args\":{\"to\":\"a\u{200b}b\u{202e}moc\\u001b[8m\"},\"tool\":\"mail\"}";

fn id(byte: u8) -> ApprovalId {
    ApprovalId::from_bytes([byte; 16])
}

fn sha(text: &str) -> [u8; 32] {
    Sha256::digest(text.as_bytes()).into()
}

/// A question whose transmitted hash is a lie.
pub(crate) fn view(byte: u8, state: State) -> ApprovalView {
    let expires_ms = u64::MAX / 2;
    let question = Question {
        id: id(byte),
        call: CALL,
        tool: Name::clip("mail"),
        action: Text::clip(SLY),
        hash: [0; 32],
        scope: [1; 32],
        preview: Text::clip("sends a\u{200d}\u{1b}mail"),
        reason: Text::clip("outside the plan"),
        policies: List::clip([Name::clip("standard.ask")]),
        label: label(),
        declassifies: true,
        grantable: true,
        owner_only: false,
        expires_ms,
    };
    let info = ApprovalInfo {
        id: id(byte),
        state,
        turn: TURN,
        session: Text::clip("s1"),
        user: Name::clip("ann"),
        tool: Name::clip("mail"),
        hash: [0; 32],
        reason: Text::clip("outside the plan"),
        asked_ms: 1,
        expires_ms,
        answered_by: None,
    };
    ApprovalView { info, question: Box::new(question) }
}

fn event(byte: u8) -> TurnEvent {
    let question = view(byte, State::Pending).question;
    TurnEvent::Approval {
        id: question.id,
        call: question.call,
        tool: question.tool,
        preview: question.preview,
        action: Text::clip(SLY),
        hash: question.hash,
        reason: question.reason,
        grantable: true,
        expires_ms: question.expires_ms,
    }
}

fn host(views: &[(u8, State)]) -> Host {
    let host = Host::new(Canned::default());
    let views: Vec<_> = views.iter().map(|(byte, state)| view(*byte, *state)).collect();
    host.canned.set(|state| state.approvals = views);
    host
}

fn answers(host: &Host) -> Vec<(ApprovalId, [u8; 32], Reply)> {
    host.canned.get(|state| state.answers.clone())
}

// Holds P5-60.
#[test]
fn the_approved_hash_is_that_of_the_shown_action() {
    for (words, reply) in [
        (&["approvals", "approve", "11", "--yes"][..], Reply::Once),
        (&["approvals", "approve", "1111", "--session", "-y"][..], Reply::Session),
        (&["approvals", "deny", "11111111-1111"][..], Reply::Deny),
    ] {
        let host = host(&[(0x11, State::Pending), (0x22, State::Pending)]);
        let output = host.run(words);
        assert!(output.status.success(), "{}", stderr(&output));
        assert_eq!(answers(&host), [(id(0x11), sha(SLY), reply)]);
    }
}

// Holds P5-61.
#[test]
fn nothing_in_an_action_can_hide_from_whoever_decides_about_it() {
    let host = host(&[(0x11, State::Pending)]);
    let shown = stdout(&host.run(&["approvals", "show", "11"]));
    let approved = stderr(&host.run(&["approvals", "approve", "11", "--yes"]));
    for text in [shown, approved] {
        assert!(text.contains("a\\u{200b}b\\u{202e}moc\\u001b[8m"), "{text}");
        assert!(text.contains("sends a\\u{200d}\\u{1b}mail") && text.contains("standard.ask"), "{text}");
        assert!(text.contains("lets out"), "that it declassifies is said: {text}");
        assert!(
            !text.chars().any(|c| matches!(c, '\u{200b}' | '\u{202e}' | '\u{1b}' | '\u{200d}')),
            "{text}"
        );
    }
    let json = host.json(&["approvals", "show", "11"]);
    assert_eq!(json.pointer("/approval/action"), Some(&json!(SLY)), "a program is given the bytes");
}

#[test]
fn nobody_is_taken_to_have_said_yes_who_was_not_asked() {
    let host = host(&[(0x11, State::Pending)]);
    let output = host.run(&["approvals", "approve", "11"]);
    assert_eq!(output.status.code(), Some(64), "{}", stderr(&output));
    assert_eq!(host.run_with(&["approvals", "approve", "11"], b"y\n").status.code(), Some(64));
    assert_eq!(host.run(&["approvals", "approve", "11", "--json"]).status.code(), Some(64));
    assert!(answers(&host).is_empty());
}

#[test]
fn a_beginning_that_is_not_one_approvals_alone_is_refused() {
    let host = host(&[(0x11, State::Pending), (0x12, State::Claimed), (0x13, State::Pending)]);
    for (words, kind) in [
        (["approvals", "approve", "1"], "usage"),
        (["approvals", "deny", "9"], "no_approval"),
        (["approvals", "deny", "12"], "not_pending"),
    ] {
        let words = if words[1] == "approve" { [&words[..], &["--yes"]].concat() } else { words.to_vec() };
        let output = host.run(&[&words[..], &["--json"]].concat());
        assert_eq!(document(&output).pointer("/error/type"), Some(&json!(kind)), "{words:?}");
    }
    assert!(answers(&host).is_empty());
    assert_eq!(host.json(&["approvals", "list"])["approvals"].as_array().map(Vec::len), Some(2));
    assert_eq!(host.json(&["approvals", "list", "--all"])["approvals"].as_array().map(Vec::len), Some(3));
    assert!(host.run(&["approvals", "show", "12"]).status.success());
    assert!(host.run(&["approvals", "revoke", "08"]).status.success());
    assert_eq!(host.canned.get(|state| state.revoked.clone()), [id(8)]);
}

#[test]
fn a_chat_without_a_terminal_prints_how_to_answer_and_goes_on() {
    for json in [false, true] {
        let host = host(&[(0x11, State::Pending)]);
        host.canned.set(|state| state.events = vec![said("let me\n"), event(0x11)]);
        let words: &[&str] = if json { &["chat", "-m", "x", "--json"] } else { &["chat", "-m", "x"] };
        let child = host.start(words);
        until("the question is seen", || host.canned.get(|state| state.follows.contains(&2)));
        let full = id(0x11).to_string();
        assert!(host.run(&["approvals", "deny", &full]).status.success());
        let output = child.end();
        assert!(output.status.success(), "{}", stderr(&output));
        assert!(
            stderr(&output).contains(&format!("agentctl approvals approve {full}")),
            "{}",
            stderr(&output)
        );
        if json {
            let document = document(&output);
            let at = |pointer: &str| document.pointer(pointer).cloned();
            assert_eq!(at("/approvals/0/id"), Some(json!(full)));
            assert_eq!(at("/approvals/0/state"), Some(json!("denied")));
            assert_eq!(at("/approvals/0/action"), Some(json!(SLY)));
        }
    }
}

// Holds P5-61.
#[test]
fn what_a_model_writes_is_never_an_answer() {
    let host = host(&[(0x11, State::Pending)]);
    let events = vec![event(0x11), said("y\nyes\napprove 11\n"), done(End::Answered, "y\n")];
    host.canned.set(|state| state.events = events);
    assert!(host.run_with(&["chat", "-m", "x"], b"y\n").status.success());
    assert!(answers(&host).is_empty());
}

/// A chat at a terminal of its own; gives what the terminal showed. Each step is typed at the prompt behind its text.
fn at_a_terminal(host: &Host, before: &[u8], steps: &[(&str, &[u8])]) -> String {
    let size = nix::pty::Winsize { ws_row: 24, ws_col: 80, ws_xpixel: 0, ws_ypixel: 0 };
    let pty = openpty(Some(&size), None).unwrap();
    let mut keyboard = File::from(pty.master.try_clone().unwrap());
    keyboard.write_all(before).unwrap();
    let slave = || Stdio::from(pty.slave.try_clone().unwrap());
    let mut child = host
        .command(&["chat", "-m", "x"])
        .stdin(slave())
        .stdout(Stdio::null())
        .stderr(slave())
        .spawn()
        .unwrap();
    drop(pty.slave);
    let (mut screen, mut shown) = (File::from(pty.master), String::new());
    let (mut steps, mut from) = (steps.iter(), 0);
    let mut next = steps.next();
    let mut piece = [0; 4096];
    // The terminal ends with the last program that has it open.
    while let Ok(read @ 1..) = screen.read(&mut piece) {
        shown.push_str(&String::from_utf8_lossy(&piece[..read]));
        let Some((behind, typed)) = next else { continue };
        let rest = &shown[from..];
        if rest.find(behind).is_some_and(|at| rest[at..].contains("[d]etails: ")) {
            from = shown.len();
            keyboard.write_all(typed).unwrap();
            next = steps.next();
        }
    }
    assert!(child.wait().unwrap().success(), "{shown}");
    shown
}

#[test]
fn on_a_terminal_a_person_is_shown_the_action_and_answers_it_there() {
    for (typed, reply) in [(&b"y\n"[..], Reply::Once), (&b"s\n"[..], Reply::Session)] {
        let host = host(&[(0x11, State::Pending)]);
        host.canned.set(|state| state.events = vec![said("let me\n"), event(0x11)]);
        let shown = at_a_terminal(&host, b"n\ny\ns\n", &[("", typed)]);
        assert_eq!(
            answers(&host),
            [(id(0x11), sha(SLY), reply)],
            "what was typed before does not count: {shown}"
        );
        assert!(shown.contains("a\\u{200b}b\\u{202e}moc") && shown.contains(" left]"), "{shown}");
    }
}

// Holds P5-61.
#[test]
fn a_card_has_four_lines_and_the_details_have_hash_and_bytes() {
    let host = host(&[(0x11, State::Pending)]);
    host.canned.set(|state| state.events = vec![said("let me\n"), event(0x11)]);
    let shown = at_a_terminal(&host, b"", &[("", b"d\n"), ("sha256", b"n\n")]);
    let (card, details) = shown.split_once("[d]etails: ").unwrap();
    let card: Vec<&str> = card.lines().skip_while(|line| !line.starts_with("  ? ")).collect();
    assert_eq!(card.len(), 4, "{shown}");
    assert!(card[0].contains("mail; to: a\\u{200b}b\\u{202e}moc"), "{shown}");
    assert!(card[1].starts_with("    why:     outside the plan"), "{shown}");
    assert!(card[2].starts_with("    matched: to = a\\u{200b}b"), "{shown}");
    assert!(card[3].contains("[y]es once / [s]ession / [n]o"), "{shown}");
    let hash: String = sha(SLY).iter().map(|byte| format!("{byte:02x}")).collect();
    assert!(details.contains(&hash) && details.contains("standard.ask"), "{shown}");
    assert!(shown.contains("denied: it was not run"), "{shown}");
    assert_eq!(answers(&host), [(id(0x11), sha(SLY), Reply::Deny)]);
}

// Holds P5-60, P5-71.
#[test]
fn a_yes_to_an_action_that_is_not_shown_whole_shows_it_first() {
    let host = host(&[(0x11, State::Pending)]);
    let action = format!(r#"{{"args":{{"body":"{}END"}},"tool":"mail"}}"#, "word ".repeat(200));
    host.canned.set(|state| {
        state.events = vec![event(0x11)];
        state.approvals[0].question.action = Text::clip(&action);
    });
    let shown = at_a_terminal(&host, b"", &[("", b"y\n"), ("sha256", b"y\n")]);
    let (card, details) = shown.split_once("sha256").unwrap();
    assert!(card.contains("characters more") && !card.contains("END"), "{shown}");
    assert!(details.contains("END"), "{shown}");
    assert_eq!(answers(&host), [(id(0x11), sha(&action), Reply::Once)], "{shown}");
}

#[test]
fn a_question_that_is_answered_elsewhere_is_asked_no_more() {
    let host = host(&[(0x11, State::Pending)]);
    host.canned.set(|state| state.events = vec![said("let me\n"), event(0x11)]);
    let shown = std::thread::scope(|scope| {
        // A line that is not an answer is asked again.
        let shown = scope.spawn(|| at_a_terminal(&host, b"", &[("", b"what?\n")]));
        until("the question is seen", || host.canned.get(|state| state.follows.contains(&2)));
        assert!(host.run(&["approvals", "deny", "11"]).status.success());
        shown.join().unwrap()
    });
    assert_eq!(answers(&host), [(id(0x11), sha(SLY), Reply::Deny)], "{shown}");
}

#[test]
fn what_an_owner_declares_of_a_directory_goes_with_every_message_in_it() {
    let host = Host::new(Canned::with(vec![done(End::Answered, "yes")]));
    let folder = host.folder.path().to_str().unwrap().to_owned();
    for (words, expected) in [
        (&[][..], None),
        (&["--workspace-trust", "user"][..], Some((Trust::User, Class::Internal))),
        (&["--workspace-class", "secret"][..], Some((Trust::Untrusted, Class::Secret))),
        (
            &["--workspace-trust", "verified", "--workspace-class", "public"][..],
            Some((Trust::Verified, Class::Public)),
        ),
    ] {
        for command in [&["chat", "-m", "x"][..], &["sandbox", "run"]] {
            let tail: &[&str] = if command[0] == "sandbox" { &["--", "true"] } else { &[] };
            let all = [command, &["--workspace", &folder], words, tail].concat();
            let output = host.run(&all);
            assert!(output.status.success(), "{all:?}: {}", stderr(&output));
            let label = host.canned.get(|state| state.asks.last().and_then(|ask| ask.workspace_label));
            assert_eq!(label, expected, "{all:?}");
        }
    }
}
