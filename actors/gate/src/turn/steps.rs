//! The steps of a turn, which router makes durable together with the labels that they raised.

use crate::state::context::GateContext;
use crate::state::errors::{down, router_refusal};
use crate::turn::context::TurnContext;
use ipc_proto::router::{self, RouterError, Step};
use ipc_proto::runner_gate::GateError;

/// The outcome of a step that claims an approval or a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StepOutcome {
    /// It is durable.
    Durable,
    /// Its approval cannot be claimed.
    NotApproved,
    /// The message that it claims was withdrawn.
    Gone,
}

/// Saves a step and the labels that it raised, before anybody sees it.
pub(crate) async fn save(gate: &GateContext, context: &mut TurnContext, step: Step) -> Result<(), GateError> {
    match try_save(gate, context, step).await? {
        StepOutcome::Durable => Ok(()),
        StepOutcome::NotApproved | StepOutcome::Gone => Err(GateError::Over),
    }
}

/// Saves a step that may claim an approval or a message. Router commits both or neither.
pub(crate) async fn try_save(
    gate: &GateContext,
    context: &mut TurnContext,
    step: Step,
) -> Result<StepOutcome, GateError> {
    let number = context.next_step;
    let saved = gate.router.call(&router::method::step, |router, rpc| {
        let (turn, step) = (context.turn.id, step.clone());
        let (session, workspace) = (context.session.label.clone(), context.workspace_label.clone());
        async move { router.step(rpc, turn, number, step, session, workspace).await }
    });
    match saved.await.map_err(|_| down("router"))? {
        Ok(()) => {}
        Err(RouterError::NotApproved) => return Ok(StepOutcome::NotApproved),
        Err(RouterError::NoMessage) => return Ok(StepOutcome::Gone),
        Err(error) => return Err(router_refusal(&error)),
    }
    context.next_step += 1;
    Ok(StepOutcome::Durable)
}
