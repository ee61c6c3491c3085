//! The queue: messages are taken back, held and stopped, and whoever sent them hears of it; nothing goes on by itself
//! that a person has halted.

use serde_json::{Value, json};
use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;
use tests::{Host, Setup, text};

/// Longer than any test waits: only a stop ends it.
const SLOW: &str = "run: sleep 600; echo never";
/// A stop has ended everything by then, by the record's own clock, ms.
const AT_ONCE: u64 = 1000;

fn messages(host: &Host) -> Vec<Value> {
    host.json(&["message", "list"])["messages"].as_array().cloned().unwrap_or_default()
}

/// The only message of this session, once it is in this state.
fn message_in(host: &Host, session: &str, state: &str) -> String {
    let mut id = String::new();
    host.wait_for(&format!("a message of {session} is {state}"), || {
        let found = messages(host).into_iter().find(|it| it["session"] == session && it["state"] == state);
        id = found.map(|it| text(&it, "id")).unwrap_or_default();
        !id.is_empty()
    });
    id
}

fn state_of(host: &Host, id: &str) -> String {
    text(&host.json(&["message", "show", id])["message"], "state")
}

fn queue(host: &Host) -> Value {
    host.json(&["queue"])["queue"].clone()
}

// Holds P7-56.
#[test]
fn a_message_that_has_not_begun_is_recalled_once_and_its_sender_is_told() {
    let host = Host::start();
    let _ = host.json(&["pause"]);
    let turn = host.say("s", "run: echo done > ledger");
    let id = message_in(&host, "s", "queued");
    assert_eq!((&queue(&host)["paused"], &queue(&host)["waiting"]), (&json!(true), &json!(1)));
    for _ in 0..2 {
        let taken = host.json(&["message", "recall", &id]);
        assert_eq!(taken["text"], "run: echo done > ledger", "{taken}");
    }
    let ended = turn.ended();
    assert_eq!((&ended["ok"], &ended["end"]), (&json!(false), &json!("recalled")), "{ended}");
    let _ = host.json(&["resume"]);
    assert!(!host.chat("s", "read ledger").contains("done"));
    assert_eq!((state_of(&host, &id).as_str(), host.recorded("message_recalled").len()), ("recalled", 1));
}

#[test]
fn a_message_that_has_begun_or_ended_is_not_recalled_and_its_state_named() {
    let host = Host::start();
    let _ = host.chat("s", "echo: x");
    let answered = text(&messages(&host)[0], "id");
    let turn = host.say("t", SLOW);
    let running = message_in(&host, "t", "running");
    for (id, state) in [(answered, ["answered", "delivered"]), (running, ["running", "running"])] {
        let refused = host.ask(&["message", "recall", &id]);
        assert_eq!(refused["error"]["type"], "too_late", "{refused}");
        let why = text(&refused["error"], "message");
        assert!(state.iter().any(|state| why.contains(state)), "{why}");
    }
    let _ = host.json(&["stop", "--all"]);
    assert_eq!(turn.ended()["end"], "cancelled");
}

// Holds P7-56.
#[test]
fn a_pause_outlives_router_and_host_and_waiting_messages_go_on_after_it() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::set_permissions(folder.path(), PermissionsExt::from_mode(0o755)).unwrap();
    let start = || Setup::default().state(folder.path()).start();
    let mut first = start();
    let _ = first.chat("s", "echo: before");
    let _ = first.json(&["pause", "--session", "s"]);
    let turn = first.say("s", "run: echo once >> ledger; cat ledger");
    let id = message_in(&first, "s", "queued");
    first.kill_and_wait("router");
    assert_eq!(first.chat("t", "echo: another session goes on"), "another session goes on");
    assert_eq!(
        (state_of(&first, &id).as_str(), &queue(&first)["paused_sessions"]),
        ("queued", &json!(["s"]))
    );
    let _ = first.stop();
    drop(turn);
    let second = start();
    assert_eq!(second.chat("t", "echo: still"), "still");
    assert_eq!(
        (state_of(&second, &id).as_str(), &queue(&second)["paused_sessions"]),
        ("queued", &json!(["s"]))
    );
    let _ = second.json(&["resume", "--session", "s"]);
    second
        .wait_for("it is answered", || ["answered", "delivered"].contains(&state_of(&second, &id).as_str()));
    assert_eq!(second.chat("s", "read ledger").matches("once").count(), 1);
    assert_eq!((second.recorded("queue_paused").len(), &queue(&second)["paused_sessions"]), (2, &json!([])));
}

