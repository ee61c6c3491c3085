//! Steps of the wall clock while a host runs, back and forth: what the clock ends is over for good, and nothing else is
//! lost or done again for it. The steps are the host's own, by a flag of debug builds; the machine's clock is nobody's.

use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::thread;
use std::time::Duration;
use tests::{Clock, Host, text};

const HOUR: i64 = 3_600_000;
const DAY: i64 = 24 * HOUR;
/// A person is asked about what says so.
const ASKING: &str = "\
[tool.bash]
effect = \"write\"
relevant_args = [\"command\", \"cwd\"]
[tool.bash.approval]
danger_patterns = [\"PLEASE\"]
[tool.bash.execution]
sandbox = \"container\"
";

fn start(clock: &Clock, config: &str, state: &Path, more: &[&str]) -> Host {
    clock.setup().config(config).state(state).arguments(more).start()
}

fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
    folder
}

fn is_over(host: &Host, id: &str) {
    assert_eq!(host.approval(id)["state"], "expired");
    let late = host.ask(&["approvals", "approve", id, "--yes"]);
    assert_eq!(late["error"]["type"], "not_pending", "{late}");
    assert_eq!(host.json(&["approvals", "list"])["approvals"], json!([]));
}

// Holds P7-62.
#[test]
fn a_step_forward_ends_a_question_and_no_step_back_opens_it_again() {
    let folder = folder();
    let clock = Clock::new(folder.path());
    // The router dies as the end is kept, before anybody is told of it.
    let dying = ["--fault", "router:router.approval.lapsed"];
    let host = start(&clock, ASKING, &folder.path().join("state"), &dying);
    let turn = host.say("s", "run: echo yes >> ledger # PLEASE");
    let id = host.question();
    clock.step(&host, HOUR);
    host.wait_for("the router is back", || {
        let router = host.process("router");
        router["restarts"] == 1 && router["state"] == "ready"
    });
    let ended = turn.ended();
    assert_eq!(ended["end"], "answered", "{ended}");
    is_over(&host, &id);
    clock.step(&host, -HOUR);
    is_over(&host, &id);
    host.kill_and_wait("router");
    is_over(&host, &id);
    assert!(!host.chat("s", "read ledger").contains("yes"));
    // One that is asked after the step back has its own time, and a yes to it counts.
    let turn = host.say("s", "run: echo yes >> ledger # PLEASE");
    host.approve(&host.question());
    assert_eq!(turn.ended()["end"], "answered");
    assert_eq!(host.chat("s", "read ledger").matches("yes").count(), 1);
}

/// Entries of the record whose time is before that of the entry before them.
fn backward(host: &Host) -> usize {
    let tail = host.json(&["audit", "tail", "--from", "0"]);
    let times: Vec<u64> =
        tail["records"].as_array().unwrap().iter().filter_map(|entry| entry["time_ms"].as_u64()).collect();
    times.windows(2).filter(|pair| pair[1] < pair[0]).count()
}

fn holds(host: &Host) {
    host.wait_for("a checkpoint covers every entry", || {
        let stats = host.json(&["audit", "stats"]);
        stats["signed"] == stats["entries"]
    });
    assert_eq!(host.json(&["audit", "verify"])["ok"], true);
}

// Holds P7-62.
#[test]
fn clock_steps_during_a_turn_lose_no_lease_and_repeat_no_effect() {
    let folder = folder();
    let (clock, state) = (Clock::new(folder.path()), folder.path().join("state"));
    let mut host = start(&clock, "", &state, &[]);
    let pids: Vec<Value> = processes(&host);
    let turn = host.say("s", "run: echo once >> ledger; sleep 4; echo done");
    let behind = host.say("s", "echo: behind");
    host.wait_for("it runs", || host.recorded("tool_decided").len() == 1);
    for ms in [7 * DAY, -DAY, 400 * DAY, 0] {
        clock.step(&host, ms);
        let _ = host.chat("t", "echo: meanwhile");
        thread::sleep(Duration::from_millis(200));
    }
    let ended = turn.ended();
    assert_eq!((&ended["ok"], &ended["attempts"]), (&json!(true), &json!(1)), "{ended}");
    assert!(text(&ended, "reply").contains("done"), "{ended}");
    assert_eq!(behind.ended()["reply"], "behind");
    assert_eq!(host.chat("s", "read ledger").matches("once").count(), 1);
    assert_eq!(processes(&host), pids, "no process was ended for it");
    assert!(backward(&host) >= 2, "the record says what the clock said");
    holds(&host);
    // A host that is started on a clock before its own past goes on from there.
    host.stop();
    clock.put(-DAY);
    let host = start(&clock, "", &state, &[]);
    assert_eq!(host.chat("s", "echo: earlier"), "earlier");
    assert_eq!(host.chat("s", "read ledger").matches("once").count(), 1);
    holds(&host);
}

fn processes(host: &Host) -> Vec<Value> {
    let status = host.json(&["status"]);
    status["processes"].as_array().unwrap().iter().map(|process| process["pid"].clone()).collect()
}
