//! The table of privilege: who runs, what each process may touch, and who may ask whom for what.
//!
//! This crate is pure data and depends on nothing, so that the supervisor can link it. It must never parse,
//! open or read anything. Configuration can narrow a row and never widen it.

pub mod acts;
mod channels;
pub mod command;
pub mod dot;
pub mod folders;
mod jails;
mod process;
mod row;
pub mod schemas;
pub mod settings;
pub mod syscalls;
mod table;
pub mod users;

pub use process::{Process, is_actor};
pub use row::{
    Access, Audience, Backoff, COMMON_COMMANDS, Grant, Inherited, Limits, MODEL_FILES, Network, Open, Place,
    Row,
};
pub use table::TABLE;

/// Where the state directory stands in the mount namespace of each process in mode system.
pub const STATE_INSIDE: &str = "/tmp/state";

/// The row of `process`. Every process but the supervisor has exactly one; the `laws` tests hold that.
#[must_use]
pub fn row(process: Process) -> Option<&'static Row> {
    TABLE.iter().find(|row| row.process == process)
}

/// The row whose name (as `ps` and `agentctl` show it) is `name`.
#[must_use]
pub fn row_named(name: &str) -> Option<&'static Row> {
    TABLE.iter().find(|row| row.process.name() == name)
}

/// The one process that has jails of this kind launched, and hears of their ends; none for a process that is no jail.
#[must_use]
pub fn launcher(jail: Process) -> Option<Process> {
    TABLE.iter().find(|row| row.launches.contains(&jail)).map(|row| row.process)
}

/// Returns whether `caller` may call `method` of `callee`. What the table does not say is refused.
#[must_use]
pub fn allowed(caller: Process, callee: Process, method: &str) -> bool {
    row(callee)
        .is_some_and(|row| row.methods().any(|(name, callers)| name == method && callers.contains(&caller)))
}

/// Returns whether the table has an edge from `caller` to `callee`: at least one method of `callee` is open to it.
#[must_use]
pub fn edge(caller: Process, callee: Process) -> bool {
    row(callee).is_some_and(|row| row.serves.iter().any(|audience| audience.callers.contains(&caller)))
}

/// Returns whether a second socket, for descriptors alone, accompanies the edge from `caller` to `callee`.
/// Only a dialled connection is ever passed from one process to another.
#[must_use]
pub fn carries_descriptors(caller: Process, callee: Process) -> bool {
    callee == Process::Dialer && edge(caller, callee)
}
