//! The tools for an agent's own jobs. The scheduler keeps them; a person has approved each that is added.

use crate::effects::outcome::{Effect, disconnected, done, failed};
use crate::jobs;
use crate::state::context::GateContext;
use crate::turn::context::TurnContext;
use ipc_proto::label::{Label, Trust};
use ipc_proto::tool::ToolCall;
use serde_json::{Map, Value};
use toolset::schedule_tools::{LIST, NAMES, REMOVE};

/// The process that is called.
const SCHEDULER: &str = "scheduler";

/// Returns true if a tool is about jobs.
pub(crate) fn calls(tool: &str) -> bool {
    NAMES.contains(&tool)
}

/// Returns true if it changes them.
pub(crate) fn changes(tool: &str) -> bool {
    calls(tool) && tool != LIST
}

/// Carries out a released call.
pub(crate) async fn call(
    gate: &GateContext,
    context: &TurnContext,
    call: &ToolCall,
    args: &Map<String, Value>,
) -> Effect {
    match call.tool.as_str() {
        LIST => list(gate, context).await,
        REMOVE => remove(gate, context, args).await,
        _ => match jobs::add(gate, context, call.id, args).await {
            Ok(Ok(added)) => done(added, None),
            Ok(Err(error)) => failed(&error.to_string()),
            Err(fault) => disconnected(SCHEDULER, fault, false),
        },
    }
}

async fn remove(gate: &GateContext, context: &TurnContext, args: &Map<String, Value>) -> Effect {
    let job = args.get("job").and_then(Value::as_str).unwrap_or_default();
    match jobs::remove(gate, context, job).await {
        Ok(Ok(job)) => done(format!("the job {} is removed", job.name), None),
        Ok(Err(error)) => failed(&error.to_string()),
        Err(fault) => disconnected(SCHEDULER, fault, false),
    }
}

/// The messages are an agent's own words, so they come back as no better than that.
async fn list(gate: &GateContext, context: &TurnContext) -> Effect {
    match jobs::list(gate, context).await {
        Ok(Ok(found)) => done(jobs::listed(&found), Some(Label::of(Trust::Verified, found.class, "agent"))),
        Ok(Err(error)) => failed(&error.to_string()),
        Err(fault) => disconnected(SCHEDULER, fault, true),
    }
}
