//! Plumbing: a pair for every edge of the table, each end handed to its process. One code path serves the first
//! start and every restart.

use crate::host::Host;
use confine::passing;
use manifest::Process as Name;
use manifest::command::{Frame, Kind, Role};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// Hands `name`, which has just been started, an end to every running process it has an edge with.
pub(crate) fn plumb(host: &Host, name: Name) -> io::Result<()> {
    let others: Vec<Name> = host.running().filter(|other| *other != name).collect();
    for other in others {
        if manifest::edge(name, other) {
            join(host, name, other)?;
        }
        if manifest::edge(other, name) {
            join(host, other, name)?;
        }
    }
    Ok(())
}

/// Makes one edge.
fn join(host: &Host, caller: Name, callee: Name) -> io::Result<()> {
    let (theirs, ours) = passing::stream_pair()?;
    for end in [&theirs, &ours] {
        passing::refuse_descriptors(end.as_fd());
    }
    let channel =
        if manifest::carries_descriptors(caller, callee) { Some(descriptor_channel()?) } else { None };
    let (client_channel, server_channel) = channel.unzip();
    give(host, caller, callee, Role::Client, &theirs, client_channel.as_ref());
    give(host, callee, caller, Role::Server, &ours, server_channel.as_ref());
    Ok(())
}

fn descriptor_channel() -> io::Result<(OwnedFd, OwnedFd)> {
    let pair = passing::frame_pair()?;
    passing::set_nonblocking(pair.0.as_fd())?;
    passing::set_nonblocking(pair.1.as_fd())?;
    Ok(pair)
}

fn give(host: &Host, to: Name, peer: Name, role: Role, end: &OwnedFd, channel: Option<&OwnedFd>) {
    let generation = host.process(peer).map_or(0, |peer| peer.generation);
    let frame = Frame { role, generation, ..Frame::new(Kind::Edge, peer) };
    let ends: Vec<BorrowedFd<'_>> = std::iter::once(end).chain(channel).map(AsFd::as_fd).collect();
    if let Some(process) = host.process(to) {
        process.tell(frame, &ends);
    }
}
