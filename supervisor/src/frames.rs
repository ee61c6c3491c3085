//! The commands that processes send over their control descriptors. The descriptor tells the sender; a command that the
//! sender's row does not permit ends the sender.

use crate::host::Host;
use crate::restart::History;
use crate::{binding, freeze, look, places, proof, removed, stop, tell, twins, vault, violations};
use manifest::Process as Name;
use manifest::command::{Answer, FRAME, Failure, Frame, HostState, Kind, ProcessState, RecordState};
use std::os::fd::{AsFd, OwnedFd};
use std::time::Instant;

/// Frames taken from one process before others get their turn.
const AT_ONCE: usize = 64;

/// Takes what `name` has said.
pub(crate) fn take(host: &mut Host, name: Name) {
    for _ in 0..AT_ONCE {
        let received = match host.process(name).and_then(|process| process.life.as_ref()) {
            Some(life) => confine::passing::receive::<FRAME>(life.control.as_fd()),
            None => return,
        };
        match received {
            Ok(Some((bytes, descriptors))) => match Frame::decode(&bytes) {
                Some(frame) => act(host, name, &frame, descriptors),
                None => return stop::kill(host, name, "it sent what is no frame"),
            },
            Err(error) if error.raw_os_error() == Some(nix::libc::EMSGSIZE) => {
                return stop::kill(host, name, "it sent what is no frame");
            }
            // At its end the process itself ends too, and its pidfd tells.
            Ok(None) | Err(_) => return,
        }
    }
}

fn act(host: &mut Host, from: Name, frame: &Frame, descriptors: Vec<OwnedFd>) {
    if !manifest::row(from).is_some_and(|row| row.may_send(frame.kind)) {
        return stop::kill(host, from, stop::FORBIDDEN);
    }
    match frame.kind {
        Kind::Ready => ready(host, from),
        Kind::Beat => beat(host, from, frame),
        Kind::Failing => failing(host, from, frame),
        Kind::Listening => violations::listen(host, from, descriptors),
        Kind::Locked => vault::say(host, frame),
        Kind::Record => record(host, frame),
        Kind::Recorded => host.violations.recorded(frame.words[0]),
        Kind::Launch => proof::launch(host, frame),
        Kind::Kill => kill(host, frame.id(0)),
        Kind::Remove => removed::remove(host, frame.id(0)),
        Kind::Wall => host.runners.give(frame.id(0), frame.words[2]),
        Kind::Attach => look::begin(host, frame, descriptors),
        Kind::Forget => host.workspaces.forget(frame.id(0)),
        Kind::Restart => answer(host, frame, restart),
        Kind::Hold => answer(host, frame, hold),
        Kind::Release => answer(host, frame, release),
        Kind::Shutdown => host.stop_asked = true,
        Kind::Freeze => still(host, frame),
        Kind::Thaw => go_on(host),
        Kind::Probe => twins::asked(host, frame),
        // agentd's own commands, which no row permits.
        Kind::Start
        | Kind::Edge
        | Kind::Listener
        | Kind::Plumbed
        | Kind::Drain
        | Kind::RunnerEnded
        | Kind::ProcessState
        | Kind::HostState
        | Kind::Done
        | Kind::RunnerAlive
        | Kind::Attached
        | Kind::Probed
        | Kind::Violation
        | Kind::Disk
        | Kind::Clock => stop::kill(host, from, stop::FORBIDDEN),
    }
}

/// Ends the runner of a turn, or takes it back if it is not launched yet.
fn kill(host: &mut Host, turn: [u8; 16]) {
    host.runners.kill(turn);
    proof::take_back(host, turn);
    binding::take_back(host, turn);
}

fn ready(host: &mut Host, name: Name) {
    if let Some(process) = host.process_mut(name) {
        process.state = ProcessState::Ready;
        process.proven = true;
    }
    tell::process(host, name);
}

