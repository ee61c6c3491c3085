//! The named events: a bounded ring in memory for readers that observe the host. It is neither a record nor part of a turn: a restart
//! loses its events, and nothing of the queue.

use ipc_proto::List;
use ipc_proto::Name;
use ipc_proto::ids::{MessageId, SessionId, TurnId};
use ipc_proto::router::{EventName, NamedEvent};
use std::collections::VecDeque;

/// Events in the ring.
const STORED: usize = 1024;

/// The subject of an event.
#[derive(Default)]
pub(crate) struct About<'a> {
    pub(crate) session: Option<SessionId>,
    pub(crate) turn: Option<TurnId>,
    pub(crate) message: Option<MessageId>,
    /// The tool, user or channel.
    pub(crate) subject: Option<&'a str>,
    pub(crate) detail: Option<&'a str>,
}

/// The last named events.
#[derive(Default)]
pub(crate) struct Events {
    stored: VecDeque<NamedEvent>,
    last: u64,
}

impl Events {
    /// Adds an event.
    pub(crate) fn push(&mut self, name: EventName, now_ms: u64, about: &About<'_>) {
        self.last += 1;
        if self.stored.len() == STORED {
            self.stored.pop_front();
        }
        self.stored.push_back(NamedEvent {
            number: self.last,
            at_ms: now_ms,
            name,
            session: about.session,
            turn: about.turn,
            message: about.message,
            subject: about.subject.map(Name::clip),
            detail: about.detail.map(Name::clip),
        });
    }

    /// Events after number `after`. A number that was never given is from an earlier life of the process, and gets all events.
    pub(crate) fn after(&self, after: u64) -> List<NamedEvent, 256> {
        let after = if after > self.last { 0 } else { after };
        let start = self.stored.partition_point(|event| event.number <= after);
        List::clip(self.stored.range(start..).cloned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(events: &Events, after: u64) -> Vec<u64> {
        events.after(after).iter().map(|event| event.number).collect()
    }

    #[test]
    fn events_count_from_one_and_a_reader_goes_on_where_it_was() {
        let mut events = Events::default();
        assert!(events.after(0).is_empty());
        for _ in 0..3 {
            events.push(EventName::MessageReceived, 7, &About::default());
        }
        assert_eq!(numbers(&events, 0), [1, 2, 3]);
        assert_eq!(numbers(&events, 2), [3]);
        assert!(events.after(3).is_empty());
    }

    // Holds B-27.
    #[test]
    fn only_the_last_are_kept_and_a_reader_of_an_earlier_life_begins_anew() {
        let mut events = Events::default();
        for _ in 0..STORED + 10 {
            events.push(EventName::MessageSent, 7, &About::default());
        }
        assert_eq!(numbers(&events, 0).first(), Some(&11));
        assert_eq!(events.after(0).len(), 256);
        assert_eq!(numbers(&events, 99_999).first(), Some(&11));
    }
}
