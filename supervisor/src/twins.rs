//! Twins: processes that stand in the jail of a row, in place of its program, and try what that must not be able to do.
//! Control asks for them one act at a time; the host's own check asks for a few before it serves a runner.
//!
//! A twin is launched as its row is, by the same code, and ends within a second. It must never be given an edge, a
//! section of the configuration, or a slot that a runner might want.

use crate::host::Host;
use crate::limits::Held;
use crate::{places, proof, sockets, warm};
use confine::{ActorJail, Cell, Child, Home, Ids, RunnerJail, passing};
use manifest::command::{Ended, Frame, HostState, Kind, Mode, ProcessState};
use manifest::{Network, Process as Name};
use nix::libc::{EAGAIN, EIO, ENOENT};
use nix::sys::signal::{Signal, kill};
use nix::sys::stat::fstat;
use nix::unistd::Pid;
use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// The longest that a twin lives.
const LONGEST: Duration = Duration::from_secs(1);
/// Twins at once. A runner's is one of a kind, since there is one cell for it.
const MOST: usize = 4;
/// Acts of control's that wait for their turn.
const WAITING: usize = 64;

/// Something to be tried.
#[derive(Clone, Debug)]
pub(crate) struct Wanted {
    /// In whose jail.
    pub(crate) row: Name,
    /// The numbers of the acts, in this order.
    pub(crate) acts: Vec<u16>,
    /// Control's own number for it; `None` if it is the host's own check.
    pub(crate) token: Option<u64>,
}

/// A twin that lives.
#[derive(Debug)]
struct Twin {
    child: Child,
    wanted: Wanted,
    deadline: Instant,
    timed_out: bool,
    of: Launched,
}

/// What goes with a twin.
#[derive(Debug)]
struct Launched {
    /// The other end of its one socket: it is not to hear that agentd has gone.
    end: OwnedFd,
    /// A runner's limits.
    held: Option<Held>,
    /// A runner's workspace, and in mode flat its `/tmp`.
    folders: Vec<PathBuf>,
}

/// All twins.
#[derive(Debug)]
pub(crate) struct Twins {
    program: OwnedFd,
    live: Vec<Twin>,
    wanted: VecDeque<Wanted>,
    /// The namespaces of a runner's twin.
    cell: Option<Cell>,
    /// Counts runners' twins, for the names of their folders.
    count: u64,
}

impl Twins {
    /// None yet.
    pub(crate) const fn new(program: OwnedFd) -> Self {
        Self { program, live: Vec::new(), wanted: VecDeque::new(), cell: None, count: 0 }
    }

    /// The processes of all twins.
    pub(crate) fn children(&self) -> impl Iterator<Item = &Child> {
        self.live.iter().map(|twin| &twin.child)
    }

    /// When the next one must have ended.
    pub(crate) fn next_deadline(&self) -> Option<Instant> {
        self.live.iter().filter(|twin| !twin.timed_out).map(|twin| twin.deadline).min()
    }

    /// Has something tried when its turn comes.
    pub(crate) fn want(&mut self, wanted: Wanted) {
        self.wanted.push_back(wanted);
    }

    /// Ends them all, and tries nothing more.
    pub(crate) fn kill_all(&mut self) {
        self.wanted.clear();
        for child in self.children() {
            let _ = kill(Pid::from_raw(child.pid), Signal::SIGKILL);
        }
    }

    fn end_overdue(&mut self) {
        let now = Instant::now();
        for twin in self.live.iter_mut().filter(|twin| !twin.timed_out && twin.deadline <= now) {
            twin.timed_out = true;
            let _ = kill(Pid::from_raw(twin.child.pid), Signal::SIGKILL);
        }
    }

    /// The next that may be launched: one of a runner only when there is none.
    fn next(&mut self) -> Option<Wanted> {
        if self.live.len() >= MOST {
            return None;
        }
        let runner = self.live.iter().any(|twin| twin.wanted.row.is_runner());
        let at = self.wanted.iter().position(|wanted| !(runner && wanted.row.is_runner()))?;
        self.wanted.remove(at)
    }
}

