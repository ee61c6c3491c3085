//! Taking a turn up: what router has of it, with as much history as its model takes in, and the work that its runner
//! is given.

use crate::calling;
use crate::context::TurnContext;
use crate::host::{Shared, down, refused};
use ipc_proto::audit::{Action, Event, Result3};
use ipc_proto::engine;
use ipc_proto::ids::TurnId;
use ipc_proto::model::{IMAGE_TOKENS, Message, Role};
use ipc_proto::router::{self, Task, Turn};
use ipc_proto::runner_gate::{GateError, Work};
use ipc_proto::tool::{ToolList, ToolSpec};
use ipc_proto::{List, Name, Text};

/// History that is asked for, bytes, before the model's own window is known.
const HISTORY: u32 = 512 * 1024;
/// Bytes of text that a token stands for, generously.
const BYTES_PER_TOKEN: u32 = 3;

/// Gets the turn from router, with as much history as the agent's model takes in.
pub(crate) async fn take(shared: &Shared, id: TurnId) -> Result<TurnContext, GateError> {
    let mut turn = ask_turn(shared, id, HISTORY).await?;
    let agent = shared.agents.get(turn.agent.as_str()).cloned().ok_or(GateError::Over)?;
    let models = shared.models().await?;
    let window =
        models.iter().find(|model| model.name.as_str() == agent.model).map_or(0, |model| model.context);
    let remembered = if agent.memory { agent.memory_tokens } else { 0 };
    let images = u32::try_from(turn.content.images().count()).unwrap_or(u32::MAX);
    let shown = images.saturating_mul(IMAGE_TOKENS);
    let taken = agent.limits.output_tokens.saturating_add(remembered).saturating_add(shown);
    let budget = window.saturating_sub(taken).saturating_mul(BYTES_PER_TOKEN);
    if window > 0 && budget < HISTORY {
        turn = ask_turn(shared, id, budget).await?;
    }
    let mut random = [0; 16];
    getrandom::fill(&mut random).map_err(|_| down("randomness"))?;
    let canary = random.iter().fold(String::from("CANARY-"), |text, byte| text + &format!("{byte:02x}"));
    Ok(TurnContext::new(shared, turn, agent, canary))
}

/// The grants that hold now: a person who just approved may have given one.
pub(crate) async fn refresh_grants(shared: &Shared, context: &mut TurnContext) -> Result<(), GateError> {
    let turn = ask_turn(shared, context.turn.id, 0).await?;
    context.grant(turn.grants.iter());
    Ok(())
}

async fn ask_turn(shared: &Shared, id: TurnId, budget: u32) -> Result<Turn, GateError> {
    let turn = shared
        .router
        .call(&router::method::take, |router, rpc| async move { router.take(rpc, id, budget).await });
    turn.await.map_err(|_| down("router"))?.map_err(|error| refused(&error))
}

/// A person's own command, put or get: on the record before it runs.
pub(crate) async fn permit_command(shared: &Shared, context: &TurnContext) -> Result<(), GateError> {
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
    shared.record(event).await.map(drop)
}

/// The work. `again` calls of the last reply are given out once more, and counted by the runner then.
pub(crate) fn work_of(shared: &Shared, context: &TurnContext, replayed: Vec<Message>, again: u32) -> Work {
    let limits = &context.agent.limits;
    let runs = context.engine().is_some() || matches!(context.turn.task, Task::Run(_));
    let seconds = if runs { limits.run_seconds } else { limits.seconds };
    let history = context.turn.history.iter().map(|labelled| labelled.message.clone());
    // Before the message, and after what went before: whoever keeps the beginning of a conversation can go on doing so.
    let recalled = context.recalled.as_deref().map(|text| Message::text(Role::User, text));
    let message = Message::text(Role::User, &context.turn.content.plain());
    let bound = |tool: &String| {
        let capability = shared.catalogue.get(tool)?;
        Some((Name::clip(tool), capability.execution.timeout))
    };
    Work {
        task: context.turn.task.clone(),
        prompt: Text::clip(&format!("{}\n\n{}\n", context.agent.prompt, context.session.canary)),
        messages: List::clip(history.chain(recalled).chain([message]).chain(replayed)),
        tools: tools(shared, context),
        tool_calls: limits.tool_calls.saturating_sub(context.asked.saturating_sub(again)),
        tool_failures: limits.tool_failures,
        wall_ms: seconds.saturating_mul(1000),
        tool_ms: List::clip(context.agent.tools.iter().filter_map(bound)),
        engine: None,
    }
}

/// The engine that answers the message, if one does, with what it has to go on with.
pub(crate) async fn engine_of(
    shared: &Shared,
    context: &TurnContext,
) -> Result<Option<Box<engine::Work>>, GateError> {
    let Some(engine) = context.engine() else {
        return Ok(None);
    };
    let (turn, name) = (context.turn.id, &engine.name);
    let kept = shared.router.call(&router::method::engine_state, |router, rpc| {
        let name = name.clone();
        async move { router.engine_state(rpc, turn, name).await }
    });
    let kept = kept.await.map_err(|_| down("router"))?.map_err(|error| refused(&error))?;
    let history = u32::try_from(context.turn.history.len()).unwrap_or(u32::MAX);
    let recalled = context.recalled.is_some();
    Ok(Some(Box::new(engine::Work { engine: engine.clone(), kept, history, recalled })))
}

/// The tools that this agent has.
pub(crate) fn tools(shared: &Shared, context: &TurnContext) -> ToolList {
    let specs =
        toolset::specs().into_iter().filter(|spec| context.agent.tools.iter().any(|tool| tool == spec.name));
    List::clip(specs.map(|spec| ToolSpec {
        name: Name::clip(spec.name),
        description: Text::clip(&calling::described(shared, context, spec.name, spec.description)),
        schema: Text::clip(&spec.schema.to_string()),
        in_jail: spec.in_jail,
    }))
}
