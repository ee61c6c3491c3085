//! Runners that wait for work: launched and sealed ahead of need, each in a slot of its own, with no workspace and with
//! agentd at the other end of its socket. Work finds one of them, or has one launched as if none had been asked for.
//!
//! One that was bound leaves the pool for good: a second turn can never meet it. Mode flat has no pool, since without
//! a mount namespace there is no way to give a runner its workspace late.

use crate::exit::say;
use crate::host::Host;
use crate::limits::Held;
use crate::sockets::{self, Sockets};
use crate::violations::Ear;
use crate::workspaces::Space;
use confine::{Cell, Child, Home, Ids, LaunchFault, RunnerJail, Template};
use manifest::command::{Ended, HostState, Mode};
use manifest::{Process as Name, Row};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{Signal, kill};
use nix::sys::wait::waitpid;
use nix::unistd::Pid;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::time::{Duration, Instant};

/// From a turn's launch until the pool is filled again: what the turn does first has the processors to itself.
const REST: Duration = Duration::from_millis(50);
/// The same after a runner that failed at once: what is wrong with it is likely wrong with the next.
const RETRY: Duration = Duration::from_secs(5);
/// A runner that waited for so long did not fail at once.
const SETTLED: Duration = Duration::from_secs(1);
/// CPU seconds of each process of a runner until its turn says: the most that a turn can be given, since an ordinary
/// user may lower the limit later and not raise it.
const CPU_SECONDS: u64 = 3600;

/// A runner without a turn.
#[derive(Debug)]
pub(crate) struct Warm {
    pub(crate) child: Child,
    pub(crate) slot: u16,
    /// The gate's end of its socket.
    pub(crate) gate: OwnedFd,
    /// What holds the limits of its jail as a whole.
    pub(crate) held: Held,
    /// Where its jail is heard of what it may not do.
    pub(crate) ear: Ear,
    began: Instant,
}

/// Those that wait, and what runners are made of.
#[derive(Debug)]
pub(crate) struct Pool {
    /// None in mode flat.
    template: Option<Template>,
    /// By slot, made when the slot is first used.
    cells: Vec<Option<Cell>>,
    pub(crate) waiting: Vec<Warm>,
    /// For the next runner: a tenth of a millisecond less to wait for, where none waits.
    spare: Option<Sockets>,
    due: Instant,
}

/// Why a runner could not be made or bound.
#[derive(Debug, thiserror::Error)]
pub(crate) enum WarmFault {
    #[error("every slot is taken")]
    Full,
    #[error(transparent)]
    Launch(#[from] LaunchFault),
    #[error("its namespaces cannot be made: {0}")]
    Cell(io::Error),
    #[error("its socket cannot be made: {0}")]
    Socket(io::Error),
    #[error("its limits cannot be set: {0}")]
    Limits(io::Error),
    #[error("its workspace cannot be made ready: {0}")]
    Workspace(io::Error),
    #[error("its workspace cannot be attached: {0}")]
    Attach(io::Error),
}

impl WarmFault {
    /// What router is told.
    pub(crate) fn errno(&self) -> i32 {
        let cause = match self {
            Self::Full => return nix::libc::EAGAIN,
            Self::Launch(fault) => &fault.cause,
            Self::Cell(cause)
            | Self::Socket(cause)
            | Self::Limits(cause)
            | Self::Workspace(cause)
            | Self::Attach(cause) => cause,
        };
        match cause.raw_os_error() {
            // It was killed before it was bound; another may live.
            Some(nix::libc::ESRCH) => nix::libc::EAGAIN,
            Some(errno) => errno,
            None => nix::libc::EIO,
        }
    }
}

impl Warm {
    /// A runner that was launched, its jail's limits put where they are held: before it hears from the gate, until when
    /// nothing of a turn has run.
    pub(crate) fn held(
        host: &Host,
        child: Child,
        slot: u16,
        gate: OwnedFd,
        ear: Ear,
        row: &Row,
    ) -> Result<Self, WarmFault> {
        match host.limits.take(slot, child.pid, row.limits) {
            Ok(held) => Ok(Self { child, slot, gate, held, ear, began: Instant::now() }),
            Err(cause) => {
                end(&child);
                Err(WarmFault::Limits(cause))
            }
        }
    }
}

/// The row of runners of this kind.
pub(crate) fn row(kind: Name) -> Result<&'static Row, WarmFault> {
    manifest::row(kind).ok_or_else(|| WarmFault::Cell(io::ErrorKind::NotFound.into()))
}

impl Pool {
    /// An empty pool, and the tree that its runners' roots will be copies of.
    pub(crate) fn new(mode: Mode, stage: &Path) -> Result<Self, LaunchFault> {
        let template = if mode == Mode::Flat { None } else { Some(Template::build(stage)?) };
        Ok(Self { template, cells: Vec::new(), waiting: Vec::new(), spare: None, due: Instant::now() })
    }

