//! Requests of the scheduler about messages of jobs.

use crate::port::Reply;
use crate::state::RouterState;
use ipc_proto::Text;
use ipc_proto::ids::UserId;
use ipc_proto::router::{Accepted, Fire, Fired};

/// A request of the scheduler, with the port for its answer.
pub(crate) enum FireRequest {
    Check { fire: Box<Fire>, reply: Reply<()> },
    Fire { fire: Box<Fire>, reply: Reply<Accepted> },
    State { user: UserId, key: Text<256>, reply: Reply<Fired> },
}

impl RouterState {
    /// Handles one of them.
    pub(crate) fn fire_request(&mut self, request: FireRequest) {
        match request {
            FireRequest::Check { fire, reply } => drop(reply.send(self.check_fire(&fire))),
            FireRequest::Fire { fire, reply } => drop(reply.send(self.fire(&fire))),
            FireRequest::State { user, key, reply } => drop(reply.send(self.fired(user, &key))),
        }
    }
}
