//! Runners: launched for one turn on router's word, bound to it by their descriptor, ended by their wall clock,
//! never used again.

use crate::exit::Fault;
use crate::host::Host;
use crate::places;
use crate::workspaces::Attached;
use confine::{Child, Ids, RunnerJail, passing};
use manifest::Process as Name;
use manifest::command::{Ended, Frame, Kind, LAUNCH_ATTACHED, Mode, Role, id_words};
use nix::sys::signal::{Signal, kill};
use nix::sys::stat::fstat;
use nix::unistd::Pid;
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// How much longer a runner lives than its turn may take: the turn's own end comes first and says more.
const GRACE: Duration = Duration::from_secs(2);
/// The longest that a runner may be given at once: a day for a person to answer, and an hour for its turn.
const LONGEST: Duration = Duration::from_secs(25 * 3600);

/// A live runner.
#[derive(Debug)]
pub(crate) struct Runner {
    pub(crate) turn: [u8; 16],
    pub(crate) child: Child,
    slot: u16,
    deadline: Instant,
    timed_out: bool,
    tmp: Option<PathBuf>,
}

/// All live runners.
#[derive(Debug, Default)]
pub(crate) struct Runners {
    pub(crate) live: Vec<Runner>,
}

impl Runners {
    /// The turns that have a live runner.
    pub(crate) fn turns(&self) -> impl Iterator<Item = [u8; 16]> {
        self.live.iter().map(|runner| runner.turn)
    }

    /// The earliest wall clock that runs out.
    pub(crate) fn next_deadline(&self) -> Option<Instant> {
        self.live.iter().filter(|runner| !runner.timed_out).map(|runner| runner.deadline).min()
    }

    /// Ends those whose wall clock ran out.
    pub(crate) fn end_overdue(&mut self) {
        let now = Instant::now();
        for runner in self.live.iter_mut().filter(|runner| !runner.timed_out && runner.deadline <= now) {
            runner.timed_out = true;
            end(runner);
        }
    }

    /// Gives the runner of this turn `ms` from now on, up to [`LONGEST`]; one whose time has run out stays ended.
    pub(crate) fn give(&mut self, turn: [u8; 16], ms: u64) {
        let deadline = Instant::now() + Duration::from_millis(ms).min(LONGEST) + GRACE;
        for runner in self.live.iter_mut().filter(|runner| runner.turn == turn && !runner.timed_out) {
            runner.deadline = deadline;
        }
    }

    /// Gives them all back time in which they were made to stand still.
    pub(crate) fn give_back(&mut self, time: Duration) {
        for runner in self.live.iter_mut().filter(|runner| !runner.timed_out) {
            runner.deadline += time;
        }
    }

    /// Ends the runner of this turn, if there is one.
    pub(crate) fn kill(&self, turn: [u8; 16]) {
        self.live.iter().filter(|runner| runner.turn == turn).for_each(end);
    }

    /// Ends them all.
    pub(crate) fn kill_all(&self) {
        self.live.iter().for_each(end);
    }

    fn free_slot(&self, slots: u16) -> Option<u16> {
        (0..slots).find(|slot| self.live.iter().all(|runner| runner.slot != *slot))
    }
}

/// It is the first process of its pid namespace, so everything in the jail ends with it.
fn end(runner: &Runner) {
    let _ = kill(Pid::from_raw(runner.child.pid), Signal::SIGKILL);
}

/// Launches the runner that router asked for, or tells router why not.
pub(crate) fn launch(host: &mut Host, frame: &Frame) {
    let turn = frame.id(0);
    if host.runners.turns().any(|live| live == turn) {
        return;
    }
    match try_launch(host, frame) {
        Ok(runner) => host.runners.live.push(runner),
        Err((ended, code)) => tell_router(host, turn, ended, code),
    }
}

type Refusal = (Ended, i32);

fn try_launch(host: &Host, frame: &Frame) -> Result<Runner, Refusal> {
    let errno = |error: &io::Error| (Ended::NotLaunched, error.raw_os_error().unwrap_or(nix::libc::EIO));
    let again = (Ended::NotLaunched, nix::libc::EAGAIN);
    let [.., wall, flags] = [frame.words[4], frame.words[5]];
    let turn = frame.id(0);
    let slot = host.runners.free_slot(host.configuration.settings.runner_slots).ok_or(again)?;
    let gate = host.process(Name::Gate).filter(|gate| gate.is_running()).ok_or(again)?;
    let directory = directory(host, frame.id(1), flags & LAUNCH_ATTACHED != 0)?;
    let (workspace, ids) = prepare(host, &directory, slot).map_err(|error| errno(&error))?;
    let tmp = temporary(host, turn, ids).map_err(|error| errno(&error))?;
    let (theirs, gates) = passing::stream_pair().map_err(|error| errno(&error))?;
    for end in [&theirs, &gates] {
        passing::refuse_descriptors(end.as_fd());
    }
    let wall = Duration::from_millis(wall.min(host.configuration.settings.wall_ms.into()));
    let jail = RunnerJail {
        row: manifest::row(Name::Runner).ok_or(again)?,
        mode: host.mode,
        ids,
        program: &host.runner_program,
        null: &host.null,
        gate: &theirs,
        workspace: &workspace,
        stage: &host.stage,
        cpu_seconds: wall.as_secs().max(1),
        tmp: tmp.as_deref(),
    };
    let child = confine::launch_runner(&jail).map_err(|fault| {
        crate::exit::say(&format!("agentd: runner not launched: {fault}"));
        errno(&fault.cause)
    })?;
    let words = id_words(turn);
    let edge = Frame { role: Role::Server, ..Frame::new(Kind::Edge, Name::Runner) }.with(&words);
    if !gate.tell(edge, &[gates.as_fd()]) {
        let _ = kill(Pid::from_raw(child.pid), Signal::SIGKILL);
    }
    Ok(Runner { turn, child, slot, deadline: Instant::now() + wall + GRACE, timed_out: false, tmp })
}

