//! The limits of each jail as a whole: a cgroup holds them where this host has some, else agentd's own watch. The limits of single
//! processes are the row's, and set before exec.

use crate::cgroups::{Cgroups, Group};
use crate::own_log;
use manifest::Limits;
use manifest::Process as Name;
use manifest::command::{Ended, Holder};
use nix::sched::{CpuSet, sched_getaffinity, sched_setaffinity};
use nix::unistd::Pid;
use std::io;

/// Holds the limits on this host.
#[derive(Debug)]
pub(crate) struct LimitHolder {
    cgroups: Option<Cgroups>,
    /// The CPUs that agentd may use; runners are spread over them.
    cpus: Vec<usize>,
}

/// Holds the limits of one runner.
#[derive(Debug)]
pub(crate) struct JailLimits {
    /// Its cgroup, where there are any.
    pub(crate) group: Option<Group>,
    /// The number of looks in a row that found too much memory.
    pub(crate) over: u8,
}

impl LimitHolder {
    /// Finds out if there are cgroups, and logs it.
    pub(crate) fn find() -> io::Result<Self> {
        let row = manifest::row(Name::Runner).ok_or(io::ErrorKind::NotFound)?.limits;
        let cgroups = Cgroups::find(row);
        match &cgroups {
            Ok(found) => own_log::info(&format!("limits: cgroup v2 at {}", found.path())),
            Err(why) => own_log::info(&format!("limits: rlimits and a watch ({why})")),
        }
        let allowed = sched_getaffinity(Pid::from_raw(0))?;
        let cpus = (0..CpuSet::count()).filter(|cpu| allowed.is_set(*cpu).unwrap_or(false)).collect();
        Ok(Self { cgroups: cgroups.ok(), cpus })
    }

    /// The holder, as control shows it.
    pub(crate) const fn holder(&self) -> Holder {
        if self.cgroups.is_some() { Holder::Cgroup } else { Holder::Watch }
    }

    /// Applies the limits to a runner that has not begun its work; its later children inherit them.
    pub(crate) fn apply(&self, slot: u16, pid: i32, limits: Limits) -> io::Result<JailLimits> {
        let group = self.cgroups.as_ref().map(|cgroups| cgroups.take(slot, pid, limits)).transpose()?;
        if !self.cgroups.as_ref().is_some_and(|cgroups| cgroups.cpu) {
            self.one_cpu(slot, pid)?;
        }
        Ok(JailLimits { group, over: 0 })
    }

    /// Binds it to one CPU by affinity, which the jail's filter does not let it change.
    fn one_cpu(&self, slot: u16, pid: i32) -> io::Result<()> {
        let Some(cpu) = self.cpus.iter().cycle().nth(usize::from(slot)) else { return Ok(()) };
        let mut set = CpuSet::new();
        set.set(*cpu)?;
        Ok(sched_setaffinity(Pid::from_raw(pid), &set)?)
    }

    /// Removes the cgroups when the host ends.
    pub(crate) fn close(&self) {
        if let Some(cgroups) = &self.cgroups {
            cgroups.close();
        }
    }
}

impl JailLimits {
    /// Ends everything that the runner left. Returns the reason if the kernel killed a process for lack of memory.
    pub(crate) fn end(self) -> Option<Ended> {
        self.group.is_some_and(Group::end).then_some(Ended::Memory)
    }
}
