//! A disk that runs low, and one that is full: what is new is refused with the reason before anything is acknowledged,
//! what was accepted is kept, and room alone heals the host.

use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::thread;
use std::time::Duration;
use tests::{Disk, Host, Setup, free_bytes, is_root, text};

const MIB: u64 = 1 << 20;
/// Keeps 8 MiB; an agent that is asked, waits, and then writes a line.
const KEEPING: &str = "[host]\ndisk_reserve = 8\n[agent.slow]\nmodel = \"scripted/slow\"\n";

fn state_of(host: &Host) -> Value {
    host.json(&["status"])["host"].clone()
}

fn refused(value: &Value) -> String {
    assert_eq!((&value["ok"], &value["error"]["type"]), (&json!(false), &json!("no_room")), "{value}");
    text(&value["error"], "message")
}

// Holds P8-06.
#[test]
#[ignore = "needs root: run by make test-confined"]
fn a_message_that_cannot_be_durable_is_refused_and_no_accepted_one_lost() {
    assert!(is_root(), "make test-confined needs root");
    let disk = Disk::of("8m");
    let host = Setup::default().config("[host]\ndisk_reserve = 0\n").state(&disk.state()).start();
    let _ = host.chat("s", "remember: before the disk was full");
    disk.fill(0);
    let long = format!("echo: {}", "x".repeat(100_000));
    let send = |text: &str| host.ask(&["chat", "--session", "s", "-m", text])["ok"] == true;
    assert!((0..40).any(|_| !send(&long)), "a message was accepted on a full disk");
    disk.empty();
    host.wait_for("the host accepts again", || send("echo: x"));
    assert!(host.chat("t", "recall disk full").contains("before the disk"));
    assert_eq!(host.json(&["audit", "verify"])["ok"], true);
}

// Holds P9-05.
#[test]
#[ignore = "needs root: run by make test-confined"]
fn below_the_reserve_nothing_new_begins_and_room_alone_heals_it() {
    assert!(is_root(), "make test-confined needs root");
    let disk = Disk::of("48m");
    let host = Setup::default().config(KEEPING).state(&disk.state()).start();
    let write = json!({ "call": { "tool": "bash", "args": { "command": "echo done >> ledger" } } });
    host.script(
        "slow",
        &[
            json!({ "pieces": [{ "delay_ms": 4000 }, write] }),
            json!({ "pieces": [{ "text": "that is all" }] }),
        ],
    );
    let _ = host.chat("s", "remember: before the disk ran low");
    let _ = host.json(&["pause", "--session", "s"]);
    let waits = host.say("s", "run: echo once >> ledger; cat ledger");
    host.wait_for("it waits", || host.json(&["queue"])["queue"]["waiting"] == 1);
    let asked = host.recorded("model_decided").len();
    let turn = host.say_with(&["--session", "slow", "--agent", "slow", "-m", "go on"]);
    host.wait_for("its model was asked", || host.recorded("model_decided").len() > asked);

    disk.fill(5 * MIB);
    host.becomes("degraded");
    let reason = text(&state_of(&host), "reason");
    assert!(reason.starts_with("disk: ") && reason.ends_with("MiB free, 8 are kept"), "{reason}");
    assert_eq!(host.json(&["status"])["degraded"], json!([]), "every process is well");
    begins_nothing(&host);
    // The running turn comes to its end, and its effect does not happen.
    let ended = turn.ended();
    assert_eq!(ended["end"], "answered", "{ended}");
    let decided = host.recorded("tool_decided").pop().unwrap();
    assert_eq!(
        (&decided["result"], &decided["reason"]),
        (&json!("blocked"), &json!("disk low")),
        "{decided}"
    );
    // No jail either: what goes on waits.
    let _ = host.json(&["resume", "--session", "s"]);
    thread::sleep(Duration::from_secs(2));
    assert_eq!(host.json(&["queue"])["queue"]["waiting"], 1);
    disk.fill(0);
    begins_nothing(&host);

    disk.empty();
    host.becomes("ready");
    assert_eq!(waits.ended()["end"], "answered");
    assert_eq!(host.chat("s", "read ledger").matches("once").count(), 1);
    assert!(host.chat("t", "recall disk low").contains("before the disk"));
    let said = |action: &str| host.recorded(action);
    host.wait_for("both are on the record", || said("disk_low").len() == 2);
    let results: Vec<Value> = said("disk_low").iter().map(|entry| entry["result"].clone()).collect();
    assert_eq!(results, ["blocked", "success"]);
    let of_disk = |entry: &&Value| entry["subject"] == "disk low: state";
    assert_eq!(said("alert").iter().filter(of_disk).count(), 1);
    for name in ["audit", "router", "gate", "control"] {
        assert_eq!(host.process(name)["restarts"], 0, "{name} was started again for it");
    }
    assert_eq!(host.json(&["audit", "verify"])["ok"], true);
}

