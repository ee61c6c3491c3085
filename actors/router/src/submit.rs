//! Acceptance of a message: it is checked, gets its session and workspace, and becomes durable in one change. Only then is it
//! acknowledged. A message that cannot be made durable is refused, and nothing of it stays.

use crate::state::RouterState;
use crate::state::live::{Acceptance, Live, Phase};
use crate::store::{
    Head, NewMessage, Session, SteeringTarget, Store, StoreFault, StoredDelegation, StoredFire, Workspace,
};
use ipc_proto::Name;
use ipc_proto::content::{IMAGES_BOUND, TEXT_BOUND};
use ipc_proto::ids::{KeyId, MessageId, SessionId, TurnId, UserId, WorkspaceId};
use ipc_proto::label::{Class, Label, Trust};
use ipc_proto::router::{Accepted, MessageState, RouterError, Submission, Task};
use std::collections::HashSet;

/// Jails with a loopback that one user may have under way: programs, those that wait included, and sessions that an engine
/// answers.
const RUNS: usize = 4;
/// The part of the queue that is kept for owners: one of so many.
const OWNERS: u32 = 8;
/// The agent of a session that names none.
pub(crate) const DEFAULT_AGENT: &str = "default";
/// A turn's length before any has ended, ms: for the hint when to try again.
const USUAL_MS: u64 = 5000;
/// The longest hint, seconds.
const LONGEST_HINT: u64 = 60;

/// A message that is stored and not queued yet.
pub(crate) struct StoredMessage {
    pub(crate) head: Head,
    new_session: bool,
}

/// The rows that are stored with a message, in the same commit.
#[derive(Clone, Copy, Default)]
pub(crate) struct Beside<'a> {
    /// The turn that it steers.
    pub(crate) steers: Option<SteeringTarget>,
    /// The part that only a job's message has.
    pub(crate) fire: Option<&'a StoredFire>,
    /// The part that only a task has.
    pub(crate) delegation: Option<&'a StoredDelegation>,
}

/// The place of a message: a session that is there, or one that is made with it.
enum Placement {
    Existing,
    NewSession(Box<Session>, Space),
}

/// The workspace of a new session.
enum Space {
    /// A workspace that is there.
    Known(Workspace),
    /// A workspace that was forgotten.
    Forgotten(Workspace),
    /// A new workspace.
    New(Workspace),
}

impl RouterState {
    /// Accepts a message.
    pub(crate) fn submit(&mut self, submission: &Submission) -> Result<Accepted, RouterError> {
        self.submit_with(submission, None, None)
    }

    /// Accepts a message, with the key of the API that pays for its turn, and the turn that it steers.
    pub(crate) fn submit_with(
        &mut self,
        submission: &Submission,
        key: Option<KeyId>,
        target: Option<SteeringTarget>,
    ) -> Result<Accepted, RouterError> {
        check(submission)?;
        let user = self.people.by_id(submission.user).ok_or(RouterError::NoUser)?.id;
        if let Some(head) = self.store.message_keyed(user, &submission.channel, &submission.key)? {
            return Ok(self.accepted(&head));
        }
        let beside = Beside { steers: target, ..Beside::default() };
        let stored = self.store_submission(submission, key, beside, &[])?;
        Ok(self.announce(stored))
    }

    /// Accepts a new message of a job.
    pub(crate) fn submit_fire(
        &mut self,
        submission: &Submission,
        fire: &StoredFire,
    ) -> Result<Accepted, RouterError> {
        let beside = Beside { fire: Some(fire), ..Beside::default() };
        let stored = self.store_submission(submission, None, beside, &[])?;
        Ok(self.announce(stored))
    }

    /// Fails if a message of a job cannot be, or its session and agent do not fit.
    pub(crate) fn check_place(&self, submission: &Submission) -> Result<(), RouterError> {
        check(submission)?;
        let user = self.people.by_id(submission.user).ok_or(RouterError::NoUser)?;
        self.place(submission, user.id, user.name.clone()).map(drop)
    }

