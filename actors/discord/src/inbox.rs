//! The events of one connection that the host has not accepted yet. An event stays until a position beyond it comes back from router,
//! so that one that router did not accept is given out again.

use crate::cursor::Session;
use crate::payload::Event;
use crate::wire::{Interaction, Message};
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use tokio::sync::Notify;

/// Events that wait; beyond that no more are read.
const WAITING: usize = 512;

/// An event that the host is given.
pub(crate) enum Came {
    /// A message, or a change of one.
    Message(Box<Message>, bool),
    /// A press of a button.
    Press(Box<Interaction>),
}

/// The reason for which a connection is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Over {
    /// The other end closed it.
    Closed(Option<u16>),
    /// It broke, or its heartbeats were not answered.
    Lost,
    /// Nothing of it left this machine.
    Unsent,
    /// The session is over, or may be tried once more.
    Invalid { resumable: bool },
    /// Discord asks to connect anew.
    Reconnect,
    /// It was let go.
    Stopped,
}

/// The events of a connection, and its state.
#[derive(Default)]
pub(crate) struct Inbox {
    waiting: RefCell<VecDeque<(u64, Came)>>,
    /// The number of the last event that came.
    last: Cell<u64>,
    /// The number of the last event that router has accepted.
    accepted: Cell<u64>,
    /// The session, once it began or goes on.
    session: RefCell<Option<Session>>,
    over: Cell<Option<Over>>,
    malformed: Cell<u32>,
    stopped: Cell<bool>,
    changed: Notify,
}

impl Inbox {
    /// One that goes on with this session, if any.
    pub(crate) fn new(seq: u64) -> Self {
        let inbox = Self::default();
        inbox.last.set(seq);
        inbox.accepted.set(seq);
        inbox
    }

    /// Takes an event.
    pub(crate) fn take(&self, seq: u64, event: Event) {
        self.last.set(self.last.get().max(seq));
        match event {
            Event::Ready(ready) => {
                let session = Session { id: ready.session_id, url: ready.resume_gateway_url, seq };
                self.last.set(seq);
                *self.session.borrow_mut() = Some(session);
            }
            Event::Message { message, edit } => {
                self.waiting.borrow_mut().push_back((seq, Came::Message(message, edit)));
            }
            Event::Press(press) => self.waiting.borrow_mut().push_back((seq, Came::Press(press))),
            Event::Malformed => self.malformed.set(self.malformed.get().saturating_add(1)),
            Event::Resumed | Event::Other => {}
        }
        self.changed.notify_waiters();
    }

    /// Notes that the session of the connection goes on.
    pub(crate) fn resumed(&self, session: Session) {
        self.session.borrow_mut().get_or_insert(session);
        self.changed.notify_waiters();
    }

    /// Ends it.
    pub(crate) fn end(&self, over: Over) {
        self.over.set(Some(over));
        self.changed.notify_waiters();
    }

    /// Has its connection let go.
    pub(crate) fn stop(&self) {
        self.stopped.set(true);
        self.changed.notify_waiters();
    }

    /// Waits until its connection is let go.
    pub(crate) async fn until_stopped(&self) {
        self.until(|inbox| inbox.stopped.get()).await;
    }

    /// Waits for room for another event.
    pub(crate) async fn until_room(&self) {
        self.until(|inbox| !inbox.is_full()).await;
    }

    /// Waits for an event beyond this one, or the end of the connection.
    pub(crate) async fn until_beyond(&self, seq: u64) {
        self.until(|inbox| inbox.over.get().is_some() || inbox.holds_beyond(seq)).await;
    }

    /// Waits until the session began or goes on, or the connection is over.
    pub(crate) async fn until_settled(&self) {
        self.until(|inbox| inbox.over.get().is_some() || inbox.session.borrow().is_some()).await;
    }

    async fn until(&self, so: impl Fn(&Self) -> bool) {
        loop {
            let changed = self.changed.notified();
            if so(self) {
                return;
            }
            changed.await;
        }
    }