fn beat(host: &mut Host, name: Name, frame: &Frame) {
    if let Some(process) = host.process_mut(name) {
        for (slot, word) in process.counters.iter_mut().zip(frame.words) {
            *slot = word;
        }
        if let Some(life) = &mut process.life {
            life.beat = Instant::now();
        }
    }
    tell::process(host, name);
}

/// Audit's word on the record: where it takes nothing, nothing has an effect.
fn record(host: &mut Host, frame: &Frame) {
    let [state, a, b, c, d, ..] = frame.words;
    host.record = RecordState::from_number(state).unwrap_or(RecordState::Broken);
    if host.record == RecordState::Whole {
        host.known.keep([a, b, c, d]);
    }
    tell::checked(host);
}

/// Its own log says more; what matters here is that a host which never was ready ends rather than tries again.
fn failing(host: &mut Host, name: Name, frame: &Frame) {
    let [failure, ..] = frame.words;
    // The first says why: what is stopped for it makes room, and others then find another reason.
    if host.start_failed.is_none() && host.process(name).is_some_and(|process| !process.proven) {
        host.start_failed = Some((name, Failure::from_number(failure)));
    }
}

fn answer(host: &mut Host, frame: &Frame, act: fn(&mut Host, Name) -> bool) {
    let known = manifest::is_actor(frame.peer) && host.process(frame.peer).is_some();
    let answer = if known && act(host, frame.peer) { Answer::Ok } else { Answer::NoSuchProcess };
    done(host, answer);
}

fn done(host: &Host, answer: Answer) {
    if let Some(control) = host.process(Name::Control) {
        control.tell(Frame::new(Kind::Done, Name::Agentd).with(&[answer as u64]), &[]);
    }
}

/// Begins at once, whether it runs, waits or is held: the waits between lives are for those that end by themselves.
fn restart(host: &mut Host, name: Name) -> bool {
    renew(host, name);
    let Some(process) = host.process_mut(name) else { return false };
    if process.state == ProcessState::Held {
        process.state = ProcessState::Waiting;
    }
    match &mut process.life {
        Some(life) => {
            life.renewed = true;
            stop::kill(host, name, "restarted by an operator");
        }
        None => begin(host, name),
    }
    true
}

/// Starts what does not run, and knows nothing of its former lives. A host that stops begins nothing.
fn begin(host: &mut Host, name: Name) {
    if host.state == HostState::Stopping {
        return;
    }
    if let Some(process) = host.process_mut(name) {
        process.history = History::default();
    }
    if freeze::may_act(host, name) {
        stop::again(host, name);
    } else {
        freeze::start_after(host, name);
        tell::process(host, name);
    }
}

/// Takes the program that is in its place now, which an upgrade may have changed; where there is none, the one that ran. Only
/// an operator's word does: what dies by itself comes back as what it was.
fn renew(host: &mut Host, name: Name) {
    match places::program(name.name()) {
        Ok(program) => {
            if let Some(process) = host.process_mut(name) {
                process.program = program;
            }
        }
        Err(fault) => host.logs.write("agentd", &format!("{fault}; the one that ran is started again")),
    }
}

fn hold(host: &mut Host, name: Name) -> bool {
    if let Some(process) = host.process_mut(name) {
        process.state = ProcessState::Held;
        process.due = None;
    }
    stop::kill(host, name, "held by an operator");
    tell::process(host, name);
    true
}

fn release(host: &mut Host, name: Name) -> bool {
    let waits = host.process(name).is_some_and(|it| !it.is_running() || it.state == ProcessState::Held);
    if waits { restart(host, name) } else { true }
}

fn still(host: &mut Host, frame: &Frame) {
    let [ms, ..] = frame.words;
    let answer = freeze::freeze(host, ms);
    done(host, answer);
}

fn go_on(host: &mut Host) {
    let answer = freeze::thaw(host);
    done(host, answer);
}