    /// Stores a message that is new. `batch` are the messages of the same batch that were stored before it and are not queued yet.
    pub(crate) fn store_submission(
        &mut self,
        submission: &Submission,
        key: Option<KeyId>,
        beside: Beside<'_>,
        batch: &[StoredMessage],
    ) -> Result<StoredMessage, RouterError> {
        let bytes = check(submission)?;
        let user = self.people.by_id(submission.user).ok_or(RouterError::NoUser)?;
        let (user, user_name) = (user.id, user.name.clone());
        let (session, placement) = self.place(submission, user, user_name)?;
        let raise = raises(submission);
        self.may_show(submission, session, &placement)?;
        self.room_beside(session, user, batch)?;
        self.may_run(user, session, &submission.task, &placement)?;
        kit::fault_point!("router.submit.checked");
        let fresh = NewMessage {
            id: MessageId::random(),
            turn: TurnId::random(),
            session,
            submission,
            key,
            bytes,
            now_ms: self.now.ms,
        };
        let seq = store_message(&mut self.store, &fresh, (&placement, beside), &raise)?;
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
        Ok(StoredMessage { head, new_session: matches!(placement, Placement::NewSession(..)) })
    }

    /// Publishes and queues a message that is durable.
    pub(crate) fn announce(&mut self, stored: StoredMessage) -> Accepted {
        let StoredMessage { head, new_session } = stored;
        self.publish_received(&head, new_session);
        self.enqueue(head.clone());
        self.accepted(&head)
    }

    /// Queues a message that has just become durable. Its sender does not wait for what comes next.
    pub(crate) fn enqueue(&mut self, head: Head) {
        self.lanes.join(head.session, self.lane_user(&head), head.seq);
        self.admission.join(head.seq);
        self.live.insert(Live::new(head, Phase::Accepted, Acceptance::Unrecorded));
        self.drive_after_reply = true;
    }

