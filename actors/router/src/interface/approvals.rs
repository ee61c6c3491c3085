//! Requests of persons about approvals and grants.

use crate::port::Reply;
use crate::state::RouterState;
use crate::state::requests::AnswerRequest;
use ipc_proto::approval::{ApprovalInfo, ApprovalView, Grant};
use ipc_proto::ids::{ApprovalId, CallId, UserId};
use ipc_proto::router::Released;
use ipc_proto::{List, Name};

/// A request of persons about approvals and grants, with the port for its answer.
pub(crate) enum ApprovalRequest {
    List { user: Option<UserId>, all: bool, reply: Reply<List<ApprovalInfo, 256>> },
    Show { user: Option<UserId>, id: ApprovalId, reply: Reply<ApprovalView> },
    Answer(Box<AnswerRequest>),
    Grants { user: Option<UserId>, reply: Reply<List<Grant, 256>> },
    RevokeGrant { user: Option<UserId>, by: Name, id: ApprovalId, reply: Reply<()> },
    Call { user: Option<UserId>, id: CallId, reply: Reply<Released> },
}

impl RouterState {
    /// Handles one of them.
    pub(crate) fn approval_request(&mut self, request: ApprovalRequest) {
        match request {
            ApprovalRequest::List { user, all, reply } => drop(reply.send(self.approvals(user, all))),
            ApprovalRequest::Show { user, id, reply } => drop(reply.send(self.approval(user, id))),
            ApprovalRequest::Answer(request) => self.answer(*request),
            ApprovalRequest::Grants { user, reply } => drop(reply.send(self.grants(user))),
            ApprovalRequest::RevokeGrant { user, by, id, reply } => self.revoke(user, &by, id, reply),
            ApprovalRequest::Call { user, id, reply } => drop(reply.send(self.call(user, id))),
        }
    }
}
