//! The facts that a configuration is checked against besides the file.

use crate::accounts::Accounts;

/// Facts that the file cannot contain: the owner of the host, and its machine.
#[derive(Debug)]
pub struct Machine {
    /// Uid of the person who runs the host.
    pub owner: u32,
    /// True if agentd runs as root.
    pub root: bool,
    /// The state directory.
    pub state_dir: String,
    /// The file itself, whole from the root; empty if there is none.
    pub file: String,
    /// The ids in use on the machine.
    pub accounts: Accounts,
    /// The machine's time zone by its IANA name.
    pub time_zone: String,
}
