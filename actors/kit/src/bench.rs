//! An edge and a link without agentd, for `make bench` alone: the same code over a socket that the bench made.
//!
//! No actor may use it: an edge made here believes who its maker says the caller is.

use crate::counters::Counters;
use crate::edge::Edge;
use crate::link::{Link, Links};
use crate::stubs::Stub;
use ipc_proto::config::{Log, LogFormat};
use manifest::Process;
use tokio::net::UnixStream;

/// Logs as an actor does, which decides what the bus's own tracing costs.
pub fn log() {
    crate::log::begin(&Log { format: LogFormat::Text, level: "info".to_owned() });
}

/// The serving end of an edge from `caller` to `me`.
#[must_use]
pub fn edge(stream: UnixStream, me: Process, caller: Process) -> Edge {
    Edge { me, caller, turn: None, stream, channel: None, counters: Counters::new() }
}

/// A link from `me` over `stream`; to be made in a `LocalSet`.
#[must_use]
pub fn link<C: Stub>(stream: UnixStream, me: Process) -> Link<C> {
    let links = Links::new(me);
    links.plumb(C::CALLEE, 1, stream, None);
    links.link()
}
