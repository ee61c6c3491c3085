//! Messages that a person sends into a turn under way. Each is accepted between two calls by a step that ends it in the queue,
//! and only then passed to the model or an engine. It is the person's own text, with the label that it got when it was accepted
//! from its channel.

use crate::state::context::GateContext;
use crate::state::errors::{down, router_refusal};
use crate::turn::attempt::Attempt;
use crate::turn::steps::{self, StepOutcome};
use ipc_proto::ids::TurnId;
use ipc_proto::router::{self, STEERING_BOUND, STEERING_MESSAGES, SteeringMessage, Step, TurnEvent};
use ipc_proto::runner_gate::GateError;
use ipc_proto::{List, Text};

/// Accepts the messages that have come since the last call.
pub(crate) async fn accept_messages(
    gate: &GateContext,
    attempt: &mut Attempt,
) -> Result<List<Text<STEERING_BOUND>, STEERING_MESSAGES>, GateError> {
    let mut accepted = Vec::new();
    for SteeringMessage { message, text, label } in waiting(gate, attempt.context.turn.id).await? {
        let context = &mut attempt.context;
        let before = (context.session.label.clone(), context.workspace_label.clone());
        context.raise_to(&label);
        let step = Step::Steered { message, text: text.clone(), label: label.clone() };
        match steps::try_save(gate, context, step).await? {
            StepOutcome::Durable => {}
            // Its sender withdrew it meanwhile.
            StepOutcome::Gone | StepOutcome::NotApproved => {
                (context.session.label, context.workspace_label) = before;
                continue;
            }
        }
        kit::fault_point!("gate.words.kept");
        context.add_steering(&label, &text);
        let notice = format!("your message {message} was passed to the turn under way");
        attempt.events.send(gate, [TurnEvent::Notice(Text::clip(&notice))]).await?;
        accepted.push(text);
    }
    Ok(List::clip(accepted))
}

async fn waiting(
    gate: &GateContext,
    turn: TurnId,
) -> Result<List<SteeringMessage, STEERING_MESSAGES>, GateError> {
    let messages = gate
        .router
        .call(&router::method::steering, |router, rpc| async move { router.steering(rpc, turn).await });
    messages.await.map_err(|_| down("router"))?.map_err(|error| router_refusal(&error))
}
