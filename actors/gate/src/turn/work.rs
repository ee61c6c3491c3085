//! The work that a runner is given, and the tools of its agent.

use crate::services;
use crate::state::context::GateContext;
use crate::state::errors::{down, router_refusal};
use crate::state::mcp::servers_of;
use crate::turn::context::TurnContext;
use crate::turn::today;
use ipc_proto::model::{Message, Role};
use ipc_proto::router;
use ipc_proto::runner_gate::{GateError, Work};
use ipc_proto::tool::{ToolList, ToolSpec};
use ipc_proto::{List, Name, Text, engine};
use toolset::delegation_tools::DELEGATE;

/// The work of a runner. `again` calls of the last reply are released once more, and the runner counts them.
pub(crate) fn work_of(
    gate: &GateContext,
    context: &TurnContext,
    engine: Option<Box<engine::Work>>,
    replayed: Vec<Message>,
    again: u32,
) -> Work {
    let limits = &context.agent.limits;
    let seconds = if context.runs_program() { limits.run_seconds } else { limits.seconds };
    let history = context.turn.history.iter().map(|labelled| labelled.message.clone());
    // Memories come right before the message, so that a provider's cache of the conversation's beginning stays valid.
    let recalled = context.recalled.as_deref().map(|text| Message::text(Role::User, text));
    let message = Message::text(Role::User, &context.turn.content.plain());
    let catalogue = gate.catalogue();
    let bound = |tool: &String| {
        let capability = catalogue.get(tool)?;
        Some((Name::clip(tool), capability.execution.timeout))
    };
    Work {
        task: context.turn.task.clone(),
        prompt: Text::clip(&prompt(gate, context)),
        messages: List::clip(history.chain(recalled).chain([message]).chain(replayed)),
        tools: tools(gate, context),
        tool_calls: limits.tool_calls.saturating_sub(context.calls.asked().saturating_sub(again)),
        tool_failures: limits.tool_failures,
        wall_ms: seconds.saturating_mul(1000),
        tool_ms: List::clip(context.agent.tools.iter().filter_map(bound)),
        engine,
        files: context.turn.files.clone(),
        network: context.has_way_out(),
        opaque: List::clip(context.opaque().map(Text::clip)),
        placeholders: List::clip(services::variables(&gate.settings.services, &context.turn.agent)),
    }
}

/// The prompt. It changes from its end: first what stays while the configuration does, then the canary and the time, which are of this
/// turn, so that a provider's cache of its beginning stays valid.
fn prompt(gate: &GateContext, context: &TurnContext) -> String {
    let (agent, version) = (&context.turn.agent, env!("CARGO_PKG_VERSION"));
    let tools = match (context.engine(), context.agent.tools.as_slice()) {
        (Some(_), _) => String::new(),
        (None, []) => " You have no tools.".to_owned(),
        (None, tools) if context.hidden.is_empty() => {
            format!(" Your tools are {}, and no others.", tools.join(", "))
        }
        (None, tools) => format!(
            " Your tools are {}, and {} more that tool_find finds, of the servers {}.",
            tools.join(", "),
            context.hidden.len(),
            servers_of(&context.hidden)
        ),
    };
    let delegates = match context.agent.tools.iter().any(|tool| tool == DELEGATE) {
        true => format!(" You may hand tasks to {}.", context.agent.delegates.join(", ")),
        false => String::new(),
    };
    format!(
        "Your name is {agent}, on Cordon {version}.{tools}{delegates}\n{}\n\n{}\n{}\n",
        context.agent.prompt,
        context.session.canary,
        today::sentence(kit::now_ms(), &gate.settings.time_zone)
    )
}

/// The engine that answers the message, if one does, with its saved state.
pub(crate) async fn engine_of(
    gate: &GateContext,
    context: &TurnContext,
) -> Result<Option<Box<engine::Work>>, GateError> {
    let Some(engine) = context.engine() else {
        return Ok(None);
    };
    let (turn, name) = (context.turn.id, &engine.name);
    let saved = gate.router.call(&router::method::engine_state, |router, rpc| {
        let name = name.clone();
        async move { router.engine_state(rpc, turn, name).await }
    });
    let saved = saved.await.map_err(|_| down("router"))?.map_err(|error| router_refusal(&error))?;
    let history = u32::try_from(context.turn.history.len()).unwrap_or(u32::MAX);
    let recalled = context.recalled.is_some();
    Ok(Some(Box::new(engine::Work { engine: engine.clone(), kept: saved, history, recalled })))
}

/// The description of a tool, which says that there is no network only where there is none.
fn description(context: &TurnContext, spec: &toolset::ToolSpec) -> String {
    if context.has_way_out() {
        return spec.description.replace("no network", "a network by the HTTP proxy of its environment");
    }
    spec.description.to_owned()
}

/// The tools that this agent has.
pub(crate) fn tools(gate: &GateContext, context: &TurnContext) -> ToolList {
    let specs =
        toolset::all().into_iter().filter(|spec| context.agent.tools.iter().any(|tool| tool == spec.name));
    let own = specs.map(|spec| ToolSpec {
        name: Name::clip(spec.name),
        description: Text::clip(&services::described(
            &gate.settings.services,
            &context.turn.agent,
            spec.name,
            &description(context, &spec),
        )),
        schema: Text::clip(&spec.schema.to_string()),
        in_jail: spec.in_jail,
    });
    let foreign = context.agent.tools.iter().filter_map(|tool| gate.mcp.spec(tool));
    List::clip(own.chain(foreign))
}
