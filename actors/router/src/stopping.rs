//! What persons end: a turn that is cancelled, a message that is taken back before it began, and everything at once.
//! The runner is ended first, whoever else is away; that the message is to end is durable before anything else, so
//! that it does not come back whatever dies then.

use crate::desk::{Desk, Live, Phase};
use crate::ending::{EndPort, Told, told};
use crate::queue::Port;
use crate::state;
use crate::store::{Decided, Head, Session};
use ipc_proto::audit::{Action, Event, Result3};
use ipc_proto::content::TEXT_BOUND;
use ipc_proto::ids::{MessageId, TurnId, UserId};
use ipc_proto::router::{End, MessageState, RouterError, SessionName, Stopped};
use ipc_proto::{Name, Text};
use std::collections::BTreeMap;

/// What was said in a message that is taken back.
pub(crate) type SaidPort = Port<Result<Text<TEXT_BOUND>, RouterError>>;

impl Desk {
    /// Cancels a turn; its runner is ended at once.
    pub(crate) fn cancel(&mut self, user: Option<UserId>, turn: TurnId, port: EndPort) {
        match self.live_turn(turn) {
            Some(Live { head, .. }) if user.is_some_and(|user| user != head.user) => {
                drop(port.send(Self::no_turn()));
            }
            Some(Live { head, phase, .. }) => match phase {
                Phase::Ending(closing) if closing.finished.end == End::Cancelled => closing.wait(told(port)),
                Phase::Ending(_) => drop(port.send(Self::no_turn())),
                _ => {
                    let seq = head.seq;
                    self.cancel_with(seq, "by its person", Some(told(port)));
                }
            },
            None => {
                let said = self.cancelled_before(user, turn);
                drop(port.send(said));
            }
        }
    }

    fn cancelled_before(&self, user: Option<UserId>, turn: TurnId) -> Result<(), RouterError> {
        let head = self.store.message_of(turn)?.ok_or(RouterError::NoTurn)?;
        let theirs = user.is_none_or(|user| user == head.user);
        if theirs && head.state == MessageState::Cancelled { Ok(()) } else { Self::no_turn() }
    }

    /// Cancels a turn for the host's own reason.
    pub(crate) fn cancel_live(&mut self, seq: i64, why: &str) {
        self.cancel_with(seq, why, None);
    }

    fn cancel_with(&mut self, seq: i64, why: &str, told: Option<Told>) {
        self.end_runner(seq);
        self.end_without_answer(seq, End::Cancelled, why, told);
    }

    fn end_runner(&mut self, seq: i64) {
        if let Some(Live { head, phase: Phase::Running(_), .. }) = self.live(seq) {
            let turn = head.turn;
            self.kill(turn);
        }
    }

    /// Takes back a message that has not begun, and gives back what was said in it.
    pub(crate) fn recall(&mut self, user: Option<UserId>, id: MessageId, port: SaidPort) {
        if let Some(waiting) = self.taking.get_mut(&id) {
            return waiting.push((user, port));
        }
        let (head, said) = match self.said_by(user, id) {
            Ok(found) => found,
            Err(refusal) => return drop(port.send(Err(refusal))),
        };
        let told: Told = Box::new(move |ended| drop(port.send(ended.map(|()| said))));
        let Some(live) = self.live(head.seq) else {
            let recalled = head.state == MessageState::Recalled;
            return told(if recalled { Ok(()) } else { Err(RouterError::TooLate(head.state)) });
        };
        match &mut live.phase {
            Phase::Ending(closing) if closing.finished.end == End::Recalled => closing.wait(told),
            Phase::Ending(closing) => told(Err(RouterError::TooLate(state::of_end(&closing.finished.end)))),
            _ if live.head.attempts > 0 => told(Err(RouterError::TooLate(live.head.state))),
            _ => self.end_without_answer(head.seq, End::Recalled, "", Some(told)),
        }
    }

    /// A message of this user, and its words.
    fn said_by(&self, user: Option<UserId>, id: MessageId) -> Result<(Head, Text<TEXT_BOUND>), RouterError> {
        let head = self.letter(user, id)?;
        let (content, ..) = self.store.said_without_media(head.seq)?;
        Ok((head, Text::clip(&content.plain())))
    }

    /// The message of this id, if it is this user's to see.
    pub(crate) fn letter(&self, user: Option<UserId>, id: MessageId) -> Result<Head, RouterError> {
        let head = self.store.message(id)?.filter(|head| user.is_none_or(|user| user == head.user));
        head.ok_or(RouterError::NoMessage)
    }

    /// Ends everything of a session, of a user or of everybody, now. Asked `again`, it also counts what is ending
    /// because of the first time, which this process may have died of.
    pub(crate) fn stop(
        &mut self,
        (user, by): (Option<UserId>, &Name),
        session: Option<SessionName>,
        again: bool,
        port: Port<Result<Stopped, RouterError>>,
    ) {
        let session = match session.map(|name| self.find_session(user, &name)).transpose() {
            Ok(session) => session,
            Err(refusal) => return drop(port.send(Err(refusal))),
        };
        let meant = |head: &Head| {
            user.is_none_or(|user| user == head.user)
                && session.as_ref().is_none_or(|session| session.id == head.session)
        };
        let note = format!("stopped, by {by}");
        let before = if again { self.stopped_before(&note, meant) } else { Stopped::default() };
        let all = self.live_where(|live| meant(&live.head) && !matches!(live.phase, Phase::Ending(_)));
        all.iter().for_each(|seq| self.end_runner(*seq));
        let ends = all.iter().map(|seq| Decided { seq: *seq, end: End::Cancelled, note: note.clone() });
        let durable = self.decide(&ends.collect::<Vec<_>>());
        kit::fault_point!("router.stop.committed");
        let stopped = self.counted(&all, before);
        self.record(stop_event(session.as_ref(), by), move |_, recorded| {
            drop(port.send(if recorded && durable { Ok(stopped) } else { Err(RouterError::NotDurable) }));
        });
        for seq in all {
            self.end_as_decided(seq, End::Cancelled, &note, durable, None);
        }
    }

    fn counted(&mut self, all: &[i64], before: Stopped) -> Stopped {
        let heads = all.iter().filter_map(|seq| self.live(*seq).map(|live| live.head.clone()));
        let heads: Vec<Head> = heads.collect();
        heads.iter().fold(before, counting)
    }

    /// What a stop with this note has decided to end, in this life and by the end of the one before.
    fn stopped_before(&mut self, note: &str, meant: impl Fn(&Head) -> bool) -> Stopped {
        let found = self.found_ending.iter().filter(|(head, by)| by == note && meant(head));
        let mut heads: BTreeMap<i64, Head> = found.map(|(head, _)| (head.seq, head.clone())).collect();
        let ending = self.live_where(|live| match &live.phase {
            Phase::Ending(closing) => closing.is_stop(note) && meant(&live.head),
            _ => false,
        });
        for seq in ending {
            heads.extend(self.live(seq).map(|live| (seq, live.head.clone())));
        }
        heads.values().fold(Stopped::default(), counting)
    }
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
