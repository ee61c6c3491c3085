//! The sessions that an editor has open: each is a session of the host, and works in the directory that the editor named.

use super::connection::Connection;
use super::{option, update};
use crate::app::App;
use crate::attach::{self, Attached};
use crate::commands::agents;
use crate::failure::Failure;
use crate::text;
use agent_client_protocol_schema::v1::{
    CloseSessionRequest, CloseSessionResponse, Error, ListSessionsRequest, ListSessionsResponse,
    LoadSessionResponse, McpServer, NewSessionRequest, NewSessionResponse, ResumeSessionResponse,
    SessionConfigOption, SessionId, SessionInfo, SetSessionConfigOptionRequest,
    SetSessionConfigOptionResponse,
};
use ipc_proto::control::{ControlError, method};
use ipc_proto::ids::WorkspaceId;
use ipc_proto::router::{AgentInfo, RouterError, SessionName, SessionView};
use ipc_proto::{Name, Text};
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use tokio_util::sync::CancellationToken;

/// Sessions that an editor may have open.
const SESSIONS: usize = 16;

/// An open session.
pub(super) struct Open {
    pub(super) id: SessionId,
    pub(super) name: SessionName,
    /// Its directory, as the editor names it.
    pub(super) cwd: PathBuf,
    pub(super) attached: Attached,
    /// The chosen agent; the host's default without one.
    pub(super) agent: RefCell<Option<Name>>,
    /// It has a message, so its agent is fixed.
    pub(super) begun: Cell<bool>,
    /// Cancels the turn under way.
    turn: RefCell<Option<CancellationToken>>,
}

/// A turn of a session. The session is free again when this is dropped.
pub(super) struct Running {
    pub(super) open: Rc<Open>,
    pub(super) cancelled: CancellationToken,
}

impl Drop for Running {
    fn drop(&mut self) {
        self.open.turn.borrow_mut().take();
    }
}

/// The place of a session that is being opened.
struct Opening<'a>(&'a Cell<usize>);

impl Drop for Opening<'_> {
    fn drop(&mut self) {
        self.0.set(self.0.get().saturating_sub(1));
    }
}

/// The open sessions, and what they share.
pub(super) struct Sessions<'a> {
    app: &'a App,
    connection: &'a Connection,
    /// The agent of new sessions.
    agent: Option<Name>,
    /// The editor's MCP servers are left out rather than refused.
    ignores_servers: bool,
    open: RefCell<HashMap<SessionId, Rc<Open>>>,
    opening: Cell<usize>,
    agents: RefCell<Vec<AgentInfo>>,
}

impl<'a> Sessions<'a> {
    pub(super) fn new(
        app: &'a App,
        connection: &'a Connection,
        (agent, ignores_servers): (Option<Name>, bool),
    ) -> Self {
        let (open, opening, agents) = (RefCell::default(), Cell::new(0), RefCell::default());
        Self { app, connection, agent, ignores_servers, open, opening, agents }
    }

    /// Begins the turn of a session that has none under way.
    ///
    /// # Errors
    /// No such session, or a turn is under way.
    pub(super) fn begin(&self, id: &SessionId) -> Result<Running, Error> {
        let open = self.find(id)?;
        let mut turn = open.turn.borrow_mut();
        if turn.is_some() {
            return Err(refused("a turn is under way in this session; cancel it, or wait for its end"));
        }
        let cancelled = CancellationToken::new();
        *turn = Some(cancelled.clone());
        drop(turn);
        Ok(Running { open, cancelled })
    }

    /// Cancels the turn under way, if there is one.
    pub(super) fn cancel(&self, id: &SessionId) {
        if let Some(open) = self.open.borrow().get(id)
            && let Some(turn) = open.turn.borrow().as_ref()
        {
            turn.cancel();
        }
    }

    /// Opens a new session. The host has it from its first message on.
    pub(super) async fn create(&self, request: NewSessionRequest) -> Result<NewSessionResponse, Error> {
        let _place = self.place()?;
        let name = Text::clip(&format!("editor-{}", uuid::Uuid::new_v4()));
        let wanted = Wanted::new(request.cwd, &request.additional_directories, &request.mcp_servers);
        let attached = self.enter(&wanted).await?;
        let open = self.keep(name, wanted.cwd, attached, self.agent.clone());
        Ok(NewSessionResponse::new(open.id.clone()).config_options(self.options(&open)))
    }

