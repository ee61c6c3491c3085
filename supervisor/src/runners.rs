//! Runners: taken from those that wait or launched on router's word, bound to one turn by their descriptor, ended by
//! their wall clock, never used again.

use crate::exit::Fault;
use crate::host::Host;
use crate::limits::Held;
use crate::violations::{self, Ear, Whose};
use crate::warm::{self, Pool, Warm};
use crate::workspaces::Space;
use crate::{flat, places};
use confine::{Child, Ids};
use manifest::command::{Ended, Frame, Kind, LAUNCH_ATTACHED, Mode, Role, id_words};
use manifest::{Network, Process as Name, Row};
use nix::sys::signal::{Signal, kill};
use nix::sys::stat::fstat;
use nix::unistd::Pid;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// How much longer a runner lives than its turn may take: the turn's own end comes first and says more.
const GRACE: Duration = Duration::from_secs(2);
/// The longest that a runner may be given at once: a day for a person to answer, and an hour for its turn.
const LONGEST: Duration = Duration::from_secs(25 * 3600);
/// Least and most CPU time of a jail, as configuration can give it.
const LEAST_CPU: Duration = Duration::from_secs(1);
const MOST_CPU: Duration = Duration::from_secs(3600);

/// A live runner.
#[derive(Debug)]
pub(crate) struct Runner {
    pub(crate) turn: [u8; 16],
    /// The session of its turn, as router said.
    session: [u8; 16],
    /// Of which row it is.
    pub(crate) row: &'static Row,
    pub(crate) child: Child,
    slot: u16,
    deadline: Instant,
    /// CPU time that everything in its jail may use together.
    pub(crate) cpu: Duration,
    /// What holds the limits of its jail as a whole.
    pub(crate) held: Held,
    /// Why agentd ended it, if it did.
    pub(crate) over: Option<Ended>,
    /// Where its jail is heard of what it may not do.
    ear: Ear,
    tmp: Option<PathBuf>,
    /// The workspace that it has of the host's own, if it has one.
    pub(crate) workspace: Option<[u8; 16]>,
}

impl Runner {
    const fn whose(&self) -> Whose {
        Whose { turn: self.turn, session: self.session }
    }
}

/// All runners.
#[derive(Debug)]
pub(crate) struct Runners {
    /// Those with a turn.
    pub(crate) live: Vec<Runner>,
    /// Those without one yet.
    pub(crate) pool: Pool,
}

impl Runners {
    /// No runner yet.
    pub(crate) const fn new(pool: Pool) -> Self {
        Self { live: Vec::new(), pool }
    }

    /// Every runner's process, with a turn or without.
    pub(crate) fn children(&self) -> impl Iterator<Item = &Child> {
        let waiting = self.pool.waiting.iter().map(|runner| &runner.child);
        self.live.iter().map(|runner| &runner.child).chain(waiting)
    }

    /// Where each jail is heard of what it may not do, by the pid of its runner.
    pub(crate) fn ears(&self) -> impl Iterator<Item = (i32, BorrowedFd<'_>)> {
        let waiting = self.pool.waiting.iter().map(|runner| (runner.child.pid, &runner.ear));
        let live = self.live.iter().map(|runner| (runner.child.pid, &runner.ear));
        live.chain(waiting).filter_map(|(pid, ear)| ear.descriptor().map(|ear| (pid, ear)))
    }

    /// Whose a runner is, and where its jail is heard.
    pub(crate) fn ear(&mut self, pid: i32) -> Option<(Whose, &mut Ear)> {
        let waiting = self.pool.waiting.iter_mut();
        let waiting = waiting.map(|runner| (runner.child.pid, Whose::default(), &mut runner.ear));
        let live = self.live.iter_mut();
        let live = live.map(|runner| (runner.child.pid, runner.whose(), &mut runner.ear));
        live.chain(waiting).find(|(its, ..)| *its == pid).map(|(_, whose, ear)| (whose, ear))
    }

    /// The turns that have a live runner.
    pub(crate) fn turns(&self) -> impl Iterator<Item = [u8; 16]> {
        self.live.iter().map(|runner| runner.turn)
    }

