//! Effects of the tools that do not run in the jail: memory, in the scope of the turn's user and agent, with labels
//! both ways; and what web does. Each is given up after the time that its capability declares.

mod changing;
mod memories;
mod shown;

use crate::calling;
use crate::context::TurnContext;
use crate::fetching;
use crate::host::{Shared, down};
use ipc_proto::label::Label;
use ipc_proto::runner_gate::GateError;
use ipc_proto::scanner::Crossing;
use ipc_proto::tool::{Outcome, ToolCall};
use memories::Problem;
use serde_json::Value;
use std::time::Duration;

/// What an effect came to.
#[derive(Debug)]
pub(crate) struct Effect {
    pub(crate) outcome: Outcome,
    pub(crate) output: String,
    /// The label of what was read, if anything was.
    pub(crate) label: Option<Label>,
    /// Where the output crosses.
    pub(crate) crossing: Crossing,
    /// Whose words the output is, if strangers'.
    pub(crate) from: Option<String>,
}

/// Runs a released call of a tool that does not run in the jail.
pub(crate) async fn run(
    shared: &Shared,
    context: &mut TurnContext,
    call: &ToolCall,
) -> Result<Effect, GateError> {
    let Ok(args) = toolset::parse_args(&call.args) else { return Ok(failed("the arguments are not JSON")) };
    let ms = shared.catalogue.get(&call.tool).map_or(0, |capability| capability.execution.timeout);
    let done = tokio::time::timeout(Duration::from_millis(ms.into()), effect(shared, context, call, &args));
    match done.await {
        Ok(effect) => effect,
        Err(_) if call.tool.as_str() == "web_fetch" => Ok(fetching::late(&args)),
        Err(_) if calling::calls(&call.tool) => Ok(calling::late(&args)),
        Err(_) if changing::changes(&call.tool) => Ok(changing::late()),
        Err(_) => Ok(failed(&format!("it took longer than {ms} ms"))),
    }
}

async fn effect(
    shared: &Shared,
    context: &mut TurnContext,
    call: &ToolCall,
    args: &Value,
) -> Result<Effect, GateError> {
    let done = match (call.tool.as_str(), args) {
        ("web_fetch", Value::Object(args)) => return Ok(fetching::fetch(shared, context, call, args).await),
        ("web_search", Value::Object(args)) => return Ok(fetching::search(shared, args).await),
        ("http_call" | "oauth_call", Value::Object(args)) => {
            return Ok(calling::call(shared, context, call, args).await);
        }
        ("memory_write", _) => changing::write(shared, context, call, args).await,
        ("memory_revise", _) => changing::revise(shared, context, call, args).await,
        ("memory_delete", _) => changing::remove(shared, context, args).await,
        ("memory_query", _) => memories::query(shared, context, args).await,
        ("memory_timeline", _) => memories::timeline(shared, context, args).await,
        ("memory_read", _) => memories::read(shared, context, args).await,
        ("memory_list", _) => memories::list(shared, context, args).await,
        _ => return Ok(failed("this tool does not run in the gate")),
    };
    match done {
        Ok(effect) => Ok(effect),
        Err(Problem::Gone) => Err(down("memory")),
        Err(problem) => Ok(failed(&problem.to_string())),
    }
}

/// The host's own words about a call that came to nothing.
pub(crate) fn failed(why: &str) -> Effect {
    Effect { outcome: Outcome::Error, ..done(format!("[ERROR] {why}"), None) }
}

fn done(output: String, label: Option<Label>) -> Effect {
    let crossing = if label.is_some() { Crossing::MemoryRecall } else { Crossing::ToolOutput };
    Effect { outcome: Outcome::Success, output, label, crossing, from: None }
}
