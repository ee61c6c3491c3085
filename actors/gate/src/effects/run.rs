//! Effects of the tools that do not run in the jail: memory, in the scope of the turn's user and agent, with labels
//! both ways; and what web does. Each is given up after the time that its capability declares.

use crate::effects::memory_reads::{self, Problem};
use crate::effects::outcome::{Effect, failed, unknown};
use crate::effects::{browser_call, fetch, job_call, memory_changes, send_file, service_call, tool_find};
use crate::services;
use crate::state::context::GateContext;
use crate::state::errors::down;
use crate::turn::context::TurnContext;
use ipc_proto::Blob;
use ipc_proto::channel::SENT_BYTES;
use ipc_proto::runner_gate::GateError;
use ipc_proto::tool::ToolCall;
use serde_json::Value;
use std::time::Duration;
use toolset::channel_tools::SEND_FILE;
use toolset::server_tools::TOOL_FIND;

/// Milliseconds in which a browser is started.
const START_MS: u32 = 30_000;

/// Runs a released call of a tool that does not run in the jail. `file` are the bytes that the jail gave for it.
pub(crate) async fn run(
    gate: &GateContext,
    context: &mut TurnContext,
    call: &ToolCall,
    file: Option<Blob<SENT_BYTES>>,
) -> Result<Effect, GateError> {
    let Ok(args) = toolset::parse_args(&call.args) else { return Ok(failed("the arguments are not JSON")) };
    let ms = gate.catalogue().get(&call.tool).map_or(0, |capability| capability.execution.timeout);
    // A browser may have to be started first.
    let ms = if browser_call::calls(&call.tool) { ms.saturating_add(START_MS) } else { ms };
    let done =
        tokio::time::timeout(Duration::from_millis(ms.into()), effect(gate, context, (call, file), &args));
    match done.await {
        Ok(effect) => effect,
        Err(_) if call.tool.as_str() == "web_fetch" => Ok(fetch::timed_out(&args)),
        Err(_) if browser_call::calls(&call.tool) => Ok(browser_call::timed_out(&call.tool)),
        Err(_) if services::calls(&call.tool) => Ok(service_call::timed_out(&args)),
        // Memory, router and scheduler complete what they began.
        Err(_) if memory_changes::changes(&call.tool) || job_call::changes(&call.tool) => Ok(unknown()),
        Err(_) if call.tool.as_str() == SEND_FILE => Ok(unknown()),
        Err(_) => Ok(failed(&format!("it took longer than {ms} ms"))),
    }
}

async fn effect(
    gate: &GateContext,
    context: &mut TurnContext,
    (call, file): (&ToolCall, Option<Blob<SENT_BYTES>>),
    args: &Value,
) -> Result<Effect, GateError> {
    let done = match (call.tool.as_str(), args) {
        ("web_fetch", Value::Object(args)) => return Ok(fetch::fetch(gate, context, call, args).await),
        ("web_search", Value::Object(args)) => return Ok(fetch::search(gate, args).await),
        (tool, Value::Object(args)) if services::calls(tool) => {
            return Ok(service_call::call(gate, context, call, args).await);
        }
        (tool, Value::Object(args)) if job_call::calls(tool) => {
            return Ok(job_call::call(gate, context, call, args).await);
        }
        (tool, Value::Object(args)) if browser_call::calls(tool) => {
            return browser_call::call(gate, context, call, args).await;
        }
        (TOOL_FIND, Value::Object(args)) => return Ok(tool_find::find(gate, context, args)),
        (SEND_FILE, Value::Object(args)) => return send_file::send(gate, context, call, (args, file)).await,
        ("memory_write", _) => memory_changes::write(gate, context, call, args).await,
        ("memory_revise", _) => memory_changes::revise(gate, context, call, args).await,
        ("memory_delete", _) => memory_changes::remove(gate, context, args).await,
        ("memory_query", _) => memory_reads::query(gate, context, args).await,
        ("memory_timeline", _) => memory_reads::timeline(gate, context, args).await,
        ("memory_read", _) => memory_reads::read(gate, context, args).await,
        ("memory_list", _) => memory_reads::list(gate, context, args).await,
        _ => return Ok(failed("this tool does not run in the gate")),
    };
    match done {
        Ok(effect) => Ok(effect),
        Err(Problem::Gone) => Err(down("memory")),
        Err(problem) => Ok(failed(&problem.to_string())),
    }
}
