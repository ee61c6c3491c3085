//! The end of a turn while it is under way.

use crate::port::Reply;
use ipc_proto::router::{End, Finished, RouterError};

/// Takes the answer to a request that ends a turn.
pub(crate) type EndPort = Reply<()>;

/// Called once an end is durable, or could not be made so for now.
pub(crate) type OnEnd = Box<dyn FnOnce(Result<(), RouterError>) + Send>;

/// Answers the caller that waits at this port.
pub(crate) fn reply_to(port: EndPort) -> OnEnd {
    Box::new(move |ended| drop(port.send(ended)))
}

/// An end that is under way.
pub(crate) struct PendingEnd {
    pub(crate) finished: Finished,
    /// Why, for the trace.
    pub(crate) note: String,
    /// True until it is durable. It is not put on the record before that, or a crash in between could lead to another end of the
    /// same turn.
    pub(crate) undecided: bool,
    /// True once it is on the record.
    pub(crate) recorded: bool,
    pub(crate) waiting: Vec<OnEnd>,
}

impl PendingEnd {
    /// Returns true if a stop with this note has decided it.
    pub(crate) fn is_stop(&self, note: &str) -> bool {
        self.finished.end == End::Cancelled && self.note == note
    }

    /// Adds a caller that waits for it.
    pub(crate) fn wait(&mut self, on_end: OnEnd) {
        self.waiting.push(on_end);
    }
}
