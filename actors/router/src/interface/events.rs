//! Requests for named events.

use crate::port::Port;
use crate::state::RouterState;
use ipc_proto::List;
use ipc_proto::router::NamedEvent;

/// A request for named events, with the port for its answer.
pub(crate) enum EventRequest {
    After { after: u64, reply: Port<List<NamedEvent, 256>> },
    Wait { after: u64, reply: Port<List<NamedEvent, 256>> },
}

impl RouterState {
    /// Handles one of them.
    pub(crate) fn event_request(&mut self, request: EventRequest) {
        match request {
            EventRequest::After { after, reply } => drop(reply.send(self.events.after(after))),
            EventRequest::Wait { after, reply } => self.watch(after, reply),
        }
    }
}