    /// Makes what the first slot keeps, which has these ids, and tries with it whether `folder` can be shown as a
    /// workspace of `owner`: not every file system can be. Nothing of it stays mounted.
    ///
    /// # Errors
    /// EINVAL or EPERM where it cannot; else what the kernel says.
    pub(crate) fn try_workspaces(&mut self, slot: Ids, owner: Ids, folder: &Path) -> io::Result<()> {
        let directory = File::open(folder)?;
        let cell = self.cell(0, || Cell::make(Mode::System, Some(slot)))?;
        cell.workspace(confine::copied(directory.as_fd())?, owner).map(drop)
    }

    /// What the roots of runners are copies of; none in mode flat.
    pub(crate) const fn template(&self) -> Option<&Template> {
        self.template.as_ref()
    }

    /// Makes the tree again if an upgrade has replaced what it was made of. Those that wait go on with the old one.
    fn renew(&mut self, stage: &Path) -> Result<(), LaunchFault> {
        if self.template.as_ref().is_some_and(|template| !template.is_current()) {
            self.template = Some(Template::build(stage)?);
        }
        Ok(())
    }

    /// The namespaces of a slot.
    fn cell(&mut self, slot: u16, make: impl FnOnce() -> io::Result<Cell>) -> io::Result<&mut Cell> {
        let at = usize::from(slot);
        if self.cells.len() <= at {
            self.cells.resize_with(at + 1, || None);
        }
        let cell = self.cells.get_mut(at).ok_or(io::ErrorKind::NotFound)?;
        if cell.is_none() {
            *cell = Some(make()?);
        }
        cell.as_mut().ok_or_else(|| io::ErrorKind::NotFound.into())
    }
}

/// A runner for a turn with this workspace: one that waited, else one that is launched now. It is in no list any more.
pub(crate) fn bound(host: &mut Host, space: Space, cpu_seconds: u64) -> Result<Warm, WarmFault> {
    host.runners.pool.due = Instant::now() + REST;
    let waited = waited(host);
    let waits = waited.is_some();
    let runner = waited.map_or_else(|| start(host), Ok)?;
    match bind(host, &runner, space, cpu_seconds) {
        Ok(()) => Ok(runner),
        Err(WarmFault::Workspace(cause)) if waits => {
            host.runners.pool.waiting.push(runner);
            Err(WarmFault::Workspace(cause))
        }
        Err(fault) => {
            discard(runner);
            Err(fault)
        }
    }
}

/// One that waited and has not ended while nobody looked.
fn waited(host: &mut Host) -> Option<Warm> {
    while !host.runners.pool.waiting.is_empty() {
        let runner = host.runners.pool.waiting.remove(0);
        if !has_ended(&runner.child) {
            return Some(runner);
        }
        discard(runner);
    }
    None
}

fn has_ended(child: &Child) -> bool {
    let mut end = [PollFd::new(child.pidfd.as_fd(), PollFlags::POLLIN)];
    poll(&mut end, PollTimeout::ZERO).is_ok_and(|ready| ready > 0)
}

/// A runner with a loopback of its own, for a turn with this workspace. It is launched when it is asked for, in
/// namespaces that nobody had before it and nobody gets after it: sockets may be left in them.
pub(crate) fn with_loopback(host: &mut Host, space: Space, cpu_seconds: u64) -> Result<Warm, WarmFault> {
    // Those that wait for a turn of an agent's may have every slot that is not taken.
    if matches!(place(host), Err(WarmFault::Full))
        && let Some(waits) = host.runners.pool.waiting.pop()
    {
        discard(waits);
    }
    let (slot, own) = place(host)?;
    let mut cell = Cell::with_loopback(host.mode, own).map_err(WarmFault::Cell)?;
    host.runners.pool.renew(&host.stage)?;
    let sockets = spare(host)?;
    let runner = launched(host, row(Name::AgentRunner)?, slot, &cell, sockets)?;
    let bound = template(host).and_then(|template| attach(template, &mut cell, &runner, space, cpu_seconds));
    match bound {
        Ok(()) => Ok(runner),
        Err(fault) => {
            discard(runner);
            Err(fault)
        }
    }
}

/// A slot that no runner has, and its ids on the host.
fn place(host: &Host) -> Result<(u16, Option<Ids>), WarmFault> {
    let settings = host.configuration.settings;
    let slot = host.runners.free_slot(settings.runner_slots).ok_or(WarmFault::Full)?;
    let own = settings.slot(slot).filter(|_| host.mode == Mode::System).map(|id| Ids { uid: id, gid: id });
    Ok((slot, own))
}

/// Launches a runner without a turn.
fn start(host: &mut Host) -> Result<Warm, WarmFault> {
    let (slot, own) = place(host)?;
    let (mode, usual) = (host.mode, host.runner_ids.filter(|_| own.is_some()));
    let make = || {
        let mut cell = Cell::make(mode, own)?;
        if let Some(owner) = usual {
            cell.mapping(owner)?;
        }
        Ok(cell)
    };
    host.runners.pool.cell(slot, make).map_err(WarmFault::Cell)?;
    host.runners.pool.renew(&host.stage)?;
    let sockets = spare(host)?;
    let cell = host.runners.pool.cells.get(usize::from(slot)).and_then(Option::as_ref);
    launched(host, row(Name::Runner)?, slot, cell.ok_or_else(none)?, sockets)
}

