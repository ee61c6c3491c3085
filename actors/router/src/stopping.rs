//! Ends that persons ask for: a turn is cancelled, a message is recalled before it begins, and everything is stopped at once. The runner
//! is ended first, whichever peers are away. The decision is durable before anything else, so that the message does not come back after a
//! crash.

use crate::message_state;
use crate::port::Reply;
use crate::state::RouterState;
use crate::state::effects::{PendingRequest, Recorded};
use crate::state::live::{Live, Phase};
use crate::state::pending_end::{EndPort, OnEnd, reply_to};
use crate::state::requests::RecallPort;
use crate::store::{Decided, Head, Session};
use ipc_proto::audit::{Action, Event, Result3};
use ipc_proto::content::TEXT_BOUND;
use ipc_proto::ids::{MessageId, TurnId, UserId};
use ipc_proto::router::{End, MessageState, RouterError, SessionName, Stopped};
use ipc_proto::{Name, Text};
use std::collections::BTreeMap;

impl RouterState {
    /// Cancels a turn; its runner is ended at once.
    pub(crate) fn cancel(&mut self, user: Option<UserId>, turn: TurnId, port: EndPort) {
        match self.live_turn(turn) {
            Some(Live { head, .. }) if user.is_some_and(|user| user != head.user) => {
                drop(port.send(Err(RouterError::NoTurn)));
            }
            Some(Live { head, phase, .. }) => match phase {
                Phase::Ending(closing) if closing.finished.end == End::Cancelled => {
                    closing.wait(reply_to(port))
                }
                Phase::Ending(_) => drop(port.send(Err(RouterError::NoTurn))),
                _ => {
                    let seq = head.seq;
                    self.cancel_with(seq, "by its person", Some(reply_to(port)));
                }
            },
            None => drop(port.send(self.cancelled_before(user, turn))),
        }
    }

    fn cancelled_before(&self, user: Option<UserId>, turn: TurnId) -> Result<(), RouterError> {
        let head = self.store.message_of(turn)?.ok_or(RouterError::NoTurn)?;
        let theirs = user.is_none_or(|user| user == head.user);
        if theirs && head.state == MessageState::Cancelled { Ok(()) } else { Err(RouterError::NoTurn) }
    }

    /// Cancels a turn for the host's own reason.
    pub(crate) fn cancel_live(&mut self, seq: i64, why: &str) {
        self.cancel_with(seq, why, None);
    }

    fn cancel_with(&mut self, seq: i64, why: &str, on_end: Option<OnEnd>) {
        self.end_runner(seq);
        self.end_without_answer(seq, End::Cancelled, why, on_end);
    }

    fn end_runner(&mut self, seq: i64) {
        if let Some(Live { head, phase: Phase::Running(_), .. }) = self.live(seq) {
            let turn = head.turn;
            self.kill(turn);
        }
    }

    /// Recalls a message that has not begun, and returns its text.
    pub(crate) fn recall(&mut self, user: Option<UserId>, id: MessageId, port: RecallPort) {
        if let Some(waiting) = self.pending_steering.get_mut(&id) {
            return waiting.push((user, port));
        }
        let (head, text) = match self.message_text(user, id) {
            Ok(found) => found,
            Err(refusal) => return drop(port.send(Err(refusal))),
        };
        let on_end: OnEnd = Box::new(move |ended| drop(port.send(ended.map(|()| text))));
        let Some(live) = self.live(head.seq) else {
            let recalled = head.state == MessageState::Recalled;
            return on_end(if recalled { Ok(()) } else { Err(RouterError::TooLate(head.state)) });
        };
        match &mut live.phase {
            Phase::Ending(closing) if closing.finished.end == End::Recalled => closing.wait(on_end),
            Phase::Ending(closing) => {
                on_end(Err(RouterError::TooLate(message_state::of_end(&closing.finished.end))))
            }
            _ if live.head.attempts > 0 => on_end(Err(RouterError::TooLate(live.head.state))),
            _ => self.end_without_answer(head.seq, End::Recalled, "", Some(on_end)),
        }
    }

    /// A message of this user, and its text.
    fn message_text(
        &self,
        user: Option<UserId>,
        id: MessageId,
    ) -> Result<(Head, Text<TEXT_BOUND>), RouterError> {
        let head = self.find_message(user, id)?;
        let (content, ..) = self.store.content_without_media(head.seq)?;
        Ok((head, Text::clip(&content.plain())))
    }

    /// Ends everything of a session, of a user or of everybody, now. Asked `again`, it also counts what is ending
    /// because of the first time, which this process may have died of.
    pub(crate) fn stop(
        &mut self,
        (user, by): (Option<UserId>, &Name),
        session: Option<SessionName>,
        again: bool,
        port: Reply<Stopped>,
    ) {
        let session = match session.map(|name| self.find_session(user, &name)).transpose() {
            Ok(session) => session,
            Err(refusal) => return drop(port.send(Err(refusal))),
        };
        let meant = |head: &Head| {
            user.is_none_or(|user| user == head.user)
                && session.as_ref().is_none_or(|session| session.id == head.session)
        };
        let note = stop_note(by);
        let before = if again { self.stopped_before(&note, meant) } else { Stopped::default() };
        let all = self.live_where(|live| meant(&live.head) && !matches!(live.phase, Phase::Ending(_)));
        all.iter().for_each(|seq| self.end_runner(*seq));
        let ends = all.iter().map(|seq| Decided { seq: *seq, end: End::Cancelled, note: note.clone() });
        let durable = self.decide(&ends.collect::<Vec<_>>());
        kit::fault_point!("router.stop.committed");
        let heads = all.iter().filter_map(|seq| self.live.get(*seq)).map(|live| &live.head);
        let stopped = heads.fold(before, counting);
        self.record(
            stop_event(session.as_ref(), by),
            Recorded::Request(PendingRequest::Stopped { stopped, durable, port }),
        );
        for seq in all {
            self.end_as_decided(seq, End::Cancelled, &note, durable, None);
        }
    }

    /// The messages that a stop with this note has decided to end, in this life of the process and in the one before.
    fn stopped_before(&self, note: &str, meant: impl Fn(&Head) -> bool) -> Stopped {
        let at_start = self.ends_at_start.iter().filter(|(_, by)| by == note).map(|(head, _)| head);
        let now =
            self.heads_where(|live| matches!(&live.phase, Phase::Ending(closing) if closing.is_stop(note)));
        let heads: BTreeMap<i64, &Head> = at_start.chain(now).map(|head| (head.seq, head)).collect();
        heads.into_values().filter(|head| meant(head)).fold(Stopped::default(), counting)
    }
}

/// The note of a stop by this person.
pub(crate) fn stop_note(by: &Name) -> String {
    format!("stopped, by {by}")
}

const fn counting(mut stopped: Stopped, head: &Head) -> Stopped {
    if head.attempts > 0 {
        stopped.running += 1;
    } else {
        stopped.waiting += 1;
    }
    stopped
}

fn stop_event(session: Option<&Session>, by: &Name) -> Event {
    let mut event = Event::new(Action::TurnsStopped, Result3::Success).because(&format!("by {by}"));
    if let Some(session) = session {
        event = event.about(&session.name);
        event.session = Some(session.id);
    }
    event
}
