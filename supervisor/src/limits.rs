//! What holds the limits of each jail as a whole: a cgroup where this host was given some, else agentd's own watch.
//! The limits of single processes are the row's, and set before exec.

use crate::cgroups::{Cgroups, Group};
use crate::exit;
use manifest::Limits;
use manifest::Process as Name;
use manifest::command::{Ended, Holder};
use nix::sched::{CpuSet, sched_getaffinity, sched_setaffinity};
use nix::unistd::Pid;
use std::io;

/// What holds them on this host.
#[derive(Debug)]
pub(crate) struct Holding {
    cgroups: Option<Cgroups>,
    /// CPUs that agentd may use, for runners to be spread over.
    cpus: Vec<usize>,
}

/// What holds one runner's.
#[derive(Debug)]
pub(crate) struct Held {
    /// Its cgroup, where there are any.
    pub(crate) group: Option<Group>,
    /// How often in a row it was seen over its memory.
    pub(crate) over: u8,
}

impl Holding {
    /// Finds out what there is, and says so.
    pub(crate) fn find() -> io::Result<Self> {
        let row = manifest::row(Name::Runner).ok_or(io::ErrorKind::NotFound)?.limits;
        let cgroups = Cgroups::find(row);
        match &cgroups {
            Ok(found) => exit::say(&format!("agentd: limits: cgroup v2 at {}", found.path())),
            Err(why) => exit::say(&format!("agentd: limits: rlimits and a watch ({why})")),
        }
        let allowed = sched_getaffinity(Pid::from_raw(0))?;
        let cpus = (0..CpuSet::count()).filter(|cpu| allowed.is_set(*cpu).unwrap_or(false)).collect();
        Ok(Self { cgroups: cgroups.ok(), cpus })
    }

    /// For control.
    pub(crate) const fn holder(&self) -> Holder {
        if self.cgroups.is_some() { Holder::Cgroup } else { Holder::Watch }
    }

    /// Puts a runner that has not begun its work under them: what it starts later begins there.
    pub(crate) fn take(&self, slot: u16, pid: i32, limits: Limits) -> io::Result<Held> {
        let group = self.cgroups.as_ref().map(|cgroups| cgroups.take(slot, pid, limits)).transpose()?;
        if !self.cgroups.as_ref().is_some_and(|cgroups| cgroups.cpu) {
            self.one_cpu(slot, pid)?;
        }
        Ok(Held { group, over: 0 })
    }

    /// One CPU by affinity, which the jail's filter does not let it change.
    fn one_cpu(&self, slot: u16, pid: i32) -> io::Result<()> {
        let Some(cpu) = self.cpus.iter().cycle().nth(usize::from(slot)) else { return Ok(()) };
        let mut set = CpuSet::new();
        set.set(*cpu)?;
        Ok(sched_setaffinity(Pid::from_raw(pid), &set)?)
    }

    /// Removes what was made for them, when the host ends.
    pub(crate) fn close(&self) {
        if let Some(cgroups) = &self.cgroups {
            cgroups.close();
        }
    }
}

impl Held {
    /// Its runner has ended: so does all that it left, and the kernel may say why it was.
    pub(crate) fn end(self) -> Option<Ended> {
        self.group.is_some_and(Group::end).then_some(Ended::Memory)
    }
}
