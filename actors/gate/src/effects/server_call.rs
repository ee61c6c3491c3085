//! Calls of tools of servers: the server runs in a jail of its own, which is launched where none runs. What it says is a stranger's,
//! and has the label of everything that it was ever told.

use crate::effects::outcome::{Effect, failed, unknown};
use crate::state::context::GateContext;
use crate::state::mcp::{Holder, Instance, Lost, Workspace, parts};
use crate::turn::context::TurnContext;
use ipc_proto::config::{McpScope, McpServer};
use ipc_proto::label::{Class, Label, Trust};
use ipc_proto::mcp::{Act, PinState, Reply};
use ipc_proto::scanner::Crossing;
use ipc_proto::tool::{Outcome, ToolCall};
use serde_json::{Map, Value};
use std::sync::Arc;

/// Calls a tool. The call was permitted before; that the tool is still what was approved is checked again.
pub(crate) async fn call(
    gate: &GateContext,
    context: &TurnContext,
    call: &ToolCall,
    args: &Map<String, Value>,
) -> Effect {
    let Some((name, tool)) = parts(&call.tool) else { return failed("this is no server's tool") };
    let Some(server) = gate.mcp.servers.get(name) else {
        return failed(&format!("there is no server {name} any more"));
    };
    let instance = match running(gate, context, name, server).await {
        Ok(instance) => instance,
        Err(why) => return failed(&format!("the server {name} is not there: {why}")),
    };
    if gate.mcp.state(name, tool) != Some(PinState::Approved) {
        let next = format!("the owner looks at it: agentctl mcp tools {name}");
        return failed(&format!("the server {name} has changed this tool since it was approved; {next}"));
    }
    // Before anything of this label is told.
    instance.raise_to(&context.session.label.join(&context.workspace_label));
    let Ok(args) = ipc_proto::Text::new(Value::Object(args.clone()).to_string()) else {
        return failed("the arguments are too long");
    };
    let Ok(tool) = ipc_proto::Text::new(tool) else { return failed("this is no server's tool") };
    let replied = instance.ask(Act::Call { tool, args }, server.seconds).await;
    effect(gate, call, name, &instance, replied)
}

fn effect(
    gate: &GateContext,
    call: &ToolCall,
    server: &str,
    instance: &Arc<Instance>,
    replied: Result<Reply, Lost>,
) -> Effect {
    match replied {
        Ok(Reply::Done { text, failed }) => from_server(server, instance, failed, text.into_string()),
        Ok(Reply::Refused(text)) => from_server(server, instance, true, text.into_string()),
        Ok(Reply::Items(_)) => failed(&format!("the server {server} gave no answer to a call")),
        Ok(Reply::TimedOut | Reply::Gone) | Err(Lost::Unknown) => timed_out(gate, &call.tool),
        Err(Lost::Unsent) => failed(&format!("the server {server} has just ended; try again")),
    }
}

/// The outcome of a call without a reply: what may have changed something is unknown.
pub(crate) fn timed_out(gate: &GateContext, tool: &str) -> Effect {
    if gate.catalogue().only_reads(tool) { failed("the server did not answer") } else { unknown() }
}

fn from_server(server: &str, instance: &Arc<Instance>, failed: bool, output: String) -> Effect {
    let source = format!("mcp:{server}");
    let label = Label::of(Trust::Untrusted, Class::Internal, &source).join(&instance.label());
    Effect {
        outcome: if failed { Outcome::Error } else { Outcome::Success },
        output,
        label: Some(label),
        crossing: Crossing::Web,
        source: Some(source),
    }
}

/// The running server for this turn.
async fn running(
    gate: &GateContext,
    context: &TurnContext,
    name: &str,
    server: &McpServer,
) -> Result<Arc<Instance>, String> {
    let holder = match server.scope {
        McpScope::Session => Holder::Session(context.turn.session),
        McpScope::User => Holder::User(context.turn.user),
        McpScope::Host => Holder::Host,
    };
    let turn = &context.turn;
    let workspace = server.workspace.then_some(Workspace { id: turn.workspace, attached: turn.attached });
    let started = gate.mcp.running(name, holder, workspace).await;
    let instance = started.map_err(|trouble| trouble.to_string())?;
    Ok(instance)
}
