//! The watch on the use of each jail as a whole: CPU time always, memory where no cgroup limits it, and the number of processes
//! in mode flat, where the kernel counts those of a user and not of a jail.
//!
//! It must not keep agentd from its frames: a look stops after [`AT_ONCE`], and the next one comes [`REST`] times as long after
//! it.

use crate::runners::{Runner, Runners};
use crate::usage;
use manifest::command::{Ended, Mode};
use std::time::{Duration, Instant};

/// How often each jail is looked at while looking costs little.
const EVERY: Duration = Duration::from_millis(100);
/// The longest look, but for the jail it is at.
const AT_ONCE: Duration = Duration::from_millis(2);
/// Looking takes a twentieth of agentd's time at most.
const REST: u32 = 19;
/// How much more CPU time a jail has than each of its processes: the end of a process comes first and says more.
const CPU_GRACE: Duration = Duration::from_secs(2);
/// Looks in a row that find too much memory before the jail is ended: the runner's own watch ends only the tools.
const LOOKS: u8 = 3;

/// The time of the next look, and the index of the jail that it begins with.
#[derive(Debug)]
pub(crate) struct Watch {
    due: Instant,
    next: usize,
}

impl Default for Watch {
    fn default() -> Self {
        Self { due: Instant::now(), next: 0 }
    }
}

impl Watch {
    /// The time of the next look; none while no runner has a turn.
    pub(crate) fn due(&self, live: usize) -> Option<Instant> {
        (live > 0).then_some(self.due)
    }

    /// Looks at as many jails as there is time for, if it is time.
    pub(crate) fn look(&mut self, runners: &mut Runners, mode: Mode) {
        let (began, live) = (Instant::now(), runners.live.len());
        if self.due(live).is_none_or(|due| due > began) {
            return;
        }
        let mut looked = 0;
        while looked < live && (looked == 0 || began.elapsed() < AT_ONCE) {
            let at = (self.next + looked) % live;
            if let Some(runner) = runners.live.get_mut(at) {
                judge(runner, mode);
            }
            looked += 1;
        }
        self.next = (self.next + looked) % live;
        let spent = began.elapsed();
        let rest = if looked == live { EVERY } else { Duration::ZERO };
        self.due = Instant::now() + rest.max(spent * REST);
    }
}

fn judge(runner: &mut Runner, mode: Mode) {
    if runner.over.is_some() {
        return;
    }
    let limits = runner.row.limits;
    let bound = u64::from(limits.memory_mib) << 20;
    let (used, memory_held) = match &runner.jail_limits.group {
        Some(group) => (usage::Usage { cpu: group.cpu().unwrap_or_default(), ..Default::default() }, true),
        None => (usage::of(runner.child.pid, limits.processes, bound), false),
    };
    runner.jail_limits.over =
        if !memory_held && used.memory > bound { runner.jail_limits.over.saturating_add(1) } else { 0 };
    let over = if runner.jail_limits.over >= LOOKS {
        Some(Ended::Memory)
    } else if used.cpu > runner.cpu + CPU_GRACE {
        Some(Ended::Cpu)
    } else if mode == Mode::Flat && used.processes > limits.processes {
        Some(Ended::Processes)
    } else {
        None
    };
    if let Some(why) = over {
        runner.end(why);
    }
}
