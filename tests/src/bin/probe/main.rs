//! The probe: a stranger in the place of one process of the host, for the tests of security alone.
//!
//! agentd finds programs beside its own, and calls each by its row's name; a test puts this one where another should
//! be. It is jailed, sealed and plumbed as that process, and tries what its task says: every method of every edge,
//! files, system calls, broken frames. What it finds it says on standard error, which agentd keeps as its log. No
//! package installs it.

mod actor;
mod calls;
mod files;
mod hostile;
mod raw;
mod runner;

use manifest::Process;
use std::fmt::Display;
use std::io::Write;
use std::process::ExitCode;

/// Why the probe cannot go on; a test reads it.
pub(crate) type Fault = Box<dyn std::error::Error>;

fn main() -> ExitCode {
    let hardened = confine::harden();
    let name = std::env::args().next().unwrap_or_default();
    let ran = hardened.map_err(Fault::from).and_then(|()| match manifest::row_named(&name) {
        Some(row) if row.process == Process::Runner => runner::run(row),
        Some(row) => actor::run(row).map(|()| ExitCode::SUCCESS),
        None => Err("not started in the place of a process".into()),
    });
    ran.unwrap_or_else(|fault| {
        say(&format_args!("fault: {fault}"));
        ExitCode::FAILURE
    })
}

/// The descriptors that came with the start, and what each is.
pub(crate) fn held() -> String {
    let held: Vec<String> = (0..64)
        .filter_map(|number| {
            let target = std::fs::read_link(format!("/proc/self/fd/{number}")).ok()?;
            let target = target.to_string_lossy().into_owned();
            Some(target.split(':').next().unwrap_or_default().to_owned())
        })
        .collect();
    held.join(" ")
}

/// One line of what was found. That nobody reads it is for the test to notice.
pub(crate) fn say(line: &dyn Display) {
    drop(std::io::stderr().write_all(format!("probe: {line}\n").as_bytes()));
}
