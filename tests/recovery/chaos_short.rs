//! The chaos of `make chaos`, short: one seed that is always the same, and one that nobody knows before.

use std::process::Command;

/// Faults of a run; a run of so many takes a quarter of a minute.
const FAULTS: &str = "30";

/// Runs it and shows what it says, the seed among it.
#[expect(clippy::disallowed_methods, reason = "a test starts the real programs")]
fn chaos(seed: &[&str]) {
    let mut command = Command::new(tests::programs().join("chaos"));
    command.env_remove("CHAOS_SEED").env_remove("CHAOS_RUNS").args(["--faults", FAULTS]).args(seed);
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{said}\n{}", String::from_utf8_lossy(&output.stderr));
    assert!(said.contains("no law is broken"), "{said}");
}

// Holds P7-51.
#[test]
fn no_law_is_broken_by_the_faults_of_a_seed_that_is_always_the_same() {
    chaos(&["--seed", "7"]);
}

// Holds P7-51.
#[test]
fn no_law_is_broken_by_faults_that_nobody_knows_before() {
    chaos(&[]);
}