/// Control wants an act tried.
pub(crate) fn asked(host: &mut Host, frame: &Frame) {
    let [act, token, ..] = frame.words;
    let wanted =
        Wanted { row: frame.peer, acts: u16::try_from(act).into_iter().collect(), token: Some(token) };
    let jailed = frame.peer == Name::Runner || (frame.peer.is_runner() && host.mode != Mode::Flat);
    let known = jailed || host.process(frame.peer).is_some();
    if !known || wanted.acts.is_empty() {
        tell(host, &wanted, Ended::NotLaunched, ENOENT);
    } else if host.twins.wanted.len() >= WAITING {
        tell(host, &wanted, Ended::NotLaunched, EAGAIN);
    } else {
        host.twins.want(wanted);
    }
}

/// Looks at the clocks, and launches what may be launched. While all stand still nothing is.
pub(crate) fn go_on(host: &mut Host) {
    host.twins.end_overdue();
    if host.frozen.is_some() || host.state == HostState::Stopping {
        return;
    }
    while let Some(wanted) = host.twins.next() {
        match launch(host, &wanted) {
            Ok((child, of)) => {
                let deadline = Instant::now() + LONGEST;
                host.twins.live.push(Twin { child, wanted, deadline, timed_out: false, of });
            }
            Err(error) => over(host, wanted, Ended::NotLaunched, error.raw_os_error().unwrap_or(EIO)),
        }
    }
}

/// A child has ended: whether it was a twin.
pub(crate) fn ended(host: &mut Host, pid: i32, ended: Ended, code: i32) -> bool {
    let Some(at) = host.twins.live.iter().position(|twin| twin.child.pid == pid) else { return false };
    let Twin { wanted, timed_out, of, .. } = host.twins.live.swap_remove(at);
    if wanted.row.is_runner() {
        crate::orphans::look_out(host);
    }
    // A jail that the kernel ended for its memory says so by the signal as well.
    let _ = of.held.map(Held::end);
    for folder in &of.folders {
        drop(std::fs::remove_dir_all(folder));
    }
    over(host, wanted, if timed_out { Ended::TimedOut } else { ended }, code);
    true
}

fn over(host: &mut Host, wanted: Wanted, ended: Ended, code: i32) {
    match wanted.token {
        Some(_) => tell(host, &wanted, ended, code),
        None => proof::heard(host, wanted, ended, code),
    }
}

fn tell(host: &Host, wanted: &Wanted, ended: Ended, code: i32) {
    let act = wanted.acts.first().copied().unwrap_or(u16::MAX);
    let words = [act.into(), ended as u64, u64::from(code.unsigned_abs()), wanted.token.unwrap_or(0)];
    if let Some(control) = host.process(Name::Control) {
        control.tell(Frame::new(Kind::Probed, wanted.row).with(&words), &[]);
    }
}

fn launch(host: &mut Host, wanted: &Wanted) -> io::Result<(Child, Launched)> {
    let (child, of) =
        if wanted.row.is_runner() { runner(host, wanted.row)? } else { actor(host, wanted.row)? };
    // One that is only starting may not have made itself undumpable yet, and would prove nothing.
    let ready = |name| host.process(name).filter(|process| process.state == ProcessState::Ready);
    let pid = |name| ready(name).and_then(|process| process.life.as_ref()).map_or(0, |life| life.child.pid);
    // A runner has nobody of its own name that would outlast the act; the gate is whom it speaks to.
    let peer = pid(if wanted.row.is_runner() { Name::Gate } else { wanted.row });
    let agentd = u64::from(std::process::id());
    let head = [host.mode as u64, agentd, u64::from(peer.unsigned_abs())];
    let acts = wanted.acts.iter().map(|act| u64::from(*act) + 1);
    let words: Vec<u64> = head.into_iter().chain(acts).collect();
    let frame = Frame::new(Kind::Probe, wanted.row).with(&words);
    // One that has ended already does not hear it, and its end says enough.
    drop(passing::send_plain(of.end.as_fd(), &frame.encode()));
    Ok((child, of))
}

/// The same as for the row's own program, but for the program and what it is told.
fn actor(host: &Host, name: Name) -> io::Result<(Child, Launched)> {
    let process = host.process(name).ok_or(io::ErrorKind::NotFound)?;
    let (end, control) = passing::frame_pair()?;
    let jail = ActorJail {
        row: process.row,
        mode: host.mode,
        ids: process.ids,
        program: &host.twins.program,
        null: &host.null,
        log: &host.null,
        control: &control,
        folder: &process.folder,
        state: &host.places.state,
        weakened: host.weakens(name),
    };
    let child = confine::launch_actor(&jail).map_err(|fault| fault.cause)?;
    Ok((child, Launched { end, held: None, folders: Vec::new() }))
}

