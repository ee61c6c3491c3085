//! Runners that wait for work: launched and sealed ahead of need, each in a slot of its own, without a workspace and with
//! agentd at the other end of its socket. A turn gets one of them, or one that is launched for it.
//!
//! A runner that was bound leaves the pool for good: a second turn can never meet it. Mode flat has no pool, since without
//! a mount namespace there is no way to give a runner its workspace late.

use crate::jails::Jails;
use crate::launched::{Launched, row};
use crate::own_log;
use crate::runner_fault::RunnerFault;
use crate::sockets::{self, Sockets};
use crate::workspaces::Space;
use confine::{Cell, Home, Ids, LaunchFault, Mountpoint, RunnerJail, Template};
use manifest::command::Mode;
use manifest::{Process as Name, Row};
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::time::{Duration, Instant};

/// The time from a turn's launch until the pool is filled again: the turn's first work has the processors to itself.
const REST: Duration = Duration::from_millis(50);
/// The same after a runner that failed at once: the next one would likely fail too.
const RETRY: Duration = Duration::from_secs(5);
/// A runner that waited for so long did not fail at once.
const SETTLED: Duration = Duration::from_secs(1);
/// CPU seconds of each process of a runner without a turn: the most that a turn can be given, since an ordinary user may lower
/// the limit later and not raise it.
const CPU_SECONDS: u64 = 3600;

/// The folders that a jail is shown.
#[derive(Debug)]
pub(crate) struct Shown {
    pub(crate) workspace: Option<Space>,
    pub(crate) files: Option<Files>,
}

/// The files of a server.
#[derive(Debug)]
pub(crate) struct Files {
    pub(crate) space: Space,
    /// They are being installed.
    pub(crate) writes: bool,
}

/// The waiting runners, and the parts that runners are made of.
#[derive(Debug)]
pub(crate) struct Pool {
    /// None in mode flat.
    template: Option<Template>,
    /// By slot, made when the slot is first used.
    cells: Vec<Option<Cell>>,
    pub(crate) waiting: Vec<Launched>,
    /// Made for the next runner: a launch for a turn takes a tenth of a millisecond less.
    spare: Option<Sockets>,
    due: Instant,
}

impl Pool {
    /// An empty pool, and the tree that its runners' roots are copies of.
    pub(crate) fn new(mode: Mode, stage: &Path) -> Result<Self, LaunchFault> {
        let template = if mode == Mode::Flat { None } else { Some(Template::build(stage)?) };
        Ok(Self { template, cells: Vec::new(), waiting: Vec::new(), spare: None, due: Instant::now() })
    }

    /// Makes the namespaces of the first slot, which has these ids, and tries with them if `folder` can be shown as a
    /// workspace of `owner`: not every file system can be. Nothing of it stays mounted.
    ///
    /// # Errors
    /// EINVAL or EPERM where it cannot; else the kernel's error.
    pub(crate) fn try_workspaces(&mut self, slot: Ids, owner: Ids, folder: &Path) -> io::Result<()> {
        let directory = File::open(folder)?;
        let cell = self.cell(0, || Cell::make(Mode::System, Some(slot)))?;
        cell.workspace(confine::copied(directory.as_fd())?, owner).map(drop)
    }

    /// The tree that the roots of runners are copies of; none in mode flat.
    pub(crate) const fn template(&self) -> Option<&Template> {
        self.template.as_ref()
    }

    /// The slots of the waiting runners.
    pub(crate) fn slots(&self) -> impl Iterator<Item = u16> {
        self.waiting.iter().map(|runner| runner.slot)
    }

    /// A runner for a turn with this workspace: one that waited, else one that is launched now. It leaves the pool. `used` are the
    /// slots of runners that have a turn.
    pub(crate) fn bound(
        &mut self,
        jails: &Jails,
        used: &[u16],
        space: Space,
        cpu_seconds: u64,
    ) -> Result<Launched, RunnerFault> {
        self.due = Instant::now() + REST;
        let waited = self.next_waiting();
        let has_waited = waited.is_some();
        let runner = waited.map_or_else(|| self.start(jails, used), Ok)?;
        match self.bind(&runner, space, cpu_seconds) {
            Ok(()) => Ok(runner),
            Err(RunnerFault::Workspace(cause)) if has_waited => {
                self.waiting.push(runner);
                Err(RunnerFault::Workspace(cause))
            }
            Err(fault) => {
                runner.discard();
                Err(fault)
            }
        }
    }

    /// A runner with a loopback of its own, which is shown these. It is launched on request, in namespaces that no runner had
    /// before it and none gets after it: its sockets may leave something in them.
    pub(crate) fn with_loopback(
        &mut self,
        jails: &Jails,
        used: &[u16],
        row: &'static Row,
        shown: Shown,
        cpu_seconds: u64,
    ) -> Result<Launched, RunnerFault> {
        // The runners that wait for an agent's turn may hold every slot that is left.
        if self.free_slot(jails, used).is_none()
            && let Some(runner) = self.waiting.pop()
        {
            runner.discard();
        }
        let slot = self.free_slot(jails, used).ok_or(RunnerFault::Full)?;
        let mut cell = Cell::with_loopback(jails.mode, jails.slot_ids(slot)).map_err(RunnerFault::Cell)?;
        self.renew(&jails.stage)?;
        let sockets = self.sockets()?;
        let template = self.template.as_ref().ok_or_else(missing)?;
        let runner = launch(jails, row, slot, template, &cell, sockets)?;
        match show(template, &mut cell, &runner, shown, cpu_seconds) {
            Ok(()) => Ok(runner),
            Err(fault) => {
                runner.discard();
                Err(fault)
            }
        }
    }