    /// Opens a session of the host, and has the editor show its past.
    pub(super) async fn load(&self, id: SessionId, wanted: Wanted) -> Result<LoadSessionResponse, Error> {
        let (open, view) = self.reopen(id, wanted).await?;
        for update in view.transcript.iter().flat_map(update::replayed) {
            self.connection.update(&open.id, update).await.map_err(Error::into_internal_error)?;
        }
        Ok(LoadSessionResponse::new().config_options(self.options(&open)))
    }

    /// Opens a session of the host.
    pub(super) async fn resume(&self, id: SessionId, wanted: Wanted) -> Result<ResumeSessionResponse, Error> {
        let (open, _) = self.reopen(id, wanted).await?;
        Ok(ResumeSessionResponse::new().config_options(self.options(&open)))
    }

    /// The caller's sessions in one directory, or in all that the editor has open and the one that it was started in.
    pub(super) async fn list(&self, request: ListSessionsRequest) -> Result<ListSessionsResponse, Error> {
        let mut known: HashMap<WorkspaceId, PathBuf> = HashMap::new();
        if let Some(cwd) = request.cwd {
            known.insert(self.attach(&cwd).await?.id, cwd);
        } else {
            let open: Vec<_> = self.open.borrow().values().cloned().collect();
            known.extend(open.iter().map(|open| (open.attached.id, open.cwd.clone())));
            if let Ok(cwd) = std::env::current_dir()
                && let Ok(attached) = self.attach(&cwd).await
            {
                known.insert(attached.id, cwd);
            }
        }
        let me = self.me().await?;
        let all = self
            .app
            .link
            .ask(&method::sessions, async |c, cx| c.sessions(cx).await)
            .await
            .map_err(refusal)?;
        let own = all.iter().filter(|session| session.user == me && session.status.as_str() == "active");
        let listed = own.filter_map(|session| {
            let info = SessionInfo::new(session.name.to_string(), known.get(&session.workspace)?.clone());
            Some(
                info.updated_at(text::utc(session.used_ms).replace(' ', "T")).title(session.name.to_string()),
            )
        });
        Ok(ListSessionsResponse::new(listed.collect()))
    }

    /// Closes a session and cancels its turn; the host keeps it.
    pub(super) fn close(&self, request: &CloseSessionRequest) -> Result<CloseSessionResponse, Error> {
        self.find(&request.session_id)?;
        self.cancel(&request.session_id);
        self.open.borrow_mut().remove(&request.session_id);
        Ok(CloseSessionResponse::new())
    }

    /// Sets an option.
    pub(super) fn set(
        &self,
        request: &SetSessionConfigOptionRequest,
    ) -> Result<SetSessionConfigOptionResponse, Error> {
        let open = self.find(&request.session_id)?;
        let value = request.value.as_value_id().map(|value| &*value.0).unwrap_or_default();
        let agents = self.agents.borrow();
        let chosen = option::choose(&agents, open.agent.borrow().as_ref(), (&request.config_id.0, value));
        let Some(chosen) = chosen else {
            return Err(wrong("there is no such option, or no such value of it"));
        };
        let same =
            option::current(&agents, open.agent.borrow().as_ref()).is_some_and(|it| it.name == chosen.name);
        if open.begun.get() && !same {
            return Err(wrong("a session keeps the agent that it began with; begin a new session"));
        }
        *open.agent.borrow_mut() = Some(chosen.name.clone());
        drop(agents);
        Ok(SetSessionConfigOptionResponse::new(self.options(&open)))
    }

    fn find(&self, id: &SessionId) -> Result<Rc<Open>, Error> {
        let open = self.open.borrow().get(id).cloned();
        open.ok_or_else(|| unknown("no such session is open; create, load or resume it first"))
    }

