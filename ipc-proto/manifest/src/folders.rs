//! The names that a host leaves in its state and its runtime directory: by them agentd knows a folder for a host's own, and
//! `agentctl doctor` one that something else was put into. Names alone; it must never look at a disk.

/// Names in a state directory besides a folder for each process: agentd's own files, and those that `agentctl` keeps for
/// a person in the same place.
const STATE: [&str; 11] = [
    "history", "hook.log", "lock", "logs", "probes", ROOT_OF_DISK, "record.id", "record.id.new", "removed",
    "run", "stage",
];
/// Names in a runtime directory.
pub const RUNTIME: [&str; 4] = ["control.sock", "gateway.sock", ROOT_OF_DISK, "tmp"];
/// A name in the root of a disk's own file system.
pub const ROOT_OF_DISK: &str = "lost+found";

/// Returns whether a host, or `agentctl` beside it, leaves this name in a state directory.
#[must_use]
pub fn is_of_state(name: &str) -> bool {
    STATE.contains(&name) || crate::row_named(name).is_some()
}
