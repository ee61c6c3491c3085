//! The facts of the host that every process is compared with, besides its row.

use crate::kernel::{ProcessFacts, Reading};
use manifest::Process;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// The host's mode of confinement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    /// Own uid per process, namespaces.
    System,
    /// One uid, namespaces.
    User,
    /// One uid, no namespaces.
    Flat,
}

impl Mode {
    /// The mode of this name; the strictest for an unknown one.
    pub(crate) fn named(name: &str) -> Self {
        match name {
            "user" => Self::User,
            "flat" => Self::Flat,
            _ => Self::System,
        }
    }
}

/// The facts besides its row that a process is compared with.
pub(crate) struct Scene {
    /// The mode.
    pub(crate) mode: Mode,
    /// The paths of the state directory: its own, and in system mode its place in the processes' own mounts.
    pub(crate) state_dirs: Vec<PathBuf>,
    /// The pid of the process that made the control socket.
    pub(crate) agentd_pid: u32,
    /// Its uid.
    pub(crate) agentd_uid: u32,
    /// The kernel's facts of agentd.
    pub(crate) agentd: Option<ProcessFacts>,
    /// The reader's own namespaces.
    pub(crate) own: BTreeMap<&'static str, Reading<String>>,
    /// The uid of every running actor.
    pub(crate) uids: BTreeMap<Process, u32>,
    /// Uid and gid of every row's user; empty if one is not installed.
    pub(crate) installed: BTreeMap<Process, (u32, u32)>,
    /// True if a cgroup enforces the limits of jails.
    pub(crate) by_cgroup: bool,
    /// The uid of every runner.
    pub(crate) slots: Vec<u32>,
    /// The number of the compared processes in each namespace.
    pub(crate) inhabited: BTreeMap<String, usize>,
}

impl Scene {
    /// Root gives every process a uid of its own; an ordinary user has one for all.
    pub(super) fn has_own_uids(&self) -> bool {
        self.mode == Mode::System || self.agentd_uid == 0
    }
}
