//! The sockets of a runner: its edge to the gate, and the one over which it passes agentd the listener of its filter. They are
//! the same for every runner and can be made ahead of need.
//!
//! agentd sends nothing over them but a recording debug build's first frame.

use crate::jails::Jails;
use crate::runner_fault::RunnerFault;
use crate::seccomp_listener::SeccompListener;
use confine::passing;
use manifest::Row;
use manifest::command::{Frame, Kind};
use std::os::fd::{AsFd, OwnedFd};

/// The sockets of one runner.
#[derive(Debug)]
pub(crate) struct Sockets {
    /// Its end and the gate's.
    pub(crate) edge: (OwnedFd, OwnedFd),
    /// Its end of the socket over which it passes its listener, and agentd's.
    pub(crate) notices: (OwnedFd, OwnedFd),
}

impl Sockets {
    pub(crate) fn make() -> Result<Self, RunnerFault> {
        Ok(Self { edge: edge()?, notices: frames()? })
    }
}

/// The socket of a runner: its end, the gate's end.
pub(crate) fn edge() -> Result<(OwnedFd, OwnedFd), RunnerFault> {
    passing::stream_pair().map_err(RunnerFault::Socket)
}

/// The socket over which a runner passes its listener to agentd: its end, and agentd's with the listener to come.
pub(crate) fn notices(jails: &Jails, row: &'static Row) -> Result<(OwnedFd, SeccompListener), RunnerFault> {
    let (theirs, ours) = frames()?;
    Ok((theirs, listener(jails, row, ours)?))
}

fn frames() -> Result<(OwnedFd, OwnedFd), RunnerFault> {
    let (theirs, ours) = passing::frame_pair().map_err(RunnerFault::Socket)?;
    passing::set_nonblocking(ours.as_fd()).map_err(RunnerFault::Socket)?;
    passing::refuse_descriptors(theirs.as_fd());
    Ok((theirs, ours))
}

/// The listener to come of a runner of this row, over agentd's end of that socket.
pub(crate) fn listener(
    jails: &Jails,
    row: &'static Row,
    ours: OwnedFd,
) -> Result<SeccompListener, RunnerFault> {
    if jails.records {
        let start = Frame::new(Kind::Start, row.process).with(&[jails.mode as u64, 0, 1]);
        passing::send_plain(ours.as_fd(), &start.encode()).map_err(RunnerFault::Socket)?;
    }
    Ok(SeccompListener::of_runner(ours, row))
}
