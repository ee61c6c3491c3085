//! Shares of the queue: one person's turns, and the questions that they ask, leave the others' messages their places. Each
//! person has a uid, which takes root to try.

use serde_json::{Value, json};
use std::os::unix::process::CommandExt;
use std::process::{Child, Stdio};
use tests::{Host, Setup, call, is_root, text};

/// A guest, a user, and an agent whose model takes its time. Commands ask.
const CONFIG: &str = "[policy]\nautonomy = \"supervised\"\n[agent.slow]\nmodel = \"scripted/slow\"\n\
    [[user]]\nname = \"gus\"\nrole = \"guest\"\nuids = [64203]\n\
    [[user]]\nname = \"omar\"\nrole = \"user\"\nuids = [64202]\n";
const GUS: u32 = 64_203;
const OMAR: u32 = 64_202;

/// A message of this person's, whose reply is still to come.
fn says(host: &Host, uid: u32, session: &str, words: &[&str]) -> Child {
    let mut command = host.command(&[&["--json", "chat", "--session", session][..], words].concat());
    command.uid(uid).gid(uid).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap()
}

/// The end of its turn.
fn ended(chat: Child) -> Value {
    let output = chat.wait_with_output().unwrap();
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {output:?}"))
}

/// How many messages of this user are in this state.
fn count(host: &Host, user: &str, state: &str) -> usize {
    let listed = host.json(&["message", "list"]);
    let all = listed["messages"].as_array().cloned().unwrap_or_default();
    all.iter().filter(|it| it["user"] == user && it["state"] == state).count()
}

/// The owner and the user are answered while everything else stays as it is.
fn others_are_answered(host: &Host) {
    assert_eq!(ended(says(host, OMAR, "o", &["-m", "echo: for omar"]))["reply"], "for omar");
    assert_eq!(host.chat("mine", "echo: for the owner"), "for the owner");
}

// Holds P7-93, B-12.
#[test]
#[ignore = "needs root: run by make test-confined"]
fn the_questions_of_a_guest_leave_the_owner_and_others_their_places() {
    assert!(is_root(), "make test-confined needs root");
    let host = Setup::default().config(CONFIG).start();
    // Eight turns that ask hold no place, and the ninth one does.
    let asks = |number: usize| says(&host, GUS, &format!("g{number}"), &["-m", "run: echo done"]);
    let mut chats: Vec<Child> = (1..=9).map(asks).collect();
    assert_eq!(host.questions(9).len(), 9);
    others_are_answered(&host);

    // Four turns of the guest's hold a place, and so the rest of their messages wait.
    chats.extend((10..=14).map(asks));
    assert_eq!(host.questions(12).len(), 12);
    host.wait_for("two messages wait", || count(&host, "gus", "queued") == 2);
    others_are_answered(&host);
    assert_eq!((count(&host, "gus", "queued"), host.questions(12).len()), (2, 12));

    // Three slow turns of the user's take the places that are left but for the owner's.
    host.script("slow", &[json!({ "pieces": [{ "delay_ms": 600_000 }, { "text": "never" }] })]);
    let slow = |number: usize| says(&host, OMAR, &format!("o{number}"), &["--agent", "slow", "-m", "go on"]);
    chats.extend((1..=3).map(slow));
    host.wait_for("three turns of the user's run", || count(&host, "omar", "running") == 3);
    chats.push(says(&host, OMAR, "o4", &["-m", "echo: late"]));
    host.wait_for("the fourth one waits", || count(&host, "omar", "queued") == 1);
    assert_eq!(host.chat("mine", "echo: still answered"), "still answered");
    assert_eq!(count(&host, "omar", "queued"), 1);

    // Answers free the guest's places for the messages of theirs that wait.
    for question in host.questions(12) {
        host.deny(&text(&question, "id"));
    }
    host.wait_for("no message of the guest's waits", || count(&host, "gus", "queued") == 0);
    let _ = host.json(&["stop", "--all"]);
    for chat in chats {
        let _ = ended(chat);
    }
}

/// Has this person begin two turns, or one, that ask 32 questions each.
fn asks_much(host: &Host, uid: u32, turns: usize) -> Vec<Child> {
    let ask = |number: usize| says(host, uid, &format!("much{number}"), &["--agent", "asker", "-m", "go on"]);
    (0..turns).map(ask).collect()
}

// Holds P7-93, B-44.
#[test]
#[ignore = "needs root: run by make test-confined"]
fn with_the_questions_of_two_users_waiting_turns_go_on() {
    assert!(is_root(), "make test-confined needs root");
    let more = "[agent.asker]\nmodel = \"scripted/asker\"\n";
    let host = Setup::default().config(&format!("{CONFIG}{more}")).start();
    let calls: Vec<Value> =
        (0..32).map(|n| call("bash", &json!({ "command": format!("echo {n}") }))).collect();
    host.script("asker", &[json!({ "pieces": calls })]);
    let mut chats = Vec::new();
    for (uid, turns) in [(GUS, 2), (OMAR, 2)] {
        chats.extend(asks_much(&host, uid, turns));
    }
    assert_eq!(host.questions(128).len(), 128);
    for _ in 0..3 {
        others_are_answered(&host);
    }
    let _ = host.json(&["stop", "--all"]);
    for chat in chats {
        let _ = ended(chat);
    }
}

// Holds P7-93, B-11.
#[test]
#[ignore = "needs root: run by make test-confined"]
fn messages_that_a_user_lets_wait_leave_the_owner_and_others_their_places() {
    assert!(is_root(), "make test-confined needs root");
    let queue = "[router]\nqueue_total = 16\nqueue_per_session = 16\n";
    let host = Setup::default().config(&format!("{CONFIG}{queue}")).start();
    assert!(host.command(&["pause"]).uid(OMAR).gid(OMAR).status().unwrap().success());
    let chats: Vec<Child> = (0..16).map(|_| says(&host, OMAR, "o", &["-m", "echo: later"])).collect();
    host.wait_for("he has his share", || count(&host, "omar", "queued") == 7);
    assert_eq!(ended(says(&host, GUS, "g", &["-m", "echo: for gus"]))["reply"], "for gus");
    assert_eq!(host.chat("mine", "echo: for the owner"), "for the owner");
    assert_eq!(count(&host, "omar", "queued"), 7);
    let _ = host.json(&["stop", "--all"]);
    for chat in chats {
        let _ = chat.wait_with_output();
    }
}
