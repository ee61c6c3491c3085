//! Standing still for a copy of the state: every process but agentd and control is stopped by the kernel, runners and
//! what runs in their jails too, so that the state on disk is that of one instant. It is what a kill of everything at
//! that instant would have left, which is what every process is made to open.
//!
//! While they stand still nothing is heard of them and none but control is started: what they said before lies in
//! their sockets until they go on. A process that ends meanwhile stays ended until then. Not chosen: asking each of
//! them to be quiet, which the one that does not answer would decide; cgroups, which need delegation.

use crate::host::Host;
use crate::{exit, stop, tasks, watch};
use manifest::Process as Name;
use manifest::command::{Answer, ProcessState};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::io;
use std::time::{Duration, Instant};

/// The longest that they stand still, whatever is asked. Deadlines of calls under way and the leases of turns are
/// longer, or survive it.
const LONGEST: Duration = Duration::from_secs(30);
/// How long it may take until all do. The kernel stops a process at once unless it waits for a disk.
const SETTLING: Duration = Duration::from_secs(2);
/// How often that is looked at.
const LOOK: Duration = Duration::from_millis(1);

/// Processes that stand still.
#[derive(Debug)]
pub(crate) struct Frozen {
    began: Instant,
    until: Instant,
    stopped: Vec<Stopped>,
}

/// A process that was stopped here, so that one which somebody else stopped is not started by mistake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stopped {
    pid: i32,
    began: u64,
}

/// Returns whether `name` is heard, and may be started: while the others stand still, control alone.
pub(crate) fn may_act(host: &Host, name: Name) -> bool {
    host.frozen.is_none() || name == Name::Control
}

/// When they go on by themselves.
pub(crate) fn deadline(host: &Host) -> Option<Instant> {
    host.frozen.as_ref().map(|frozen| frozen.until)
}

/// Stops every process but control for `ms`; returns when all stand still. Asked again meanwhile it is refused: the
/// first copy's time is not the second's to change.
pub(crate) fn freeze(host: &mut Host, ms: u64) -> Answer {
    if host.frozen.is_some() {
        return Answer::Frozen;
    }
    if !tasks::tells_children() {
        exit::say(
            "agentd: this kernel does not tell what runs in a jail (CONFIG_PROC_CHILDREN), so nothing is stopped",
        );
        return Answer::Restless;
    }
    let actors = host.processes.iter().filter(|process| process.row.process != Name::Control);
    let actors = actors.filter_map(|process| process.life.as_ref()).map(|life| life.child.pid);
    let roots: Vec<i32> = actors.chain(host.runners.children().map(|child| child.pid)).collect();
    let (began, mut stopped) = (Instant::now(), Vec::new());
    let still = all_still(&roots, &mut stopped);
    host.frozen =
        Some(Frozen { began, until: Instant::now() + Duration::from_millis(ms).min(LONGEST), stopped });
    match still {
        Ok(true) => Answer::Ok,
        Ok(false) => {
            thaw(host);
            Answer::Restless
        }
        Err(error) => {
            exit::say(&format!("agentd: what the processes do cannot be seen: {error}"));
            thaw(host);
            Answer::Restless
        }
    }
}

/// Lets them go on. The time is no fault of theirs: it counts neither as silence, nor as a life, nor on the wall clock
/// of a runner. Those that wait for their start get it with the next look at the clocks.
pub(crate) fn thaw(host: &mut Host) -> Answer {
    let Some(frozen) = host.frozen.take() else { return Answer::NotFrozen };
    for stopped in &frozen.stopped {
        if tasks::of(stopped.pid).is_ok_and(|tasks| tasks.is_some_and(|tasks| tasks.began == stopped.began)) {
            let _ = kill(Pid::from_raw(stopped.pid), Signal::SIGCONT);
        }
    }
    let lost = frozen.began.elapsed();
    host.runners.give_back(lost);
    for life in host.processes.iter_mut().filter_map(|process| process.life.as_mut()) {
        life.began += lost;
        life.beat = Instant::now();
    }
    Answer::Ok
}

/// Ends what nobody ended: whoever asked for it may be gone.
pub(crate) fn end_overdue(host: &mut Host) {
    if deadline(host).is_some_and(|until| until <= Instant::now()) {
        host.logs.write("agentd", "the processes go on: the time for which they were to stand still is over");
        thaw(host);
    }
}

/// Has a process that is asked for while the others stand still be started when they go on.
pub(crate) fn start_after(host: &mut Host, name: Name) {
    if let Some(process) = host.process_mut(name) {
        process.state = ProcessState::Waiting;
        process.due = Some(Instant::now());
    }
}

/// Stops `roots` and everything that they started, and looks until all stand still or [`SETTLING`] is over.
fn all_still(roots: &[i32], stopped: &mut Vec<Stopped>) -> io::Result<bool> {
    let end = Instant::now() + SETTLING;
    while !pass(roots, stopped)? {
        if Instant::now() > end {
            return Ok(false);
        }
        std::thread::sleep(LOOK);
    }
    Ok(true)
}

/// Goes through them once, and stops what moves; whether nothing did. Whom a process started is looked at once it
/// stands still, since until then it may start another.
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

/// Everything that is due to be looked at; while they stand still, silence and wall clocks are not.
pub(crate) fn clocks(host: &mut Host) {
    end_overdue(host);
    if host.frozen.is_none() {
        host.runners.end_overdue();
        watch::look(host);
        stop::end_silent(host);
    }
}
