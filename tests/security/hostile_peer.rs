//! A hostile peer on a real edge costs itself that edge: it is counted once, the callee keeps its life, and everyone
//! else is served.

use crate::probed::{Probed, launch, processes, wait_ready};
use manifest::Process;
use serde_json::Value;
use std::collections::BTreeMap;
use tests::kill;

/// Messages that end a connection. Each is tried over every edge that the probe holds.
const ATTACKS: &[&str] =
    &["no hello", "another version", "garbage", "oversize", "endless", "trailing", "half"];

/// Launches a host with one attacker in it, whose task has one attack for each of its lives.
fn attacked(attacker: Process, word: &str, attacks: &[&str]) -> Probed {
    let probed = launch("", &[(attacker, &format!("{word}\n{}", attacks.join("\n")))]);
    probed.host.wait_for("control answers", || {
        probed.host.try_status().is_some_and(|status| rows(&status).all(|row| row["state"] == "ready"))
    });
    // Until then probes of them come and go under their names.
    wait_ready(&probed.host);
    probed
}

fn rows(status: &Value) -> impl Iterator<Item = &Value> {
    status["processes"].as_array().unwrap().iter()
}

fn callees(attacker: Process) -> Vec<Process> {
    Process::ALL.into_iter().filter(|callee| manifest::edge(attacker, *callee)).collect()
}

/// Pid and refusals of everyone, by control.
fn counted(probed: &Probed) -> BTreeMap<String, (i64, u64)> {
    let status = probed.host.json(&["status"]);
    let of = |row: &Value| {
        let name = row["name"].as_str()?.to_owned();
        Some((name, (row["pid"].as_i64()?, row["refused"].as_u64()?)))
    };
    rows(&status).filter_map(of).collect()
}

/// Everybody else is served: each of these asks another process through control.
fn serves_everyone_else(probed: &Probed) {
    let _ = probed.host.json(&["audit", "verify"]);
    let _ = probed.host.json(&["cred", "list"]);
    let _ = probed.host.json(&["session", "list"]);
    let _ = probed.host.json(&["memory", "add", "the ferry leaves at nine"]);
    let found = probed.host.json(&["memory", "search", "ferry"]);
    assert!(found.to_string().contains("leaves at nine"), "{found}");
}

/// Every attack of this attacker, each in a life of its own with fresh edges.
fn law(attacker: Process) {
    let probed = attacked(attacker, "attack", ATTACKS);
    let (before, callees) = (counted(&probed), callees(attacker));
    for (life, attack) in ATTACKS.iter().enumerate() {
        for callee in &callees {
            probed.wait_said(attacker, &format!("{attack} {}: ended", callee.name()));
        }
        if attacker != Process::Control {
            serves_everyone_else(&probed);
        }
        if life + 1 < ATTACKS.len() {
            kill(processes(&probed.host)[attacker.name()]);
        }
    }
    if attacker == Process::Control {
        return;
    }
    let attacks = u64::try_from(ATTACKS.len()).unwrap();
    probed.host.wait_for("the refusals are counted", || {
        let now = counted(&probed);
        callees.iter().all(|callee| now[callee.name()].1 >= attacks)
    });
    let now = counted(&probed);
    for callee in callees {
        let ((pid, _), (pid_now, refused)) = (before[callee.name()], now[callee.name()]);
        assert_eq!(pid, pid_now, "{} died of it", callee.name());
        assert_eq!(refused, attacks, "{} did not count each once", callee.name());
    }
}

// Holds P3-06.
#[test]
fn a_hostile_gate_costs_itself_its_edges_and_nobody_else_anything() {
    law(Process::Gate);
}

// Holds P3-06.
#[test]
fn a_hostile_model_costs_itself_its_edge_and_nobody_else_anything() {
    law(Process::Model);
}

// Holds P3-06.
#[test]
fn a_hostile_web_costs_itself_its_edges_and_nobody_else_anything() {
    law(Process::Web);
}

