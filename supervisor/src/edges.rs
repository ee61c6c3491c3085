//! The edges between processes: a socket pair for every edge of the table, each end passed to its process. The first start and
//! every restart use the same code.

use crate::processes::Processes;
use confine::passing;
use manifest::Process as Name;
use manifest::command::{Frame, Kind, Role};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// Passes `name`, which was just started, an end to every running process that it has an edge with.
pub(crate) fn connect(processes: &Processes, name: Name) -> io::Result<()> {
    for other in processes.running().into_iter().filter(|other| *other != name) {
        if manifest::edge(name, other) {
            join(processes, name, other)?;
        }
        if manifest::edge(other, name) {
            join(processes, other, name)?;
        }
    }
    Ok(())
}

/// Makes one edge.
fn join(processes: &Processes, caller: Name, callee: Name) -> io::Result<()> {
    let (theirs, ours) = passing::stream_pair()?;
    let channel =
        if manifest::carries_descriptors(caller, callee) { Some(descriptor_channel()?) } else { None };
    let (client_channel, server_channel) = channel.unzip();
    give(processes, caller, callee, Role::Client, &theirs, client_channel.as_ref());
    give(processes, callee, caller, Role::Server, &ours, server_channel.as_ref());
    Ok(())
}

fn descriptor_channel() -> io::Result<(OwnedFd, OwnedFd)> {
    let pair = passing::frame_pair()?;
    passing::set_nonblocking(pair.0.as_fd())?;
    passing::set_nonblocking(pair.1.as_fd())?;
    Ok(pair)
}

fn give(processes: &Processes, to: Name, peer: Name, role: Role, end: &OwnedFd, channel: Option<&OwnedFd>) {
    let generation = processes.get(peer).map_or(0, |peer| peer.generation);
    let frame = Frame { role, generation, ..Frame::new(Kind::Edge, peer) };
    let ends: Vec<BorrowedFd<'_>> = std::iter::once(end).chain(channel).map(AsFd::as_fd).collect();
    processes.send(to, frame, &ends);
}