/// Those that were made ahead, or others.
fn spare(host: &mut Host) -> Result<Sockets, WarmFault> {
    host.runners.pool.spare.take().map_or_else(Sockets::make, Ok)
}

/// Launches a runner of this row in these namespaces.
fn launched(
    host: &Host,
    row: &'static Row,
    slot: u16,
    cell: &Cell,
    sockets: Sockets,
) -> Result<Warm, WarmFault> {
    let Sockets { edge: (theirs, gate), notices: (notices, ours) } = sockets;
    let ear = sockets::ear(host, row, ours)?;
    let jail = RunnerJail {
        row,
        program: &host.runner_program,
        null: &host.null,
        gate: &theirs,
        notices: &notices,
        cpu_seconds: CPU_SECONDS,
        home: Home::Apart { template: template(host)?, cell },
        weakened: host.weakens(row.process),
    };
    let child = confine::launch_runner(&jail)?;
    Warm::held(host, child, slot, gate, ear, row)
}

fn none() -> WarmFault {
    WarmFault::Cell(io::ErrorKind::NotFound.into())
}

fn template(host: &Host) -> Result<&Template, WarmFault> {
    host.runners.pool.template.as_ref().ok_or_else(none)
}

/// Gives a runner the workspace of its turn.
fn bind(host: &mut Host, runner: &Warm, space: Space, cpu_seconds: u64) -> Result<(), WarmFault> {
    let pool = &mut host.runners.pool;
    let cell = pool.cells.get_mut(usize::from(runner.slot)).and_then(Option::as_mut);
    let cell = cell.ok_or(WarmFault::Workspace(io::ErrorKind::NotFound.into()))?;
    let template = pool.template.as_ref().ok_or(WarmFault::Attach(io::ErrorKind::NotFound.into()))?;
    attach(template, cell, runner, space, cpu_seconds)
}

fn attach(
    template: &Template,
    cell: &mut Cell,
    runner: &Warm,
    space: Space,
    cpu_seconds: u64,
) -> Result<(), WarmFault> {
    let tree = cell.workspace(space.mount, space.owner).map_err(WarmFault::Workspace)?;
    template.attach(&runner.child, tree.as_fd()).map_err(WarmFault::Attach)?;
    confine::limit_cpu(&runner.child, cpu_seconds).map_err(WarmFault::Limits)
}

/// When the pool wants another runner, if it does.
pub(crate) fn due(host: &Host) -> Option<Instant> {
    let pool = &host.runners.pool;
    let settings = host.configuration.settings;
    let may = host.frozen.is_none()
        && matches!(host.state, HostState::Ready | HostState::Degraded)
        && host.proof.passed()
        && pool.template.is_some()
        && pool.waiting.len() < usize::from(settings.warm_runners)
        && host.runners.free_slot(settings.runner_slots).is_some();
    may.then_some(pool.due)
}

/// Adds one runner to the pool, if it is time, and makes sockets for the next. To be called when there is nothing else
/// to do.
pub(crate) fn refill(host: &mut Host) {
    let pool = &mut host.runners.pool;
    if pool.template.is_some() && pool.spare.is_none() {
        // Whoever needs them says why they cannot be made.
        pool.spare = Sockets::make().ok();
    }
    if due(host).is_none_or(|due| due > Instant::now()) {
        return;
    }
    match start(host) {
        Ok(runner) => host.runners.pool.waiting.push(runner),
        Err(fault) => {
            say(&format!("agentd: no runner could be launched ahead of need: {fault}"));
            host.runners.pool.due = Instant::now() + RETRY;
        }
    }
}

/// A process has ended that was no turn's: one of those that wait, or nobody known.
pub(crate) fn ended(host: &mut Host, pid: i32, ended: Ended, code: i32) {
    let pool = &mut host.runners.pool;
    let Some(at) = pool.waiting.iter().position(|runner| runner.child.pid == pid) else { return };
    let runner = pool.waiting.remove(at);
    let lived = runner.began.elapsed();
    let _ = runner.held.end();
    pool.due = Instant::now() + if lived < SETTLED { RETRY } else { Duration::ZERO };
    if host.state != HostState::Stopping {
        let how = if ended == Ended::Killed { "signal" } else { "exit status" };
        host.logs.write("agentd", &format!("a runner that waited for work ended: {how} {code}"));
    }
}

/// Ends a runner that nobody has heard of, and waits for it: its slot is free when this returns.
fn discard(runner: Warm) {
    end(&runner.child);
    let _ = runner.held.end();
}

fn end(child: &Child) {
    let _ = kill(Pid::from_raw(child.pid), Signal::SIGKILL);
    let _ = waitpid(Pid::from_raw(child.pid), None);
}
