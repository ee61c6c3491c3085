//! Sessions, messages and workspaces: listed, shown and ended. A request with a user sees and ends that user's own; one without a user,
//! all. Listings need no peer.

use crate::events::About;
use crate::history::Fit;
use crate::port::Reply;
use crate::state::RouterState;
use crate::state::effects::{Effect, PendingRequest, Recorded};
use crate::store::{Scope, Session};
use crate::transcript::TranscriptFor;
use ipc_proto::audit::{Action, Event, Result3};
use ipc_proto::config;
use ipc_proto::ids::{MessageId, UserId, WorkspaceId};
use ipc_proto::router::{
    AgentInfo, EventName, MessageInfo, Passed, RouterError, SessionInfo, SessionName, SessionView,
    WorkspaceInfo,
};
use ipc_proto::{List, Name, Text};

/// Rows in one listing.
const ROWS: u32 = 256;
/// Bytes of text in one transcript.
const TRANSCRIPT: usize = 8 * 1024 * 1024;
/// Messages in one transcript.
const TRANSCRIPT_MESSAGES: usize = 1024;

impl RouterState {
    /// Sessions, last used first.
    pub(crate) fn sessions(&self, user: Option<UserId>) -> Result<List<SessionInfo, 256>, RouterError> {
        let sessions = self.store.sessions(user, ROWS)?;
        Ok(List::clip(sessions.into_iter().map(Session::info)))
    }

    /// One session with its transcript.
    pub(crate) fn session(&self, user: Option<UserId>, name: &str) -> Result<SessionView, RouterError> {
        let session = self.find_session(user, name)?;
        let fit = Fit::new(TRANSCRIPT, TRANSCRIPT_MESSAGES);
        let transcript = self.transcript(session.id, i64::MAX, TranscriptFor::Person, fit)?;
        Ok(SessionView { info: session.info(), transcript: List::clip(transcript) })
    }

    /// Ends a session: what waits in it and what runs is cancelled.
    pub(crate) fn end_session(&mut self, user: Option<UserId>, name: &SessionName, port: Reply<()>) {
        let session = match self.find_session(user, name) {
            Ok(session) if session.ended => return drop(port.send(Ok(()))),
            Ok(session) => session,
            Err(refusal) => return drop(port.send(Err(refusal))),
        };
        let mut event = Event::new(Action::SessionEnded, Result3::Success).about(&session.user_name);
        event.session = Some(session.id);
        event.label = Some(session.label.clone());
        self.record(event, Recorded::Request(PendingRequest::SessionEnded(Box::new(session), port)));
    }

    /// Ends a session whose end is on the record.
    pub(crate) fn close_session(&mut self, session: &Session) -> Result<(), RouterError> {
        // Another request may have ended it while the record was under way.
        if !self.store.session(session.id)?.ended {
            self.store.commit(|tx| {
                tx.resume(Scope::Session(session.id))?;
                tx.forget_engine_state(session.id)?;
                tx.close_session(session.id, self.now.ms)
            })?;
            kit::fault_point!("router.session.ended");
            let about = About {
                session: Some(session.id),
                subject: Some(&session.user_name),
                detail: Some("user_ended"),
                ..About::default()
            };
            self.publish(EventName::SessionEnded, &about);
        }
        for seq in self.live_where(|live| live.head.session == session.id) {
            self.cancel_live(seq, "its session was ended");
        }
        Ok(self.close_if_unused(session.workspace)?)
    }

    /// Messages, newest first; with `dead` the dead letters alone.
    pub(crate) fn messages(
        &self,
        user: Option<UserId>,
        limit: u16,
        dead: bool,
    ) -> Result<List<MessageInfo, 256>, RouterError> {
        Ok(List::clip(self.store.messages(user, u32::from(limit).clamp(1, ROWS), dead, self.now.ms)?))
    }

    /// Every state a message went through.
    pub(crate) fn trace(
        &self,
        user: Option<UserId>,
        id: MessageId,
    ) -> Result<List<Passed, 128>, RouterError> {
        Ok(List::clip(self.store.trace(self.find_message(user, id)?.seq)?))
    }

    /// The agents, as configured.
    pub(crate) fn agents(&self) -> List<AgentInfo, 64> {
        List::clip(self.config.agents.iter().map(|(name, agent)| agent_info(name, agent)))
    }

    /// Workspaces, last used first.
    pub(crate) fn workspaces(&self, user: Option<UserId>) -> Result<List<WorkspaceInfo, 256>, RouterError> {
        Ok(List::clip(self.store.workspaces(user)?))
    }

    /// Forgets a workspace in which no session works any more.
    pub(crate) fn remove_workspace(&mut self, user: Option<UserId>, id: WorkspaceId, port: Reply<()>) {
        match self.can_remove(user, id) {
            Ok(true) => {
                let event = Event::new(Action::WorkspaceRemoved, Result3::Success).about(&id.to_string());
                self.record(event, Recorded::Request(PendingRequest::WorkspaceRemoved { user, id, port }));
            }
            Ok(false) => drop(port.send(Ok(()))),
            Err(refusal) => drop(port.send(Err(refusal))),
        }
    }

    /// Returns true if there is something to forget. A workspace that is forgotten already is no error.
    fn can_remove(&self, user: Option<UserId>, id: WorkspaceId) -> Result<bool, RouterError> {
        match self.store.workspace(id)? {
            Some(workspace) if user.is_none_or(|user| user == workspace.user) => {
                if self.store.workspace_in_use(id)? { Err(RouterError::InUse) } else { Ok(!workspace.gone) }
            }
            _ => Err(RouterError::NoWorkspace),
        }
    }

    /// Forgets a workspace whose removal is on the record.
    pub(crate) fn forget_workspace(
        &mut self,
        user: Option<UserId>,
        id: WorkspaceId,
    ) -> Result<(), RouterError> {
        if self.can_remove(user, id)? {
            self.store.commit(|tx| tx.forget_workspace(id, self.now.ms))?;
            self.effects.push(Effect::RemoveWorkspace(id));
        }
        Ok(())
    }
}

fn agent_info(name: &str, agent: &config::Agent) -> AgentInfo {
    let limits = agent.limits;
    AgentInfo {
        name: Name::clip(name),
        model: Text::clip(&agent.model),
        profile: Name::clip(&agent.profile),
        engine: agent.engine.as_ref().map_or_else(|| Name::clip("native"), |engine| engine.name.clone()),
        tools: List::clip(agent.tools.iter().map(|tool| Name::clip(tool))),
        limits: (
            limits.tool_calls,
            limits.tool_failures,
            limits.seconds,
            limits.cpu_seconds,
            limits.output_tokens,
            limits.model_calls_per_hour,
            limits.same_call,
        ),
    }
}
