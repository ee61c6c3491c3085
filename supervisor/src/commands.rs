//! The commands that processes send over their control descriptors. The descriptor identifies the sender; a command that the
//! sender's row does not permit ends the sender.

use crate::attachments::Attachment;
use crate::host::Host;
use crate::processes::FORBIDDEN;
use crate::restart::History;
use crate::{denied_calls, launch, own_log, places, probing, reports, stop};
use manifest::Process as Name;
use manifest::command::{
    Answer, EndCause, FRAME, Failure, Frame, HostState, Kind, ProcessState, RecordState, id_words,
};
use std::os::fd::{AsFd, OwnedFd};
use std::time::Instant;

/// Frames that are read from one process before others get their turn.
const AT_ONCE: usize = 64;

/// Reads the frames of `name` and acts on them.
pub(crate) fn take(host: &mut Host, name: Name) {
    for _ in 0..AT_ONCE {
        let received = match host.processes.life(name) {
            Some(life) => confine::passing::receive::<FRAME>(life.control.as_fd()),
            None => return,
        };
        match received {
            Ok(Some((bytes, descriptors))) => match Frame::decode(&bytes) {
                Some(frame) => act(host, name, &frame, descriptors),
                None => return host.processes.kill(name, EndCause::Forbidden, "it sent an invalid frame"),
            },
            Err(error) if error.raw_os_error() == Some(nix::libc::EMSGSIZE) => {
                return host.processes.kill(name, EndCause::Forbidden, "it sent an invalid frame");
            }
            // At the end of the stream the process itself ends too, and its pidfd reports that.
            Ok(None) | Err(_) => return,
        }
    }
}

fn act(host: &mut Host, from: Name, frame: &Frame, descriptors: Vec<OwnedFd>) {
    if !manifest::row(from).is_some_and(|row| row.may_send(frame.kind)) {
        return host.processes.kill(from, EndCause::Forbidden, FORBIDDEN);
    }
    match frame.kind {
        Kind::Ready => ready(host, from),
        Kind::Heartbeat => heartbeat(host, from, frame),
        Kind::Measure => reports::measure(host, from, frame),
        Kind::Failing => failing(host, from, frame),
        Kind::Listening => denied_calls::listen(host, from, descriptors),
        Kind::Locked => locked(host, frame),
        Kind::Record => record(host, frame),
        Kind::Recorded => host.violations.recorded(frame.words[0]),
        Kind::Launch => launch::request(host, from, frame),
        Kind::Kill => launch::cancel(host, frame.id(0)),
        Kind::Remove => remove(host, frame.id(0)),
        Kind::SetDeadline => host.runners.set_deadline(frame.id(0), frame.words[2]),
        Kind::Attach => attach(host, frame, descriptors),
        Kind::Forget => host.attachments.workspaces.forget(frame.id(0)),
        Kind::Restart => answer(host, frame, restart),
        Kind::Hold => answer(host, frame, hold),
        Kind::Release => answer(host, frame, release),
        Kind::Shutdown => host.stop_asked = true,
        Kind::Freeze => {
            let answer = host.freeze.freeze(&mut host.processes, &mut host.runners, frame.words[0]);
            done(host, answer);
        }
        Kind::Thaw => {
            let answer = host.freeze.thaw(&mut host.processes, &mut host.runners);
            done(host, answer);
        }
        Kind::Probe => probing::request(host, frame),
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
        | Kind::ProcessEnded
        | Kind::Clock => host.processes.kill(from, EndCause::Forbidden, FORBIDDEN),
    }
}

fn ready(host: &mut Host, name: Name) {
    if let Some(process) = host.processes.get_mut(name) {
        process.state = ProcessState::Ready;
        process.proven = true;
    }
    reports::process(host, name);
}

fn heartbeat(host: &mut Host, name: Name, frame: &Frame) {
    if let Some(process) = host.processes.get_mut(name) {
        for (slot, word) in process.counters.iter_mut().zip(frame.words) {
            *slot = word;
        }
        if let Some(life) = &mut process.life {
            life.heartbeat = Instant::now();
        }
        process.beats += 1;
    }
    reports::heartbeat(host, name);
}

/// Credproxy reports if the vault waits for its passphrase.
fn locked(host: &mut Host, frame: &Frame) {
    host.vault.locked = frame.words[0] != 0;
    reports::checked(host);
}