// Holds P9-04.
#[test]
#[ignore = "needs root: run by make test-confined"]
fn a_jail_that_fills_the_disk_is_ended_in_time_and_no_other_is() {
    assert!(is_root(), "make test-confined needs root");
    let disk = Disk::of("64m");
    let host = Setup::default().config(KEEPING).state(&disk.state()).start();
    let by = host.command(&["sandbox", "run", "--", "sh", "-c", "sleep 8; echo well"]);
    let stands_by = running(by);
    host.wait_for("it runs", || host.runners().len() == 1);
    // So slow that agentd comes to look in between, whatever else this machine does.
    let fills = "i=0; while :; do i=$((i + 1)); head -c 512K /dev/zero > f$i; sleep 0.01; done";
    let ended = host.ctl(&["sandbox", "run", "--session", "fills", "--", "sh", "-c", fills]);
    let said = String::from_utf8_lossy(&ended.stderr).into_owned();
    assert_eq!(ended.status.code(), Some(153), "{said}");
    assert!(said.contains("it took of the disk what the host keeps free"), "{said}");
    assert!(disk.free() > MIB, "{} bytes are left", disk.free());
    host.becomes("degraded");
    begins_nothing(&host);
    let by = stands_by.wait_with_output().unwrap();
    assert_eq!(
        (by.status.code(), String::from_utf8_lossy(&by.stdout).into_owned()),
        (Some(0), "well\n".into())
    );
    let turns = host.recorded("turn_ended");
    assert!(
        turns.iter().any(|turn| turn["reason"].as_str().is_some_and(|why| why.contains("of the disk"))),
        "{turns:?}"
    );
    // The owner removes the files that it left, and that is enough.
    let mut left: Vec<_> =
        fs::read_dir(disk.state().join("runner")).unwrap().flatten().map(|it| it.path()).collect();
    left.retain(|folder| folder.join("f1").exists());
    fs::remove_dir_all(&left[0]).unwrap();
    host.becomes("ready");
    assert_eq!(host.chat("s", "echo: x"), "x");
}

// Holds P9-06.
#[test]
#[ignore = "needs root: run by make test-confined"]
fn a_start_on_a_full_disk_says_so_and_its_units_try_again() {
    assert!(is_root(), "make test-confined needs root");
    let disk = Disk::of("48m");
    let setup = || Setup::default().config("[host]\ndisk_reserve = 0\n").state(&disk.state());
    let mut host = setup().start();
    let _ = host.chat("s", "remember: before the disk was full");
    assert_eq!(host.stop(), Some(0));
    // A start writes more or less, as the last life left it; a missing ledger is always written.
    for file in ["ledger.db", "ledger.db-wal"] {
        drop(fs::remove_file(disk.state().join("model").join(file)));
    }
    disk.fill(0);
    let mut full = setup().launch();
    full.wait_for("it says so", || {
        full.log().contains("could not be started: the disk of the state directory is full")
    });
    assert_eq!(full.stop(), Some(69));
    for unit in ["cordon.service", "cordon-user.service"] {
        let unit =
            fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../deploy").join(unit)).unwrap();
        for line in ["Restart=on-failure", "RestartPreventExitStatus=77 78", "StartLimitIntervalSec=0"] {
            assert!(unit.lines().any(|it| it == line), "{line}");
        }
    }
    disk.empty();
    assert!(setup().start().chat("t", "recall disk full").contains("before the disk"));
}

