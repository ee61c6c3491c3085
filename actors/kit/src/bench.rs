//! An edge and a link without agentd, for `make bench` alone: the same code over a socket that the bench made.
//!
//! No actor may use it: an edge made here takes the caller's name from its maker.

use crate::counters::Counters;
use crate::edge::Edge;
use crate::link::{Link, Links};
use crate::stubs::Stub;
use ipc_proto::config::{Log, LogFormat};
use manifest::Process;
use std::io;
use tokio::net::UnixStream;
use tokio::task::LocalSet;

/// Runs `task` as an actor's tasks run: in its runtime, with its log filter, beside its heartbeat. Each of the
/// three changes the cost of a call: without the heartbeat, every deadline is the next timer to expire.
///
/// # Errors
/// No event loop.
pub fn run<T: 'static>(task: impl Future<Output = T> + 'static) -> io::Result<T> {
    crate::log::begin(&Log { format: LogFormat::Text, level: "info".to_owned() });
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    LocalSet::new().block_on(&runtime, async {
        let task = tokio::task::spawn_local(task);
        let mut beat = tokio::time::interval(crate::run::BEAT);
        let beats = async {
            loop {
                beat.tick().await;
            }
        };
        tokio::select! {
            done = task => done.map_err(io::Error::other),
            () = beats => Err(io::ErrorKind::Interrupted.into()),
        }
    })
}

/// The serving end of an edge from `caller` to `me`.
#[must_use]
pub fn edge(stream: UnixStream, me: Process, caller: Process) -> Edge {
    Edge { me, caller, turn: None, stream, channel: None, counters: Counters::new(me) }
}

/// A link from `me` over `stream`; to be made by a task of [`run`].
#[must_use]
pub fn link<C: Stub>(stream: UnixStream, me: Process) -> Link<C> {
    let links = Links::new(me);
    links.plumb(C::CALLEE, 1, stream, None);
    links.link()
}
