//! Starting one process: jail, start frame, edges, listeners.

use crate::edges;
use crate::exit::Fault;
use crate::host::{Host, now_ms};
use crate::logs::LogPipe;
use crate::process::Life;
use crate::violations::{self, Ear};
use crate::{clock, disk, tell};
use confine::{ActorJail, passing};
use manifest::Process as Name;
use manifest::command::{Frame, Kind, ProcessState};
use std::os::fd::{AsFd, OwnedFd};
use std::time::Instant;

/// Starts `name` and plumbs it.
pub(crate) fn start(host: &mut Host, name: Name) -> Result<(), Fault> {
    let failed = |cause: String| Fault::Start { process: name.name(), cause };
    let (life, section) = launch(host, name).map_err(|cause| failed(cause.clone()))?;
    let armed = host.options.fault.filter(|(process, _)| *process == name).map_or(0, |(_, point)| point);
    let (mode, off, recording) = (host.mode as u64, clock::word(host.clock_ms), u64::from(host.records()));
    let (flags, handed) = host.vault.handed(host.process(name).map_or(&[], |process| process.row.inherits));
    let [a, b, c, d] = if name == Name::Audit { host.known.words() } else { [0; 4] };
    let Some(process) = host.process_mut(name) else { return Ok(()) };
    process.generation += 1;
    process.state = ProcessState::Starting;
    process.due = None;
    process.life = Some(life);
    let armed = if process.generation == 1 { armed } else { 0 };
    let descriptors: Vec<_> = std::iter::once(&section).chain(&handed).map(AsFd::as_fd).collect();
    let words = [mode, armed, off, recording, flags, a, b, c, d];
    process.tell(Frame::new(Kind::Start, name).with(&words), &descriptors);
    edges::plumb(host, name).map_err(|cause| failed(cause.to_string()))?;
    hand_over(host, name);
    if name == Name::Control {
        host.violations.begin_again();
        violations::tell(host);
    }
    tell::process(host, name);
    Ok(())
}

fn launch(host: &Host, name: Name) -> Result<(Life, OwnedFd), String> {
    let text = |error: &dyn std::fmt::Display| error.to_string();
    let process = host.process(name).ok_or("no row")?;
    let section = host.configuration.section(name).map_err(|error| text(&error))?;
    let (log, log_end) = passing::pipe().map_err(|error| text(&error))?;
    let (control, control_end) = passing::frame_pair().map_err(|error| text(&error))?;
    passing::set_nonblocking(control.as_fd()).map_err(|error| text(&error))?;
    passing::set_nonblocking(log.as_fd()).map_err(|error| text(&error))?;
    let jail = ActorJail {
        row: process.row,
        mode: host.mode,
        ids: process.ids,
        program: &process.program,
        null: &host.null,
        log: &log_end,
        control: &control_end,
        folder: &process.folder,
        state: &host.places.state,
        weakened: host.weakens(name),
    };
    let child = confine::launch_actor(&jail).map_err(|error| text(&error))?;
    let (began, began_ms) = (Instant::now(), now_ms());
    let life = Life {
        child,
        control,
        log: LogPipe::new(log),
        began,
        began_ms,
        beat: began,
        ear: Ear::of_actor(),
        ending: false,
        renewed: false,
    };
    Ok((life, section))
}

/// What only some processes get: their listeners, control the state of everything, router the live runners.
fn hand_over(host: &Host, name: Name) {
    let Some(process) = host.process(name) else { return };
    disk::tell(host, name);
    host.listeners.hand_over(process);
    match name {
        Name::Control => tell::everything(host),
        Name::Router => {
            for turn in host.runners.turns().chain(host.handed.turns()) {
                let words = manifest::command::id_words(turn);
                process.tell(Frame::new(Kind::RunnerAlive, Name::Runner).with(&words), &[]);
            }
        }
        _ => {}
    }
    process.tell(Frame::new(Kind::Plumbed, name), &[]);
}