    /// The earliest wall clock that runs out.
    pub(crate) fn next_deadline(&self) -> Option<Instant> {
        self.live.iter().filter(|runner| runner.over.is_none()).map(|runner| runner.deadline).min()
    }

    /// Ends those whose wall clock ran out.
    pub(crate) fn end_overdue(&mut self) {
        let now = Instant::now();
        for runner in self.live.iter_mut().filter(|runner| runner.over.is_none() && runner.deadline <= now) {
            runner.over = Some(Ended::TimedOut);
            end(runner);
        }
    }

    /// Gives the runner of this turn `ms` from now on, up to [`LONGEST`]; one whose time has run out stays ended.
    pub(crate) fn give(&mut self, turn: [u8; 16], ms: u64) {
        let deadline = Instant::now() + Duration::from_millis(ms).min(LONGEST) + GRACE;
        for runner in self.live.iter_mut().filter(|runner| runner.turn == turn && runner.over.is_none()) {
            runner.deadline = deadline;
        }
    }

    /// Gives them all back time in which they were made to stand still.
    pub(crate) fn give_back(&mut self, time: Duration) {
        for runner in self.live.iter_mut().filter(|runner| runner.over.is_none()) {
            runner.deadline += time;
        }
    }

    /// Ends the runner of this turn, if there is one.
    pub(crate) fn kill(&self, turn: [u8; 16]) {
        self.live.iter().filter(|runner| runner.turn == turn).for_each(end);
    }

    /// Ends those that have a turn, whose sockets lead to the gate that they were bound to.
    pub(crate) fn end_bound(&self) {
        self.live.iter().for_each(end);
    }

    /// Ends them all.
    pub(crate) fn kill_all(&self) {
        for child in self.children() {
            let _ = kill(Pid::from_raw(child.pid), Signal::SIGKILL);
        }
    }

    /// A slot that no runner has, whether it has a turn or waits for one.
    pub(crate) fn free_slot(&self, slots: u16) -> Option<u16> {
        let live = self.live.iter().map(|runner| runner.slot);
        let taken: Vec<u16> = live.chain(self.pool.waiting.iter().map(|runner| runner.slot)).collect();
        (0..slots).find(|slot| !taken.contains(slot))
    }
}

/// It is the first process of its pid namespace, so everything in the jail ends with it; in mode flat
/// [`crate::orphans`] ends the rest.
pub(crate) fn end(runner: &Runner) {
    let _ = kill(Pid::from_raw(runner.child.pid), Signal::SIGKILL);
}

/// Launches the runner that router asked for in a folder of the host's own, or tells router why not.
pub(crate) fn launch(host: &mut Host, frame: &Frame) {
    match own_folder(host, frame.id(1)) {
        Ok(space) => launch_in(host, frame, space),
        Err((ended, code)) => tell_router(host, frame.id(0), ended, code),
    }
}

/// Launches it in this workspace, or tells router why not.
pub(crate) fn launch_in(host: &mut Host, frame: &Frame, space: Space) {
    match try_launch(host, frame, space) {
        Ok(runner) => host.runners.live.push(runner),
        Err((ended, code)) => tell_router(host, frame.id(0), ended, code),
    }
}

type Refusal = (Ended, i32);

