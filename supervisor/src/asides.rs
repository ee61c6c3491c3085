//! Children that make the calls which may never return: on directories that people hand over. Nothing ends one whose file system has
//! taken its call and does not answer, so agentd never waits for one, and whoever left some behind gets no more until they have
//! ended.

use confine::Child;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::time::{Duration, Instant};

/// Children of one uid that may be left behind.
const MOST: usize = 8;
/// One that was told to end so long ago is left behind.
const LEFT: Duration = Duration::from_secs(1);

/// A child, until the kernel is done with it.
#[derive(Debug)]
struct Aside {
    child: Child,
    /// For whom it makes its calls.
    uid: u32,
    /// When it was told to end.
    told: Option<Instant>,
}

/// All of them.
#[derive(Debug, Default)]
pub(crate) struct Asides(Vec<Aside>);

impl Asides {
    /// Takes one in, and gives its pid.
    pub(crate) fn keep(&mut self, child: Child, uid: u32) -> i32 {
        let pid = child.pid;
        self.0.push(Aside { child, uid, told: None });
        pid
    }

    /// Returns whether so many of this uid's are left behind that there is no other.
    pub(crate) fn hang(&self, uid: u32) -> bool {
        let left = |aside: &&Aside| aside.told.is_some_and(|told| told.elapsed() >= LEFT);
        self.0.iter().filter(|aside| aside.uid == uid).filter(left).count() >= MOST
    }

    /// Tells one to end.
    pub(crate) fn end(&mut self, pid: i32) {
        // As long as it is known here its pid is nobody else's.
        for aside in self.0.iter_mut().filter(|aside| aside.child.pid == pid && aside.told.is_none()) {
            aside.told = Some(Instant::now());
            let _ = kill(Pid::from_raw(pid), Signal::SIGKILL);
        }
    }

    /// Tells them all to end.
    pub(crate) fn end_all(&mut self) {
        let pids: Vec<i32> = self.children().map(|child| child.pid).collect();
        pids.into_iter().for_each(|pid| self.end(pid));
    }

    /// Takes note of an end; returns whether it was one of these.
    pub(crate) fn ended(&mut self, pid: i32) -> bool {
        let before = self.0.len();
        self.0.retain(|aside| aside.child.pid != pid);
        self.0.len() < before
    }

    /// Their ends can be waited for.
    pub(crate) fn children(&self) -> impl Iterator<Item = &Child> {
        self.0.iter().map(|aside| &aside.child)
    }
}