/// The workspace's directory: attached by its owner, or a folder of the host that is made when first needed.
fn directory(host: &Host, id: [u8; 16], attached: bool) -> Result<Attached, Refusal> {
    let none = (Ended::NoWorkspace, nix::libc::ENOENT);
    if attached {
        let attached = host.workspaces.get(id).ok_or(none)?;
        return match host.mode {
            Mode::User => reopened(&attached.directory).map(here).ok_or(none),
            Mode::System | Mode::Flat => Ok(attached),
        };
    }
    let name: String = id.iter().map(|byte| format!("{byte:02x}")).collect();
    let path = host.places.state.join("runner").join(name);
    let refused = |_: Fault| none;
    if !path.exists() {
        places::folder(&path, 0o700, host.runner_ids).map_err(refused)?;
    }
    places::open_folder(&path).map(here).map_err(refused)
}

/// A directory of agentd's own mount namespace.
const fn here(directory: OwnedFd) -> Attached {
    Attached { directory, there: None }
}

/// In mode user, agentd has a mount namespace of its own, and a directory that was opened outside it cannot be
/// mounted: the same one is opened again, and it must be the same.
fn reopened(directory: &OwnedFd) -> Option<OwnedFd> {
    let path = std::fs::read_link(format!("/proc/self/fd/{}", directory.as_raw_fd())).ok()?;
    let again = places::open_folder(&path).ok()?;
    let (one, other) = (fstat(directory.as_fd()).ok()?, fstat(again.as_fd()).ok()?);
    ((one.st_dev, one.st_ino) == (other.st_dev, other.st_ino)).then_some(again)
}

/// The workspace as the jail will see it, and whom the runner runs as.
fn prepare(host: &Host, attached: &Attached, slot: u16) -> io::Result<(OwnedFd, Option<Ids>)> {
    let Attached { directory, there } = attached;
    if host.mode == Mode::Flat {
        return flat(host, directory);
    }
    let slot = host.configuration.settings.slot(slot).filter(|_| host.mode == Mode::System);
    let Some(slot) = slot else { return Ok((confine::plain_tree(directory.as_fd())?, None)) };
    let stat = fstat(directory.as_fd())?;
    let (owner, ids) = ((stat.st_uid, stat.st_gid), Ids { uid: slot, gid: slot });
    // What the runner makes belongs to the workspace's owner on disk, and the slot's uid owns nothing there.
    let tree =
        confine::id_mapped_tree(directory.as_fd(), there.as_ref().map(AsFd::as_fd), owner, (slot, slot))?;
    Ok((tree, Some(ids)))
}

/// Without namespaces nothing is mapped: as root, the runner runs as the directory's owner, who is never root.
fn flat(host: &Host, directory: &OwnedFd) -> io::Result<(OwnedFd, Option<Ids>)> {
    let directory = directory.try_clone()?;
    if host.runner_ids.is_none() {
        return Ok((directory, None));
    }
    let stat = fstat(directory.as_fd())?;
    if stat.st_uid == 0 {
        return Err(io::Error::from_raw_os_error(nix::libc::EACCES));
    }
    Ok((directory, Some(Ids { uid: stat.st_uid, gid: stat.st_gid })))
}

/// In flat mode, a folder of the runner's own that stands for `/tmp`; gone with it.
fn temporary(host: &Host, turn: [u8; 16], ids: Option<Ids>) -> io::Result<Option<PathBuf>> {
    if host.mode != Mode::Flat {
        return Ok(None);
    }
    let name: String = turn.iter().map(|byte| format!("{byte:02x}")).collect();
    let path = host.places.runtime.join("tmp").join(name);
    places::folder(&path, 0o700, ids).map_err(|_| io::Error::from(io::ErrorKind::PermissionDenied))?;
    Ok(Some(path))
}

/// A runner has ended: tell router how, and clear up.
pub(crate) fn ended(host: &mut Host, pid: i32, ended: Ended, code: i32) {
    let Some(at) = host.runners.live.iter().position(|runner| runner.child.pid == pid) else { return };
    let runner = host.runners.live.swap_remove(at);
    if let Some(tmp) = &runner.tmp {
        drop(std::fs::remove_dir_all(tmp));
    }
    let ended = if runner.timed_out { Ended::TimedOut } else { ended };
    tell_router(host, runner.turn, ended, code);
}

fn tell_router(host: &Host, turn: [u8; 16], ended: Ended, code: i32) {
    let [low, high] = id_words(turn);
    let words = [low, high, ended as u64, u64::from(code.unsigned_abs())];
    if let Some(router) = host.process(Name::Router) {
        router.tell(Frame::new(Kind::RunnerEnded, Name::Runner).with(&words), &[]);
    }
}