/// Begins a command whose output is looked at later.
fn running(mut command: std::process::Command) -> std::process::Child {
    use std::process::Stdio;
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

/// Messages and memories are refused with the reason, and what only shows goes on.
fn begins_nothing(host: &Host) {
    for new in
        [&["chat", "--session", "n", "-m", "echo: new"][..], &["memory", "add", "the tide turns at noon"]]
    {
        let why = refused(&host.ask(new));
        assert!(why.starts_with("disk: ") && why.contains("8 are kept"), "{why}");
    }
    for listing in [["session", "list"], ["memory", "list"], ["message", "list"], ["approvals", "list"]] {
        assert_eq!(host.json(&listing)["ok"], true);
    }
}

// Holds P9-05.
#[test]
fn a_host_that_starts_below_its_reserve_is_degraded_and_refuses() {
    let folder = tempfile::tempdir().unwrap();
    fs::set_permissions(folder.path(), PermissionsExt::from_mode(0o755)).unwrap();
    let more = free_bytes(folder.path()) / MIB + 100_000;
    let start = |reserve: u64| {
        Setup::default()
            .config(&format!("[host]\ndisk_reserve = {reserve}\n"))
            .state(&folder.path().join("state"))
    };
    let mut first = start(more).launch();
    first.wait_for("it has begun", || first.socket().exists() && first.try_status().is_some());
    first.becomes("degraded");
    assert!(refused(&first.ask(&["chat", "--session", "s", "-m", "echo: x"])).contains(&more.to_string()));
    assert_eq!(first.json(&["message", "list"])["messages"], json!([]));
    assert_eq!(first.stop(), Some(0));
    assert_eq!(start(0).start().chat("s", "echo: x"), "x");
}

// Holds P9-07.
#[test]
#[ignore = "needs root: run by make test-confined"]
fn a_self_test_that_a_full_disk_prevented_is_made_once_there_is_room() {
    assert!(is_root(), "make test-confined needs root");
    let disk = Disk::of("64m");
    disk.fill(24 * MIB);
    let programs = beside_a_probe_that_cannot_run();
    let setup = Setup::default().config("[host]\ndisk_reserve = 32\n").state(&disk.state());
    let mut host = setup.programs(programs.path()).launch();
    host.wait_for("it has begun", || host.socket().exists() && host.try_status().is_some());
    host.becomes("degraded");
    thread::sleep(Duration::from_secs(1));
    assert_eq!(state_of(&host)["self_check"], "pending", "{}", host.log());
    fs::set_permissions(programs.path().join("jail-probe"), PermissionsExt::from_mode(0o755)).unwrap();
    disk.empty();
    host.wait_ready();
    assert_eq!(host.chat("s", "echo: x"), "x");
}

/// The built programs, and of jail-probe a copy that nobody may run. agentd is a copy, since it looks for the others beside
/// where it really is.
fn beside_a_probe_that_cannot_run() -> tempfile::TempDir {
    let (built, folder) = (tests::programs(), tempfile::tempdir().unwrap());
    fs::set_permissions(folder.path(), PermissionsExt::from_mode(0o755)).unwrap();
    for entry in fs::read_dir(&built).unwrap().flatten().filter(|entry| entry.path().is_file()) {
        let (name, place) = (entry.file_name(), folder.path().join(entry.file_name()));
        match name.to_str() {
            Some("agentd" | "jail-probe") => drop(fs::copy(entry.path(), place).unwrap()),
            _ => symlink(entry.path(), place).unwrap(),
        }
    }
    fs::set_permissions(folder.path().join("jail-probe"), PermissionsExt::from_mode(0o644)).unwrap();
    folder
}
