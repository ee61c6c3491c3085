//! The writer's upkeep besides appends: checkpoints, retention, and a record that could not be written. It touches the
//! log and nothing else.

use super::{Message, RETAIN, SIGN_AGAIN, State};
use crate::tile::WIDTH;
use ipc_proto::audit::{Action, Event, Result3};
use ractor::ActorRef;
use std::time::Duration;

impl State {
    /// Tests if the record can be written again, by an entry that says so: no caller may ask in the meantime.
    pub(super) fn try_again(&mut self) {
        if !self.standing.is_unwritable() {
            return;
        }
        self.drain();
        let again = Event::new(Action::RecordRepaired, Result3::Success)
            .because("it could not be written for a while");
        if self.standing.is_unwritable()
            && let Some(log) = &mut self.log
            && log.append_own(again).is_ok()
        {
            self.standing.whole();
        }
    }

    /// Tells who waits for entries, and sees to the checkpoint.
    pub(super) fn settle(&mut self, myself: &ActorRef<Message>) {
        self.raise();
        if self.standing.is_unwritable() {
            self.sign_in(SIGN_AGAIN, myself);
        }
        let Some(log) = &self.log else { return };
        self.entries.send_replace(log.entries());
        let unsigned = log.entries() - log.signed;
        // At the end of a bundle, if the next would be beyond it: then there is nothing in part for readers to be given.
        let next = if log.entries().is_multiple_of(WIDTH) { WIDTH } else { 1 };
        if unsigned + next > u64::from(self.checkpoint.entries) {
            self.sign(myself);
        } else if unsigned > 0 {
            self.sign_in(Duration::from_millis(self.checkpoint.ms.into()), myself);
        }
    }

    pub(super) fn sign(&mut self, myself: &ActorRef<Message>) {
        if self.standing.is_unwritable() {
            return self.sign_in(SIGN_AGAIN, myself);
        }
        let Some(log) = &mut self.log else { return };
        if let Err(error) = log.sign() {
            tracing::error!(%error, "no checkpoint could be written");
            self.sign_in(SIGN_AGAIN, myself);
        }
    }

    fn sign_in(&mut self, time: Duration, myself: &ActorRef<Message>) {
        if !self.signing {
            self.signing = true;
            drop(myself.send_after(time, || Message::Sign));
        }
    }

    /// Looks at a part of the record, and then at the next, until nothing more is past its retention.
    pub(super) fn retain(&mut self, myself: &ActorRef<Message>) {
        self.drain();
        let Some(log) = &mut self.log else { return };
        let more = self.retention.step(log, kit::now_ms()).unwrap_or_else(|error| {
            tracing::error!(%error, "entries past their retention could not be removed");
            false
        });
        if !more {
            self.retention.rewind();
        }
        drop(myself.send_after(if more { RETAIN.1 } else { RETAIN.2 }, || Message::Retain));
        self.settle(myself);
    }
}
