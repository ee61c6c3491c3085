//! Text of a reply on its way to the turn's followers. The scanner holds back the end of it, so that a secret which was cut in
//! two does not slip by. Where the canary is found, nothing of the reply is shown.

use crate::inspection::scan::{self, hold_back};
use crate::model::assembly::in_pieces;
use crate::state::context::GateContext;
use crate::turn::context::TurnContext;
use crate::turn::events::EventSender;
use ipc_proto::audit::{Action, Event, Result3};
use ipc_proto::router::TurnEvent;
use ipc_proto::runner_gate::GateError;

/// Replaces an answer in which the canary was found.
pub(crate) const WITHHELD: &str = "[The answer was withheld: it contained what must not leave the prompt.]";

/// The text of one reply.
#[derive(Debug, Default)]
pub(crate) struct ReplyText {
    /// Text that the scanner still holds back.
    pending: String,
    /// Text that was shown.
    released: String,
    leaked: bool,
}

impl ReplyText {
    /// Appends text.
    pub(crate) fn push(&mut self, text: &str) {
        self.pending.push_str(text);
    }

    /// Bytes of the whole text.
    pub(crate) const fn bytes(&self) -> usize {
        self.pending.len() + self.released.len()
    }

    /// Returns true if the canary was found in it.
    pub(crate) const fn has_leaked(&self) -> bool {
        self.leaked
    }

    /// Returns the text that was shown and starts a new reply.
    pub(crate) fn take(&mut self) -> String {
        std::mem::take(self).released
    }

    /// Shows the text that the scanner releases.
    pub(crate) async fn release(
        &mut self,
        gate: &GateContext,
        context: &TurnContext,
        events: &mut EventSender,
        last: bool,
    ) -> Result<(), GateError> {
        if self.pending.is_empty() || self.leaked {
            self.pending.clear();
            return Ok(());
        }
        let release = hold_back(gate, context, &self.pending, last).await?;
        if release.canary_leaked {
            return self.withhold(gate, context, events).await;
        }
        if release.redactions > 0 {
            let event = Event::new(Action::SecretRedacted, Result3::Success);
            gate.record(event.in_turn(context.turn.session, context.turn.id)).await?;
        }
        scan::consume(&mut self.pending, &release);
        self.released.push_str(&release.text);
        events.send(gate, text_events(&release.text)).await
    }

    /// Replaces the reply, since the canary was found in it.
    async fn withhold(
        &mut self,
        gate: &GateContext,
        context: &TurnContext,
        events: &mut EventSender,
    ) -> Result<(), GateError> {
        let event = Event::new(Action::CanaryLeaked, Result3::Blocked);
        gate.record(event.in_turn(context.turn.session, context.turn.id)).await?;
        self.leaked = true;
        self.pending.clear();
        WITHHELD.clone_into(&mut self.released);
        let replaced = std::iter::once(TurnEvent::Again).chain(text_events(WITHHELD));
        events.send(gate, replaced).await
    }

    /// Discards the reply so far, and returns the event that tells so if any of it was shown. Once the canary was found, no reply
    /// is shown at all.
    pub(crate) fn discard(&mut self) -> Option<TurnEvent> {
        self.pending.clear();
        if self.released.is_empty() || self.leaked {
            return None;
        }
        self.released.clear();
        Some(TurnEvent::Again)
    }
}

/// Text in pieces that fit an event.
pub(crate) fn text_events(text: &str) -> Vec<TurnEvent> {
    in_pieces(text).into_iter().map(TurnEvent::Text).collect()
}
