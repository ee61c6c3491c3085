//! Orphans of runners in mode flat, which has no pid namespace that ends with its first process: a process that a runner leaves
//! behind becomes agentd's child, and is ended here with all its descendants. The other modes have none.

use crate::tasks;
use manifest::command::Mode;
use nix::sys::signal::{Signal, kill};
use nix::sys::wait::{WaitPidFlag, waitpid};
use nix::unistd::Pid;
use std::collections::BTreeSet;
use std::io;
use std::time::{Duration, Instant};

/// The time after which killed orphans are looked at again.
const AGAIN: Duration = Duration::from_millis(5);

/// The state of the search.
#[derive(Debug)]
pub(crate) struct Orphans {
    /// This host's mode has orphans.
    adopts: bool,
    /// There may be some.
    pending: bool,
}

impl Orphans {
    /// Makes agentd the parent of runners' orphans, in mode flat.
    pub(crate) fn adopt(mode: Mode) -> io::Result<Self> {
        let adopts = mode == Mode::Flat;
        if adopts {
            nix::sys::prctl::set_child_subreaper(true)?;
        }
        Ok(Self { adopts, pending: false })
    }

    /// A child has ended, and may have left others.
    pub(crate) const fn child_ended(&mut self) {
        self.pending = self.adopts;
    }

    /// The time of the next search, if there may be orphans.
    pub(crate) fn due(&self) -> Option<Instant> {
        self.pending.then(|| Instant::now() + AGAIN)
    }

    /// Ends the orphans and collects those that have ended, until there are none. `known` are the pids of agentd's own children.
    pub(crate) fn end(&mut self, known: impl FnOnce() -> BTreeSet<i32>) {
        if !self.pending {
            return;
        }
        let (own, known) = (i32::try_from(std::process::id()).unwrap_or(0), known());
        let orphans: Vec<i32> = tasks::children(own).into_iter().filter(|pid| !known.contains(pid)).collect();
        self.pending = !orphans.is_empty();
        let mut open = orphans.clone();
        while let Some(pid) = open.pop() {
            // Killed before its children are read: it starts no more, and those it has are seen now or become agentd's.
            let _ = kill(Pid::from_raw(pid), Signal::SIGKILL);
            open.extend(tasks::children(pid));
        }
        for pid in orphans {
            let _ = waitpid(Pid::from_raw(pid), Some(WaitPidFlag::WNOHANG));
        }
    }
}
