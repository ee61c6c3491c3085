//! The other process of a measurement between two: this program again, with one end of a socket pair as its
//! standard input.

use crate::{call, floors};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::process::{Child, Command};
use std::time::Duration;

/// What the other process does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// Sends back what it is sent.
    Echo,
    /// Serves an edge.
    Edge,
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
    const ALL: [Self; 2] = [Self::Echo, Self::Edge];

    const fn word(self) -> &'static str {
        match self {
            Self::Echo => "serve-echo",
            Self::Edge => "serve-edge",
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
    }
}

/// How many a second that makes.
pub(crate) fn per_second(calls: usize, took: Duration) -> f64 {
    f64::from(u32::try_from(calls).unwrap_or(u32::MAX)) / took.as_secs_f64()
}