fn try_launch(host: &mut Host, frame: &Frame, space: Space) -> Result<Runner, Refusal> {
    let [.., wall, flags] = [frame.words[4], frame.words[5]];
    let turn = frame.id(0);
    let row = manifest::row(frame.peer).filter(|row| row.process.is_runner());
    let row = row.ok_or((Ended::NotLaunched, nix::libc::EINVAL))?;
    let loopback = row.network == Network::Loopback;
    if loopback && host.mode == Mode::Flat {
        return Err((Ended::NoLoopback, 0));
    }
    if !host.process(Name::Gate).is_some_and(crate::process::Process::is_running) {
        return Err((Ended::NotLaunched, nix::libc::EAGAIN));
    }
    // A person's own program is given its time by router; an agent's turn never more than is configured for any.
    let longest =
        if loopback { LONGEST } else { Duration::from_millis(host.configuration.settings.wall_ms.into()) };
    let wall = Duration::from_millis(wall).min(longest);
    let cpu = Duration::from_millis(frame.words[6]).clamp(LEAST_CPU, MOST_CPU);
    let launched = match host.mode {
        Mode::Flat => flat::launch(host, turn, &space, cpu.as_secs()).map(|(it, tmp)| (it, Some(tmp))),
        Mode::System | Mode::User if loopback => {
            warm::with_loopback(host, space, cpu.as_secs()).map(|it| (it, None))
        }
        Mode::System | Mode::User => warm::bound(host, space, cpu.as_secs()).map(|it| (it, None)),
    };
    let (Warm { child, slot, gate, held, ear, .. }, tmp) = launched.map_err(|fault| {
        crate::exit::say(&format!("agentd: runner not launched: {fault}"));
        (Ended::NotLaunched, fault.errno())
    })?;
    let edge = Frame { role: Role::Server, ..Frame::new(Kind::Edge, row.process) }.with(&id_words(turn));
    if !host.process(Name::Gate).is_some_and(|to| to.tell(edge, &[gate.as_fd()])) {
        let _ = kill(Pid::from_raw(child.pid), Signal::SIGKILL);
    }
    Ok(Runner {
        turn,
        session: frame.id(4),
        row,
        child,
        slot,
        deadline: Instant::now() + wall + GRACE,
        cpu,
        held,
        over: None,
        ear,
        tmp,
        workspace: (flags & LAUNCH_ATTACHED == 0).then(|| frame.id(1)),
    })
}

/// A folder of the host's own, made when it is first needed.
fn own_folder(host: &Host, id: [u8; 16]) -> Result<Space, Refusal> {
    let path = folder_of(host, id);
    let opened = || -> Result<Space, Fault> {
        if !path.exists() {
            places::folder(&path, 0o700, host.runner_ids)?;
        }
        let directory = places::open_folder(&path)?;
        space(host.mode, directory).map_err(places::at("cannot mount", &path))
    };
    opened().map_err(|_| (Ended::NoWorkspace, nix::libc::ENOENT))
}

fn space(mode: Mode, directory: OwnedFd) -> io::Result<Space> {
    let about = fstat(directory.as_fd())?;
    let owner = Ids { uid: about.st_uid, gid: about.st_gid };
    let mount = if mode == Mode::Flat { directory } else { confine::copied(directory.as_fd())? };
    Ok(Space { mount, owner })
}

/// The folder of a workspace that the host keeps.
pub(crate) fn folder_of(host: &Host, id: [u8; 16]) -> PathBuf {
    let name: String = id.iter().map(|byte| format!("{byte:02x}")).collect();
    host.places.state.join("runner").join(name)
}

/// A runner has ended: tell router how, and clear up.
pub(crate) fn ended(host: &mut Host, pid: i32, ended: Ended, code: i32) {
    let Some(at) = host.runners.live.iter().position(|runner| runner.child.pid == pid) else {
        return warm::ended(host, pid, ended, code);
    };
    let runner = host.runners.live.swap_remove(at);
    if ended == Ended::Killed && code == nix::libc::SIGSYS {
        violations::killed_untold(host, runner.row.process, runner.whose(), pid);
    }
    let stated = runner.held.end();
    if let Some(tmp) = &runner.tmp {
        drop(std::fs::remove_dir_all(tmp));
    }
    let ended = runner.over.or(stated).unwrap_or(ended);
    tell_router(host, runner.turn, ended, code);
}

/// Tells router that a turn has no runner, or none any more.
pub(crate) fn refuse(host: &Host, frame: &Frame, ended: Ended, code: i32) {
    tell_router(host, frame.id(0), ended, code);
}

fn tell_router(host: &Host, turn: [u8; 16], ended: Ended, code: i32) {
    let [low, high] = id_words(turn);
    let words = [low, high, ended as u64, u64::from(code.unsigned_abs())];
    if let Some(router) = host.process(Name::Router) {
        router.tell(Frame::new(Kind::RunnerEnded, Name::Runner).with(&words), &[]);
    }
}
