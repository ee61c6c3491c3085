//! The package and its unit under a real first process: installed, started, watched, killed, upgraded, stopped, removed.
//! One machine lives through all of it, and each test reads what became of one promise.

use crate::machine::{Found, Kernel, Machine};
use serde_json::Value;
use std::sync::LazyLock;

static LIFE: LazyLock<Found> = LazyLock::new(|| {
    let machine = Machine::new();
    machine.package("1.0");
    machine.package("2.0");
    machine.boot(Kernel::Own, include_str!("systemd.sh"))
});

// Holds P2-26.
#[test]
#[ignore = "needs root: run by make test-confined"]
fn the_package_installs_users_and_a_host_that_is_ready() {
    LIFE.is("install", "ok");
    LIFE.is("started", "active enabled");
    LIFE.is("status", "ready");
    LIFE.is("user", "cordon-gate");
}

// Holds P2-25.
#[test]
#[ignore = "needs root: run by make test-confined"]
fn under_the_hardened_unit_every_layer_of_every_process_and_jail_is_there() {
    LIFE.is("attest", "ok");
    LIFE.says("self check", &["passed"]);
    LIFE.says("jail", &["AGENT"]);
}

/// agentd sees neither homes nor the system's `/tmp`, and a directory of a person's is a workspace all the same.
// Holds P2-25.
#[test]
#[ignore = "needs root: run by make test-confined"]
fn a_directory_that_the_unit_hides_from_agentd_can_be_a_workspace() {
    for place in ["/home/ada/work", "/tmp/work", "/opt/work"] {
        LIFE.says(&format!("attached {place}"), &["exit status 0", "here"]);
    }
}

// Holds P2-25.
#[test]
#[ignore = "needs root: run by make test-confined"]
fn the_unit_leaves_agentd_its_own_folders_and_nothing_else_to_write() {
    LIFE.is("writable state", "yes");
    for place in ["/usr", "/etc", "/opt", "/srv"] {
        LIFE.is(&format!("writable {place}"), "no");
    }
    assert!(!LIFE.row("hidden").contains("ada"), "{}", LIFE.row("hidden"));
    // CHOWN, DAC_OVERRIDE, FOWNER, KILL, SETGID, SETUID, SETPCAP, SYS_CHROOT, SYS_ADMIN.
    LIFE.is("capabilities", "00000000002401eb");
}

// Holds P2-27.
#[test]
#[ignore = "needs root: run by make test-confined"]
fn the_doctor_finds_nothing_wrong_with_what_the_package_installed() {
    let (exit, document) = LIFE.row("doctor").split_once(" {").unwrap();
    assert_eq!(exit, "exit 0", "{document}");
    let document: Value = serde_json::from_str(&format!("{{{document}")).unwrap();
    let rows = document["rows"].as_array().unwrap();
    let passes = |id: &str| rows.iter().any(|row| row["id"] == id && row["status"] == "pass");
    for id in [
        "configuration.valid",
        "kernel.layers",
        "state.record",
        "mounts.state",
        "permissions.state",
        "permissions.folders",
        "permissions.keys",
        "permissions.config",
        "unit.installed",
        "unit.current",
        "unit.enabled",
        "unit.watchdog",
        "unit.drop-ins",
        "sockets.control",
        "exposure.tcp",
        "programs.installed",
        "programs.version",
        "users.installed",
    ] {
        assert!(passes(id), "{id}: {document:#}");
    }
}

// Holds P2-28.
#[test]
#[ignore = "needs root: run by make test-confined"]
fn a_report_is_made_of_a_running_host_and_overwrites_nothing() {
    LIFE.is("report", "ok");
    LIFE.says("members", &["README", "doctor.json", "attest.json", "config.txt", "logs/agentd.log"]);
    LIFE.is("report again", "exit 1");
}

// Holds P7-76.
#[test]
#[ignore = "needs root: run by make test-confined"]
fn a_supervisor_that_stands_still_is_restarted_by_the_watchdog() {
    LIFE.is("watchdog", "ok");
    LIFE.is("watchdog said", "1");
}

// Holds P7-76.
#[test]
#[ignore = "needs root: run by make test-confined"]
fn a_supervisor_that_is_killed_is_started_again() {
    LIFE.is("killed", "ok");
}

// Holds P7-76.
#[test]
#[ignore = "needs root: run by make test-confined"]
fn a_configuration_that_is_wrong_is_refused_once_and_not_tried_again() {
    LIFE.is("refused", "0 78 failed ");
    LIFE.is("started again", "ok");
}

#[test]
#[ignore = "needs root: run by make test-confined"]
fn the_journal_knows_how_grave_a_line_is() {
    LIFE.says("journal warnings", &["router ended"]);
    assert!(!LIFE.row("journal warnings").contains("ready in"), "{}", LIFE.row("journal warnings"));
    LIFE.says("journal errors", &["the configuration was refused"]);
}

#[test]
#[ignore = "needs root: run by make test-confined"]
fn a_credential_of_systemd_becomes_a_secret_that_is_nowhere_shown() {
    LIFE.is("credential", "ok");
    LIFE.says("secrets", &["\"example\"", "api.example.com", "www.example.com"]);
    LIFE.is("secret shown", "0");
}

// Holds P2-26.
#[test]
#[ignore = "needs root: run by make test-confined"]
fn an_upgrade_that_cannot_run_is_refused_and_one_that_can_keeps_state() {
    LIFE.says("upgrade refused", &["exit 0", "the host was not restarted"]);
    LIFE.is("upgrade kept", "ok");
    LIFE.is("upgrade", "ok");
    LIFE.is("upgraded", "2.0 install ok installed");
    LIFE.says("recalled", &["the harbour opens at seven"]);
}

// Holds P2-26.
#[test]
#[ignore = "needs root: run by make test-confined"]
fn a_stop_ends_everything_and_removal_leaves_the_state_until_a_purge() {
    LIFE.is("stop", "ok");
    LIFE.is("stopped", "success inactive 0");
    LIFE.is("remove", "ok");
    LIFE.is("removed", "inactive 0 0 2");
    LIFE.is("purge", "ok");
    LIFE.is("purged", "0");
}
