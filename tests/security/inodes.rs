//! A jail that makes empty files until inodes run short. A disk of the host's own takes a mount, and a mount takes root.

use serde_json::Value;
use std::process::{Child, Command, Stdio};
use tests::{Disk, Host, Setup, is_root, text};

/// Inodes of the disk. By default the host keeps 16,384 of them, and is well again with an eighth more.
const INODES: u64 = 40_000;
const RESERVE: u64 = 16_384;

/// A jail whose program has made a few files and makes no more. It ends once something is written into `ready`.
fn standing_by(host: &Host) -> Child {
    let script = "for n in 1 2 3 4 5; do : > mine$n; done; : > ready; \
        until test -s ready; do sleep 0.1; done; echo well";
    let mut command = host.command(&["sandbox", "run", "--session", "other", "--", "sh", "-c", script]);
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

/// The folder of the workspace that has this file.
fn folder_with(host: &Host, file: &str) -> Option<std::path::PathBuf> {
    let folders = std::fs::read_dir(host.state().join("runner")).ok()?;
    folders.flatten().map(|entry| entry.path()).find(|folder| folder.join(file).exists())
}

/// The doctor's row of the room on the disk: its status and its message.
fn room(host: &Host) -> (String, String) {
    let state = host.state();
    let told = host.ask(&["doctor", "--state-dir", state.to_str().unwrap()]);
    let rows = told["rows"].as_array().unwrap();
    let row = rows.iter().find(|row| row["id"] == "disk.room").unwrap();
    (text(row, "status"), text(row, "message"))
}

/// The output of `agentd check` over the state of a host.
#[expect(clippy::disallowed_methods, reason = "the check is a command of agentd's own")]
fn check(host: &Host) -> String {
    let mut command = Command::new(tests::programs().join("agentd"));
    command.arg("check").arg("--config").arg(host.dir().join("cordon.toml"));
    command.arg("--state-dir").arg(host.state()).arg("--runtime-dir").arg(host.dir().join("run"));
    let output = command.stdin(Stdio::null()).output().unwrap();
    assert!(!output.status.success(), "{output:?}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// The workspace of this session, which has ended.
fn workspace_of(host: &Host, file: &str) -> String {
    let folder = folder_with(host, file).unwrap();
    let name = folder.file_name().unwrap().to_string_lossy().into_owned();
    let listed = host.json(&["workspace", "list"]);
    let all: Vec<Value> = listed["workspaces"].as_array().cloned().unwrap_or_default();
    let ids = all.iter().map(|it| text(it, "id"));
    let found = ids.into_iter().find(|id| name.contains(id.replace('-', "").as_str()));
    found.unwrap_or_else(|| panic!("no workspace of {name}: {listed}"))
}

// Holds P9-12, B-169.
#[test]
#[ignore = "needs root: run by make test-confined"]
fn a_jail_that_takes_the_inodes_is_ended_and_removing_its_files_heals() {
    assert!(is_root(), "make test-confined needs root");
    let disk = Disk::of(&format!("2g,nr_inodes={INODES}"));
    let host = Setup::default().config("[host]\ndisk_reserve = 8\n").state(&disk.state()).start();
    assert!(!room(&host).1.contains("inodes are free"), "{:?}", room(&host));
    let other = standing_by(&host);
    host.wait_for("the other jail stands by", || folder_with(&host, "ready").is_some());

    let fills = "i=0; : > first; while :; do i=$((i + 1)); : > f$i; done";
    let ended = host.ctl(&["sandbox", "run", "--session", "fills", "--", "bash", "-c", fills]);
    let said = String::from_utf8_lossy(&ended.stderr).into_owned();
    assert!(said.contains("it took of the disk what the host keeps free"), "{:?} {said}", ended.status);
    assert!(disk.free_inodes() > 0 && disk.free_inodes() < RESERVE, "{} are free", disk.free_inodes());
    host.becomes("degraded");
    let (status, message) = room(&host);
    assert!(status == "fail" && message.contains("inodes are free"), "{status}: {message}");
    let refused = host.ask(&["chat", "--session", "new", "-m", "echo: x"]);
    assert_eq!(refused["error"]["type"], "no_room", "{refused}");

    // The other jail goes on: it has files, and takes no inode.
    std::fs::write(folder_with(&host, "ready").unwrap().join("ready"), "go").unwrap();
    let other = other.wait_with_output().unwrap();
    assert_eq!(String::from_utf8_lossy(&other.stdout), "well\n", "{other:?}");

    disk.fill_inodes();
    assert_eq!(disk.free_inodes(), 0);
    let told = check(&host);
    assert!(told.lines().any(|line| line.contains("inodes") && line.contains("0 are free")), "{told}");
    let id = workspace_of(&host, "first");
    let _ = host.json(&["session", "end", "fills"]);
    let _ = host.json(&["workspace", "remove", &id]);
    host.wait_for("its files are gone", || folder_with(&host, "first").is_none());
    host.becomes("ready");
    assert_eq!(host.chat("s", "echo: x"), "x");
    assert_eq!(host.json(&["audit", "verify"])["ok"], true);
}
