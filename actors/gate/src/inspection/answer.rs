//! The whole text of a reply on its way to the outbox.

use crate::inspection::reply_text::WITHHELD;
use crate::inspection::scan;
use crate::state::context::GateContext;
use crate::turn::context::TurnContext;
use ipc_proto::audit::{Action, Event, Result3};
use ipc_proto::runner_gate::GateError;
use ipc_proto::scanner::Crossing;

/// The whole text of a reply, before it is kept and goes to the outbox: what must not leave is cut out, or all of it
/// is withheld. What it shows of personal data raises the session's class, since it stays in the conversation.
pub(crate) async fn release(
    gate: &GateContext,
    context: &mut TurnContext,
    text: String,
) -> Result<String, GateError> {
    if text.is_empty() {
        return Ok(text);
    }
    let verdict = scan::scan(gate, context, Crossing::Answer, &text).await?;
    if verdict.canary_leaked {
        let event = Event::new(Action::CanaryLeaked, Result3::Blocked);
        gate.record(event.in_turn(context.turn.session, context.turn.id)).await?;
    }
    if verdict.canary_leaked || verdict.held_secret {
        return Ok(WITHHELD.to_owned());
    }
    let Some(clean) = verdict.redacted else {
        context.session.label.class = context.session.label.class.max(verdict.class);
        return Ok(text);
    };
    let event = Event::new(Action::SecretRedacted, Result3::Success);
    gate.record(event.in_turn(context.turn.session, context.turn.id)).await?;
    Ok(clean.into_string())
}
