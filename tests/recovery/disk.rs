//! A disk that runs low, and one that is full: what is new is refused with the reason before anything is acknowledged,
//! what was accepted is kept, and room alone heals the host.

use nix::mount::{MntFlags, MsFlags, mount, umount2};
use nix::sys::statvfs::statvfs;
use serde_json::{Value, json};
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;
use tests::{Host, Setup, is_root, text};

const MIB: u64 = 1 << 20;
/// Keeps 8 MiB; an agent that is asked, waits, and then writes a line.
const KEEPING: &str = "[host]\ndisk_reserve = 8\n[agent.slow]\nmodel = \"scripted/slow\"\n";

/// A disk of a host's own; it goes with the value.
struct Disk(tempfile::TempDir);

impl Disk {
    fn of(size: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let options = format!("size={size},mode=755");
        mount(Some("tmpfs"), folder.path(), Some("tmpfs"), MsFlags::empty(), Some(options.as_str())).unwrap();
        Self(folder)
    }

    fn state(&self) -> PathBuf {
        self.0.path().join("state")
    }

    /// Leaves so many bytes free.
    fn fill(&self, leave: u64) {
        let mut file = fs::File::options().create(true).append(true).open(self.filler()).unwrap();
        while free(self.0.path()) > leave && file.write_all(&[0; 4096]).is_ok() {}
    }

    fn empty(&self) {
        fs::remove_file(self.filler()).unwrap();
    }

    fn filler(&self) -> PathBuf {
        self.0.path().join("filler")
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let _ = umount2(self.0.path(), MntFlags::MNT_DETACH);
    }
}

fn free(path: &Path) -> u64 {
    let about = statvfs(path).unwrap();
    about.blocks_available().saturating_mul(about.fragment_size())
}

/// A disk that fills needs a mount, and a mount root; whoever is not root has the law below without one.
fn no_mounts() -> bool {
    !is_root()
}

fn state_of(host: &Host) -> Value {
    host.json(&["status"])["host"].clone()
}

fn becomes(host: &Host, state: &str) {
    host.wait_for(&format!("the host is {state}"), || state_of(host)["state"] == state);
}

fn refused(value: &Value) -> String {
    assert_eq!((&value["ok"], &value["error"]["type"]), (&json!(false), &json!("no_room")), "{value}");
    text(&value["error"], "message")
}

#[test]
fn a_message_that_cannot_be_made_durable_is_refused_and_nothing_that_was_accepted_is_lost() {
    if no_mounts() {
        return;
    }
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

#[test]
fn below_what_is_kept_nothing_new_begins_with_that_reason_and_room_alone_heals_it() {
    if no_mounts() {
        return;
    }
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
    becomes(&host, "degraded");
    let reason = text(&state_of(&host), "reason");
    assert!(reason.starts_with("disk: ") && reason.ends_with("MiB free, 8 are kept"), "{reason}");
    assert_eq!(host.json(&["status"])["degraded"], json!([]), "every process is well");
    begins_nothing(&host);
    // What was under way comes to its end, and its effect does not happen.
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
    becomes(&host, "ready");
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

#[test]
fn a_host_that_starts_with_less_than_it_keeps_begins_degraded_and_refuses_until_it_is_told_to_keep_less() {
    let folder = tempfile::tempdir().unwrap();
    fs::set_permissions(folder.path(), std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let more = free(folder.path()) / MIB + 100_000;
    let start = |reserve: u64| {
        Setup::default()
            .config(&format!("[host]\ndisk_reserve = {reserve}\n"))
            .state(&folder.path().join("state"))
    };
    let mut first = start(more).launch();
    first.wait_for("it has begun", || first.socket().exists() && first.try_status().is_some());
    becomes(&first, "degraded");
    assert!(refused(&first.ask(&["chat", "--session", "s", "-m", "echo: x"])).contains(&more.to_string()));
    assert_eq!(first.json(&["message", "list"])["messages"], json!([]));
    assert_eq!(first.stop(), Some(0));
    assert_eq!(start(0).start().chat("s", "echo: x"), "x");
}
