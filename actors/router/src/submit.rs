//! Accepting a message: it is checked, given its session and workspace, and made durable in one change. Only then
//! is it acknowledged; a message that cannot be made durable is refused, and nothing of it stays.

use crate::desk::Desk;
use crate::events::About;
use crate::store::{Fresh, Head, Said, Session, Store, StoreFault, Workspace};
use ipc_proto::content::{IMAGES_BOUND, TEXT_BOUND};
use ipc_proto::ids::{KeyId, MessageId, SessionId, TurnId, UserId, WorkspaceId};
use ipc_proto::label::{Class, Label, Trust};
use ipc_proto::router::{Accepted, EventName, MessageState, RouterError, Submission, Task};
use ipc_proto::{Name, Text};
use std::collections::HashSet;

/// Jails with a loopback that one user may have under way: programs, those that wait included, and sessions that an engine
/// answers.
const RUNS: usize = 4;
/// The agent of a session that names none.
pub(crate) const DEFAULT_AGENT: &str = "default";
/// A turn's length before any has ended, ms: for the hint when to try again.
const USUAL_MS: u64 = 5000;
/// The longest hint, seconds.
const LONGEST_HINT: u64 = 60;

/// What has to be made besides the message.
enum Making {
    Nothing,
    Session(Box<Session>, Space),
}

/// Where a new session works.
enum Space {
    /// In a workspace that is there.
    There(Workspace),
    /// In one that was forgotten.
    Forgotten(Workspace),
    /// In a new one.
    New(Workspace),
}

impl Desk {
    /// Accepts a message.
    pub(crate) fn submit(&mut self, submission: &Submission) -> Result<Accepted, RouterError> {
        self.submit_with(submission, None, None)
    }

    /// Accepts a message that came with this key of the API, which pays for its turn, or that was said into a turn.
    pub(crate) fn submit_with(
        &mut self,
        submission: &Submission,
        key: Option<KeyId>,
        said: Option<Said>,
    ) -> Result<Accepted, RouterError> {
        let bytes = check(submission)?;
        let user = self.people.by_id(submission.user).ok_or(RouterError::NoUser)?;
        let (user, user_name) = (user.id, user.name.clone());
        if let Some(head) = self.store.message_keyed(user, &submission.channel, &submission.key)? {
            return Ok(self.accepted(&head));
        }
        let (session, making) = self.place(submission, user, user_name)?;
        let raise = raises(submission);
        self.may_show(submission, session, &making)?;
        self.room(session, user)?;
        self.may_run(user, session, &submission.task, &making)?;
        kit::fault_point!("router.submit.checked");
        let fresh = Fresh {
            id: MessageId::random(),
            turn: TurnId::random(),
            session,
            submission,
            key,
            bytes,
            now_ms: self.now.ms,
        };
        let seq = keep(&mut self.store, &fresh, (&making, said), &raise)?;
        kit::fault_point!("router.submit.committed");
        let head = Head {
            seq,
            id: fresh.id,
            turn: fresh.turn,
            session,
            user,
            channel: submission.channel.clone(),
            state: MessageState::Accepted,
            attempts: 0,
            failures: 0,
            losses: 0,
            accepted_ms: fresh.now_ms,
            bytes,
            key,
        };
        self.tell_of(&head, matches!(making, Making::Session(..)));
        self.take_in(head.clone());
        Ok(self.accepted(&head))
    }

    /// A message that was accepted, and how many wait before it.
    pub(crate) fn accepted(&self, head: &Head) -> Accepted {
        let waiting = u32::try_from(self.lanes.before(head.session, head.seq)).unwrap_or(u32::MAX);
        Accepted { message: head.id, turn: head.turn, session: head.session, waiting }
    }

    pub(crate) fn tell_of(&mut self, head: &Head, new_session: bool) {
        let about = About { session: Some(head.session), subject: Some(&head.channel), ..About::default() };
        if new_session {
            self.tell(EventName::SessionStarted, &about);
        }
        let about = About { turn: Some(head.turn), message: Some(head.id), ..about };
        self.tell(EventName::MessageReceived, &about);
    }

    /// Tells where a message has come to.
    pub(crate) fn tell_where(&mut self, head: &Head, name: EventName, detail: Option<&str>) {
        let about = About {
            session: Some(head.session),
            turn: Some(head.turn),
            message: Some(head.id),
            subject: Some(&head.channel),
            detail,
        };
        self.tell(name, &about);
    }

