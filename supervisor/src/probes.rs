//! Probes: processes in the jail of a row, in place of its program, that try acts which must be refused there. Control requests one
//! act at a time; the host's self-test requests a few before the host serves a runner.
//!
//! A probe is launched as its row's program is, by the same code, and ends within a second. It must never get an edge, a section
//! of the configuration, or a slot that a runner might want.

use crate::jails::Jails;
use crate::limits::JailLimits;
use crate::processes::Processes;
use crate::workspaces::Space;
use crate::{launched, ownership, places, sockets};
use confine::{ActorJail, Cell, Child, Home, Ids, Mountpoint, RunnerJail, Template, passing};
use manifest::command::{Ended, Frame, Kind, Mode, ProcessState};
use manifest::{Network, Process as Name};
use nix::libc::EIO;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// The longest life of a probe.
const LONGEST: Duration = Duration::from_secs(1);
/// Probes at once. There is at most one of a runner, since there is one cell for it.
const MOST: usize = 4;
/// Requests of control that wait for their turn.
const WAITING: usize = 64;

/// The acts to try in one probe.
#[derive(Clone, Debug)]
pub(crate) struct Probe {
    /// The row of the jail.
    pub(crate) row: Name,
    /// The numbers of the acts, in this order.
    pub(crate) acts: Vec<u16>,
    /// Control's number for the request; `None` for the host's self-test.
    pub(crate) token: Option<u64>,
}

/// The outcome of a probe.
#[derive(Debug)]
pub(crate) struct Outcome {
    pub(crate) probe: Probe,
    pub(crate) ended: Ended,
    /// Its exit status, its signal, or the errno of its launch.
    pub(crate) code: i32,
}

impl Outcome {
    /// The frame that reports it to control.
    pub(crate) fn frame(&self) -> Frame {
        let act = self.probe.acts.first().copied().unwrap_or(u16::MAX);
        let code = u64::from(self.code.unsigned_abs());
        let words = [act.into(), self.ended as u64, code, self.probe.token.unwrap_or(0)];
        Frame::new(Kind::Probed, self.probe.row).with(&words)
    }
}

/// A probe that runs.
#[derive(Debug)]
struct Running {
    child: Child,
    probe: Probe,
    deadline: Instant,
    timed_out: bool,
    parts: Parts,
}

/// The things that end with a probe.
#[derive(Debug)]
struct Parts {
    /// The other end of its one socket, which stays open as agentd's or the gate's would.
    end: OwnedFd,
    /// A runner's limits.
    jail_limits: Option<JailLimits>,
    /// A runner's workspace, and in mode flat its `/tmp`.
    folders: Vec<PathBuf>,
}

/// All probes.
#[derive(Debug)]
pub(crate) struct Probes {
    program: OwnedFd,
    running: Vec<Running>,
    waiting: VecDeque<Probe>,
    /// The namespaces of a runner's probe.
    cell: Option<Cell>,
    /// Counts runners' probes, for the names of their folders.
    count: u64,
}

impl Probes {
    /// None yet.
    pub(crate) const fn new(program: OwnedFd) -> Self {
        Self { program, running: Vec::new(), waiting: VecDeque::new(), cell: None, count: 0 }
    }

    /// The processes of all probes.
    pub(crate) fn children(&self) -> impl Iterator<Item = &Child> {
        self.running.iter().map(|running| &running.child)
    }

    /// The time at which the next one must have ended.
    pub(crate) fn next_deadline(&self) -> Option<Instant> {
        self.running.iter().filter(|running| !running.timed_out).map(|running| running.deadline).min()
    }

    /// Returns true if no further request of control can wait.
    pub(crate) fn is_full(&self) -> bool {
        self.waiting.len() >= WAITING
    }

    /// Adds a probe, which is launched when its turn comes.
    pub(crate) fn add(&mut self, probe: Probe) {
        self.waiting.push_back(probe);
    }

    /// Ends them all, and launches none any more.
    pub(crate) fn kill_all(&mut self) {
        self.waiting.clear();
        for child in self.children() {
            let _ = kill(Pid::from_raw(child.pid), Signal::SIGKILL);
        }
    }

