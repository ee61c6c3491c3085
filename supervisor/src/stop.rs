//! Ends of processes: the decision on their next start, and the end of those that are silent.

use crate::clock::now_ms;
use crate::host::Host;
use crate::restart::{Decision, decide};
use crate::{own_log, reports, start};
use manifest::Process as Name;
use manifest::command::{EndCause, Ended, Frame, HostState, Kind, ProcessState};
use nix::sys::signal::Signal;
use std::time::{Duration, Instant};

/// The longest silence: a process without a heartbeat for this long has stopped working, and is ended.
const SILENCE: Duration = Duration::from_secs(10);

/// agentd looks twice a second. If it did not for this long, it or the whole machine stood still.
const STOOD_STILL: Duration = Duration::from_secs(2);

/// A process has ended: it is started again now or later, held, or left stopped.
pub(crate) fn ended(host: &mut Host, name: Name, ended: Ended, code: i32) {
    let stopping = host.state == HostState::Stopping;
    let Some(process) = host.processes.get_mut(name) else { return };
    let Some(life) = process.life.take() else { return };
    let lived = u64::try_from(life.began.elapsed().as_millis()).unwrap_or(u64::MAX);
    process.counters = [0; 8];
    let how = [now_ms(), ended as u64, u64::from(code.unsigned_abs()), life.cause as u64, lived];
    let end = Frame::new(Kind::ProcessEnded, name).with(&how);
    process.remember(end);
    if stopping || life.ending {
        process.state = ProcessState::Stopped;
        reports::process(host, name);
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
    host.processes.send(Name::Control, end, &[]);
    own_log::warn(&format!("{} ended: {}", name.name(), manner(ended, code)));
    if name == Name::Gate {
        // No runner can report to the gate any more what its tool does: the turn is resumed now, not when the tool is done.
        host.runners.end_bound();
    }
    reports::process(host, name);
    if wait == Some(Duration::ZERO) && host.freeze.may_act(name) {
        again(host, name);
    }
}

/// How a process ended, in words.
fn manner(ended: Ended, code: i32) -> String {
    match Signal::try_from(code) {
        Ok(signal) if ended == Ended::Killed => format!("signal {signal}"),
        _ => format!("exit status {code}"),
    }
}

/// Starts a process again; a failure to start counts as a short life.
pub(crate) fn again(host: &mut Host, name: Name) {
    if let Err(fault) = start::start(host, name) {
        own_log::error(&fault.to_string());
        if let Some(process) = host.processes.get_mut(name) {
            process.due = Some(Instant::now() + Duration::from_millis(process.row.restart.max_ms.into()));
        }
        reports::process(host, name);
    }
}

/// Starts every process whose time has come.
pub(crate) fn start_due(host: &mut Host) {
    let now = Instant::now();
    let due = host.processes.iter().filter(|process| process.due.is_some_and(|due| due <= now));
    let due = due.map(|process| process.row.process).filter(|name| host.freeze.may_act(*name));
    let due: Vec<Name> = due.collect();
    for name in due {
        again(host, name);
    }
}

/// Ends silent processes. The time in which agentd itself heard nothing does not count: a machine that was halted for longer
/// than [`SILENCE`] would otherwise lose every process when it continues.
pub(crate) fn end_silent(host: &mut Host) {
    let unheard = host.looked.elapsed();
    host.looked = Instant::now();
    if unheard > STOOD_STILL {
        host.processes.lives_mut().for_each(|life| life.heartbeat += unheard);
    }
    let silent =
        |name: &Name| host.processes.life(*name).is_some_and(|life| life.heartbeat.elapsed() > SILENCE);
    let names: Vec<Name> = host.processes.names().into_iter().filter(silent).collect();
    for name in names {
        host.processes.kill(name, EndCause::Silent, "it sent no heartbeat for 10 s");
    }
}
