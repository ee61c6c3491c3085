//! A kernel without landlock, in user-mode Linux: no mode starts there, and each says which layer is missing and what to
//! do. Its control groups are real, so what the unit leaves of them is seen here as well.

use crate::machine::{Found, Kernel, Machine};
use std::sync::LazyLock;

static BOOT: LazyLock<Found> = LazyLock::new(|| {
    let machine = Machine::new();
    machine.package("1.0");
    machine.supervisors_tests();
    machine.boot(Kernel::UserMode, include_str!("old_kernel.sh"))
});

// Holds P2-18.
#[test]
#[ignore = "needs root: run by make test-confined"]
fn without_landlock_every_mode_refuses_and_names_layer_and_remedy() {
    for mode in ["system", "user", "flat"] {
        BOOT.says(mode, &["exit 78", "layer landlock", &format!("mode {mode} needs"), "newer kernel"]);
    }
}

// Holds P2-18.
#[test]
#[ignore = "needs root: run by make test-confined"]
fn the_unit_refuses_once_and_the_journal_and_the_doctor_say_why() {
    BOOT.is("unit", "0 78 failed ");
    BOOT.says("said", &["layer landlock"]);
    BOOT.says("doctor", &["exit 1", "\"kernel.layers\""]);
}

// Holds P2-25.
#[test]
#[ignore = "needs root: run by make test-confined"]
fn the_unit_lets_its_own_control_groups_be_made_and_no_other() {
    BOOT.is("kind", "cgroup2fs");
    BOOT.is("groups", "own limits ");
}

// Holds P9-10.
#[test]
#[ignore = "needs root: run by make test-confined"]
fn control_groups_that_are_delegated_hold_a_jail_to_its_limits() {
    BOOT.says("limits", &["the_kernel_limits_a_jails_memory_processes_and_cpu", "1 passed; 0 failed"]);
}