    /// Ends those whose time is over.
    pub(crate) fn end_overdue(&mut self) {
        let now = Instant::now();
        for running in self.running.iter_mut().filter(|running| !running.timed_out && running.deadline <= now)
        {
            running.timed_out = true;
            let _ = kill(Pid::from_raw(running.child.pid), Signal::SIGKILL);
        }
    }

    /// Launches those that may be launched. Returns the outcomes of those that could not be.
    pub(crate) fn launch(
        &mut self,
        jails: &Jails,
        processes: &Processes,
        template: Option<&Template>,
    ) -> Vec<Outcome> {
        let mut failed = Vec::new();
        while let Some(probe) = self.next() {
            match self.start(jails, processes, template, &probe) {
                Ok((child, parts)) => {
                    let deadline = Instant::now() + LONGEST;
                    self.running.push(Running { child, probe, deadline, timed_out: false, parts });
                }
                Err(error) => {
                    let code = error.raw_os_error().unwrap_or(EIO);
                    failed.push(Outcome { probe, ended: Ended::NotLaunched, code });
                }
            }
        }
        failed
    }

    /// Notes the end of a child; returns the outcome if it was a probe.
    pub(crate) fn ended(&mut self, pid: i32, ended: Ended, code: i32) -> Option<Outcome> {
        let at = self.running.iter().position(|running| running.child.pid == pid)?;
        let Running { probe, timed_out, parts, .. } = self.running.swap_remove(at);
        // A jail that the kernel ended for its memory says so by the signal as well.
        let _ = parts.jail_limits.map(JailLimits::end);
        for folder in &parts.folders {
            drop(std::fs::remove_dir_all(folder));
        }
        Some(Outcome { probe, ended: if timed_out { Ended::TimedOut } else { ended }, code })
    }

    /// The next that may be launched: one of a runner only when no other runs.
    fn next(&mut self) -> Option<Probe> {
        if self.running.len() >= MOST {
            return None;
        }
        let runner = self.running.iter().any(|running| running.probe.row.is_runner());
        let at = self.waiting.iter().position(|probe| !(runner && probe.row.is_runner()))?;
        self.waiting.remove(at)
    }

    fn start(
        &mut self,
        jails: &Jails,
        processes: &Processes,
        template: Option<&Template>,
        probe: &Probe,
    ) -> io::Result<(Child, Parts)> {
        let (child, parts) = if probe.row.is_runner() {
            self.runner(jails, template, probe.row)?
        } else {
            self.actor(jails, processes, probe.row)?
        };
        // A process that is only starting may not have made itself undumpable yet, and would prove nothing.
        let ready = |name| processes.get(name).filter(|process| process.state == ProcessState::Ready);
        let pid =
            |name| ready(name).and_then(|process| process.life.as_ref()).map_or(0, |life| life.child.pid);
        // No process of a runner's own name would outlast the act; the gate is its peer.
        let peer = pid(if probe.row.is_runner() { Name::Gate } else { probe.row });
        let agentd = u64::from(std::process::id());
        let head = [jails.mode as u64, agentd, u64::from(peer.unsigned_abs())];
        let acts = probe.acts.iter().map(|act| u64::from(*act) + 1);
        let words: Vec<u64> = head.into_iter().chain(acts).collect();
        let frame = Frame::new(Kind::Probe, probe.row).with(&words);
        // If it has ended already, its end says enough.
        drop(passing::send_plain(parts.end.as_fd(), &frame.encode()));
        Ok((child, parts))
    }

    /// Launched as the row's own program is, but for the program and its frame.
    fn actor(&self, jails: &Jails, processes: &Processes, name: Name) -> io::Result<(Child, Parts)> {
        let process = processes.get(name).ok_or(io::ErrorKind::NotFound)?;
        let (end, control) = passing::frame_pair()?;
        let jail = ActorJail {
            row: process.row,
            mode: jails.mode,
            ids: process.ids,
            program: &self.program,
            null: &jails.null,
            log: &jails.null,
            control: &control,
            folder: &process.folder,
            state: &jails.state,
            weakened: jails.weakens(name),
        };
        let child = confine::launch_actor(&jail).map_err(|fault| fault.cause)?;
        Ok((child, Parts { end, jail_limits: None, folders: Vec::new() }))
    }

