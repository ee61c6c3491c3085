//! Requests for clients of the API, by the key or uid that each presents.

use crate::port::Reply;
use crate::state::RouterState;
use ipc_proto::api::{Caller, Holder};
use ipc_proto::ids::TurnId;
use ipc_proto::router::{Accepted, Followed, NamedEvent, QueueInfo, Steer, Steering, Submission};
use ipc_proto::{List, Name};

/// A request for clients of the API, by the key or uid that each presents, with the port for its answer.
pub(crate) enum ApiRequest {
    Holder { caller: Caller, reply: Reply<Holder> },
    Submit { caller: Caller, submission: Box<Submission>, reply: Reply<Accepted> },
    Steer { caller: Caller, steer: Box<Steer>, reply: Reply<Steering> },
    Follow { caller: Caller, turn: TurnId, from: u64, credit: u16, reply: Reply<Followed> },
    BlockedOn { caller: Caller, turn: TurnId, reply: Reply<List<Name, 8>> },
    Queue { caller: Caller, reply: Reply<QueueInfo> },
    VisibleEvents { caller: Caller, events: List<NamedEvent, 256>, reply: Reply<List<NamedEvent, 256>> },
}

impl RouterState {
    /// Handles one of them.
    pub(crate) fn api_request(&mut self, request: ApiRequest) {
        match request {
            ApiRequest::Holder { caller, reply } => drop(reply.send(self.holder(caller))),
            ApiRequest::Submit { caller, submission, reply } => self.api_submit(caller, *submission, reply),
            ApiRequest::Steer { caller, steer, reply } => drop(reply.send(self.api_steer(caller, *steer))),
            ApiRequest::Follow { caller, turn, from, credit, reply } => {
                self.api_follow(caller, turn, (from, credit), reply)
            }
            ApiRequest::BlockedOn { caller, turn, reply } => {
                drop(reply.send(self.api_blocked_on(caller, turn)))
            }
            ApiRequest::Queue { caller, reply } => drop(reply.send(self.api_queue(caller))),
            ApiRequest::VisibleEvents { caller, events, reply } => {
                drop(reply.send(self.api_events(caller, events)))
            }
        }
    }
}
