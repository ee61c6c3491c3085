//! Children that make the calls which may never return: those on directories that users attach. Nothing ends one whose file system
//! has taken its call and does not answer, so agentd never waits for one, and a user with too many stuck children gets no more
//! until they have ended.

use confine::Child;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::time::{Duration, Instant};

/// Stuck children of one uid.
const MOST: usize = 8;
/// The time after its kill at which a child counts as stuck.
const LEFT: Duration = Duration::from_secs(1);

/// A child, until the kernel is done with it.
#[derive(Debug)]
struct Aside {
    child: Child,
    /// The user that it makes its calls for.
    uid: u32,
    /// The time at which it was killed.
    killed: Option<Instant>,
}

/// All of them.
#[derive(Debug, Default)]
pub(crate) struct Asides(Vec<Aside>);

impl Asides {
    /// Adds one, and returns its pid.
    pub(crate) fn add(&mut self, child: Child, uid: u32) -> i32 {
        let pid = child.pid;
        self.0.push(Aside { child, uid, killed: None });
        pid
    }

    /// Returns true if so many children of this uid are stuck that it gets no other.
    pub(crate) fn hang(&self, uid: u32) -> bool {
        let left = |aside: &&Aside| aside.killed.is_some_and(|killed| killed.elapsed() >= LEFT);
        self.0.iter().filter(|aside| aside.uid == uid).filter(left).count() >= MOST
    }

    /// Kills one.
    pub(crate) fn end(&mut self, pid: i32) {
        // As long as it is listed here no other process gets its pid.
        for aside in self.0.iter_mut().filter(|aside| aside.child.pid == pid && aside.killed.is_none()) {
            aside.killed = Some(Instant::now());
            let _ = kill(Pid::from_raw(pid), Signal::SIGKILL);
        }
    }

    /// Kills them all.
    pub(crate) fn end_all(&mut self) {
        let pids: Vec<i32> = self.children().map(|child| child.pid).collect();
        pids.into_iter().for_each(|pid| self.end(pid));
    }

    /// Notes an end; returns true if it was one of these.
    pub(crate) fn ended(&mut self, pid: i32) -> bool {
        let before = self.0.len();
        self.0.retain(|aside| aside.child.pid != pid);
        self.0.len() < before
    }

    /// Their processes.
    pub(crate) fn children(&self) -> impl Iterator<Item = &Child> {
        self.0.iter().map(|aside| &aside.child)
    }
}
