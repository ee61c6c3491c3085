//! Steps of the wall clock while a host runs, back and forth: what the clock ends is over for good, and nothing else is
//! lost or done again for it. The steps are the host's own, by a flag of debug builds; the machine's clock is nobody's.

use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;
use tests::{Host, Setup, text};

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

/// The clock of a host, which is off the machine's by as much as its file says.
struct Clock(PathBuf);

impl Clock {
    fn new(folder: &Path) -> Self {
        let clock = Self(folder.join("clock"));
        clock.put(0);
        clock
    }

    fn put(&self, ms: i64) {
        let fresh = self.0.with_extension("new");
        fs::write(&fresh, format!("{ms}\n")).unwrap();
        fs::rename(fresh, &self.0).unwrap();
    }

    /// Steps it, and waits until every process was told.
    fn step(&self, host: &Host, ms: i64) {
        let line = format!("the clock is stepped to {ms} ms");
        let said = || host.log().matches(&line).count();
        let before = said();
        self.put(ms);
        host.wait_for(&line, || said() > before);
    }

    fn start(&self, config: &str, state: &Path, more: &[&str]) -> Host {
        let path = self.0.to_string_lossy().into_owned();
        let setup = Setup::default().config(config).state(state).arguments(&["--clock-offset", &path]);
        setup.arguments(more).start()
    }
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
    let host = clock.start(ASKING, &folder.path().join("state"), &dying);
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
    let mut host = clock.start("", &state, &[]);
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
    let host = clock.start("", &state, &[]);
    assert_eq!(host.chat("s", "echo: earlier"), "earlier");
    assert_eq!(host.chat("s", "read ledger").matches("once").count(), 1);
    holds(&host);
}

fn processes(host: &Host) -> Vec<Value> {
    let status = host.json(&["status"]);
    status["processes"].as_array().unwrap().iter().map(|process| process["pid"].clone()).collect()
}
