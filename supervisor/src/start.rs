//! Starts one process: jail, start frame, edges, listeners.

use crate::clock::now_ms;
use crate::edges;
use crate::exit::Fault;
use crate::host::Host;
use crate::logs::LogPipe;
use crate::process::Life;
use crate::seccomp_listener::SeccompListener;
use crate::{disk, reports};
use confine::{ActorJail, passing};
use manifest::Process as Name;
use manifest::command::{EndCause, Frame, Kind, ProcessState};
use std::os::fd::{AsFd, OwnedFd};
use std::time::Instant;

/// Starts `name` and connects its edges.
pub(crate) fn start(host: &mut Host, name: Name) -> Result<(), Fault> {
    let failed = |cause: String| Fault::Start { process: name.name(), cause };
    let (life, section) = launch(host, name).map_err(|cause| failed(cause.clone()))?;
    let armed = host.fault.filter(|(process, _)| *process == name).map_or(0, |(_, point)| point);
    let (mode, off, recording) = (host.jails.mode as u64, host.clock.word(), u64::from(host.jails.records));
    let inherits = host.processes.get(name).map_or(&[][..], |process| process.row.inherits);
    let (flags, inherited) = host.vault.descriptors(inherits);
    let [a, b, c, d] = if name == Name::Audit { host.record_id.words() } else { [0; 4] };
    let Some(process) = host.processes.get_mut(name) else { return Ok(()) };
    process.generation += 1;
    process.state = ProcessState::Starting;
    process.due = None;
    process.life = Some(life);
    let armed = if process.generation == 1 { armed } else { 0 };
    let descriptors: Vec<_> = std::iter::once(&section).chain(&inherited).map(AsFd::as_fd).collect();
    let words = [mode, armed, off, recording, flags, a, b, c, d];
    process.send(Frame::new(Kind::Start, name).with(&words), &descriptors);
    edges::connect(&host.processes, name).map_err(|cause| failed(cause.to_string()))?;
    hand_over(host, name);
    if name == Name::Control {
        host.violations.begin_again();
        host.violations.send(&host.processes);
    }
    reports::process(host, name);
    Ok(())
}

fn launch(host: &Host, name: Name) -> Result<(Life, OwnedFd), String> {
    let text = |error: &dyn std::fmt::Display| error.to_string();
    let process = host.processes.get(name).ok_or("no row")?;
    let section = host.configuration.section(name).map_err(|error| text(&error))?;
    let (log, log_end) = passing::pipe().map_err(|error| text(&error))?;
    let (control, control_end) = passing::frame_pair().map_err(|error| text(&error))?;
    passing::set_nonblocking(control.as_fd()).map_err(|error| text(&error))?;
    passing::set_nonblocking(log.as_fd()).map_err(|error| text(&error))?;
    let jail = ActorJail {
        row: process.row,
        mode: host.jails.mode,
        ids: process.ids,
        program: &process.program,
        null: &host.jails.null,
        log: &log_end,
        control: &control_end,
        folder: &process.folder,
        state: &host.jails.state,
        weakened: host.jails.weakens(name),
    };
    let child = confine::launch_actor(&jail).map_err(|error| text(&error))?;
    let (began, began_ms) = (Instant::now(), now_ms());
    let life = Life {
        child,
        control,
        log: LogPipe::new(log),
        began,
        began_ms,
        heartbeat: began,
        seccomp: SeccompListener::of_actor(),
        ending: false,
        renewed: false,
        cause: EndCause::Itself,
    };
    Ok((life, section))
}

/// Sends what only some processes get: their listeners, to control the state of everything, to router the live runners.
fn hand_over(host: &Host, name: Name) {
    let Some(process) = host.processes.get(name) else { return };
    if disk::CONCERNED.contains(&name) {
        process.send(host.disk.room.frame(), &[]);
    }
    host.listeners.hand_over(process);
    match name {
        Name::Control => reports::everything(host),
        Name::Gateway => reports::figures(host),
        Name::Router => {
            // Those of a gate that has ended were ended with it.
            for turn in host.runners.turns_of(name).chain(host.attachments.turns()) {
                let words = manifest::command::id_words(turn);
                process.send(Frame::new(Kind::RunnerAlive, Name::Runner).with(&words), &[]);
            }
        }
        _ => {}
    }
    process.send(Frame::new(Kind::Plumbed, name), &[]);
}
