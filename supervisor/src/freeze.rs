//! Freezes the host for a copy of the state: the kernel stops every process but agentd and control, and everything in the jails,
//! so that the state on disk is that of one instant. A kill of everything at that instant would leave the same state, which
//! every process is made to open.
//!
//! While they are frozen agentd reads nothing from them and starts none but control: their frames stay in their sockets. A
//! process that ends meanwhile stays ended until the thaw. Rejected: asking each process to pause, since one that does not answer
//! would decide; cgroups, which need delegation.

use crate::own_log;
use crate::processes::Processes;
use crate::runners::Runners;
use crate::tasks;
use manifest::Process as Name;
use manifest::command::Answer;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::io;
use std::time::{Duration, Instant};

/// The longest freeze, whatever is asked. Deadlines of calls under way and the leases of turns are longer, or survive it.
const LONGEST: Duration = Duration::from_secs(30);
/// The time in which all must have stopped. The kernel stops a process at once unless it waits for a disk.
const SETTLING: Duration = Duration::from_secs(2);
/// The pause between two looks at that.
const LOOK: Duration = Duration::from_millis(1);

/// The state of freezing.
#[derive(Debug, Default)]
pub(crate) struct Freeze(Option<Frozen>);

/// Frozen processes.
#[derive(Debug)]
struct Frozen {
    began: Instant,
    until: Instant,
    stopped: Vec<Stopped>,
}

/// A process that agentd stopped: one that somebody else stopped is not continued by mistake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stopped {
    pid: i32,
    began: u64,
}

impl Freeze {
    /// Returns true while the processes are frozen.
    pub(crate) const fn is_on(&self) -> bool {
        self.0.is_some()
    }

    /// Returns true if `name` is heard and may be started: while the others are frozen, control alone.
    pub(crate) fn may_act(&self, name: Name) -> bool {
        self.0.is_none() || name == Name::Control
    }

    /// The time at which the freeze ends by itself.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        self.0.as_ref().map(|frozen| frozen.until)
    }

    /// Stops every process but control for `ms`, and returns when all are stopped. A second request is refused meanwhile, so that
    /// it cannot change the time of the first.
    pub(crate) fn freeze(&mut self, processes: &mut Processes, runners: &mut Runners, ms: u64) -> Answer {
        if self.is_on() {
            return Answer::Frozen;
        }
        if !tasks::tells_children() {
            own_log::warn(
                "this kernel does not list the processes of a jail (CONFIG_PROC_CHILDREN), so none is frozen",
            );
            return Answer::Restless;
        }
        let actors = processes.iter().filter(|process| process.row.process != Name::Control);
        let actors = actors.filter_map(|process| process.life.as_ref()).map(|life| life.child.pid);
        let roots: Vec<i32> = actors.chain(runners.children().map(|child| child.pid)).collect();
        let (began, mut stopped) = (Instant::now(), Vec::new());
        let settled = stop_all(&roots, &mut stopped);
        let until = Instant::now() + Duration::from_millis(ms).min(LONGEST);
        self.0 = Some(Frozen { began, until, stopped });
        match settled {
            Ok(true) => return Answer::Ok,
            Ok(false) => {}
            Err(error) => own_log::error(&format!("the state of the processes cannot be read: {error}")),
        }
        self.thaw(processes, runners);
        Answer::Restless
    }

    /// Continues the processes. The time of the freeze counts neither as silence, nor as part of a life, nor on the wall clock of
    /// a runner. Processes that wait for their start are started with the next tick.
    pub(crate) fn thaw(&mut self, processes: &mut Processes, runners: &mut Runners) -> Answer {
        let Some(frozen) = self.0.take() else { return Answer::NotFrozen };
        for stopped in &frozen.stopped {
            let same = |tasks: tasks::Tasks| tasks.began == stopped.began;
            if tasks::of(stopped.pid).is_ok_and(|tasks| tasks.is_some_and(same)) {
                let _ = kill(Pid::from_raw(stopped.pid), Signal::SIGCONT);
            }
        }
        let lost = frozen.began.elapsed();
        runners.extend(lost);
        for life in processes.lives_mut() {
            life.began += lost;
            life.heartbeat = Instant::now();
        }
        Answer::Ok
    }

    /// Returns true if the time is over and nobody has asked for the thaw: the client may be gone.
    pub(crate) fn is_overdue(&self) -> bool {
        self.deadline().is_some_and(|until| until <= Instant::now())
    }
}

/// Stops `roots` and all their descendants; returns false if some still run after [`SETTLING`].
fn stop_all(roots: &[i32], stopped: &mut Vec<Stopped>) -> io::Result<bool> {
    let end = Instant::now() + SETTLING;
    while !pass(roots, stopped)? {
        if Instant::now() > end {
            return Ok(false);
        }
        std::thread::sleep(LOOK);
    }
    Ok(true)
}

/// Goes through the processes once and stops those that run; returns true if none did. A process's children are looked at once
/// it is stopped, since until then it may start another.
fn pass(roots: &[i32], stopped: &mut Vec<Stopped>) -> io::Result<bool> {
    let (mut open, mut still) = (roots.to_vec(), true);
    while let Some(pid) = open.pop() {
        let Some(tasks) = tasks::of(pid)? else { continue };
        if tasks.still {
            open.extend(tasks.children);
            continue;
        }
        still = false;
        let this = Stopped { pid, began: tasks.began };
        if !stopped.contains(&this) {
            let _ = kill(Pid::from_raw(pid), Signal::SIGSTOP);
            stopped.push(this);
        }
    }
    Ok(still)
}
