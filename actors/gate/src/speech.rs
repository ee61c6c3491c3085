//! Text of an answer on its way to whoever follows the turn: through the scanner's hold-back, so that nothing which was cut
//! in two slips by. Where the canary is found, nothing of the answer stands.

use crate::assemble::in_pieces;
use crate::context::TurnContext;
use crate::host::Shared;
use crate::scan::{self, hold_back};
use crate::tell::Teller;
use ipc_proto::audit::{Action, Event, Result3};
use ipc_proto::router::TurnEvent;
use ipc_proto::runner_gate::GateError;

/// What stands for an answer in which the canary was found.
pub(crate) const WITHHELD: &str = "[The answer was withheld: it contained what must not leave the prompt.]";

/// The text of one reply.
#[derive(Debug, Default)]
pub(crate) struct Speech {
    /// Text that the scanner has not let go yet.
    pending: String,
    /// Text that went on.
    released: String,
    leaked: bool,
}

impl Speech {
    /// More of it.
    pub(crate) fn push(&mut self, text: &str) {
        self.pending.push_str(text);
    }

    /// Bytes of all of it.
    pub(crate) const fn bytes(&self) -> usize {
        self.pending.len() + self.released.len()
    }

    /// Returns whether the canary was found in it.
    pub(crate) const fn has_leaked(&self) -> bool {
        self.leaked
    }

    /// Gives what went on, and begins anew.
    pub(crate) fn take(&mut self) -> String {
        std::mem::take(self).released
    }

    /// Passes on what the scanner lets go.
    pub(crate) async fn let_go(
        &mut self,
        shared: &Shared,
        context: &TurnContext,
        teller: &mut Teller,
        last: bool,
    ) -> Result<(), GateError> {
        if self.pending.is_empty() || self.leaked {
            self.pending.clear();
            return Ok(());
        }
        let release = hold_back(shared, context, &self.pending, last).await?;
        if release.canary_leaked {
            return self.withhold(shared, context, teller).await;
        }
        if release.redactions > 0 {
            let event = Event::new(Action::SecretRedacted, Result3::Success);
            shared.record(event.in_turn(context.turn.session, context.turn.id)).await?;
        }
        scan::consume(&mut self.pending, &release);
        self.released.push_str(&release.text);
        teller.tell(shared, text_events(&release.text)).await
    }

    /// The canary was found: nothing of the reply stands.
    async fn withhold(
        &mut self,
        shared: &Shared,
        context: &TurnContext,
        teller: &mut Teller,
    ) -> Result<(), GateError> {
        let event = Event::new(Action::CanaryLeaked, Result3::Blocked);
        shared.record(event.in_turn(context.turn.session, context.turn.id)).await?;
        self.leaked = true;
        self.pending.clear();
        WITHHELD.clone_into(&mut self.released);
        let events = std::iter::once(TurnEvent::Again).chain(text_events(WITHHELD));
        teller.tell(shared, events).await
    }

    /// What was said of the reply so far does not stand; whoever has seen some of it is told so. Where the canary was
    /// found nothing of any reply will stand.
    pub(crate) fn void(&mut self) -> Option<TurnEvent> {
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