/// Audit reports the state of the record: while it takes no entry, nothing has an effect.
fn record(host: &mut Host, frame: &Frame) {
    let [state, a, b, c, d, ..] = frame.words;
    host.record = RecordState::from_number(state).unwrap_or(RecordState::Broken);
    if host.record == RecordState::Whole {
        host.record_id.adopt([a, b, c, d]);
    }
    reports::checked(host);
}

/// A process gives up. Its own log says more; a host whose process was never ready ends instead of trying again.
fn failing(host: &mut Host, name: Name, frame: &Frame) {
    let [failure, ..] = frame.words;
    // The first reason counts: the end of that process makes room, and others then find another reason.
    if host.start_failed.is_none() && host.processes.get(name).is_some_and(|process| !process.proven) {
        host.start_failed = Some((name, Failure::from_number(failure)));
    }
}

/// Removes the folder of a workspace.
fn remove(host: &mut Host, workspace: [u8; 16]) {
    if let Err(line) = host.removed.remove(&host.jails.workspace(workspace)) {
        own_log::warn(&line);
    }
}

/// Begins to check the directory that a client of control attaches.
fn attach(host: &mut Host, frame: &Frame, descriptors: Vec<OwnedFd>) {
    if let Err(answer) = host.attachments.begin_check(frame, descriptors, &host.jails.state) {
        attached(host, &Attachment { token: frame.words[0], answer, id: [0; 16] });
    }
}

/// Sends control the answers of checks that are over.
pub(crate) fn finish_checks(host: &mut Host) {
    for attachment in host.attachments.finish_checks() {
        attached(host, &attachment);
    }
}

fn attached(host: &Host, attachment: &Attachment) {
    let [low, high] = id_words(attachment.id);
    let words = [attachment.token, attachment.answer as u64, low, high];
    host.processes.send(Name::Control, Frame::new(Kind::Attached, Name::Agentd).with(&words), &[]);
}

fn answer(host: &mut Host, frame: &Frame, act: fn(&mut Host, Name)) {
    if manifest::is_actor(frame.peer) && host.processes.get(frame.peer).is_some() {
        act(host, frame.peer);
        done(host, Answer::Ok);
    } else {
        done(host, Answer::NoSuchProcess);
    }
}

fn done(host: &Host, answer: Answer) {
    let frame = Frame::new(Kind::Done, Name::Agentd).with(&[answer as u64]);
    host.processes.send(Name::Control, frame, &[]);
}

/// Restarts a process at once, whether it runs, waits or is held: the back-off is for those that end by themselves.
fn restart(host: &mut Host, name: Name) {
    renew(host, name);
    let Some(process) = host.processes.get_mut(name) else { return };
    if process.state == ProcessState::Held {
        process.state = ProcessState::Waiting;
    }
    match &mut process.life {
        Some(life) => {
            life.renewed = true;
            host.processes.kill(name, EndCause::Restarted, "restarted by an operator");
        }
        None => begin(host, name),
    }
}

/// Starts a process that does not run, and forgets its former lives. A host that stops starts none; a frozen one starts it after
/// the thaw.
fn begin(host: &mut Host, name: Name) {
    if host.state == HostState::Stopping {
        return;
    }
    let may_act = host.freeze.may_act(name);
    if let Some(process) = host.processes.get_mut(name) {
        process.history = History::default();
        if !may_act {
            process.state = ProcessState::Waiting;
            process.due = Some(Instant::now());
        }
    }
    if may_act {
        stop::again(host, name);
    } else {
        reports::process(host, name);
    }
}

/// Opens the program that is installed now, which an upgrade may have replaced; if there is none, the old one stays. Only a command
/// of an operator does this: a process that ends by itself is started with the program that it had.
fn renew(host: &mut Host, name: Name) {
    match places::program(name.program()) {
        Ok(program) => {
            if let Some(process) = host.processes.get_mut(name) {
                process.program = program;
            }
        }
        Err(fault) => own_log::warn(&format!("{fault}; the one that ran is started again")),
    }
}

fn hold(host: &mut Host, name: Name) {
    if let Some(process) = host.processes.get_mut(name) {
        process.state = ProcessState::Held;
        process.due = None;
    }
    host.processes.kill(name, EndCause::Held, "held by an operator");
    reports::process(host, name);
}

fn release(host: &mut Host, name: Name) {
    let waits = host.processes.get(name).is_some_and(|it| !it.is_running() || it.state == ProcessState::Held);
    if waits {
        restart(host, name);
    }
}
