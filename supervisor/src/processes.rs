//! The table of processes: looked up by name, sent frames, ended. It starts none and decides on none.

use crate::own_log;
use crate::process::{Life, Process};
use manifest::Process as Name;
use manifest::command::{EndCause, Frame};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::os::fd::BorrowedFd;
use std::time::Instant;

/// The reason for ending a process that sends a command which its row does not permit, or a second time one that it may
/// send once.
pub(crate) const FORBIDDEN: &str = "it sent a command that its row does not permit";

/// Every process of the host, in the table's order.
#[derive(Debug)]
pub(crate) struct Processes(Vec<Process>);

impl Processes {
    /// The table of these.
    pub(crate) const fn new(processes: Vec<Process>) -> Self {
        Self(processes)
    }

    /// The process of this name.
    pub(crate) fn get(&self, name: Name) -> Option<&Process> {
        self.0.iter().find(|process| process.row.process == name)
    }

    /// The process of this name, to be changed.
    pub(crate) fn get_mut(&mut self, name: Name) -> Option<&mut Process> {
        self.0.iter_mut().find(|process| process.row.process == name)
    }

    /// All of them.
    pub(crate) fn iter(&self) -> std::slice::Iter<'_, Process> {
        self.0.iter()
    }

    /// The names of all.
    pub(crate) fn names(&self) -> Vec<Name> {
        self.0.iter().map(|process| process.row.process).collect()
    }

    /// The names of those that run.
    pub(crate) fn running(&self) -> Vec<Name> {
        self.0.iter().filter(|process| process.is_running()).map(|process| process.row.process).collect()
    }

    /// Those that run.
    pub(crate) fn lives(&self) -> impl Iterator<Item = &Life> {
        self.0.iter().filter_map(|process| process.life.as_ref())
    }

    /// Those that run, to be changed.
    pub(crate) fn lives_mut(&mut self) -> impl Iterator<Item = &mut Life> {
        self.0.iter_mut().filter_map(|process| process.life.as_mut())
    }

    /// The running process of this name.
    pub(crate) fn life(&self, name: Name) -> Option<&Life> {
        self.get(name)?.life.as_ref()
    }

    /// The running process of this name, to be changed.
    pub(crate) fn life_mut(&mut self, name: Name) -> Option<&mut Life> {
        self.get_mut(name)?.life.as_mut()
    }

    /// The name of the process with this pid.
    pub(crate) fn of_pid(&self, pid: i32) -> Option<Name> {
        let is = |process: &&Process| process.life.as_ref().is_some_and(|life| life.child.pid == pid);
        self.0.iter().find(is).map(|process| process.row.process)
    }

    /// Sends a frame to the process of this name; returns false if it cannot be sent.
    pub(crate) fn send(&self, name: Name, frame: Frame, descriptors: &[BorrowedFd<'_>]) -> bool {
        self.get(name).is_some_and(|process| process.send(frame, descriptors))
    }

    /// Ends a process now, for this cause; the decision on its next start follows when it has ended.
    pub(crate) fn kill(&mut self, name: Name, cause: EndCause, why: &str) {
        if let Some(life) = self.life_mut(name) {
            // The heartbeat is set so that silence is reported once: until the kernel has ended the process, its descriptors
            // wake agentd again and again.
            life.heartbeat = Instant::now();
            life.cause = cause;
            own_log::warn(&format!("{name} is ended: {why}", name = name.name()));
            let _ = kill(Pid::from_raw(life.child.pid), Signal::SIGKILL);
        }
    }
}
