//! What people say into a turn under way. It is a message like any other, accepted, put on the record, scanned and labelled
//! before anybody sees it, and marked with the turn that is to take it in. That turn takes it in by a step of its own, in
//! whose commit the message is over: so it is said once, whatever dies. A turn that ends first leaves it where it is, next
//! in its lane. Nothing here may give a turn words of another session.

use crate::desk::{Desk, Live, Phase};
use crate::scan::CONTROL;
use crate::stopping::SaidPort;
use crate::store::{Head, Pass, Said};
use crate::turn::NewStep;
use ipc_proto::api::Caller;
use ipc_proto::audit::{Action, Event, Result3};
use ipc_proto::content::Content;
use ipc_proto::ids::{KeyId, MessageId, SessionId, TurnId, UserId};
use ipc_proto::label::Label;
use ipc_proto::model::Usage;
use ipc_proto::router::{
    End, EventName, Finished, MessageState, RouterError, Steer, Steering, Step, Submission, Task, WORDS, Word,
};
use ipc_proto::{List, Name, Text};
use std::collections::BTreeMap;

/// Words whose taking in goes on the record, and who asks meanwhile to have them back: they are answered by what became of it.
pub(crate) type Taking = BTreeMap<MessageId, Vec<(Option<UserId>, SaidPort)>>;

/// Stands before what is urgent, so that a model sees that it is.
const URGENT: &str = "[PRIORITY] ";

impl Desk {
    /// Accepts words of a user for a turn that is under way in one of their sessions.
    pub(crate) fn steer(&mut self, user: UserId, steer: &Steer) -> Result<Steering, RouterError> {
        self.steer_with(user, CONTROL, steer, None)
    }

    /// Accepts words of a client of the API.
    pub(crate) fn api_steer(&mut self, caller: Caller, steer: Steer) -> Result<Steering, RouterError> {
        let holder = self.holder(caller)?;
        let session = crate::api::own_session(&holder, &steer.session)?;
        let urgent = [u8::from(steer.urgent)];
        let digest =
            crate::api::digest([b"steer".as_slice(), session.as_bytes(), steer.text.as_bytes(), &urgent]);
        let key = self.kept_key(&holder, &steer.key, &digest)?;
        let steer = Steer { session, key, ..steer };
        self.steer_with(holder.user, crate::api::API, &steer, holder.key)
    }

    fn steer_with(
        &mut self,
        user: UserId,
        channel: &str,
        steer: &Steer,
        key: Option<KeyId>,
    ) -> Result<Steering, RouterError> {
        if let Some(head) = self.store.message_keyed(user, channel, &steer.key)? {
            let said = self.store.said_into(head.seq)?.ok_or(RouterError::BadMessage)?;
            return Ok(Steering { accepted: self.accepted(&head), into: said.into });
        }
        if steer.text.trim().is_empty() || steer.text.len() + URGENT.len() > ipc_proto::router::WORDS_BOUND {
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
        let said = Said { into, urgent: steer.urgent };
        let accepted = self.submit_with(&submission, key, Some(said))?;
        kit::fault_point!("router.steer.committed");
        Ok(Steering { accepted, into })
    }

    /// The turn that answers in this session.
    fn answering(&self, session: SessionId) -> Result<TurnId, RouterError> {
        let begun = |live: &Live| {
            live.head.session == session && live.head.attempts > 0 && !matches!(live.phase, Phase::Ending(_))
        };
        for head in self.heads_where(begun) {
            if self.store.said_without_media(head.seq)?.1 == Task::Chat {
                return Ok(head.turn);
            }
        }
        Err(RouterError::NotUnderWay)
    }

    /// What was said into a turn and waits for it, in the order in which it is to be taken in.
    pub(crate) fn words(&mut self, turn: TurnId) -> Result<List<Word, WORDS>, RouterError> {
        self.heard_of(turn);
        let head = self.under_way(turn)?;
        let mut words = Vec::new();
        for (seq, urgent) in self.store.words_for(turn)? {
            let Some(word) = self.waiting_word(seq, &head) else { continue };
            let (content, _, label) = self.store.said_without_media(seq)?;
            let mark = if urgent { URGENT } else { "" };
            let text = Text::clip(&format!("{mark}{}", content.plain()));
            words.push(Word { message: word.id, text, label: label.unwrap_or_default() });
        }
        Ok(List::clip(words))
    }

    /// A message that waits in the session of this one, and has not begun.
    fn waiting_word(&mut self, seq: i64, into: &Head) -> Option<Head> {
        let Live { head, phase: Phase::Queued, .. } = self.live(seq)? else { return None };
        (head.session == into.session && head.attempts == 0).then(|| head.clone())
    }

    /// The message of words that a turn's step takes in.
    ///
    /// # Errors
    /// It was not said into this turn, or is over or ending by now: there is nothing to take in.
    pub(crate) fn word(&mut self, into: &Head, step: &Step) -> Result<Option<Head>, RouterError> {
        let Step::Steered { message, .. } = step else { return Ok(None) };
        let seq = self.store.message(*message)?.ok_or(RouterError::NoMessage)?.seq;
        let said = self.store.said_into(seq)?.filter(|said| said.into == into.turn);
        let word = self.waiting_word(seq, into).filter(|_| said.is_some());
        word.ok_or(RouterError::NoMessage).map(Some)
    }

    /// The record of words that a step takes in, which comes before they are.
    pub(crate) fn taking_in(&mut self, into: &Head, new: &NewStep) -> Result<Option<Event>, RouterError> {
        if new.number < self.store.step_count(into.seq)? {
            return Ok(None);
        }
        let Some(word) = self.word(into, &new.step)? else { return Ok(None) };
        let event = Event::new(Action::MessageTakenIn, Result3::Success).because(&into.turn.to_string());
        let mut event = event.in_turn(word.session, word.turn);
        event.bytes = u64::from(word.bytes);
        event.label = self.store.message_label(word.seq)?;
        Ok(Some(event))
    }

    /// The words of a step were taken in, or were not: whoever wanted them back meanwhile is answered.
    pub(crate) fn has_taken(&mut self, step: &Step) {
        let Step::Steered { message, .. } = step else { return };
        for (user, port) in self.taking.remove(message).unwrap_or_default() {
            self.recall(user, *message, port);
        }
    }

    /// How the turn of words ends that another one takes in, and the last step of their message.
    pub(crate) fn ending_of(&self, word: &Head, into: TurnId) -> Finished {
        Finished {
            end: End::TakenIn(into),
            text: Text::default(),
            label: Label::bottom(),
            usage: Usage::default(),
            duration_ms: u32::try_from(self.now.ms.saturating_sub(word.accepted_ms)).unwrap_or(u32::MAX),
            attempts: 0,
        }
    }

    /// Words were taken in durably: their message is over.
    pub(crate) fn taken_in(&mut self, word: &Head, finished: Finished) {
        kit::fault_point!("router.words.committed");
        self.depart(word.seq);
        self.admission.leave(word.seq);
        self.lanes.leave(word.session, word.seq);
        self.tell_where(word, EventName::MessageProcessing, Some(MessageState::TakenIn.name()));
        self.ring_ends(word.turn, finished);
    }
}

/// The step of a message to its end as words of this turn.
pub(crate) fn pass_of<'a>(word: &Head, note: &'a str, now_ms: u64) -> Pass<'a> {
    Pass { note, ..Pass::of(word, MessageState::TakenIn, now_ms) }
}

/// What a trace says of words that a turn took in.
pub(crate) fn note_of(into: TurnId) -> String {
    format!("turn {into} took it in")
}