/// The turns that have ended on the record, each with its time.
fn ends(host: &Host) -> Vec<(String, u64)> {
    let ended = host.recorded("turn_ended");
    ended.iter().map(|entry| (text(entry, "turn"), entry["time_ms"].as_u64().unwrap())).collect()
}

// Holds P7-55.
#[test]
fn a_stop_ends_running_and_waiting_work_of_its_session_and_nothing_else() {
    let host = Host::start();
    let (slow, other) = (host.say("s", SLOW), host.say("t", SLOW));
    let _ = (message_in(&host, "s", "running"), message_in(&host, "t", "running"));
    let behind = host.say("s", "echo: never");
    host.wait_for("it waits", || messages(&host).len() == 3 && queue(&host)["waiting"] == 1);
    let stopped = host.json(&["stop", "--session", "s"]);
    assert_eq!((&stopped["running"], &stopped["waiting"]), (&json!(1), &json!(1)), "{stopped}");
    let over = [slow.ended(), behind.ended()];
    assert!(over.iter().all(|ended| ended["end"] == "cancelled"), "{over:?}");
    let said = host.recorded("turns_stopped");
    let [at] = said.iter().map(|entry| entry["time_ms"].as_u64().unwrap()).collect::<Vec<_>>()[..] else {
        panic!("{said:?}")
    };
    let ends = ends(&host);
    assert_eq!(ends.len(), 2, "{ends:?}");
    assert!(ends.iter().all(|(_, time)| time.abs_diff(at) <= AT_ONCE), "{at} {ends:?}");
    assert_eq!(messages(&host).iter().filter(|it| it["state"] == "running").count(), 1);
    host.wait_for("one runner is left", || host.runners().len() == 1);
    let all = host.json(&["stop", "--all"]);
    assert_eq!((&all["running"], &all["waiting"]), (&json!(1), &json!(0)), "{all}");
    assert_eq!(other.ended()["end"], "cancelled");
    host.wait_for("no runner is left", || host.runners().is_empty());
    assert_eq!(host.chat("s", "echo: the session goes on"), "the session goes on");
}

// Holds P7-55.
#[test]
fn a_stop_ends_a_command_of_a_person_and_a_model_that_is_being_waited_for() {
    let host = Setup::default().config("[agent.default]\nmodel = \"scripted/slow\"\n").start();
    host.script("slow", &[json!({ "pieces": [{ "delay_ms": 600_000 }, { "text": "never" }] })]);
    let turn = host.say("s", "take your time");
    let mut command = host.command(&["sandbox", "run", "--session", "c", "--", "sleep", "600"]);
    let mut command = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let _ = (message_in(&host, "s", "running"), message_in(&host, "c", "running"));
    host.wait_for("the model is asked", || !host.recorded("model_decided").is_empty());
    let stopped = host.json(&["stop", "--all"]);
    assert_eq!(stopped["running"], 2, "{stopped}");
    assert_eq!(turn.ended()["end"], "cancelled");
    assert_eq!(command.wait().unwrap().code(), Some(130));
    assert_eq!(host.json(&["stop", "--all"])["running"], 0, "there is nothing left to stop");
}

// Holds P6-29.
#[test]
fn statistics_of_a_session_are_those_of_its_record() {
    let host = Host::start();
    let _ = host.chat("s", "remember: the harbour office opens at 07:40");
    let _ = host.chat("s", "run: exit 3");
    let _ = host.chat("t", "echo: another session");
    let shown = host.json(&["session", "show", "s"]);
    let counted = &shown["statistics"];
    let id = text(&shown["session"], "id");
    let of =
        |action: &str| host.recorded(action).iter().filter(|entry| entry["session"] == id.as_str()).count();
    assert_eq!(counted["turns"], json!(2), "{counted}");
    assert_eq!(counted["model_calls"], json!(of("model_ended")), "{counted}");
    let calls = &counted["tool_calls"];
    let ended: u64 = ["ok", "failed", "refused"].iter().filter_map(|name| calls[name].as_u64()).sum();
    assert_eq!((ended, &calls["open"]), (of("tool_ended") as u64, &json!(0)), "{counted}");
    assert!(counted["turns_ms"].as_u64() > Some(0) && counted["duration_ms"].is_u64(), "{counted}");
}
