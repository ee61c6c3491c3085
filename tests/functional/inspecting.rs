//! Operators: what a host shows of its processes while they work, when one ends, and while it is idle.

use nix::sys::signal::Signal;
use serde_json::{Value, json};
use std::thread;
use std::time::Duration;
use tests::{Host, signal};

fn calls(host: &Host, name: &str) -> Vec<Value> {
    host.json(&["inspect", name])["calls"].as_array().cloned().unwrap_or_default()
}

// Holds P8-61.
#[test]
fn a_turn_shows_in_the_calls_of_both_ends() {
    let host = Host::start();
    let _ = host.chat("s", "echo: on");
    let scans = |name: &str| {
        calls(&host, name).into_iter().find(|it| {
            it["caller"] == "router" && it["callee"] == "scanner" && it["calls"].as_u64() > Some(0)
        })
    };
    for name in ["router", "scanner"] {
        host.wait_for(&format!("{name} shows the call"), || scans(name).is_some());
    }
    host.wait_for("control shows the calls of people", || {
        calls(&host, "control").into_iter().any(|it| it["caller"] == "people")
    });
    let queue = host.json(&["inspect", "router"]);
    assert_eq!(queue["actors"][0]["name"], "queue", "{queue}");
    host.wait_for("CPU time is known", || host.json(&["inspect", "router"])["cpu_ms"].is_u64());
    assert!(host.json(&["inspect", "agentd"])["threads"].as_u64() == Some(1));
}

// Holds P8-66.
#[test]
fn an_end_is_shown_with_its_cause_and_stands_in_the_log() {
    let host = Host::start();
    signal(host.pid("scanner"), Signal::SIGKILL);
    host.wait_for("the end is shown", || {
        let end = host.json(&["inspect", "scanner"])["ends"][0].clone();
        end["how"] == "signal 9" && end["cause"] == "by itself" && end["at_ms"].is_u64()
    });
    let logged = host.json(&["logs", "agentd", "--level", "warn", "--since", "1h"]);
    let lines = logged["lines"].as_array().unwrap();
    let ended =
        lines.iter().find(|line| line["line"].as_str().is_some_and(|it| it.contains("scanner ended")));
    let ended = ended.unwrap_or_else(|| panic!("{logged}"));
    assert_eq!((&ended["level"], ended["at_ms"].is_u64()), (&json!("warn"), true));
    let last = host.json(&["logs", "-n", "2"]);
    assert_eq!(last["lines"].as_array().map(Vec::len), Some(2), "{last}");
}

// Holds P8-60.
#[test]
fn an_idle_host_that_is_followed_shows_no_long_times() {
    let host = Host::start();
    // Scanner waits for new fingerprints of secrets at credproxy for 20 s at a time, and so do others for their news.
    thread::sleep(Duration::from_secs(22));
    for process in host.json(&["status"])["processes"].as_array().unwrap() {
        assert!(process["p99_us"].as_u64() < Some(10_000_000), "{process}");
    }
}

// Holds P8-62.
#[test]
fn metrics_of_an_owner_have_every_process_and_the_host() {
    let host = Host::start();
    let text = || host.get("/metrics").1;
    host.wait_for("every process is ready", || {
        let text = text();
        host.json(&["status"])["processes"].as_array().unwrap().iter().all(|process| {
            let up = format!("cordon_process_up{{process={}}} 1", process["name"]);
            text.lines().any(|line| line == up)
        })
    });
    let text = text();
    for name in
        ["cordon_host_ready 1", "cordon_disk_free_bytes ", "cordon_record_writable 1", "cordon_jails{"]
    {
        assert!(text.lines().any(|line| line.starts_with(name)), "{name}\n{text}");
    }
}