    /// Returns true while no more events are read.
    pub(crate) fn is_full(&self) -> bool {
        self.waiting.borrow().len() >= WAITING
    }

    fn holds_beyond(&self, seq: u64) -> bool {
        self.waiting.borrow().back().is_some_and(|(last, _)| *last > seq)
    }

    /// Lets go of the events up to this one, which router has accepted.
    pub(crate) fn accepted(&self, seq: u64) {
        self.accepted.set(self.accepted.get().max(seq));
        self.waiting.borrow_mut().retain(|(one, _)| *one > seq);
        self.changed.notify_waiters();
    }

    /// Gives the events that wait to `use_one`, in order, until it returns false. Returns the number of the last event before the
    /// one that it refused, or of the last that came.
    pub(crate) fn each(&self, mut use_one: impl FnMut(&Came) -> bool) -> u64 {
        for (seq, came) in self.waiting.borrow().iter() {
            if !use_one(came) {
                return seq.saturating_sub(1);
            }
        }
        self.last.get()
    }

    /// The channels of the messages and presses that wait and that `is_wanted` wants, at most so many.
    pub(crate) fn wanted(&self, is_wanted: impl Fn(&Came) -> Option<u64>, most: usize) -> Vec<u64> {
        self.waiting.borrow().iter().take(most).filter_map(|(_, came)| is_wanted(came)).collect()
    }

    /// The session.
    pub(crate) fn session(&self) -> Option<Session> {
        self.session.borrow().clone()
    }

    /// The number of the last event that router has accepted, which is all that Discord needs no longer; none before the first.
    pub(crate) fn beyond(&self) -> Option<u64> {
        Some(self.accepted.get()).filter(|seq| *seq > 0)
    }

    /// The end of the connection.
    pub(crate) fn over(&self) -> Option<Over> {
        self.over.get()
    }

    /// Payloads since the last call that could not be read.
    pub(crate) fn take_malformed(&self) -> u32 {
        self.malformed.take()
    }

    /// Notes a payload that could not be read.
    pub(crate) fn count_malformed(&self) {
        self.malformed.set(self.malformed.get().saturating_add(1));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn message(id: u64) -> Event {
        let message = json!({ "id": id.to_string(), "channel_id": "1" });
        Event::Message { message: Box::new(serde_json::from_value(message).unwrap()), edit: false }
    }

    fn ids(inbox: &Inbox, most: usize) -> (Vec<u64>, u64) {
        let mut ids = Vec::new();
        let last = inbox.each(|came| {
            if ids.len() < most
                && let Came::Message(message, _) = came
            {
                ids.push(message.id.0);
                return true;
            }
            false
        });
        (ids, last)
    }

    // Holds P11-31.
    #[test]
    fn an_event_is_given_out_until_it_was_accepted() {
        let inbox = Inbox::new(0);
        inbox.take(2, message(20));
        inbox.take(3, Event::Other);
        inbox.take(5, message(50));
        inbox.take(6, Event::Other);
        assert_eq!(ids(&inbox, 9), (vec![20, 50], 6));
        assert_eq!(ids(&inbox, 1), (vec![20], 4), "the position is before the event that was left");
        inbox.accepted(4);
        assert_eq!(ids(&inbox, 9), (vec![50], 6));
        inbox.accepted(6);
        assert_eq!(ids(&inbox, 9), (vec![], 6));
    }

    #[tokio::test]
    async fn a_full_inbox_takes_no_more_until_some_were_accepted() {
        let inbox = Inbox::new(0);
        (1..=WAITING as u64).for_each(|seq| inbox.take(seq, message(seq)));
        assert!(inbox.is_full());
        let room = inbox.until_room();
        let accepted = async { inbox.accepted(3) };
        tokio::join!(room, accepted);
        assert!(!inbox.is_full());
    }

    #[tokio::test]
    async fn a_wait_ends_with_the_connection() {
        let inbox = Inbox::new(0);
        tokio::join!(inbox.until_beyond(9), async { inbox.end(Over::Lost) });
        assert_eq!(inbox.over(), Some(Over::Lost));
        inbox.until_settled().await;
    }
}
