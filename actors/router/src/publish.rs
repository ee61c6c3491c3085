//! Named events, for readers that observe the host.

use crate::events::About;
use crate::state::RouterState;
use crate::state::subscribers::EventsPort;
use crate::store::{Asked, Head, approval_state};
use ipc_proto::approval::State;
use ipc_proto::router::EventName;

impl RouterState {
    /// Publishes an event to the readers that wait and to those to come.
    pub(crate) fn publish(&mut self, name: EventName, about: &About<'_>) {
        self.events.push(name, self.now.ms, about);
        for (after, port) in self.subscribers.take_watchers() {
            drop(port.send(self.events.after(after)));
        }
    }

    /// Gives named events after number `after`, now or when there are some.
    pub(crate) fn watch(&mut self, after: u64, port: EventsPort) {
        let events = self.events.after(after);
        if events.is_empty() {
            self.subscribers.add_watcher(after, port);
        } else {
            drop(port.send(events));
        }
    }

    /// Publishes that a message was accepted, and that its session began with it.
    pub(crate) fn publish_received(&mut self, head: &Head, new_session: bool) {
        let about = About { session: Some(head.session), subject: Some(&head.channel), ..About::default() };
        if new_session {
            self.publish(EventName::SessionStarted, &about);
        }
        let about = About { turn: Some(head.turn), message: Some(head.id), ..about };
        self.publish(EventName::MessageReceived, &about);
    }

    /// Publishes the progress of a message.
    pub(crate) fn publish_progress(&mut self, head: &Head, name: EventName, detail: Option<&str>) {
        let about = About {
            session: Some(head.session),
            turn: Some(head.turn),
            message: Some(head.id),
            subject: Some(&head.channel),
            detail,
        };
        self.publish(name, &about);
    }

    /// Publishes how a question to a person was settled.
    pub(crate) fn publish_answer(&mut self, asked: &Asked, state: State) {
        let about = About {
            session: Some(asked.session),
            turn: Some(asked.turn),
            message: None,
            subject: Some(&asked.tool),
            detail: Some(approval_state(state)),
        };
        self.publish(EventName::ApprovalResponse, &about);
    }
}
