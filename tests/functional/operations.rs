//! Operations: what `agentctl` shows of the host, and what it does to it.

use tests::{Host, Setup};

#[test]
fn status_shows_every_process_ready_with_its_figures() {
    let host = Host::start();
    let _ = host.chat("s", "echo: x");
    let status = host.json(&["status"]);
    assert_eq!(status["host"]["state"], "ready");
    let names: Vec<&str> =
        status["processes"].as_array().unwrap().iter().filter_map(|p| p["name"].as_str()).collect();
    let expected: Vec<&str> = manifest::TABLE
        .iter()
        .filter(|row| manifest::is_actor(row.process))
        .map(|row| row.process.name())
        .collect();
    assert_eq!(names, expected);
    for process in status["processes"].as_array().unwrap() {
        assert_eq!(process["state"], "ready");
        for figure in [
            "pid",
            "uid",
            "generation",
            "restarts",
            "uptime_ms",
            "pss_kib",
            "rss_kib",
            "calls",
            "p50_us",
            "p99_us",
        ] {
            assert!(process[figure].is_u64(), "{figure}: {process}");
        }
    }
}

#[test]
fn attest_finds_no_difference_on_a_running_host() {
    let host = Host::start();
    let output = host.ctl(&["attest", "--json"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
}

#[test]
fn the_record_verifies_while_running_and_offline() {
    let mut host = Host::start();
    let _ = host.chat("s", "echo: x");
    assert!(host.json(&["audit", "verify"])["entries"].as_u64() > Some(3));
    host.stop();
    let folder = host.state().join("audit");
    let output = host.ctl(&["audit", "verify", "--dir", folder.to_str().unwrap(), "--json"]);
    assert!(output.status.success(), "{output:?}");
}

#[test]
fn a_held_process_degrades_the_host_and_its_release_mends_it() {
    let host = Host::start();
    let _ = host.json(&["hold", "memory"]);
    host.wait_for("degraded", || host.json(&["status"])["host"]["state"] == "degraded");
    assert_eq!(host.process("memory")["state"], "held");
    let _ = host.json(&["release", "memory"]);
    host.wait_for("ready", || host.json(&["status"])["host"]["state"] == "ready");
    assert!(host.chat("s", "remember: held and released").contains("held"));
}

#[test]
fn a_stop_ends_every_process_and_exits_zero() {
    let mut host = Host::start();
    let pids: Vec<i32> = manifest::TABLE
        .iter()
        .filter(|row| manifest::is_actor(row.process))
        .map(|row| host.pid(row.process.name()))
        .collect();
    assert_eq!(host.stop(), Some(0));
    for pid in pids {
        assert!(!std::path::Path::new(&format!("/proc/{pid}")).exists(), "{pid} is still there");
    }
}

#[test]
fn a_killed_supervisor_leaves_no_orphans() {
    let mut host = Host::start();
    let pids: Vec<i32> = manifest::TABLE
        .iter()
        .filter(|row| manifest::is_actor(row.process))
        .map(|row| host.pid(row.process.name()))
        .collect();
    tests::kill(host.agentd());
    host.wait();
    host.wait_for("no orphans", || {
        pids.iter().all(|pid| !std::path::Path::new(&format!("/proc/{pid}")).exists())
    });
}

#[test]
fn two_hosts_on_one_state_directory_are_refused() {
    let host = Host::start();
    let mut second = Setup::default().state(&host.state()).launch();
    assert_eq!(second.wait(), Some(69));
    assert!(second.log().contains("another host runs on"), "{}", second.log());
}

#[test]
fn a_bad_configuration_names_every_mistake_at_once_and_starts_nothing() {
    let mut host = Setup::default()
        .config("[host]\nmode = \"wild\"\n[agent.x]\nmodel = \"no/such\"\ncolour = 3\n")
        .launch();
    assert_eq!(host.wait(), Some(78));
    for mistake in ["cordon.toml:2: host.mode", "agent.x.model", "agent.x.colour"] {
        assert!(host.log().contains(mistake), "{mistake}: {}", host.log());
    }
    assert!(!host.state().exists());
}

#[test]
fn an_unreachable_host_and_a_wrong_word_have_their_own_exit_codes() {
    let mut host = Host::start();
    assert_eq!(host.ctl(&["dance"]).status.code(), Some(64));
    host.stop();
    assert_eq!(host.ctl(&["status"]).status.code(), Some(69));
}