#[test]
fn a_hostile_curator_costs_itself_its_edges_and_nobody_else_anything() {
    law(Process::Curator);
}

// Holds P3-06.
#[test]
fn a_hostile_gateway_costs_itself_its_edges_and_nobody_else_anything() {
    law(Process::Gateway);
}

#[test]
fn a_hostile_credproxy_costs_itself_its_edges_and_nobody_else_anything() {
    // Secrets are credproxy's own; everything else is served.
    let probed = attacked(Process::Credproxy, "attack", &["garbage"]);
    let pids = processes(&probed.host);
    for callee in callees(Process::Credproxy) {
        probed.wait_said(Process::Credproxy, &format!("garbage {}: ended", callee.name()));
    }
    assert_eq!(probed.host.chat("s", "echo: still here"), "still here");
    assert_eq!(pids, processes(&probed.host));
}

// Holds P3-06.
#[test]
fn a_hostile_control_costs_itself_its_edges_and_no_callee_its_life() {
    let probed = launch("", &[(Process::Control, &format!("attack\n{}", ATTACKS.join("\n")))]);
    let callees = callees(Process::Control);
    let others = || {
        let mut processes = processes(&probed.host);
        processes.remove("control");
        processes
    };
    // Until then probes of them come and go under their names, and one of those would be killed in its place.
    wait_ready(&probed.host);
    let before = others();
    for life in 1..=ATTACKS.len() {
        for callee in &callees {
            probed.wait_said(Process::Control, &format!("{} {}: ended", ATTACKS[life - 1], callee.name()));
        }
        if life < ATTACKS.len() {
            kill(processes(&probed.host)["control"]);
        }
    }
    assert_eq!(before, others());
}

#[test]
fn ten_thousand_calls_with_unread_answers_hold_nobody_else_up() {
    let probed = attacked(Process::Gate, "attack", &["flood"]);
    let before = processes(&probed.host);
    // In the middle of it, and after it.
    serves_everyone_else(&probed);
    for callee in callees(Process::Gate) {
        probed.wait_said(Process::Gate, &format!("flood {}: 10000 answers", callee.name()));
    }
    serves_everyone_else(&probed);
    assert_eq!(before, processes(&probed.host));
}

// Holds P3-07.
#[test]
fn a_descriptor_cannot_be_passed_over_an_edge_for_calls() {
    let probed = launch("", &[(Process::Control, "attack\ndescriptor")]);
    probed.wait_said(Process::Control, "done");
    for callee in callees(Process::Control) {
        let came =
            probed.after(Process::Control, &format!("descriptor {}: ", callee.name())).unwrap_or_default();
        // SO_PASSRIGHTS is of Linux 6.16; before it what is passed is closed as it comes.
        let expected = if kernel() >= (6, 16) { "refused, Some(1)" } else { "sent" };
        assert_eq!(came, expected, "{}", callee.name());
    }
}

fn kernel() -> (u32, u32) {
    let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap();
    let mut numbers = release.split(['.', '-']).filter_map(|part| part.parse().ok());
    (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0))
}

#[test]
fn a_callee_that_answers_garbage_fails_calls_and_not_its_callers() {
    let lies = ["garbage", "oversize", "half"];
    let probed = attacked(Process::Scanner, "answer", &lies);
    let memory = probed.host.pid("memory");
    for (life, lie) in lies.iter().enumerate() {
        // Memory stores nothing unscanned: the call fails, and says why.
        let value = probed.host.ask(&["memory", "add", "the ferry leaves at nine"]);
        assert_eq!(value["ok"], false, "{lie}: {value}");
        if life + 1 < lies.len() {
            kill(processes(&probed.host)["scanner"]);
            probed.wait_said(Process::Scanner, &format!("life {}", life + 2));
        }
    }
    assert_eq!(probed.host.pid("memory"), memory);
    let listed = probed.host.json(&["memory", "list"]);
    assert!(!listed.to_string().contains("ferry"), "{listed}");
}
