//! The other process of a measurement between two: this program again, with one end of a socket pair as its
//! standard input.

use crate::{call, floors, record};
use nix::sched::{CpuSet, sched_getaffinity, sched_setaffinity};
use nix::unistd::Pid;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::process::{Child, Command};
use std::sync::OnceLock;
use std::time::Duration;

/// The task of the other process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// Sends back what it is sent.
    Echo,
    /// Serves an edge.
    Edge,
    /// Keeps the record.
    Record,
}

/// The other process; it ends with the value.
pub(crate) struct Peer(Child);

impl Drop for Peer {
    fn drop(&mut self) {
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

impl Role {
    const ALL: [Self; 3] = [Self::Echo, Self::Edge, Self::Record];

    const fn word(self) -> &'static str {
        match self {
            Self::Echo => "serve-echo",
            Self::Edge => "serve-edge",
            Self::Record => "serve-record",
        }
    }

    /// The role that this word of the command line stands for.
    pub(crate) fn of(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|role| role.word() == word)
    }
}

/// Starts the other process and gives this end of the pair.
pub(crate) fn start(role: Role) -> io::Result<(UnixStream, Peer)> {
    let (ours, theirs) = UnixStream::pair()?;
    let peer =
        Command::new(std::env::current_exe()?).arg(role.word()).stdin(OwnedFd::from(theirs)).spawn()?;
    Ok((ours, Peer(peer)))
}

/// Is the other process.
pub(crate) fn play(role: Role) -> io::Result<()> {
    let stream = UnixStream::from(io::stdin().as_fd().try_clone_to_owned()?);
    match role {
        Role::Echo => floors::echo(stream),
        Role::Edge => call::serve(stream),
        Role::Record => record::serve(stream),
    }
}

/// The cores that the processes of a measurement may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cores {
    /// One, shared by all of them: what is measured is work, not how far apart the scheduler puts them.
    One,
    /// Those that this program was given.
    All,
}

/// Gives these cores to this process and its peers.
pub(crate) fn place(peers: &[&Peer], cores: Cores) -> io::Result<()> {
    let own = GIVEN.get_or_init(|| sched_getaffinity(Pid::this()).unwrap_or_default());
    let mut set = *own;
    if cores == Cores::One {
        let last = (0..CpuSet::count()).rev().find(|core| own.is_set(*core).unwrap_or(false)).unwrap_or(0);
        set = CpuSet::new();
        set.set(last)?;
    }
    let peers = peers.iter().filter_map(|peer| i32::try_from(peer.0.id()).ok()).map(Pid::from_raw);
    for pid in peers.chain([Pid::this()]) {
        sched_setaffinity(pid, &set)?;
    }
    Ok(())
}

/// The cores that this program was given.
static GIVEN: OnceLock<CpuSet> = OnceLock::new();

/// How many a second that makes.
pub(crate) fn per_second(calls: usize, took: Duration) -> f64 {
    f64::from(u32::try_from(calls).unwrap_or(u32::MAX)) / took.as_secs_f64()
}
