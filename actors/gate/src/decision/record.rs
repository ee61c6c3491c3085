//! Events and alerts about tool calls.

use crate::inspection::scan;
use crate::state::context::GateContext;
use crate::turn::context::TurnContext;
use ipc_proto::audit::{Action, Event, Result3};
use ipc_proto::content::image_label;
use ipc_proto::label::Label;
use ipc_proto::runner_gate::GateError;
use ipc_proto::tool::ToolCall;
use policy::Passage;
use sha2::{Digest, Sha256};

/// Returns true if policy permits a digest of content with this label in the record: the digest of a short secret reveals it.
pub(crate) fn may_log(gate: &GateContext, context: &TurnContext, label: &Label) -> bool {
    policy::passes(&gate.engine(), &context.session, Passage::Log, label).is_ok()
}

/// An event about a call, with a digest of its arguments where the tool's capability wants one.
pub(crate) fn event(
    gate: &GateContext,
    context: &TurnContext,
    action: Action,
    result: Result3,
    call: &ToolCall,
) -> Event {
    let event = Event::new(action, result).about(&call.tool);
    let mut event = event.in_turn(context.turn.session, context.turn.id);
    event.call = Some(call.id);
    event.bytes = call.args.len() as u64;
    let label = &context.session.label;
    event.label = Some(label.clone());
    let wanted = gate.catalogue().get(&call.tool).is_none_or(|capability| capability.audit.log_args);
    if wanted && may_log(gate, context, label) {
        event.hash = Some(Sha256::digest(call.args.as_bytes()).into());
    }
    event
}

/// Puts an image on the record before a model is shown it.
///
/// # Errors
/// Audit is away.
pub(crate) async fn image(
    gate: &GateContext,
    context: &TurnContext,
    media: &str,
    bytes: &[u8],
) -> Result<(), GateError> {
    let event = Event::new(Action::ImageGiven, Result3::Success).about(media);
    let mut event = event.in_turn(context.turn.session, context.turn.id);
    event.hash = Some(Sha256::digest(bytes).into());
    event.bytes = bytes.len() as u64;
    event.label = Some(image_label());
    gate.record(event).await.map(drop)
}

/// Raises an alert about an ordinary refusal, where the tool's capability wants one, once it is repeated in its session.
pub(crate) async fn alert_repeated(
    gate: &GateContext,
    context: &TurnContext,
    tool: &str,
    outcome: &str,
) -> Result<(), GateError> {
    let catalogue = gate.catalogue();
    let Some(capability) = catalogue.get(tool) else { return Ok(()) };
    if capability.audit.alert_on.iter().any(|wanted| wanted == outcome) {
        gate.alert_repeated(scan::alert_event(context, tool, "refused repeatedly")).await?;
    }
    Ok(())
}

/// Raises an alert where the tool's capability wants one for this outcome.
pub(crate) async fn alert(
    gate: &GateContext,
    context: &TurnContext,
    tool: &str,
    outcome: &str,
) -> Result<(), GateError> {
    let catalogue = gate.catalogue();
    let Some(capability) = catalogue.get(tool) else { return Ok(()) };
    if capability.audit.alert_on.iter().any(|wanted| wanted == outcome) {
        scan::alert(gate, context, tool, outcome).await?;
    }
    Ok(())
}
