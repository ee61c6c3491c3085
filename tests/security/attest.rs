//! `agentctl attest` notices a running process that has more than its row.

use std::process::Stdio;
use tests::{Host, Setup, is_root};

/// A host that has checked itself. One with a layer left out finds that itself, and is never ready for long.
fn checked(arguments: &[&str]) -> Host {
    let reach = "[agent.reach.network]\nmode = \"proxy\"\n";
    let host = Setup::default().config(reach).arguments(arguments).launch();
    host.wait_for("its own check is over", || {
        let status = host.try_status().unwrap_or_default();
        status["host"]["self_check"].as_str().is_some_and(|check| check != "pending")
    });
    host
}

/// The differences that attest names, and its exit status.
fn differences(arguments: &[&str]) -> (Option<i32>, Vec<(String, String)>) {
    let host = checked(arguments);
    let output = host.ctl(&["attest", "--json"]);
    let document: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let drifted: Vec<_> =
        host.recorded("attest_drift").iter().map(|entry| entry["subject"].clone()).collect();
    assert_eq!(document["recorded"], serde_json::json!(drifted), "{document}");
    assert_eq!(drifted.is_empty(), output.status.success(), "what differs is on the record: {drifted:?}");
    let text = |value: &serde_json::Value| value.as_str().unwrap().to_owned();
    let rows = document["rows"].as_array().unwrap().iter().filter(|row| row["verdict"] == "different");
    (output.status.code(), rows.map(|row| (text(&row["process"]), text(&row["property"]))).collect())
}

// Holds P2-17, P6-29.
#[test]
fn attest_fails_on_a_weakened_process_and_names_it_and_what_differs() {
    let (code, found) = differences(&["--weaken", "memory"]);
    assert_eq!(code, Some(1));
    assert!(found.iter().all(|(process, _)| process == "memory"), "{found:?}");
    let weak = ["CapPrm", "CapEff", "CapBnd"].into_iter().chain(is_root().then_some("Uid"));
    for property in weak {
        assert!(found.iter().any(|(_, found)| found == property), "{property}: {found:?}");
    }
}

// Holds P2-17.
#[test]
fn attest_finds_nothing_on_a_host_that_is_as_its_table_says() {
    assert_eq!(differences(&[]), (Some(0), vec![]));
}

// Holds P6-25.
#[test]
fn drift_is_an_alert_once_for_a_while_however_often_it_is_looked_at() {
    let host = checked(&["--weaken", "memory"]);
    for looks in 1..=3 {
        assert_eq!(host.ctl(&["attest"]).status.code(), Some(1));
        assert_eq!(host.recorded("attest_drift").len(), looks);
        let alerts = host.recorded("alert");
        assert_eq!(alerts.len(), 1, "{alerts:?}");
        let alert = alerts.first().unwrap();
        assert_eq!((&alert["subject"], &alert["witness"]), (&"attest drift: memory".into(), &"audit".into()));
        let critical = host.json(&["audit", "query", "--action", "alert", "--severity", "critical"]);
        assert_eq!(critical["records"].as_array().map(Vec::len), Some(1));
    }
}

// Holds P2-33.
#[test]
fn attest_judges_every_runner_that_lives_whether_it_waits_or_has_a_turn() {
    let host = checked(&[]);
    host.wait_for("runners wait", || !host.waiting_runners().is_empty());
    let begun =
        |words: &[&str]| host.command(words).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let _ = host.json(&["chat", "--agent", "reach", "--session", "reach", "-m", "hello"]);
    let mut asked = [
        begun(&["sandbox", "run", "--", "sleep", "600"]),
        begun(&["sandbox", "run", "--session", "reach", "--", "sleep", "600"]),
        begun(&["run", "--profile", "plain", "--", "sleep", "600"]),
    ];
    let live =
        || [host.runners(), host.programs_in_jails(), host.runners_with_a_way_out(), host.waiting_runners()];
    host.wait_for("they have turns, and another waits", || live().iter().all(|pids| !pids.is_empty()));
    let there = live().map(|pids| pids[0]);
    let output = host.ctl(&["attest", "--json"]);
    let document: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    for child in &mut asked {
        child.kill().unwrap();
        child.wait().unwrap();
    }
    assert!(output.status.success(), "{document}");
    let rows = document["rows"].as_array().unwrap();
    for (pid, name) in there.into_iter().zip(["runner", "runner@agent", "runner@net", "runner"]) {
        for property in
            ["uid_map", "NSpid", "user", "net", "CapEff", "Seccomp_filters", "mounts", "Max processes"]
        {
            let row = rows.iter().find(|row| row["pid"] == pid && row["property"] == property);
            let row = row.unwrap_or_else(|| panic!("{property} of {name} {pid}: {document}"));
            assert_eq!((&row["process"], &row["verdict"]), (&name.into(), &"equal".into()), "{row}");
        }
    }
}
