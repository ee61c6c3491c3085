//! kill -9 of memory at every step of what changes a row: it is done once and whole, or not at all, and nothing is left of
//! what was to be purged.

use serde_json::Value;
use std::io::Write;
use std::process::Stdio;
use tests::{Host, Setup};

const BEFORE: &str = "the tide turns at noon";
const AFTER: &str = "the tide turns at one";

fn dying_at(point: &str) -> Host {
    Setup::default().arguments(&["--fault", &format!("memory:{point}")]).start()
}

fn contents(host: &Host, words: &[&str]) -> Vec<String> {
    let listed = host.json(&[&["memory", "list"], words].concat());
    let rows = listed["memories"].as_array().cloned().unwrap_or_default();
    rows.iter().map(|row| tests::text(row, "content")).collect()
}

fn added(host: &Host) -> String {
    tests::text(&host.json(&["memory", "add", BEFORE]), "id")
}

fn went_well(host: &Host, point: &str, value: &Value) {
    assert_eq!(host.process("memory")["restarts"], 1, "{point} was never reached: {value}");
    assert_eq!(value["ok"], true, "{point}: {value}");
    assert_eq!(host.json(&["audit", "verify"])["ok"], true, "{point}");
}

// Holds P7-17.
#[test]
fn a_crash_at_any_step_of_a_revision_leaves_one_current_row() {
    let points =
        ["memory.write.recorded", "memory.change.open", "memory.revise.superseded", "memory.write.stored"];
    for point in points {
        let host = dying_at(point);
        let id = added(&host);
        let value = host.ask(&["memory", "revise", &id, AFTER, "--reason", "it moved"]);
        went_well(&host, point, &value);
        assert_eq!(contents(&host, &[]), [AFTER], "{point}");
        assert_eq!(contents(&host, &["--state", "superseded"]), [BEFORE], "{point}");
    }
}

// Holds P7-17.
#[test]
fn a_death_at_any_step_of_a_removal_leaves_a_tombstone() {
    for point in ["memory.remove.recorded", "memory.change.open"] {
        let host = dying_at(point);
        let id = added(&host);
        let value = host.ask(&["memory", "remove", &id, "--reason", "it is wrong"]);
        went_well(&host, point, &value);
        assert!(contents(&host, &[]).is_empty(), "{point}");
        assert_eq!(contents(&host, &["--state", "removed"]), [BEFORE], "{point}");
    }
}

// Holds P7-17.
#[test]
fn a_death_at_any_step_of_a_restore_leaves_the_row_holding_and_found() {
    for point in ["memory.hold.recorded", "memory.hold.held"] {
        let host = dying_at(point);
        let id = added(&host);
        let _ = host.json(&["memory", "remove", &id, "--reason", "by mistake"]);
        let value = host.ask(&["memory", "restore", &id]);
        went_well(&host, point, &value);
        assert_eq!(contents(&host, &[]), [BEFORE], "{point}");
        let found = host.json(&["memory", "search", "tide"]);
        assert_eq!(found["hits"].as_array().map(Vec::len), Some(1), "{point}: {found}");
    }
}

// Holds P7-17.
#[test]
fn a_death_at_any_step_of_a_purge_leaves_nothing_of_a_row() {
    let points = ["memory.delete.recorded", "memory.purge.row", "memory.change.purged", "memory.delete.done"];
    for point in points {
        let host = dying_at(point);
        let _ = added(&host);
        let value = host.ask(&["memory", "forget", "--topic", "tide", "--purge", "--yes"]);
        went_well(&host, point, &value);
        for state in ["current", "superseded", "removed"] {
            assert!(contents(&host, &["--state", state]).is_empty(), "{point}: {state}");
        }
        for file in ["memory.db", "memory.db-wal"] {
            let bytes = std::fs::read(host.state().join("memory").join(file)).unwrap_or_default();
            assert!(!bytes.windows(4).any(|window| window == b"tide"), "{point}: {file} holds it");
        }
    }
}

// Holds P7-18.
#[test]
fn a_death_at_any_step_of_what_a_hook_tells_keeps_it_once() {
    for point in ["memory.capture.recorded", "memory.change.open", "memory.capture.stored"] {
        let host = dying_at(point);
        let told = serde_json::json!({ "directory": "/p", "input": { "tool": "read", "sessionID": "s", "callID": "c" },
            "output": { "title": "x", "output": format!("{BEFORE}, and {AFTER} by the new table in docs/tide.md"),
            "metadata": {} } });
        for _ in 0..2 {
            let mut command = host.command(&["hook", "opencode", "tool.execute.after"]);
            command.env("XDG_STATE_HOME", host.dir()).stdin(Stdio::piped()).stdout(Stdio::null());
            let mut child = command.spawn().unwrap();
            child.stdin.take().unwrap().write_all(told.to_string().as_bytes()).unwrap();
            assert!(child.wait().unwrap().success());
        }
        host.wait_for("memory is there again", || host.process("memory")["state"] == "ready");
        assert_eq!(contents(&host, &[]).len(), 1, "{point}");
        assert_eq!(host.process("memory")["restarts"], 1, "{point} was never reached");
        assert_eq!(host.json(&["audit", "verify"])["ok"], true, "{point}");
    }
}

// Holds P7-26.
#[test]
fn a_damaged_memory_is_told_of_and_never_written_to() {
    let folder = tempfile::tempdir().unwrap();
    let mut host = Setup::default().state(folder.path()).start();
    let _ = added(&host);
    host.stop();
    let file = host.state().join("memory").join("memory.db");
    drop(std::fs::remove_file(file.with_extension("db-wal")));
    let damaged = vec![b'Z'; 65_536];
    std::fs::write(&file, &damaged).unwrap();
    let embedder = "[memory]\nembedder = \"offline/hash-384\"\n";
    let mut host = Setup::default().state(folder.path()).config(embedder).start();
    let status = host.json(&["status"]);
    assert!(
        status["host"]["reason"].as_str().unwrap_or_default().contains("memory: the database is damaged"),
        "{status}"
    );
    let doctor: Value = serde_json::from_slice(&host.ctl(&["doctor", "--json"]).stdout).unwrap();
    let told = doctor["rows"].as_array().unwrap().iter().find(|row| row["id"] == "host.reason").unwrap();
    assert!(
        told["status"] == "warn" && told["message"].to_string().contains("docs/guide/memory.md"),
        "{told}"
    );
    let refused = host.ask(&["memory", "add", AFTER]);
    assert!(refused["ok"] == false && refused.to_string().contains("damaged"), "{refused}");
    assert!(host.log().contains("agentctl backup restore"));
    assert!(host.chat("s", "echo: high water").contains("high water"), "everything else goes on");
    host.stop();
    assert_eq!(std::fs::read(&file).unwrap(), damaged);
}
