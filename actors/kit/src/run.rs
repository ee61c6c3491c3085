//! The main of every actor: the same order, on one screen. Nothing is read from a peer before the seal.

use crate::actor::{Actor, Host, Place};
use crate::counters::Counters;
use crate::descriptors::DescriptorChannel;
use crate::edge::Edge;
use crate::link::Links;
use crate::own::{self, NotOwn};
use crate::proc_files::ProcFiles;
use crate::supervisor::Supervisor;
use confine::{Sealed, Watch};
use ipc_proto::config::Section;
use manifest::command::{FRAME, Failure, Frame, Kind, Measure, Mode, Role};
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsFd, OwnedFd};
use std::process::ExitCode;
use std::rc::Rc;
use std::time::Duration;
use tokio::net::UnixStream;
use tokio::task::LocalSet;

/// The interval of the heartbeat.
pub(crate) const BEAT: Duration = Duration::from_secs(1);
/// Heartbeats between two reports of what changes slowly.
const SELDOM: u64 = 5;
/// Heartbeats after which every figure is reported again: control and gateway may have been restarted.
const REFRESH: u64 = 30;
/// The time after a process is ready at which its start is over.
const SETTLED: Duration = Duration::from_millis(500);
/// Bytes of a configuration section.
const SECTION_BOUND: u64 = 4 * 1024 * 1024;

