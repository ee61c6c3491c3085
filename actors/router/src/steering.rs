//! Steering: messages for a turn that runs. Each is a message like any other: accepted, put on the record, scanned and labelled before
//! anybody sees it, and marked with the turn that is to take it in. That turn takes it in by a step, in whose commit the message is over:
//! it is said once, even after a crash. If the turn ends first, the message stays next in its lane. A turn must never get a message of
//! another session.

use crate::api::{digest, own_session};
use crate::channels::{API, CONTROL};
use crate::state::RouterState;
use crate::state::live::{Live, Phase};
use crate::state::requests::NewStep;
use crate::store::{Head, SteeringTarget};
use ipc_proto::api::Caller;
use ipc_proto::audit::{Action, Event, Result3};
use ipc_proto::content::Content;
use ipc_proto::ids::{KeyId, SessionId, TurnId, UserId};
use ipc_proto::label::Label;
use ipc_proto::model::Usage;
use ipc_proto::router::{
    End, EventName, Finished, MessageState, RouterError, STEERING_MESSAGES, Steer, Steering, SteeringMessage,
    Step, Submission, Task,
};
use ipc_proto::{List, Name, Text};

/// The mark before an urgent message, for the model.
const URGENT: &str = "[PRIORITY] ";

impl RouterState {
    /// Accepts a steering message of a user for the running turn of one of their sessions.
    pub(crate) fn steer(&mut self, user: UserId, steer: &Steer) -> Result<Steering, RouterError> {
        self.steer_with(user, CONTROL, steer, None)
    }

    /// Accepts a steering message of a client of the API.
    pub(crate) fn api_steer(&mut self, caller: Caller, steer: Steer) -> Result<Steering, RouterError> {
        let holder = self.holder(caller)?;
        let session = own_session(&holder, &steer.session)?;
        let urgent = [u8::from(steer.urgent)];
        let digest = digest([b"steer".as_slice(), session.as_bytes(), steer.text.as_bytes(), &urgent]);
        let key = self.stored_key(&holder, &steer.key, &digest)?;
        let steer = Steer { session, key, ..steer };
        self.steer_with(holder.user, API, &steer, holder.key)
    }

    fn steer_with(
        &mut self,
        user: UserId,
        channel: &str,
        steer: &Steer,
        key: Option<KeyId>,
    ) -> Result<Steering, RouterError> {
        if let Some(head) = self.store.message_keyed(user, channel, &steer.key)? {
            let target = self.store.steering_target(head.seq)?.ok_or(RouterError::BadMessage)?;
            return Ok(Steering { accepted: self.accepted(&head), into: target.into });
        }
        if steer.text.trim().is_empty() || steer.text.len() + URGENT.len() > ipc_proto::router::STEERING_BOUND
        {
            return Err(RouterError::BadWords);
        }
        let session = self.find_session(Some(user), &steer.session)?;
        if session.ended {
            return Err(RouterError::SessionOver);
        }
        let into = self.answering(session.id)?;
        let engine = self.config.agents.get(session.agent.as_str()).and_then(|agent| agent.engine.as_ref());
        if let Some(engine) = engine.filter(|engine| engine.input != ipc_proto::engine::Input::StreamJson) {
            return Err(RouterError::NotSteered(engine.name.clone()));
        }
        let submission = Submission {
            user,
            session: steer.session.clone(),
            agent: None,
            channel: Name::clip(channel),
            key: steer.key.clone(),
            content: Content::text(Text::clip(&steer.text)),
            task: Task::Chat,
            workspace: None,
            workspace_label: None,
        };
        let target = SteeringTarget { into, urgent: steer.urgent };
        let accepted = self.submit_with(&submission, key, Some(target))?;
        kit::fault_point!("router.steer.committed");
        Ok(Steering { accepted, into })
    }

    /// The turn that answers in this session.
    fn answering(&self, session: SessionId) -> Result<TurnId, RouterError> {
        for head in self.heads_where(|live| live.head.session == session && live.is_under_way()) {
            if self.store.content_without_media(head.seq)?.1 == Task::Chat {
                return Ok(head.turn);
            }
        }
        Err(RouterError::NotUnderWay)
    }