    /// The session a message belongs to, and what has to be made for it.
    fn place(
        &self,
        submission: &Submission,
        user: UserId,
        user_name: Name,
    ) -> Result<(SessionId, Making), RouterError> {
        let Some(session) = self.store.session_known(user, &submission.session)? else {
            let session = self.new_session(submission, user, user_name)?;
            return Ok((session.0.id, Making::Session(Box::new(session.0), session.1)));
        };
        if session.ended {
            return Err(RouterError::SessionOver);
        }
        // Of a name that nobody has, that is what is wrong, and not that the session has another.
        submission.agent.iter().try_for_each(|agent| self.known_agent(agent))?;
        let other_agent = submission.agent.as_ref().is_some_and(|agent| *agent != session.agent);
        let other_workspace = submission.workspace.is_some_and(|workspace| workspace != session.workspace);
        if other_agent || other_workspace {
            return Err(RouterError::Taken);
        }
        self.known_agent(&session.agent)?;
        Ok((session.id, Making::Nothing))
    }

    fn new_session(
        &self,
        submission: &Submission,
        user: UserId,
        user_name: Name,
    ) -> Result<(Session, Space), RouterError> {
        let agent = submission.agent.clone().unwrap_or_else(|| Name::clip(DEFAULT_AGENT));
        self.known_agent(&agent)?;
        let space = self.space(submission, user)?;
        let (Space::There(workspace) | Space::Forgotten(workspace) | Space::New(workspace)) = &space;
        let session = Session {
            id: SessionId::random(),
            user,
            user_name,
            name: submission.session.clone(),
            agent,
            workspace: workspace.id,
            label: Label::bottom(),
            messages: 0,
            created_ms: self.now.ms,
            used_ms: self.now.ms,
            ended: false,
        };
        Ok((session, space))
    }

    /// A directory that the user attached, or a folder of the session's own.
    fn space(&self, submission: &Submission, user: UserId) -> Result<Space, RouterError> {
        let wanted = submission.workspace;
        let id = wanted.unwrap_or_else(WorkspaceId::random);
        let found = wanted.map(|id| self.store.workspace(id)).transpose()?.flatten();
        match found {
            Some(workspace) if workspace.user != user => Err(RouterError::NoWorkspace),
            Some(workspace) if workspace.attached && !self.owns(user, workspace.id) => {
                Err(RouterError::NoWorkspace)
            }
            Some(workspace) if workspace.gone => Ok(Space::Forgotten(workspace)),
            Some(workspace) => Ok(Space::There(workspace)),
            None if wanted.is_some() && !self.attached.is_of(id, user) => Err(RouterError::NoWorkspace),
            None => {
                let attached = wanted.is_some();
                let label = if attached { found_there(submission.workspace_label) } else { Label::bottom() };
                Ok(Space::New(Workspace { id, user, attached, label, gone: false }))
            }
        }
    }

    pub(crate) fn known_agent(&self, agent: &str) -> Result<(), RouterError> {
        if self.config.agents.contains_key(agent) {
            return Ok(());
        }
        let names: Vec<&str> = self.config.agents.keys().map(String::as_str).collect();
        Err(RouterError::NoAgent(Text::clip(&names.join(", "))))
    }

    /// The agent that answers in a session.
    fn agent_of(&self, session: SessionId, making: &Making) -> Result<Name, StoreFault> {
        match making {
            Making::Session(session, _) => Ok(session.agent.clone()),
            Making::Nothing => Ok(self.store.session(session)?.agent),
        }
    }

    /// Returns whether the images of a message can be put before its agent's model: who sends them in vain is told at once.
    fn may_show(
        &self,
        submission: &Submission,
        session: SessionId,
        making: &Making,
    ) -> Result<(), RouterError> {
        if submission.task.images(&submission.content).next().is_none() {
            return Ok(());
        }
        let agent = self.agent_of(session, making)?;
        let sees = self.config.agents.get(agent.as_str()).is_some_and(|agent| agent.sees);
        if sees { Ok(()) } else { Err(RouterError::NoVision(agent)) }
    }

