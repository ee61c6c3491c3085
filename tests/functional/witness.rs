//! Two hosts that witness each other: what one has signed stands on the other's record, and a record that was set back
//! is found by it, although it holds by itself.

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
    // What holds goes on being witnessed, and the other way as well.
    goes_on(&host);
    goes_on(&other);
    assert!(posted(&host, &other, None) && posted(&other, &host, None));
    assert_eq!((witnessed(&other).len(), witnessed(&host).len()), (3, 1));
    for host in [&host, &other] {
        assert_eq!(host.json(&["audit", "verify"])["ok"], true);
    }
}