    /// The steering messages that wait for a turn, in the order in which it takes them in.
    pub(crate) fn steering_messages(
        &mut self,
        turn: TurnId,
    ) -> Result<List<SteeringMessage, STEERING_MESSAGES>, RouterError> {
        self.renew_lease(turn);
        let head = self.under_way(turn)?;
        let mut steering = Vec::new();
        for (seq, urgent) in self.store.steering_for(turn)? {
            let Some(steered) = self.waiting_steering(seq, &head) else { continue };
            let (content, _, label) = self.store.content_without_media(seq)?;
            let mark = if urgent { URGENT } else { "" };
            let text = Text::clip(&format!("{mark}{}", content.plain()));
            steering.push(SteeringMessage { message: steered.id, text, label: label.unwrap_or_default() });
        }
        Ok(List::clip(steering))
    }

    /// A message that waits in the session of this one, and has not begun.
    fn waiting_steering(&mut self, seq: i64, into: &Head) -> Option<Head> {
        let Live { head, phase: Phase::Queued, .. } = self.live(seq)? else { return None };
        (head.session == into.session && head.attempts == 0).then(|| head.clone())
    }

    /// The steering message that a turn's step takes in.
    ///
    /// # Errors
    /// The message does not steer this turn, or is over or ending by now: there is nothing to take in.
    pub(crate) fn steering_of_step(&mut self, into: &Head, step: &Step) -> Result<Option<Head>, RouterError> {
        let Step::Steered { message, .. } = step else { return Ok(None) };
        let seq = self.store.message(*message)?.ok_or(RouterError::NoMessage)?.seq;
        let target = self.store.steering_target(seq)?.filter(|target| target.into == into.turn);
        let steered = self.waiting_steering(seq, into).filter(|_| target.is_some());
        steered.ok_or(RouterError::NoMessage).map(Some)
    }

    /// The event for the steering message that a step takes in. It comes before the step.
    pub(crate) fn steering_event(
        &mut self,
        into: &Head,
        new: &NewStep,
    ) -> Result<Option<Event>, RouterError> {
        if new.number < self.store.step_count(into.seq)? {
            return Ok(None);
        }
        let Some(steered) = self.steering_of_step(into, &new.step)? else { return Ok(None) };
        let event = Event::new(Action::MessageTakenIn, Result3::Success).because(&into.turn.to_string());
        let mut event = event.in_turn(steered.session, steered.turn);
        event.bytes = u64::from(steered.bytes);
        event.label = self.store.message_label(steered.seq)?;
        Ok(Some(event))
    }

    /// The steering message of a step was taken in, or was not. Answers the recalls of it that came meanwhile.
    pub(crate) fn answer_waiting_recalls(&mut self, step: &Step) {
        let Step::Steered { message, .. } = step else { return };
        for (user, port) in self.pending_steering.remove(message).unwrap_or_default() {
            self.recall(user, *message, port);
        }
    }

    /// The end of a steering message's own turn, once another turn takes it in.
    pub(crate) fn steering_end(&self, steered: &Head, into: TurnId) -> Finished {
        Finished {
            end: End::TakenIn(into),
            text: Text::default(),
            label: Label::bottom(),
            usage: Usage::default(),
            duration_ms: u32::try_from(self.now.ms.saturating_sub(steered.accepted_ms)).unwrap_or(u32::MAX),
            attempts: 0,
        }
    }

    /// A steering message was taken in durably: it is over.
    pub(crate) fn steering_taken(&mut self, steered: &Head, finished: Finished) {
        kit::fault_point!("router.words.committed");
        self.remove_live(steered.seq);
        self.admission.leave(steered.seq);
        self.lanes.leave(steered.session, steered.seq);
        self.publish_progress(steered, EventName::MessageProcessing, Some(MessageState::TakenIn.name()));
        self.ring_ends(steered.turn, finished);
    }
}
