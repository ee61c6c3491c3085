//! The unit of a person's own systemd, under a real first process: started, proven, killed, stopped, without a session of
//! theirs and without any privilege.

use crate::machine::{Found, Kernel, Machine};
use serde_json::Value;
use std::sync::LazyLock;

static LIFE: LazyLock<Found> = LazyLock::new(|| {
    let machine = Machine::new();
    machine.package("1.0");
    machine.boot(Kernel::OwnBare, include_str!("user_unit.sh"))
});

#[test]
#[ignore = "needs root: run by make test-confined"]
fn a_person_s_own_systemd_starts_a_host_of_theirs_that_is_ready() {
    LIFE.is("manager", "ok");
    LIFE.is("enable", "ok");
    LIFE.is("started", "active enabled");
    LIFE.is("status", "ready");
    LIFE.is("owner", "ada ada");
}

#[test]
#[ignore = "needs root: run by make test-confined"]
fn under_the_user_unit_every_layer_of_mode_user_is_there() {
    LIFE.says("self check", &["passed"]);
    LIFE.is("attest", "ok");
    LIFE.says("jail", &["AGENT"]);
    let status: Value = serde_json::from_str(LIFE.row("mode")).unwrap();
    assert_eq!(status["host"]["mode"], "user", "{status}");
}

#[test]
#[ignore = "needs root: run by make test-confined"]
fn the_doctor_knows_the_user_unit() {
    let (exit, document) = LIFE.row("doctor").split_once(" {").unwrap();
    assert_eq!(exit, "exit 0", "{document}");
    let document: Value = serde_json::from_str(&format!("{{{document}")).unwrap();
    let rows = document["rows"].as_array().unwrap();
    for id in ["kernel.layers", "state.record", "sockets.control", "programs.installed"] {
        assert!(rows.iter().any(|row| row["id"] == id && row["status"] == "pass"), "{id}: {document:#}");
    }
}

#[test]
#[ignore = "needs root: run by make test-confined"]
fn a_host_of_a_person_s_is_started_again_and_ends_whole() {
    LIFE.is("killed", "ok");
    LIFE.is("stop", "ok");
    LIFE.is("stopped", "inactive success 0");
}