    /// Launched as a runner is, in a cell and with ids that no slot has.
    fn runner(
        &mut self,
        jails: &Jails,
        template: Option<&Template>,
        name: Name,
    ) -> io::Result<(Child, Parts)> {
        let (workspace, path) = self.workspace(jails)?;
        let launched = self.runner_in(jails, template, name, &workspace, &path);
        if launched.is_err() {
            drop(std::fs::remove_dir_all(&path));
        }
        let (child, end, jail_limits) = launched?;
        Ok((child, Parts { end, jail_limits: Some(jail_limits), folders: vec![path] }))
    }

    fn runner_in(
        &mut self,
        jails: &Jails,
        template: Option<&Template>,
        name: Name,
        workspace: &OwnedFd,
        path: &Path,
    ) -> io::Result<(Child, OwnedFd, JailLimits)> {
        let row = launched::row(name).map_err(io::Error::other)?;
        let tmp = path.join("tmp");
        let (theirs, end) = sockets::edge().map_err(io::Error::other)?;
        let ids = jails.runner_ids;
        let mut cell = match (jails.mode, row.network) {
            (Mode::Flat, _) => {
                make_folder(&tmp, ids)?;
                None
            }
            // A runner with a loopback has namespaces that are used once; so has its probe.
            (_, Network::Loopback) => Some(cell(jails, Cell::with_loopback)?),
            _ => Some(self.cell.take().map_or_else(|| cell(jails, Cell::make), Ok)?),
        };
        // A runner holds this socket until it is sealed, and so does its probe; nobody reads it.
        let (notices, _unread) = passing::frame_pair()?;
        let home = match (&cell, template) {
            (Some(cell), Some(template)) => Home::Apart { template, cell },
            _ => Home::Flat { workspace, tmp: &tmp, ids },
        };
        let jail = RunnerJail {
            row,
            program: &self.program,
            null: &jails.null,
            gate: &theirs,
            notices: &notices,
            cpu_seconds: LONGEST.as_secs(),
            home,
            weakened: jails.weakens(name),
        };
        let launched = confine::launch_runner(&jail).map_err(|fault| fault.cause).and_then(|child| {
            let slot = jails.settings.runner_slots;
            let bound = jails.limits.apply(slot, child.pid, row.limits).and_then(|jail_limits| {
                attach(jails.mode, template, cell.as_mut(), &child, workspace)?;
                Ok(jail_limits)
            });
            match bound {
                Ok(jail_limits) => Ok((child, jail_limits)),
                Err(error) => {
                    launched::end(&child);
                    Err(error)
                }
            }
        });
        if row.network == Network::None {
            self.cell = cell;
        }
        launched.map(|(child, jail_limits)| (child, end, jail_limits))
    }

    /// An empty folder with the owner that workspaces have. It lies below the state directory, as workspaces do: one file system
    /// may allow an act that another refuses.
    fn workspace(&mut self, jails: &Jails) -> io::Result<(OwnedFd, PathBuf)> {
        self.count += 1;
        let folder = jails.state.join(ownership::PROBES);
        let path = folder.join(self.count.to_string());
        drop(places::folder(&folder, 0o711, None));
        make_folder(&path, jails.runner_ids)?;
        let directory = places::open_folder(&path).map_err(io::Error::other)?;
        Ok((directory, path))
    }
}

/// Attaches its workspace late, as a runner's is.
fn attach(
    mode: Mode,
    template: Option<&Template>,
    cell: Option<&mut Cell>,
    child: &Child,
    workspace: &OwnedFd,
) -> io::Result<()> {
    let (Some(cell), Some(template)) = (cell, template) else {
        return Ok(());
    };
    let space = Space::of(mode, workspace.as_fd())?;
    let tree = cell.workspace(space.mount, space.owner)?;
    template.attach(child, tree.as_fd(), Mountpoint::Workspace)
}

/// Namespaces with the id below those of the slots, which no process has.
fn cell(jails: &Jails, make: fn(Mode, Option<Ids>) -> io::Result<Cell>) -> io::Result<Cell> {
    let below = jails.settings.slot_base.saturating_sub(1);
    make(jails.mode, (jails.mode == Mode::System).then_some(Ids { uid: below, gid: below }))
}

fn make_folder(path: &Path, ids: Option<Ids>) -> io::Result<()> {
    places::folder(path, 0o700, ids).map_err(io::Error::other)
}
