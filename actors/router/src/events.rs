//! The named events, the seeds' eight among them: a bounded ring in memory that whoever observes the host reads. It is no record
//! and no part of a turn: what is lost with the process is lost here, never in the queue.

use ipc_proto::List;
use ipc_proto::Name;
use ipc_proto::ids::{MessageId, SessionId, TurnId};
use ipc_proto::router::{EventName, NamedEvent};
use std::collections::VecDeque;

/// Events that are kept.
const KEPT: usize = 1024;

/// What an event is about.
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
    kept: VecDeque<NamedEvent>,
    last: u64,
}

impl Events {
    /// Tells of an event.
    pub(crate) fn tell(&mut self, name: EventName, now_ms: u64, about: &About<'_>) {
        self.last += 1;
        if self.kept.len() == KEPT {
            self.kept.pop_front();
        }
        self.kept.push_back(NamedEvent {
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

    /// Events after number `after`. A number that was never given is of an earlier life: all are told.
    pub(crate) fn after(&self, after: u64) -> List<NamedEvent, 256> {
        let after = if after > self.last { 0 } else { after };
        let start = self.kept.partition_point(|event| event.number <= after);
        List::clip(self.kept.range(start..).cloned())
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
            events.tell(EventName::MessageReceived, 7, &About::default());
        }
        assert_eq!(numbers(&events, 0), [1, 2, 3]);
        assert_eq!(numbers(&events, 2), [3]);
        assert!(events.after(3).is_empty());
    }

    // Holds B-27.
    #[test]
    fn only_the_last_are_kept_and_a_reader_of_an_earlier_life_begins_anew() {
        let mut events = Events::default();
        for _ in 0..KEPT + 10 {
            events.tell(EventName::MessageSent, 7, &About::default());
        }
        assert_eq!(numbers(&events, 0).first(), Some(&11));
        assert_eq!(events.after(0).len(), 256);
        assert_eq!(numbers(&events, 99_999).first(), Some(&11));
    }
}
