//! Runners that have a turn: each is ended by its wall clock at the latest, and never used again.

use crate::jails::Jails;
use crate::launched::Launched;
use crate::limits::JailLimits;
use crate::pool::Pool;
use crate::seccomp_listener::SeccompListener;
use crate::violations::Owner;
use confine::Child;
use manifest::command::Ended;
use manifest::{Process as Name, Row};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::os::fd::BorrowedFd;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// How much longer a runner lives than its turn may take: the turn's own end comes first and says more.
const GRACE: Duration = Duration::from_secs(2);
/// The longest wall clock of a runner: a day for a person to answer, and an hour for its turn.
pub(crate) const LONGEST: Duration = Duration::from_secs(25 * 3600);

/// A runner with a turn.
#[derive(Debug)]
pub(crate) struct Runner {
    pub(crate) turn: [u8; 16],
    /// The session of its turn, from router.
    session: [u8; 16],
    pub(crate) row: &'static Row,
    pub(crate) child: Child,
    slot: u16,
    deadline: Instant,
    /// CPU time that all processes of its jail may use together.
    pub(crate) cpu: Duration,
    /// Holds the limits of its jail as a whole.
    pub(crate) jail_limits: JailLimits,
    /// The reason for which agentd ended it, if it did.
    pub(crate) over: Option<Ended>,
    /// Reports the calls that its jail's filter refuses.
    seccomp: SeccompListener,
    /// Its folder for `/tmp` in mode flat.
    pub(crate) tmp: Option<PathBuf>,
    /// Its workspace, if that is one of the host's own.
    pub(crate) workspace: Option<[u8; 16]>,
}

/// The terms of a turn, from router.
#[derive(Debug)]
pub(crate) struct Terms {
    pub(crate) turn: [u8; 16],
    pub(crate) session: [u8; 16],
    pub(crate) row: &'static Row,
    pub(crate) wall: Duration,
    /// CPU time that all processes of its jail may use together.
    pub(crate) cpu: Duration,
    /// Its workspace, if that is one of the host's own.
    pub(crate) workspace: Option<[u8; 16]>,
}

impl Runner {
    /// A launched runner that is bound to a turn on these terms.
    pub(crate) fn new(terms: Terms, launched: Launched, tmp: Option<PathBuf>) -> Self {
        let Terms { turn, session, row, wall, cpu, workspace } = terms;
        let Launched { child, slot, jail_limits, seccomp, .. } = launched;
        let deadline = Instant::now() + wall + GRACE;
        Self {
            turn,
            session,
            row,
            child,
            slot,
            deadline,
            cpu,
            jail_limits,
            over: None,
            seccomp,
            tmp,
            workspace,
        }
    }

    /// The turn and the session that it works for.
    pub(crate) const fn owner(&self) -> Owner {
        Owner { turn: self.turn, session: self.session }
    }

    /// Ends it, for this reason. It is the first process of its pid namespace, so everything in the jail ends with it; in mode
    /// flat [`crate::orphans`] ends the rest.
    pub(crate) fn end(&mut self, why: Ended) {
        self.over = Some(why);
        self.kill();
    }

    fn kill(&self) {
        let _ = kill(Pid::from_raw(self.child.pid), Signal::SIGKILL);
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

    /// The descriptors on which jails' refused calls are reported, by the pid of each runner.
    pub(crate) fn seccomp_descriptors(&self) -> impl Iterator<Item = (i32, BorrowedFd<'_>)> {
        let waiting = self.pool.waiting.iter().map(|runner| (runner.child.pid, &runner.seccomp));
        let live = self.live.iter().map(|runner| (runner.child.pid, &runner.seccomp));
        live.chain(waiting).filter_map(|(pid, seccomp)| seccomp.descriptor().map(|it| (pid, it)))
    }

    /// The owner of a runner, and the listener of its jail.
    pub(crate) fn seccomp(&mut self, pid: i32) -> Option<(Owner, &mut SeccompListener)> {
        let waiting = self.pool.waiting.iter_mut();
        let waiting = waiting.map(|runner| (runner.child.pid, Owner::default(), &mut runner.seccomp));
        let live = self.live.iter_mut();
        let live = live.map(|runner| (runner.child.pid, runner.owner(), &mut runner.seccomp));
        live.chain(waiting).find(|(its, ..)| *its == pid).map(|(_, owner, seccomp)| (owner, seccomp))
    }

    /// The turns whose runner this process had launched.
    pub(crate) fn turns_of(&self, launcher: Name) -> impl Iterator<Item = [u8; 16]> {
        let own =
            self.live.iter().filter(move |runner| manifest::launcher(runner.row.process) == Some(launcher));
        own.map(|runner| runner.turn)
    }

    /// The turns that have a runner.
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
            runner.end(Ended::TimedOut);
        }
    }

    /// Gives the runner of this turn `ms` from now on, up to [`LONGEST`]; one whose time has run out stays ended.
    pub(crate) fn set_deadline(&mut self, turn: [u8; 16], ms: u64) {
        let deadline = Instant::now() + Duration::from_millis(ms).min(LONGEST) + GRACE;
        for runner in self.live.iter_mut().filter(|runner| runner.turn == turn && runner.over.is_none()) {
            runner.deadline = deadline;
        }
    }

    /// Moves every deadline by the time for which the runners were frozen.
    pub(crate) fn extend(&mut self, time: Duration) {
        for runner in self.live.iter_mut().filter(|runner| runner.over.is_none()) {
            runner.deadline += time;
        }
    }

    /// Ends the runner of this turn, if there is one.
    pub(crate) fn kill(&self, turn: [u8; 16]) {
        self.live.iter().filter(|runner| runner.turn == turn).for_each(Runner::kill);
    }

    /// Ends those that have a turn: their sockets lead to the gate that they were bound to.
    pub(crate) fn end_bound(&self) {
        self.live.iter().for_each(Runner::kill);
    }

    /// Ends them all.
    pub(crate) fn kill_all(&self) {
        for child in self.children() {
            let _ = kill(Pid::from_raw(child.pid), Signal::SIGKILL);
        }
    }

    /// Takes out the runner with this pid, which has ended.
    pub(crate) fn remove(&mut self, pid: i32) -> Option<Runner> {
        let at = self.live.iter().position(|runner| runner.child.pid == pid)?;
        Some(self.live.swap_remove(at))
    }

    /// The slots of runners that have a turn.
    pub(crate) fn used_slots(&self) -> Vec<u16> {
        self.live.iter().map(|runner| runner.slot).collect()
    }

    /// The time at which the pool wants another runner, if it does.
    pub(crate) fn pool_due(&self, jails: &Jails) -> Option<Instant> {
        self.pool.due(jails, &self.used_slots())
    }

    /// Adds one runner to the pool, if it is time.
    pub(crate) fn refill(&mut self, jails: &Jails) {
        let used = self.used_slots();
        self.pool.refill(jails, &used);
    }
}
