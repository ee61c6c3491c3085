//! Two hosts that witness each other: what one has signed stands on the other's record, and a record that was set back
//! is found by it, although it holds by itself. And what is proved of a record against a checkpoint that was kept.

use serde_json::Value;
use std::path::Path;
use std::process::Command;
use tests::{Host, text};

/// Posts a record to the other host; whether it was found to hold and to have grown.
fn posted(from: &Host, to: &Host, of: Option<&Path>) -> bool {
    let socket = to.socket();
    let mut command = from.command(&["audit", "witness", "--host"]);
    command.arg(socket);
    if let Some(folder) = of {
        command.arg("--dir").arg(folder);
    }
    command.output().unwrap().status.success()
}

fn witnessed(host: &Host) -> Vec<Value> {
    host.recorded("checkpoint_witnessed")
}

/// Something happens, and is signed.
fn goes_on(host: &Host) {
    let _ = host.chat("s", "echo: x");
    host.wait_for("it is signed", || {
        let stats = host.json(&["audit", "stats"]);
        stats["signed"] == stats["entries"]
    });
}

// Holds P6-25.
#[test]
#[expect(clippy::disallowed_methods, reason = "a test copies a folder as a person would")]
fn a_record_that_was_set_back_is_found_by_the_host_that_witnessed_it() {
    let (host, other) = (Host::start(), Host::start());
    goes_on(&host);
    let old = host.dir().join("old");
    let copied = Command::new("cp").arg("-a").arg(host.state().join("audit")).arg(&old).status();
    assert!(copied.unwrap().success());
    for expected in [1, 2] {
        goes_on(&host);
        assert!(posted(&host, &other, None));
        assert_eq!(witnessed(&other).len(), expected);
    }
    let kept = witnessed(&other);
    let sizes: Vec<u64> = kept.iter().filter_map(|entry| entry["bytes"].as_u64()).collect();
    assert!(
        sizes.len() == 2 && sizes.is_sorted() && text(&kept[0], "subject").starts_with("cordon/"),
        "{kept:?}"
    );
    assert_eq!(kept[0]["subject"], kept[1]["subject"]);
    // The older state of the folder, key and all, holds by itself.
    let own = host.ctl(&["audit", "verify", "--dir", &old.to_string_lossy()]);
    assert!(own.status.success(), "{own:?}");
    assert!(!posted(&host, &other, Some(&old)), "a record that was set back was taken");
    assert_eq!(witnessed(&other).len(), 2);
    // Records that verify go on being witnessed, in both directions.
    goes_on(&host);
    goes_on(&other);
    assert!(posted(&host, &other, None) && posted(&other, &host, None));
    assert_eq!((witnessed(&other).len(), witnessed(&host).len()), (3, 1));
    for host in [&host, &other] {
        assert_eq!(host.json(&["audit", "verify"])["ok"], true);
    }
}

/// The verifier that was written from the documents alone, over what `audit prove` printed.
#[expect(clippy::disallowed_methods, reason = "the program that proofs are made for")]
fn accepts(proof: &Path, words: &[&Path]) -> bool {
    let program = concat!(env!("CARGO_MANIFEST_DIR"), "/../deploy/verify/verify.py");
    let keys = words.iter().flat_map(|key| [Path::new("--key"), *key]);
    Command::new("python3").arg("-B").arg(program).args(keys).arg(proof).output().unwrap().status.success()
}

// Holds P6-09.
#[test]
fn a_proof_holds_over_a_change_of_the_key_and_none_is_made_of_another_log() {
    let (host, other) = (Host::start(), Host::start());
    goes_on(&host);
    goes_on(&other);
    let file = |name: &str| host.dir().join(name);
    let keep = |host: &Host, name: &str| {
        std::fs::write(file(name), text(&host.json(&["audit", "checkpoint"]), "checkpoint")).unwrap();
    };
    keep(&host, "kept");
    keep(&other, "theirs");
    std::fs::copy(host.state().join("audit/key.pub"), file("old")).unwrap();
    std::fs::write(file("new"), text(&host.json(&["audit", "rotate-key"]), "key")).unwrap();
    goes_on(&host);
    let proof = host.json(&["audit", "prove", "1", "--checkpoint", file("kept").to_str().unwrap()]);
    std::fs::write(file("proof"), proof.to_string()).unwrap();
    let (old, new, proof) = (file("old"), file("new"), file("proof"));
    assert!(accepts(&proof, &[&old, &new]));
    assert!(!accepts(&proof, &[&old]) && !accepts(&proof, &[&new]), "each signed one of the two checkpoints");
    let refused = host.ask(&["audit", "prove", "1", "--checkpoint", file("theirs").to_str().unwrap()]);
    assert_eq!(refused["error"]["type"], "other_log", "{refused}");
}
