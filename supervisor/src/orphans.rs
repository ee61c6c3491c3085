//! Mode flat has no pid namespace that would end with its first process: what a runner leaves behind becomes agentd's
//! child, and is ended here with all that it started. Elsewhere there is nothing to do.

use crate::host::Host;
use crate::tasks;
use manifest::command::Mode;
use nix::sys::signal::{Signal, kill};
use nix::sys::wait::{WaitPidFlag, waitpid};
use nix::unistd::Pid;
use std::collections::BTreeSet;
use std::io;

/// How soon what was killed is looked at again.
pub(crate) const AGAIN: std::time::Duration = std::time::Duration::from_millis(5);

/// Has orphans of runners come to agentd.
pub(crate) fn adopt(mode: Mode) -> io::Result<()> {
    if mode == Mode::Flat {
        nix::sys::prctl::set_child_subreaper(true)?;
    }
    Ok(())
}

/// A child has ended, and may have left others.
pub(crate) fn look_out(host: &mut Host) {
    host.orphans = host.mode == Mode::Flat;
}

/// Ends those that are there and collects those that have ended; asked again until there are none.
pub(crate) fn end(host: &mut Host) {
    if !host.orphans {
        return;
    }
    let own = i32::try_from(std::process::id()).unwrap_or(0);
    let actors = host.processes.iter().filter_map(|process| process.life.as_ref()).map(|life| life.child.pid);
    let runners = host.runners.live.iter().map(|runner| runner.child.pid);
    let twins = host.twins.children().map(|child| child.pid);
    let known: BTreeSet<i32> = actors.chain(runners).chain(twins).collect();
    let orphans: Vec<i32> = tasks::children(own).into_iter().filter(|pid| !known.contains(pid)).collect();
    host.orphans = !orphans.is_empty();
    let mut open = orphans.clone();
    while let Some(pid) = open.pop() {
        // Killed before its children are asked for: it starts no more, and those it has are seen now or become ours.
        let _ = kill(Pid::from_raw(pid), Signal::SIGKILL);
        open.extend(tasks::children(pid));
    }
    for pid in orphans {
        let _ = waitpid(Pid::from_raw(pid), Some(WaitPidFlag::WNOHANG));
    }
}
