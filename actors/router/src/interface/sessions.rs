//! Requests of persons about sessions, workspaces and agents.

use crate::port::{Port, Reply};
use crate::state::RouterState;
use ipc_proto::List;
use ipc_proto::ids::{UserId, WorkspaceId};
use ipc_proto::router::{AgentInfo, SessionInfo, SessionName, SessionView, WorkspaceInfo};

/// A request of persons about sessions, workspaces and agents, with the port for its answer.
pub(crate) enum SessionRequest {
    List { user: Option<UserId>, reply: Reply<List<SessionInfo, 256>> },
    Show { user: Option<UserId>, name: SessionName, reply: Reply<SessionView> },
    End { user: Option<UserId>, name: SessionName, reply: Reply<()> },
    Agents { reply: Port<List<AgentInfo, 64>> },
    Attach { user: UserId, workspace: WorkspaceId, reply: Reply<()> },
    Workspaces { user: Option<UserId>, reply: Reply<List<WorkspaceInfo, 256>> },
    RemoveWorkspace { user: Option<UserId>, id: WorkspaceId, reply: Reply<()> },
}

impl RouterState {
    /// Handles one of them.
    pub(crate) fn session_request(&mut self, request: SessionRequest) {
        match request {
            SessionRequest::List { user, reply } => drop(reply.send(self.sessions(user))),
            SessionRequest::Show { user, name, reply } => drop(reply.send(self.session(user, &name))),
            SessionRequest::End { user, name, reply } => self.end_session(user, &name, reply),
            SessionRequest::Agents { reply } => drop(reply.send(self.agents())),
            SessionRequest::Attach { user, workspace, reply } => {
                drop(reply.send(self.attach(user, workspace)))
            }
            SessionRequest::Workspaces { user, reply } => drop(reply.send(self.workspaces(user))),
            SessionRequest::RemoveWorkspace { user, id, reply } => self.remove_workspace(user, id, reply),
        }
    }
}