    /// The session of a message, and its place.
    fn place(
        &self,
        submission: &Submission,
        user: UserId,
        user_name: Name,
    ) -> Result<(SessionId, Placement), RouterError> {
        let Some(session) = self.store.session_known(user, &submission.session)? else {
            let session = self.new_session(submission, user, user_name)?;
            return Ok((session.0.id, Placement::NewSession(Box::new(session.0), session.1)));
        };
        if session.ended {
            return Err(RouterError::SessionOver);
        }
        // An unknown agent is the error to report, rather than that the session has another.
        submission.agent.iter().try_for_each(|agent| self.known_agent(agent))?;
        let other_agent = submission.agent.as_ref().is_some_and(|agent| *agent != session.agent);
        let other_workspace = submission.workspace.is_some_and(|workspace| workspace != session.workspace);
        if other_agent || other_workspace {
            return Err(RouterError::Taken);
        }
        self.known_agent(&session.agent)?;
        Ok((session.id, Placement::Existing))
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
        let (Space::Known(workspace) | Space::Forgotten(workspace) | Space::New(workspace)) = &space;
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
            Some(workspace) => Ok(Space::Known(workspace)),
            None if wanted.is_some() && !self.attached.is_of(id, user) => Err(RouterError::NoWorkspace),
            None => {
                let attached = wanted.is_some();
                let label = if attached { found_there(submission.workspace_label) } else { Label::bottom() };
                Ok(Space::New(Workspace { id, user, attached, label, gone: false }))
            }
        }
    }

    /// The agent that answers in a session.
    fn agent_of(&self, session: SessionId, placement: &Placement) -> Result<Name, StoreFault> {
        match placement {
            Placement::NewSession(session, _) => Ok(session.agent.clone()),
            Placement::Existing => Ok(self.store.session(session)?.agent),
        }
    }

    /// Fails if a message has images and its agent's model takes none.
    fn may_show(
        &self,
        submission: &Submission,
        session: SessionId,
        placement: &Placement,
    ) -> Result<(), RouterError> {
        if submission.task.images(&submission.content).next().is_none() {
            return Ok(());
        }
        let agent = self.agent_of(session, placement)?;
        let sees = self.config.agents.get(agent.as_str()).is_some_and(|agent| agent.sees);
        if sees { Ok(()) } else { Err(RouterError::NoVision(agent)) }
    }

    /// Fails if a user may not run one more program or engine: each may run for hours, in one of the places for turns. Messages of one
    /// session go one after the other, so an engine counts once for all of them.
    fn may_run(
        &self,
        user: UserId,
        session: SessionId,
        task: &Task,
        placement: &Placement,
    ) -> Result<(), RouterError> {
        let agents = &self.config.agents;
        let answers = |agent: &str| agents.get(agent).is_some_and(|agent| agent.engine.is_some());
        let engine = match task {
            Task::Chat if agents.values().all(|agent| agent.engine.is_none()) => false,
            Task::Chat => answers(&self.agent_of(session, placement)?),
            _ => false,
        };
        if !engine && !matches!(task, Task::Run(_)) {
            return Ok(());
        }
        let (mut runs, mut engines) = (0, HashSet::new());
        for head in self.heads_where(|live| live.head.user == user) {
            let here = head.session;
            match self.store.content_without_media(head.seq)?.1 {
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

    /// Fails if no more messages may wait.
    pub(crate) fn room(&self, session: SessionId, user: UserId) -> Result<(), RouterError> {
        self.room_beside(session, user, &[])
    }

    /// The same, where the messages of `batch` wait as well.
    fn room_beside(
        &self,
        session: SessionId,
        user: UserId,
        batch: &[StoredMessage],
    ) -> Result<(), RouterError> {
        self.disk_has_room()?;
        let count = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
        let batched = |which: &dyn Fn(&Head) -> bool| batch.iter().filter(|it| which(&it.head)).count();
        let all = count(self.lanes.waiting() + batch.len());
        let here = count(self.lanes.waiting_in(session) + batched(&|head| head.session == session));
        if here >= self.config.queue_per_session {
            // Messages of one session go one after the other.
            return Err(busy(here, 1));
        }
        let theirs = count(self.lanes.waiting_of(user) + batched(&|head| head.user == user));
        if !self.is_owner(user) && theirs >= self.share(all) {
            return Err(busy(theirs, self.config.turns_per_user));
        }
        if all >= self.config.queue_total {
            return Err(busy(all, self.config.turns_at_once));
        }
        Ok(())
    }

    /// Messages of one user other than an owner that may wait while `all` do: no more than are left. However many such users fill
    /// the queue, one more finds room, and an eighth of the queue is the owners'.
    fn share(&self, all: u32) -> u32 {
        let total = self.config.queue_total;
        let left = (total - total / OWNERS).saturating_sub(all);
        self.config.queue_per_user.min(left)
    }
}

/// The label of a directory that a user attaches: as its owner declares when they attach it first. Without a declaration its files may
/// be from anywhere.
fn found_there(declared: Option<(Trust, Class)>) -> Label {
    let (trust, class) = declared.unwrap_or((Trust::Untrusted, Class::Internal));
    // No directory of a person holds the host's own text.
    Label::of(trust.max(Trust::User), class, "workspace")
}

/// The label that a declaration raises of a directory that was attached before. It is joined to the label that is there, and so makes
/// nothing more trusted.
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
    // A command, a put or a get needs no text.
    let chat = submission.task == Task::Chat;
    let empty = chat && submission.content.parts.is_empty();
    let over = bytes > TEXT_BOUND || (chat && submission.content.image_bytes() > IMAGES_BOUND);
    if empty || over || submission.key.is_empty() || submission.session.is_empty() {
        return Err(RouterError::BadMessage);
    }
    u32::try_from(bytes).map_err(|_| RouterError::BadMessage)
}

/// Makes a message durable together with its new session and workspace.
fn store_message(
    store: &mut Store,
    fresh: &NewMessage<'_>,
    (placement, beside): (&Placement, Beside<'_>),
    raise: &Option<(WorkspaceId, Label)>,
) -> Result<i64, StoreFault> {
    store.commit(|tx| {
        if let Placement::NewSession(session, space) = placement {
            match space {
                Space::Known(_) => {}
                Space::Forgotten(workspace) => tx.recall_workspace(workspace.id)?,
                Space::New(workspace) => tx.add_workspace(workspace)?,
            }
            tx.add_session(session)?;
        }
        if let Some((workspace, label)) = raise {
            tx.raise_workspace(*workspace, label)?;
        }
        let seq = tx.accept(fresh)?;
        beside.steers.map_or(Ok(()), |target| tx.set_steering_target(seq, target))?;
        beside.fire.map_or(Ok(()), |fire| tx.store_fire(seq, fire))?;
        beside.delegation.map_or(Ok(()), |task| tx.store_delegation(seq, task))?;
        Ok(seq)
    })
}
