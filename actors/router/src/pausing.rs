//! Pauses: everywhere, for one user or in one session, messages are accepted and scanned, and none starts. A turn that has begun goes on,
//! even if its runner dies. A pause is durable, and on the record before it holds.

use crate::port::Reply;
use crate::state::RouterState;
use crate::state::effects::{PendingRequest, Recorded};
use crate::state::live::Phase;
use crate::store::{Head, Scope};
use ipc_proto::audit::{Action, Event, Result3};
use ipc_proto::ids::UserId;
use ipc_proto::router::{QueueInfo, RouterError, SessionName};
use ipc_proto::{List, Name};

impl RouterState {
    /// Pauses or resumes the queue. Asked for twice, it is done once.
    pub(crate) fn pause(
        &mut self,
        user: Option<UserId>,
        by: &Name,
        session: Option<SessionName>,
        paused: bool,
        port: Reply<()>,
    ) {
        let (scope, event) = match self.scope(user, session.as_ref()) {
            Ok(found) => found,
            Err(refusal) => return drop(port.send(Err(refusal))),
        };
        if self.pauses.contains(scope) == paused {
            return drop(port.send(Ok(())));
        }
        let event = event.because(&format!("{}, by {by}", if paused { "paused" } else { "resumed" }));
        self.record(event, Recorded::Request(PendingRequest::Paused { scope, paused, port }));
    }

    /// The scope that is meant, and the event for it.
    fn scope(
        &self,
        user: Option<UserId>,
        session: Option<&SessionName>,
    ) -> Result<(Scope, Event), RouterError> {
        let event = Event::new(Action::QueuePaused, Result3::Success);
        if let Some(name) = session {
            let session = self.find_session(user, name)?;
            if session.ended {
                return Err(RouterError::SessionOver);
            }
            let mut event = event.about(name);
            event.session = Some(session.id);
            return Ok((Scope::Session(session.id), event));
        }
        let Some(user) = user else { return Ok((Scope::All, event)) };
        let person = self.people.by_id(user).ok_or(RouterError::NoUser)?;
        Ok((Scope::User(user), event.about(&person.name)))
    }

    /// Stores a pause, or its end, that is on the record.
    pub(crate) fn store_pause(&mut self, scope: Scope, paused: bool) -> Result<(), RouterError> {
        self.store.commit(|tx| if paused { tx.pause(scope) } else { tx.resume(scope) })?;
        kit::fault_point!("router.pause.committed");
        self.pauses.set(scope, paused);
        self.drive_now |= !paused;
        Ok(())
    }

    /// The queue in numbers, of one user or of all.
    pub(crate) fn queue(&self, user: Option<UserId>) -> Result<QueueInfo, RouterError> {
        let theirs = |head: &Head| user.is_none_or(|user| user == head.user);
        let count = |found: Vec<i64>| u32::try_from(found.len()).unwrap_or(u32::MAX);
        let under_way = |phase: &Phase| matches!(phase, Phase::Running(_) | Phase::RunnerExited(_));
        let waits = |phase: &Phase| matches!(phase, Phase::Accepted | Phase::Queued | Phase::Starting);
        let whole = user.map(Scope::User);
        Ok(QueueInfo {
            paused: self.pauses.contains(Scope::All)
                || whole.is_some_and(|scope| self.pauses.contains(scope)),
            paused_sessions: List::clip(self.store.paused_sessions(user)?),
            waiting: count(self.live_where(|live| theirs(&live.head) && waits(&live.phase))),
            running: count(self.live_where(|live| theirs(&live.head) && under_way(&live.phase))),
            dead: self.store.dead_letters(user)?,
        })
    }
}
