//! Ends of processes: asked, unasked, and of the host as a whole.

use crate::host::Host;
use crate::restart::{Decision, decide};
use crate::{exit, freeze, start, tell};
use manifest::Process as Name;
use manifest::command::{Frame, HostState, Kind, ProcessState};
use nix::sys::signal::{Signal, kill as signal};
use nix::unistd::Pid;
use std::time::{Duration, Instant};

/// Why a process ends that sent a command of another's, or a command that it may send once a second time.
pub(crate) const FORBIDDEN: &str = "it sent a command that its row does not permit";

/// How long a process may take to finish what is in flight when the host stops.
const DRAIN: Duration = Duration::from_millis(2_000);
/// A process that has not been heard of for this long has stopped working, and is ended.
pub(crate) const SILENCE: Duration = Duration::from_secs(10);

/// agentd looks twice a second. Where it did not for this long, it stood still itself, or the whole machine did.
const STOOD_STILL: Duration = Duration::from_secs(2);

/// Ends a process now; what becomes of it is decided when it has ended.
pub(crate) fn kill(host: &mut Host, name: Name, why: &str) {
    let Some(process) = host.process_mut(name) else { return };
    if let Some(life) = &mut process.life {
        // Said once: until the kernel is done with it, what it held wakes this process again and again.
        life.beat = Instant::now();
        exit::say(&format!("agentd: {name} is ended: {why}", name = name.name()));
        let _ = signal(Pid::from_raw(life.child.pid), Signal::SIGKILL);
    }
}

/// A process has ended: start it again now or later, hold it, or leave it stopped.
pub(crate) fn ended(host: &mut Host, name: Name, how: &str) {
    let stopping = host.state == HostState::Stopping;
    let Some(process) = host.process_mut(name) else { return };
    let Some(life) = process.life.take() else { return };
    let lived = u64::try_from(life.began.elapsed().as_millis()).unwrap_or(u64::MAX);
    process.counters = [0; 8];
    if stopping || life.ending {
        process.state = ProcessState::Stopped;
        tell::process(host, name);
        return;
    }
    let mut wait = None;
    if process.state != ProcessState::Held {
        let (decision, history) = if life.renewed {
            (Decision::After(0), process.history)
        } else {
            decide(&process.row.restart, process.history, lived)
        };
        process.history = history;
        (process.state, wait) = match decision {
            Decision::After(ms) => (ProcessState::Waiting, Some(Duration::from_millis(ms))),
            Decision::Hold => (ProcessState::Held, None),
        };
        process.due = wait.map(|wait| Instant::now() + wait);
    }
    host.logs.write("agentd", &format!("{} ended: {how}", name.name()));
    if name == Name::Gate {
        // What a runner's tool does meanwhile nobody could be told of: the turn is taken up again now, not when the tool is done.
        host.runners.end_bound();
    }
    tell::process(host, name);
    if wait == Some(Duration::ZERO) && freeze::may_act(host, name) {
        again(host, name);
    }
}

/// Starts a process again; what fails counts as a short life.
pub(crate) fn again(host: &mut Host, name: Name) {
    if let Err(fault) = start::start(host, name) {
        host.logs.write("agentd", &fault.to_string());
        if let Some(process) = host.process_mut(name) {
            process.due = Some(Instant::now() + Duration::from_millis(process.row.restart.max_ms.into()));
        }
        tell::process(host, name);
    }
}

/// Ends those that have not been heard of. For the time in which agentd heard nobody, nobody is to blame: a machine that was
/// halted for longer than [`SILENCE`] would otherwise lose every process when it goes on.
pub(crate) fn end_silent(host: &mut Host) {
    let unheard = host.looked.elapsed();
    host.looked = Instant::now();
    if unheard > STOOD_STILL {
        let lives = host.processes.iter_mut().filter_map(|process| process.life.as_mut());
        lives.for_each(|life| life.beat += unheard);
    }
    let silent = |process: &&crate::process::Process| {
        process.life.as_ref().is_some_and(|life| life.beat.elapsed() > SILENCE)
    };
    let names: Vec<Name> = host.processes.iter().filter(silent).map(|process| process.row.process).collect();
    for name in names {
        kill(host, name, "it has not been heard of for 10 s");
    }
}

/// Stops the host: runners first, then the table backwards, each with time to finish what is in flight.
pub(crate) fn everything(host: &mut Host) {
    freeze::thaw(host);
    host.state = HostState::Stopping;
    host.notify.tell("STOPPING=1\nSTATUS=stopping");
    host.runners.kill_all();
    host.handed.end();
    host.twins.kill_all();
    let names: Vec<Name> = host.processes.iter().rev().map(|process| process.row.process).collect();
    for name in names {
        let Some(process) = host.process_mut(name) else { continue };
        process.due = None;
        let millis = u64::try_from(DRAIN.as_millis()).unwrap_or(0);
        process.tell(Frame::new(Kind::Drain, name).with(&[millis]), &[]);
        if let Some(life) = &mut process.life {
            life.ending = true;
        }
        let until = Instant::now() + DRAIN + Duration::from_millis(200);
        while host.process(name).is_some_and(crate::process::Process::is_running) {
            if Instant::now() > until {
                kill(host, name, "it did not finish in time");
            }
            crate::wait::once(host, Some(Duration::from_millis(20)));
        }
    }
}
