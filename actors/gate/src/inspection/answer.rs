//! The whole text of a reply on its way to the outbox.

use crate::inspection::reply_text::{WITHHELD, text_events};
use crate::inspection::scan;
use crate::state::context::GateContext;
use crate::turn::context::TurnContext;
use crate::turn::events::EventSender;
use ipc_proto::audit::{Action, Event, Result3};
use ipc_proto::router::TurnEvent;
use ipc_proto::runner_gate::GateError;
use ipc_proto::scanner::Crossing;

/// Releases the whole text of a reply of which followers were shown `shown`. If another text is released, they are shown that one.
pub(crate) async fn release_shown(
    gate: &GateContext,
    context: &mut TurnContext,
    events: &mut EventSender,
    shown: &str,
) -> Result<String, GateError> {
    let released = release(gate, context, shown.to_owned()).await?;
    if released != shown {
        let again = std::iter::once(TurnEvent::Again).chain(text_events(&released));
        events.send(gate, again).await?;
    }
    Ok(released)
}

/// The whole text of a reply, before it is kept and goes to the outbox: what must not leave is cut out, or all of it
/// is withheld. What it shows of personal data raises the session's class, since it stays in the conversation.
async fn release(gate: &GateContext, context: &mut TurnContext, text: String) -> Result<String, GateError> {
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
