//! Confined: what only root can hold. `make test-confined` runs these, and fails where root is not there.

use std::collections::BTreeSet;
use tests::Host;

#[test]
#[ignore = "needs root: run by make test-confined"]
fn in_mode_system_every_process_and_every_runner_slot_has_a_uid_of_its_own() {
    assert!(tests::is_root(), "make test-confined needs root");
    let host = Host::start();
    let status = host.json(&["status"]);
    assert_eq!(status["host"]["mode"], "system");
    let processes = status["processes"].as_array().unwrap();
    let uids: BTreeSet<u64> = processes.iter().filter_map(|process| process["uid"].as_u64()).collect();
    assert_eq!(uids.len(), processes.len());
    assert!(!uids.contains(&0));
}

#[test]
#[ignore = "needs root: run by make test-confined"]
fn in_mode_flat_as_root_the_same_turns_work_and_what_is_given_up_is_said() {
    assert!(tests::is_root(), "make test-confined needs root");
    let host = tests::Setup::default().config("[host]\nmode = \"flat\"\n").start();
    assert_eq!(host.json(&["status"])["host"]["mode"], "flat");
    let _ = host.chat("s", "remember: flat works");
    assert!(host.chat("t", "recall flat").contains("flat works"));
    assert!(host.chat("s", "run: echo $((6*7))").contains("42"));
    assert!(host.log().contains("gives up"));
    assert!(host.ctl(&["attest", "--json"]).status.success());
}
