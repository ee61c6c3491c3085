//! The sockets of a runner: its edge to the gate, and the one over which it hands agentd the listener of its filter. They are
//! the same for all and can be made ahead of need.
//!
//! Nothing is to be sent over them here but what a recording debug build says first.

use crate::host::Host;
use crate::violations::Ear;
use crate::warm::WarmFault;
use confine::passing;
use manifest::Row;
use manifest::command::{Frame, Kind};
use std::os::fd::{AsFd, OwnedFd};

/// Those of one runner.
#[derive(Debug)]
pub(crate) struct Sockets {
    /// Its end and the gate's.
    pub(crate) edge: (OwnedFd, OwnedFd),
    /// Its end of the socket over which it hands over its listener, and agentd's.
    pub(crate) notices: (OwnedFd, OwnedFd),
}

impl Sockets {
    pub(crate) fn make() -> Result<Self, WarmFault> {
        Ok(Self { edge: edge()?, notices: frames()? })
    }
}

/// The socket of a runner: its end, the gate's end.
pub(crate) fn edge() -> Result<(OwnedFd, OwnedFd), WarmFault> {
    let (theirs, gate) = passing::stream_pair().map_err(WarmFault::Socket)?;
    for end in [&theirs, &gate] {
        passing::refuse_descriptors(end.as_fd());
    }
    Ok((theirs, gate))
}

/// The socket over which a runner hands its listener to agentd: its end, and agentd's ear.
pub(crate) fn notices(host: &Host, row: &'static Row) -> Result<(OwnedFd, Ear), WarmFault> {
    let (theirs, ours) = frames()?;
    Ok((theirs, ear(host, row, ours)?))
}

fn frames() -> Result<(OwnedFd, OwnedFd), WarmFault> {
    let (theirs, ours) = passing::frame_pair().map_err(WarmFault::Socket)?;
    passing::set_nonblocking(ours.as_fd()).map_err(WarmFault::Socket)?;
    passing::refuse_descriptors(theirs.as_fd());
    Ok((theirs, ours))
}

/// agentd's ear for a runner of this row, of its end of that socket.
pub(crate) fn ear(host: &Host, row: &'static Row, ours: OwnedFd) -> Result<Ear, WarmFault> {
    if host.records() {
        let start = Frame::new(Kind::Start, row.process).with(&[host.mode as u64, 0, 1]);
        passing::send_plain(ours.as_fd(), &start.encode()).map_err(WarmFault::Socket)?;
    }
    Ok(Ear::of_runner(ours, row))
}