/// The reason why a process could not begin.
#[derive(Debug, thiserror::Error)]
enum StartFault {
    #[error("cannot be made undumpable: {0}")]
    Harden(io::Error),
    #[error("started by hand: this program is started by agentd, which hands it its descriptors")]
    NoControl,
    #[error("the first frame is not a start: {0}")]
    NoStart(&'static str),
    #[error("the configuration section cannot be read: {0}")]
    Config(String),
    #[error(transparent)]
    Open(crate::OpenFault),
    #[error("{0}: {1}")]
    NotOwn(crate::OpenFault, NotOwn),
    #[error("{0}: its disk is full")]
    NoRoom(crate::OpenFault),
    #[error("no event loop: {0}")]
    Runtime(io::Error),
    #[error(transparent)]
    Seal(#[from] confine::SealFault),
}

impl StartFault {
    const fn failure(&self) -> Failure {
        match self {
            Self::Config(_) | Self::NoStart(_) => Failure::Config,
            Self::Seal(_) | Self::Harden(_) => Failure::Seal,
            Self::NotOwn(..) => Failure::NotOwn,
            Self::NoRoom(_) => Failure::NoRoom,
            Self::NoControl | Self::Open(_) | Self::Runtime(_) => Failure::Open,
        }
    }
}

/// Runs an actor until agentd is gone or stops it.
#[must_use]
pub fn run<A: Actor>() -> ExitCode {
    let mut control = None;
    match begin::<A>(&mut control) {
        Ok(()) => ExitCode::SUCCESS,
        Err(fault) => {
            tracing::error!(process = A::PROCESS.name(), %fault, "cannot start");
            if let Some(control) = control {
                let last = Frame::new(Kind::Failing, A::PROCESS).with(&[fault.failure() as u64]);
                drop(confine::passing::send_plain(control.as_fd(), &last.encode()));
            }
            ExitCode::FAILURE
        }
    }
}

fn begin<A: Actor>(last_word: &mut Option<OwnedFd>) -> Result<(), StartFault> {
    confine::harden().map_err(StartFault::Harden)?;
    let control = confine::passing::inherited_control().ok_or(StartFault::NoControl)?;
    *last_word = control.try_clone().ok();
    let Start { mode, section, place, recording } = start_frame(&control)?;
    let section: Section<A::Config> =
        serde_json::from_slice(&section).map_err(|error| StartFault::Config(error.to_string()))?;
    crate::log::begin(&section.log);
    let opened = A::open(section.own, &place).map_err(|fault| match own::not_own(&place.own()) {
        Some(found) => StartFault::NotOwn(fault, found),
        None if own::is_full(&place.own()) => StartFault::NoRoom(fault),
        None => StartFault::Open(fault),
    })?;
    // ractor's first look at its groups asks for the number of cores; after the seal that would kill the process.
    drop(ractor::pg::which_groups());
    let files = ProcFiles::open();
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(StartFault::Runtime)?;
    let row = manifest::row(A::PROCESS).ok_or(StartFault::NoStart("no row"))?;
    let sealed = confine::seal(row, mode, watch(&control, recording))?;
    *last_word = None;
    LocalSet::new()
        .block_on(&runtime, serve::<A>(&sealed, control, opened, files))
        .map_err(StartFault::Runtime)
}

/// agentd's first message.
struct Start {
    mode: Mode,
    section: Vec<u8>,
    place: Place,
    /// Debug builds: agentd wants a report of every call.
    recording: bool,
}

/// Reports to agentd the acts that this process may not do.
fn watch(control: &OwnedFd, recording: bool) -> Watch<'_> {
    #[cfg(debug_assertions)]
    if recording {
        return Watch::Recording(control.as_fd());
    }
    let _ = recording;
    Watch::Agentd(control.as_fd())
}

/// Waits for agentd's first frame: the mode, and the configuration in a sealed memfd.
fn start_frame(control: &OwnedFd) -> Result<Start, StartFault> {
    let received = confine::passing::receive::<FRAME>(control.as_fd());
    let Ok(Some((bytes, descriptors))) = received else { return Err(StartFault::NoStart("nothing came")) };
    let frame = Frame::decode(&bytes).filter(|frame| frame.kind == Kind::Start);
    let frame = frame.ok_or(StartFault::NoStart("not a start frame"))?;
    let [mode, armed, clock, recording, flags, a, b, c, d, ..] = frame.words;
    let mode = Mode::from_number(mode).ok_or(StartFault::NoStart("unknown mode"))?;
    crate::fault::arm(armed);
    crate::clock::step(clock);
    let mut descriptors = descriptors.into_iter();
    let section = descriptors.next().ok_or(StartFault::NoStart("no section"))?;
    let mut text = Vec::new();
    File::from(section)
        .take(SECTION_BOUND)
        .read_to_end(&mut text)
        .map_err(|error| StartFault::Config(error.to_string()))?;
    confine::passing::set_nonblocking(control.as_fd()).map_err(StartFault::Runtime)?;
    let place = Place::new(flags, [a, b, c, d], descriptors);
    Ok(Start { mode, section: text, place, recording: recording == 1 })
}

/// Serves until the control descriptor ends. The token says that the process is sealed.
async fn serve<A: Actor>(
    _: &Sealed,
    control: OwnedFd,
    opened: A::Opened,
    files: ProcFiles,
) -> io::Result<()> {
    let supervisor = Supervisor::new(control)?;
    let links = Links::new(A::PROCESS);
    let counters = Counters::new(A::PROCESS);
    let host = Host::new(links, supervisor.clone(), counters);
    let actor = Rc::new(A::start(opened, host.clone()).await);
    supervisor.send(Frame::new(Kind::Ready, A::PROCESS), &[])?;
    tokio::task::spawn_local(settle());
    // In a task of its own: the future that a local set runs is polled whenever any of its tasks is woken.
    let attending = tokio::task::spawn_local(attend(actor, host, supervisor, files));
    attending.await?
}

/// Sends heartbeats and takes agentd's frames until the control descriptor ends.
async fn attend<A: Actor>(
    actor: Rc<A>,
    host: Host,
    supervisor: Supervisor,
    files: ProcFiles,
) -> io::Result<()> {
    let counters = &host.counters;
    let mut beat = tokio::time::interval(BEAT);
    let mut beats = 0_u64;
    loop {
        tokio::select! {
            frame = supervisor.next() => match frame {
                None => return Ok(()),
                Some((frame, _)) if frame.kind == Kind::Drain => {
                    drain(counters, frame.words[0]).await;
                    return Ok(());
                }
                Some((frame, descriptors)) => take(&actor, &host, frame, descriptors),
            },
            _ = beat.tick() => {
                let frame = counters.beat(A::PROCESS, &files, actor.queue_depth());
                // A heartbeat that does not fit is a missed one: agentd counts those.
                drop(supervisor.send(frame, &[]));
                beats += 1;
                report(&*actor, counters, &files, beats, &supervisor);
            }
        }
    }
}

/// Sends the figures that have changed, and now and then the others. One that does not fit is sent again later.
fn report<A: Actor>(actor: &A, counters: &Counters, files: &ProcFiles, beats: u64, supervisor: &Supervisor) {
    let mut measures = counters.measures(beats.is_multiple_of(REFRESH));
    measures.extend(actor.workers().into_iter().map(Measure::Worker));
    if beats % SELDOM == 1 {
        measures.extend(files.cpu());
        measures.extend(actor.gauges().into_iter().map(|(gauge, value)| Measure::Gauge(gauge, value)));
    }
    for measure in measures {
        if supervisor.send(measure.frame(A::PROCESS), &[]).is_err() {
            return;
        }
    }
}

/// Frees the memory that the start alone needed, once it is over: otherwise most of an idle process's memory.
async fn settle() {
    tokio::time::sleep(SETTLED).await;
    confine::give_back();
}

/// Lets calls in flight end, within the time that agentd gave. A long poll is not waited for: its caller asks again.
async fn drain(counters: &Counters, ms: u64) {
    let idle = async {
        // The work that departed callers leave behind begins a moment later: the ends of their answers are on the record
        // then.
        tokio::time::sleep(Duration::from_millis(5)).await;
        while counters.in_flight() > 0 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    drop(tokio::time::timeout(Duration::from_millis(ms), idle).await);
}

/// Plumbs an edge, or hands the frame to the actor.
fn take<A: Actor>(actor: &Rc<A>, host: &Host, frame: Frame, mut descriptors: Vec<OwnedFd>) {
    if frame.kind == Kind::Clock {
        let [word, ..] = frame.words;
        return crate::clock::step(word);
    }
    if host.handed.take(&frame, &mut descriptors) {
        return;
    }
    if frame.kind != Kind::Edge {
        actor.notice(frame, descriptors);
        return;
    }
    let mut descriptors = descriptors.into_iter();
    let Some(stream) = descriptors.next().and_then(|end| as_stream(end).ok()) else {
        tracing::error!(peer = frame.peer.name(), "an edge came without its descriptor");
        return;
    };
    if frame.role == Role::Client {
        host.links.plumb(frame.peer, frame.generation, stream, descriptors.next());
        return;
    }
    let edge = Edge {
        me: A::PROCESS,
        caller: frame.peer,
        turn: frame.peer.is_runner().then(|| frame.id(0)),
        stream,
        channel: descriptors.next().map(DescriptorChannel::new),
        counters: Rc::clone(&host.counters),
    };
    let actor = Rc::clone(actor);
    tokio::task::spawn_local(async move { actor.serve(edge).await });
}

fn as_stream(end: OwnedFd) -> io::Result<UnixStream> {
    let stream = std::os::unix::net::UnixStream::from(end);
    stream.set_nonblocking(true)?;
    UnixStream::from_std(stream)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tally::Outcome;
    use manifest::Process;
    use std::cell::Cell;
    use std::future::pending;
    use tokio::time::sleep;

    #[test]
    fn a_drain_lets_work_end_and_does_not_wait_for_long_polls() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let counters = Counters::new(Process::Router);
            let call = |method| counters.key(Process::Control, method);
            let is_done = Cell::new(false);
            let poll = counters.time_call(call("events"), pending::<()>(), |()| Outcome::Answered);
            let work = async {
                sleep(Duration::from_millis(100)).await;
                is_done.set(true);
            };
            let work = counters.time_call(call("queue"), work, |()| Outcome::Answered);
            let drained = async {
                drain(&counters, 60_000).await;
                is_done.get()
            };
            tokio::select! {
                biased;
                () = poll => unreachable!("nothing happens that it waits for"),
                ((), after) = futures::future::join(work, drained) => assert!(after, "it cut the work off"),
                () = sleep(Duration::from_secs(20)) => panic!("it waits for a long poll"),
            }
        });
    }
}
