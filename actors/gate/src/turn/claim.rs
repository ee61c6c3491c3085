//! The turn as router has it, with as much history as its model takes in.

use crate::state::context::GateContext;
use crate::state::errors::{down, router_refusal};
use crate::turn::context::TurnContext;
use ipc_proto::audit::{Action, Event, Result3};
use ipc_proto::ids::TurnId;
use ipc_proto::model::IMAGE_TOKENS;
use ipc_proto::router::{self, Task, Turn};
use ipc_proto::runner_gate::GateError;

/// Bytes of history that are requested before the model's window is known.
const HISTORY: u32 = 512 * 1024;

/// Bytes of text per token, generously.
const BYTES_PER_TOKEN: u32 = 3;

/// Claims the turn at router, with as much history as the agent's model takes in.
pub(crate) async fn claim(gate: &GateContext, id: TurnId) -> Result<TurnContext, GateError> {
    let mut turn = ask_turn(gate, id, HISTORY).await?;
    let agent = gate.agents.get(turn.agent.as_str()).cloned().ok_or(GateError::Over)?;
    let models = gate.models().await?;
    let window =
        models.iter().find(|model| model.name.as_str() == agent.model).map_or(0, |model| model.context);
    let remembered = if agent.memory { agent.memory_tokens } else { 0 };
    let images = u32::try_from(turn.content.images().count()).unwrap_or(u32::MAX);
    let shown = images.saturating_mul(IMAGE_TOKENS);
    let reserved = agent.limits.output_tokens.saturating_add(remembered).saturating_add(shown);
    let budget = window.saturating_sub(reserved).saturating_mul(BYTES_PER_TOKEN);
    if window > 0 && budget < HISTORY {
        turn = ask_turn(gate, id, budget).await?;
    }
    let mut random = [0; 16];
    getrandom::fill(&mut random).map_err(|_| down("randomness"))?;
    let canary = random.iter().fold(String::from("CANARY-"), |text, byte| text + &format!("{byte:02x}"));
    Ok(TurnContext::new(gate, turn, agent, canary))
}

/// Reads the grants again: an approval may have added one.
pub(crate) async fn refresh_grants(gate: &GateContext, context: &mut TurnContext) -> Result<(), GateError> {
    let turn = ask_turn(gate, context.turn.id, 0).await?;
    context.set_grants(turn.grants.iter());
    Ok(())
}

async fn ask_turn(gate: &GateContext, id: TurnId, budget: u32) -> Result<Turn, GateError> {
    let turn = gate
        .router
        .call(&router::method::take, |router, rpc| async move { router.take(rpc, id, budget).await });
    turn.await.map_err(|_| down("router"))?.map_err(|error| router_refusal(&error))
}

/// Records a person's own command, put or get, before it runs.
pub(crate) async fn permit_command(gate: &GateContext, context: &TurnContext) -> Result<(), GateError> {
    let subject = match &context.turn.task {
        Task::Chat => return Ok(()),
        Task::Command { .. } => "sandbox run",
        Task::Put { .. } => "workspace put",
        Task::Get { .. } => "workspace get",
        Task::Run(_) => "run",
    };
    let event = Event::new(Action::ToolDecided, Result3::Success).about(subject);
    let mut event = event.in_turn(context.turn.session, context.turn.id).because("a person's own command");
    event.label = Some(context.session.label.clone());
    gate.record(event).await.map(drop)
}
