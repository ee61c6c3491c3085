//! The watch on what each jail uses together: CPU time always, memory where no cgroup holds it, and the number of
//! processes in mode flat, where the kernel counts a user's and no jail's.
//!
//! It must never keep agentd from its frames: a look stops after [`AT_ONCE`], and the next comes after it has rested
//! [`REST`] times as long.

use crate::host::Host;
use crate::runners::{self, Runner};
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
/// Looks in a row that find too much memory before the jail is ended: the runner's own watch ends the tools alone.
const LOOKS: u8 = 3;

/// When jails are looked at, and with which it goes on.
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
    /// When it wants to look next; never while there is nothing to be looked at.
    pub(crate) fn due(&self, live: usize) -> Option<Instant> {
        (live > 0).then_some(self.due)
    }
}

/// Looks at as many jails as there is time for, if it is time.
pub(crate) fn look(host: &mut Host) {
    let (began, live) = (Instant::now(), host.runners.live.len());
    if host.watch.due(live).is_none_or(|due| due > began) {
        return;
    }
    let mut looked = 0;
    while looked < live && (looked == 0 || began.elapsed() < AT_ONCE) {
        let at = (host.watch.next + looked) % live;
        if let Some(runner) = host.runners.live.get_mut(at) {
            judge(runner, host.mode);
        }
        looked += 1;
    }
    host.watch.next = (host.watch.next + looked) % live;
    let spent = began.elapsed();
    let rest = if looked == live { EVERY } else { Duration::ZERO };
    host.watch.due = Instant::now() + rest.max(spent * REST);
}

fn judge(runner: &mut Runner, mode: Mode) {
    if runner.over.is_some() {
        return;
    }
    let limits = runner.row.limits;
    let bound = u64::from(limits.memory_mib) << 20;
    let (used, memory_held) = match &runner.held.group {
        Some(group) => (usage::Usage { cpu: group.cpu().unwrap_or_default(), ..Default::default() }, true),
        None => (usage::of(runner.child.pid, limits.processes, bound), false),
    };
    runner.held.over =
        if !memory_held && used.memory > bound { runner.held.over.saturating_add(1) } else { 0 };
    let over = if runner.held.over >= LOOKS {
        Some(Ended::Memory)
    } else if used.cpu > runner.cpu + CPU_GRACE {
        Some(Ended::Cpu)
    } else if mode == Mode::Flat && used.processes > limits.processes {
        Some(Ended::Processes)
    } else {
        None
    };
    if over.is_some() {
        runner.over = over;
        runners::end(runner);
    }
}