    /// A place for one more session.
    fn place(&self) -> Result<Opening<'_>, Error> {
        if self.open.borrow().len().saturating_add(self.opening.get()) >= SESSIONS {
            return Err(refused(&format!("{SESSIONS} sessions are open, as many as may be; close one")));
        }
        self.opening.set(self.opening.get().saturating_add(1));
        Ok(Opening(&self.opening))
    }

    async fn reopen(&self, id: SessionId, wanted: Wanted) -> Result<(Rc<Open>, SessionView), Error> {
        let again = self.open.borrow().get(&id).cloned();
        if again.as_ref().is_some_and(|open| open.turn.borrow().is_some()) {
            return Err(refused("a turn is under way in this session"));
        }
        let _place = if again.is_none() { Some(self.place()?) } else { None };
        let name: SessionName = Text::new(&*id.0).map_err(|_| unknown("no such session"))?;
        let attached = self.enter(&wanted).await?;
        let asked =
            self.app.link.ask(&method::session, async |c, cx| c.session(cx, name.clone()).await).await;
        let view = asked.map_err(refusal)?;
        if view.info.user != self.me().await? {
            return Err(unknown("no such session of yours"));
        }
        if view.info.status.as_str() != "active" {
            return Err(unknown("this session has ended; begin a new one"));
        }
        if view.info.workspace != attached.id {
            return Err(wrong("this session works in another directory than `cwd`"));
        }
        let open = self.keep(name, wanted.cwd, attached, Some(view.info.agent.clone()));
        open.begun.set(true);
        Ok((open, view))
    }

    fn keep(&self, name: SessionName, cwd: PathBuf, attached: Attached, agent: Option<Name>) -> Rc<Open> {
        let id = SessionId::new(name.to_string());
        let (agent, begun, turn) = (RefCell::new(agent), Cell::new(false), RefCell::default());
        let open = Rc::new(Open { id: id.clone(), name, cwd, attached, agent, begun, turn });
        self.open.borrow_mut().insert(id, open.clone());
        open
    }

    /// Attaches the directory, and learns the agents for the options.
    async fn enter(&self, wanted: &Wanted) -> Result<Attached, Error> {
        if let Some(refusal) = &wanted.refused {
            return Err(wrong(refusal));
        }
        if let Some(servers) = wanted.servers.as_ref().filter(|_| !self.ignores_servers) {
            return Err(wrong(&format!(
                "the editor's own MCP servers ({servers}) are not started for an agent: their programs would run outside \
                 of its jail. Add each to the host by `agentctl mcp add NAME -- ...`, and take them out of the editor or \
                 start `agentctl acp --ignore-servers`"
            )));
        }
        let attached = self.attach(&wanted.cwd).await?;
        // A guest may not list them, and then has no options.
        if let Ok(agents) = agents::all(self.app).await {
            *self.agents.borrow_mut() = agents;
        }
        Ok(attached)
    }

    async fn attach(&self, cwd: &Path) -> Result<Attached, Error> {
        if !cwd.is_absolute() {
            return Err(wrong("`cwd` is a whole path, from the root"));
        }
        let id = attach::attach(self.app, cwd).await.map_err(refusal)?;
        Ok(Attached { id, label: None })
    }

    fn options(&self, open: &Open) -> Vec<SessionConfigOption> {
        option::options(&self.agents.borrow(), open.agent.borrow().as_ref(), open.begun.get())
    }

    async fn me(&self) -> Result<Name, Error> {
        let person = self.app.link.ask(&method::whoami, async |c, cx| c.whoami(cx).await).await;
        person.map(|person| person.name).map_err(refusal)
    }
}

/// The wishes of the editor for a session that it opens.
pub(super) struct Wanted {
    cwd: PathBuf,
    /// The reason for which it is refused.
    refused: Option<String>,
    /// The names of the MCP servers that it would have started.
    servers: Option<String>,
}

impl Wanted {
    pub(super) fn new(cwd: PathBuf, others: &[PathBuf], servers: &[McpServer]) -> Self {
        let refused = (!others.is_empty()).then(|| "a session works in one directory, `cwd`".to_owned());
        let names: Vec<&str> = servers.iter().map(named).collect();
        let servers = (!names.is_empty()).then(|| names.join(", "));
        Self { cwd, refused, servers }
    }
}

fn named(server: &McpServer) -> &str {
    match server {
        McpServer::Http(server) => &server.name,
        McpServer::Sse(server) => &server.name,
        McpServer::Stdio(server) => &server.name,
        _ => "of an unknown kind",
    }
}

/// The error of a failure, with its sentence.
pub(super) fn refusal(failure: Failure) -> Error {
    let message = failure.to_string();
    match failure {
        Failure::Control(ControlError::Router(RouterError::NoSession(_))) => unknown(&message),
        Failure::Control(_) | Failure::Turn { .. } => refused(&message),
        Failure::NotADirectory(_)
        | Failure::NotYours(_)
        | Failure::HostsOwn(_)
        | Failure::File { .. }
        | Failure::TooLong { .. }
        | Failure::NoAgent { .. } => wrong(&message),
        _ => Error::new(Error::internal_error().code.into(), message),
    }
}

/// The request is not possible now.
pub(super) fn refused(why: &str) -> Error {
    Error::new(Error::invalid_request().code.into(), why)
}

/// A field has a value that it cannot have.
pub(super) fn wrong(why: &str) -> Error {
    Error::new(Error::invalid_params().code.into(), why)
}

/// There is no such session.
fn unknown(why: &str) -> Error {
    Error::new(Error::resource_not_found(None).code.into(), why)
}
