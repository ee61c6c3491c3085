//! A runner that was launched and has no turn yet.

use crate::jails::Jails;
use crate::limits::JailLimits;
use crate::runner_fault::RunnerFault;
use crate::seccomp_listener::SeccompListener;
use confine::Child;
use manifest::{Process as Name, Row};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{Signal, kill};
use nix::sys::wait::waitpid;
use nix::unistd::Pid;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::time::{Duration, Instant};

/// The runner.
#[derive(Debug)]
pub(crate) struct Launched {
    pub(crate) child: Child,
    pub(crate) slot: u16,
    /// The gate's end of its socket.
    pub(crate) gate: OwnedFd,
    /// Holds the limits of its jail as a whole.
    pub(crate) jail_limits: JailLimits,
    /// Reports the calls that its jail's filter refuses.
    pub(crate) seccomp: SeccompListener,
    began: Instant,
}

impl Launched {
    /// A child that was launched as a runner, with its jail's limits in place: before it hears from the gate, until when
    /// nothing of a turn runs.
    pub(crate) fn limited(
        jails: &Jails,
        child: Child,
        slot: u16,
        gate: OwnedFd,
        seccomp: SeccompListener,
        row: &Row,
    ) -> Result<Self, RunnerFault> {
        match jails.limits.apply(slot, child.pid, row.limits) {
            Ok(jail_limits) => Ok(Self { child, slot, gate, jail_limits, seccomp, began: Instant::now() }),
            Err(cause) => {
                end(&child);
                Err(RunnerFault::Limits(cause))
            }
        }
    }

    /// The time since its launch.
    pub(crate) fn age(&self) -> Duration {
        self.began.elapsed()
    }

    /// Returns true if it has ended.
    pub(crate) fn has_ended(&self) -> bool {
        let mut end = [PollFd::new(self.child.pidfd.as_fd(), PollFlags::POLLIN)];
        poll(&mut end, PollTimeout::ZERO).is_ok_and(|ready| ready > 0)
    }

    /// Ends it and waits for that: its slot is free when this returns.
    pub(crate) fn discard(self) {
        end(&self.child);
        let _ = self.jail_limits.end();
    }
}

/// The row of runners of this kind.
pub(crate) fn row(kind: Name) -> Result<&'static Row, RunnerFault> {
    manifest::row(kind).ok_or_else(|| RunnerFault::Cell(io::ErrorKind::NotFound.into()))
}

/// Ends a runner that has no turn, and waits for that.
pub(crate) fn end(child: &Child) {
    let _ = kill(Pid::from_raw(child.pid), Signal::SIGKILL);
    let _ = waitpid(Pid::from_raw(child.pid), None);
}
