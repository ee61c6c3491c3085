//! Effects of the tools that do not run in the jail: memory, in the scope of the turn's user and agent, with labels
//! both ways; and what web does. Each is given up after the time that its capability declares.

use crate::calling;
use crate::context::TurnContext;
use crate::fetching;
use crate::host::{Shared, down};
use ipc_proto::ids::MemoryId;
use ipc_proto::label::Label;
use ipc_proto::memory::{self, Area, Entry, MemoryError, Row, Scope};
use ipc_proto::runner_gate::GateError;
use ipc_proto::scanner::Crossing;
use ipc_proto::tool::{Outcome, ToolCall};
use ipc_proto::{Fault, List, Name, Text};
use serde_json::{Value, json};
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
        ("memory_write", _) => write(shared, context, call, args).await,
        ("memory_query", _) => query(shared, context, args).await,
        ("memory_read", _) => read(shared, context, args).await,
        ("memory_list", _) => list(shared, context, args).await,
        ("memory_delete", _) => delete(shared, context, args).await,
        _ => return Ok(failed("this tool does not run in the gate")),
    };
    match done {
        Ok(effect) => Ok(effect),
        Err(Problem::Gone) => Err(down("memory")),
        Err(Problem::Memory(error)) => Ok(failed(&error.to_string())),
        Err(Problem::NotAnId) => Ok(failed("id is not the id of a memory; memory_list shows them")),
    }
}

/// Why there is no effect.
#[derive(Debug)]
enum Problem {
    Gone,
    Memory(MemoryError),
    NotAnId,
}

impl From<Fault> for Problem {
    fn from(fault: Fault) -> Self {
        tracing::warn!(%fault, "memory did not answer");
        Self::Gone
    }
}

impl From<MemoryError> for Problem {
    fn from(error: MemoryError) -> Self {
        Self::Memory(error)
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

/// The same call twice is one row: its id follows from the call's.
async fn write(
    shared: &Shared,
    context: &TurnContext,
    call: &ToolCall,
    args: &Value,
) -> Result<Effect, Problem> {
    let id = MemoryId::from_bytes(call.id.bytes());
    let entry = Entry {
        id,
        content: Text::clip(text(args, "content")),
        tags: tags(args),
        label: context.session.label.clone(),
        session: Some(context.turn.session),
    };
    let written = shared.memory.call(&memory::method::write, |memory, rpc| {
        let (scope, entry) = (scope(context, args), entry.clone());
        async move { memory.write(rpc, scope, entry).await }
    });
    let id = written.await??;
    Ok(done(format!("remembered as {id}"), None))
}

async fn query(shared: &Shared, context: &TurnContext, args: &Value) -> Result<Effect, Problem> {
    let hits = shared.memory.call(&memory::method::query, |memory, rpc| {
        let (scope, tags) = (scope(context, args), tags(args));
        let (words, limit) = (Text::clip(text(args, "query")), limit(args));
        async move { memory.query(rpc, scope, words, tags, limit).await }
    });
    let hits = hits.await??;
    Ok(rows(hits.iter().map(|hit| &hit.row)))
}

async fn list(shared: &Shared, context: &TurnContext, args: &Value) -> Result<Effect, Problem> {
    let listed = shared.memory.call(&memory::method::list, |memory, rpc| {
        let (scope, limit) = (scope(context, args), limit(args));
        async move { memory.list(rpc, scope, limit, 0).await }
    });
    let listed = listed.await??;
    Ok(rows(listed.iter()))
}

/// An id does not say which part of memory it is in; a user's parts are looked through in turn.
async fn read(shared: &Shared, context: &TurnContext, args: &Value) -> Result<Effect, Problem> {
    let id = id(args)?;
    for scope in scopes(context) {
        let found = shared.memory.call(&memory::method::read, |memory, rpc| {
            let scope = scope.clone();
            async move { memory.read(rpc, scope, id).await }
        });
        match found.await? {
            Ok(row) => return Ok(rows(std::iter::once(&row))),
            Err(MemoryError::NotFound) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Err(MemoryError::NotFound.into())
}

async fn delete(shared: &Shared, context: &TurnContext, args: &Value) -> Result<Effect, Problem> {
    let id = id(args)?;
    for scope in scopes(context) {
        let gone = shared.memory.call(&memory::method::delete, |memory, rpc| {
            let scope = scope.clone();
            async move { memory.delete(rpc, scope, id).await }
        });
        match gone.await? {
            Ok(()) => return Ok(done(format!("forgot {id}"), None)),
            Err(MemoryError::NotFound) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Err(MemoryError::NotFound.into())
}

/// Rows as the model reads them, and what is known of where they came from.
fn rows<'a>(rows: impl Iterator<Item = &'a Row>) -> Effect {
    let mut label: Option<Label> = None;
    let mut shown = Vec::new();
    for row in rows {
        let entry = &row.entry;
        label = Some(label.map_or(entry.label.clone(), |label| label.join(&entry.label)));
        let tags: Vec<&str> = entry.tags.iter().map(Text::as_str).collect();
        let trust = serde_json::to_value(entry.label.trust).unwrap_or_default();
        shown.push(json!({
            "id": entry.id.to_string(), "content": entry.content.as_str(), "tags": tags, "trust": trust,
            "created_ms": row.created_ms,
        }));
    }
    done(Value::Array(shown).to_string(), label)
}

fn scope(context: &TurnContext, args: &Value) -> Scope {
    let area = match text(args, "scope") {
        "agent" => Area::Agent(context.turn.agent.clone()),
        "global" => Area::Global,
        _ => Area::User,
    };
    Scope { owner: context.turn.user, area }
}

fn scopes(context: &TurnContext) -> [Scope; 3] {
    let owner = context.turn.user;
    [Area::User, Area::Agent(context.turn.agent.clone()), Area::Global].map(|area| Scope { owner, area })
}

fn text<'a>(args: &'a Value, key: &str) -> &'a str {
    args.get(key).and_then(Value::as_str).unwrap_or_default()
}

fn tags(args: &Value) -> List<Name, 16> {
    let tags = args.get("tags").and_then(Value::as_array).into_iter().flatten();
    List::clip(tags.filter_map(Value::as_str).map(Name::clip))
}

fn limit(args: &Value) -> u16 {
    let limit = args.get("limit").and_then(Value::as_u64);
    limit.and_then(|limit| u16::try_from(limit).ok()).unwrap_or(10)
}

fn id(args: &Value) -> Result<MemoryId, Problem> {
    text(args, "id").parse().map_err(|_| Problem::NotAnId)
}