/// The same as for a runner, in a cell and with ids that no slot has.
fn runner(host: &mut Host, name: Name) -> io::Result<(Child, Launched)> {
    let (workspace, path) = workspace(host)?;
    let launched = runner_in(host, name, &workspace, &path);
    if launched.is_err() {
        drop(std::fs::remove_dir_all(&path));
    }
    let (child, end, held) = launched?;
    Ok((child, Launched { end, held: Some(held), folders: vec![path] }))
}

fn runner_in(
    host: &mut Host,
    name: Name,
    workspace: &OwnedFd,
    path: &Path,
) -> io::Result<(Child, OwnedFd, Held)> {
    let row = warm::row(name).map_err(io::Error::other)?;
    let tmp = path.join("tmp");
    let (theirs, end) = sockets::edge().map_err(io::Error::other)?;
    let ids = host.runner_ids;
    let mut cell = match (host.mode, row.network) {
        (Mode::Flat, _) => {
            made(&tmp, ids)?;
            None
        }
        // As its runner's, which is nobody's before and after.
        (_, Network::Loopback) => Some(cell(host, Cell::with_loopback)?),
        _ => Some(host.twins.cell.take().map_or_else(|| cell(host, Cell::make), Ok)?),
    };
    // Held by a runner until it is sealed, so by its twin as well; nobody listens.
    let (notices, _unheard) = passing::frame_pair()?;
    let home = match (&cell, host.runners.pool.template()) {
        (Some(cell), Some(template)) => Home::Apart { template, cell },
        _ => Home::Flat { workspace, tmp: &tmp, ids },
    };
    let jail = RunnerJail {
        row,
        program: &host.twins.program,
        null: &host.null,
        gate: &theirs,
        notices: &notices,
        cpu_seconds: LONGEST.as_secs(),
        home,
        weakened: host.weakens(name),
    };
    let launched = confine::launch_runner(&jail).map_err(|fault| fault.cause).and_then(|child| {
        let slots = host.configuration.settings.runner_slots;
        let bound = host.limits.take(slots, child.pid, row.limits).and_then(|held| {
            attach(host, cell.as_mut(), &child, workspace)?;
            Ok(held)
        });
        match bound {
            Ok(held) => Ok((child, held)),
            Err(error) => {
                let _ = kill(Pid::from_raw(child.pid), Signal::SIGKILL);
                let _ = nix::sys::wait::waitpid(Pid::from_raw(child.pid), None);
                Err(error)
            }
        }
    });
    if row.network == Network::None {
        host.twins.cell = cell;
    }
    launched.map(|(child, held)| (child, end, held))
}

/// Its workspace is put there late, as a runner's is.
fn attach(host: &Host, cell: Option<&mut Cell>, child: &Child, workspace: &OwnedFd) -> io::Result<()> {
    let (Some(cell), Some(template)) = (cell, host.runners.pool.template()) else {
        return Ok(());
    };
    let stat = fstat(workspace.as_fd())?;
    let tree =
        cell.workspace(confine::copied(workspace.as_fd())?, Ids { uid: stat.st_uid, gid: stat.st_gid })?;
    template.attach(child, tree.as_fd())
}

/// The id below the slots' is nobody's: no process has one so high.
fn cell(host: &Host, make: fn(Mode, Option<Ids>) -> io::Result<Cell>) -> io::Result<Cell> {
    let below = host.configuration.settings.slot_base.saturating_sub(1);
    make(host.mode, (host.mode == Mode::System).then_some(Ids { uid: below, gid: below }))
}

/// An empty folder, of whoever workspaces belong to.
fn workspace(host: &mut Host) -> io::Result<(OwnedFd, PathBuf)> {
    host.twins.count += 1;
    let folder = host.places.state.join(FOLDER);
    let path = folder.join(host.twins.count.to_string());
    drop(places::folder(&folder, 0o711, None));
    made(&path, host.runner_ids)?;
    let directory = places::open_folder(&path).map_err(io::Error::other)?;
    Ok((directory, path))
}

/// Below the state directory, where workspaces are: what one file system refuses another may not.
pub(crate) const FOLDER: &str = "twin";

fn made(path: &Path, ids: Option<Ids>) -> io::Result<()> {
    places::folder(path, 0o700, ids).map_err(io::Error::other)
}