    /// A slot that no runner has, whether it has a turn or waits for one.
    pub(crate) fn free_slot(&self, jails: &Jails, used: &[u16]) -> Option<u16> {
        let is_free = |slot: &u16| !used.contains(slot) && self.slots().all(|waiting| waiting != *slot);
        (0..jails.settings.runner_slots).find(is_free)
    }

    /// The time at which it wants another runner, if it does.
    pub(crate) fn due(&self, jails: &Jails, used: &[u16]) -> Option<Instant> {
        let wants = self.template.is_some()
            && self.waiting.len() < usize::from(jails.settings.warm_runners)
            && self.free_slot(jails, used).is_some();
        wants.then_some(self.due)
    }

    /// Makes sockets for the next runner, where there are none.
    pub(crate) fn make_spare(&mut self) {
        if self.template.is_some() && self.spare.is_none() {
            // If they cannot be made, the launch that needs them says why.
            self.spare = Sockets::make().ok();
        }
    }

    /// Adds one runner, if it is time.
    pub(crate) fn refill(&mut self, jails: &Jails, used: &[u16]) {
        if self.due(jails, used).is_none_or(|due| due > Instant::now()) {
            return;
        }
        match self.start(jails, used) {
            Ok(runner) => self.waiting.push(runner),
            Err(fault) => {
                own_log::warn(&format!("no runner could be launched ahead of need: {fault}"));
                self.due = Instant::now() + RETRY;
            }
        }
    }

    /// Notes the end of a process; returns false if it was not a waiting runner.
    pub(crate) fn ended(&mut self, pid: i32) -> bool {
        let Some(at) = self.waiting.iter().position(|runner| runner.child.pid == pid) else { return false };
        let runner = self.waiting.remove(at);
        let age = runner.age();
        let _ = runner.jail_limits.end();
        self.due = Instant::now() + if age < SETTLED { RETRY } else { Duration::ZERO };
        true
    }

    /// A waiting runner that has not ended unnoticed.
    fn next_waiting(&mut self) -> Option<Launched> {
        while !self.waiting.is_empty() {
            let runner = self.waiting.remove(0);
            if !runner.has_ended() {
                return Some(runner);
            }
            runner.discard();
        }
        None
    }

    /// Launches a runner without a turn.
    fn start(&mut self, jails: &Jails, used: &[u16]) -> Result<Launched, RunnerFault> {
        let slot = self.free_slot(jails, used).ok_or(RunnerFault::Full)?;
        let own = jails.slot_ids(slot);
        let usual = jails.runner_ids.filter(|_| own.is_some());
        let make = || {
            let mut cell = Cell::make(jails.mode, own)?;
            if let Some(owner) = usual {
                cell.mapping(owner)?;
            }
            Ok(cell)
        };
        self.cell(slot, make).map_err(RunnerFault::Cell)?;
        self.renew(&jails.stage)?;
        let sockets = self.sockets()?;
        let template = self.template.as_ref().ok_or_else(missing)?;
        let cell = self.cells.get(usize::from(slot)).and_then(Option::as_ref).ok_or_else(missing)?;
        launch(jails, row(Name::Runner)?, slot, template, cell, sockets)
    }

    /// Gives a runner the workspace of its turn.
    fn bind(&mut self, runner: &Launched, space: Space, cpu_seconds: u64) -> Result<(), RunnerFault> {
        let cell = self.cells.get_mut(usize::from(runner.slot)).and_then(Option::as_mut);
        let cell = cell.ok_or(RunnerFault::Workspace(io::ErrorKind::NotFound.into()))?;
        let template = self.template.as_ref().ok_or(RunnerFault::Attach(io::ErrorKind::NotFound.into()))?;
        show(template, cell, runner, Shown { workspace: Some(space), files: None }, cpu_seconds)
    }

    /// Builds the tree again if an upgrade has replaced the files that it shows. Waiting runners keep the old one.
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

    /// Sockets that were made ahead, or new ones.
    fn sockets(&mut self) -> Result<Sockets, RunnerFault> {
        self.spare.take().map_or_else(Sockets::make, Ok)
    }
}

/// Launches a runner of this row in these namespaces.
fn launch(
    jails: &Jails,
    row: &'static Row,
    slot: u16,
    template: &Template,
    cell: &Cell,
    sockets: Sockets,
) -> Result<Launched, RunnerFault> {
    let Sockets { edge: (theirs, gate), notices: (notices, ours) } = sockets;
    let seccomp = sockets::listener(jails, row, ours)?;
    let jail = RunnerJail {
        row,
        program: &jails.runner_program,
        null: &jails.null,
        gate: &theirs,
        notices: &notices,
        cpu_seconds: CPU_SECONDS,
        home: Home::Apart { template, cell },
        weakened: jails.weakens(row.process),
    };
    let child = confine::launch_runner(&jail)?;
    Launched::limited(jails, child, slot, gate, seccomp, row)
}

fn show(
    template: &Template,
    cell: &mut Cell,
    runner: &Launched,
    shown: Shown,
    cpu_seconds: u64,
) -> Result<(), RunnerFault> {
    let attach = |tree: io::Result<OwnedFd>, at| {
        let tree = tree.map_err(RunnerFault::Workspace)?;
        template.attach(&runner.child, tree.as_fd(), at).map_err(RunnerFault::Attach)
    };
    if let Some(Space { mount, owner }) = shown.workspace {
        attach(cell.workspace(mount, owner), Mountpoint::Workspace)?;
    }
    if let Some(Files { space, writes }) = shown.files {
        attach(cell.files(space.mount, space.owner, writes), Mountpoint::Files)?;
    }
    confine::limit_cpu(&runner.child, cpu_seconds).map_err(RunnerFault::Limits)
}

fn missing() -> RunnerFault {
    RunnerFault::Cell(io::ErrorKind::NotFound.into())
}