    /// Returns whether a user may run one more program, or be answered by one more engine: each may be hours under way, in one of
    /// the places for turns. Messages of one session go one after the other, so an engine counts once for all of them.
    fn may_run(
        &self,
        user: UserId,
        session: SessionId,
        task: &Task,
        making: &Making,
    ) -> Result<(), RouterError> {
        let agents = &self.config.agents;
        let answers = |agent: &str| agents.get(agent).is_some_and(|agent| agent.engine.is_some());
        let engine = match task {
            Task::Chat if agents.values().all(|agent| agent.engine.is_none()) => false,
            Task::Chat => answers(&self.agent_of(session, making)?),
            _ => false,
        };
        if !engine && !matches!(task, Task::Run(_)) {
            return Ok(());
        }
        let (mut runs, mut engines) = (0, HashSet::new());
        for head in self.heads_where(|live| live.head.user == user) {
            let here = head.session;
            match self.store.said_without_media(head.seq)?.1 {
                Task::Run(_) => runs += 1,
                Task::Chat if answers(&self.store.session(here)?.agent) => drop(engines.insert(here)),
                _ => {}
            }
        }
        let full = runs + engines.len() >= RUNS;
        if full && !(engine && engines.contains(&session)) {
            return Err(RouterError::TooManyRuns { most: u32::try_from(RUNS).unwrap_or(u32::MAX) });
        }
        Ok(())
    }

    /// Returns whether one more message may wait.
    pub(crate) fn room(&self, session: SessionId, user: UserId) -> Result<(), RouterError> {
        self.disk_has_room()?;
        let count = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
        let (all, here) = (count(self.lanes.waiting()), count(self.lanes.waiting_in(session)));
        if here >= self.config.queue_per_session {
            // These go one after the other.
            return Err(busy(here, 1));
        }
        let theirs = count(self.lanes.waiting_of(user));
        if theirs >= self.config.queue_per_user && !self.whose(user).owner {
            return Err(busy(theirs, self.config.turns_per_user));
        }
        if all >= self.config.queue_total {
            return Err(busy(all, self.config.turns_at_once));
        }
        Ok(())
    }
}

/// What is known of a directory that a user attaches: what its owner declares of it when they attach it first.
/// Without that nothing is: its files may be from anywhere.
fn found_there(declared: Option<(Trust, Class)>) -> Label {
    let (trust, class) = declared.unwrap_or((Trust::Untrusted, Class::Internal));
    // The host's own words stand in no directory of a person's.
    Label::of(trust.max(Trust::User), class, "workspace")
}

/// What a declaration raises of a directory that was attached before: it is joined to what is known, and so can
/// make nothing more trusted.
fn raises(submission: &Submission) -> Option<(WorkspaceId, Label)> {
    let declared = submission.workspace_label?;
    Some((submission.workspace?, found_there(Some(declared))))
}

/// The refusal of a full queue, with a guess when there is room again.
fn busy(waiting: u32, at_once: u32) -> RouterError {
    let seconds = u64::from(waiting) * USUAL_MS / 1000 / u64::from(at_once.max(1));
    let retry_s = u32::try_from(seconds.clamp(1, LONGEST_HINT)).unwrap_or(1);
    RouterError::Busy { waiting, retry_s }
}

/// Bytes of text of a message that may be accepted.
pub(crate) fn check(submission: &Submission) -> Result<u32, RouterError> {
    let bytes = submission.content.plain().len();
    // A command, a put or a get says by itself what is wanted.
    let chat = submission.task == Task::Chat;
    let empty = chat && submission.content.parts.is_empty();
    let over = bytes > TEXT_BOUND || (chat && submission.content.image_bytes() > IMAGES_BOUND);
    if empty || over || submission.key.is_empty() || submission.session.is_empty() {
        return Err(RouterError::BadMessage);
    }
    u32::try_from(bytes).map_err(|_| RouterError::BadMessage)
}

/// Makes a message durable with whatever is new about it.
fn keep(
    store: &mut Store,
    fresh: &Fresh<'_>,
    (making, said): (&Making, Option<Said>),
    raise: &Option<(WorkspaceId, Label)>,
) -> Result<i64, StoreFault> {
    store.commit(|tx| {
        if let Making::Session(session, space) = making {
            match space {
                Space::There(_) => {}
                Space::Forgotten(workspace) => tx.recall_workspace(workspace.id)?,
                Space::New(workspace) => tx.add_workspace(workspace)?,
            }
            tx.add_session(session)?;
        }
        if let Some((workspace, label)) = raise {
            tx.raise_workspace(*workspace, label)?;
        }
        let seq = tx.accept(fresh)?;
        said.map_or(Ok(()), |said| tx.say_into(seq, said))?;
        Ok(seq)
    })
}
