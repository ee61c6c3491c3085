//! The tools that read memory, in the scope of the turn's user and agent and in no other. Their output carries the join of the
//! labels of its rows.

use crate::effects::outcome::{Effect, done};
use crate::effects::rows::{self, Excerpt};
use crate::memory::ask;
use crate::passthrough::client::Client;
use crate::passthrough::find;
use crate::state::context::GateContext;
use crate::turn::context::TurnContext;
use crate::turn::requester::Requester;
use ipc_proto::gate::RelayError;
use ipc_proto::ids::MemoryId;
use ipc_proto::memory::{self, Area, Filter, MemoryError, Neighbourhood, Question, Row, Scope, Start, State};
use ipc_proto::{List, Name, Text};
use serde_json::{Value, json};

/// The reason for which there is no effect. The model is told.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Problem {
    /// Memory did not answer.
    #[error("memory is held or away; try again later")]
    Gone,
    /// Memory refused.
    #[error(transparent)]
    Memory(#[from] MemoryError),
    /// A model that takes part in the search failed.
    #[error("{0}")]
    Search(RelayError),
    /// The argument is no id.
    #[error("{0} is not the id of a memory; use one that memory_list shows")]
    NotAnId(String),
    /// The arguments do not fit each other.
    #[error("{0}")]
    Unfit(&'static str),
}

pub(crate) fn problem(error: RelayError) -> Problem {
    match error {
        RelayError::Memory(error) => Problem::Memory(error),
        RelayError::Down(name) if name.as_str() == "memory" => Problem::Gone,
        error => Problem::Search(error),
    }
}

pub(crate) async fn query(
    gate: &GateContext,
    context: &TurnContext,
    args: &Value,
) -> Result<Effect, Problem> {
    let limit = number(args, "limit", 10);
    let question = Question {
        filter: filter(args),
        manner: word(args, "by").unwrap_or_default(),
        varied: args.get("varied").and_then(Value::as_bool).unwrap_or_default(),
        weigh: List::clip(words(args, "weigh")),
        ..Question::new(memory::words(text(args, "query")), limit)
    };
    let client = Client::run(&Requester::of(context));
    let answered = find::find(gate, &client, scope(context, args), question).await.map_err(problem)?;
    let hits = answered.rows.iter().map(|found| (&found.hit.row, Excerpt::Match(&found.hit.snippet)));
    let (mut shown, label) = rows::rows(hits);
    if let Value::Array(rows) = &mut shown {
        rows.extend(answered.notes.iter().map(|note| json!({ "note": note.as_str() })));
    }
    // The order depends on every row that a model read for it, so their labels count as well.
    let label = match (label, answered.read) {
        (Some(label), Some(read)) => Some(label.join(&read)),
        (label, read) => label.or(read),
    };
    Ok(done(shown.to_string(), label))
}

pub(crate) async fn list(gate: &GateContext, context: &TurnContext, args: &Value) -> Result<Effect, Problem> {
    let offset = args.get("offset").and_then(Value::as_u64).unwrap_or_default();
    let start = Start::After(u32::try_from(offset).unwrap_or(u32::MAX));
    let (scope, limit) = (scope(context, args), number(args, "limit", 10));
    let listed = ask::list(gate, &scope, filter(args), limit, start).await.map_err(problem)?;
    Ok(rows(listed.iter().map(|row| (row, Excerpt::Beginning))))
}

/// The memories around one in time, or around the newest one where none is named.
pub(crate) async fn timeline(
    gate: &GateContext,
    context: &TurnContext,
    args: &Value,
) -> Result<Effect, Problem> {
    let anchor = match args.get("anchor") {
        Some(_) => Some(id(text(args, "anchor"))?),
        None => None,
    };
    let scope = match anchor {
        Some(id) => find(gate, context, id).await?.0,
        None => scope(context, args),
    };
    let around = Neighbourhood {
        anchor,
        filter: filter(args),
        before: number(args, "before", 5),
        after: number(args, "after", 5),
    };
    let found = ask::timeline(gate, &scope, around).await.map_err(problem)?;
    Ok(rows(found.iter().map(|row| (row, Excerpt::Beginning))))
}

/// Whole memories in the order in which they were named. Missing ones are left out.
pub(crate) async fn read(gate: &GateContext, context: &TurnContext, args: &Value) -> Result<Effect, Problem> {
    let ids = args.get("ids").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
    let ids = ids.map(id).collect::<Result<Vec<_>, _>>()?;
    let mut found: Vec<Row> = Vec::new();
    for scope in scopes(context) {
        let rows = ask::read(gate, &scope, List::clip(ids.iter().copied())).await.map_err(problem)?;
        // A proposed row is visible to its owner alone.
        found.extend(rows.into_vec().into_iter().filter(|row| !matches!(row.state, State::Proposed { .. })));
    }
    found.sort_by_key(|row| ids.iter().position(|id| *id == row.entry.id));
    if found.is_empty() {
        return Err(MemoryError::NotFound.into());
    }
    Ok(rows(found.iter().map(|row| (row, Excerpt::Whole))))
}

fn rows<'a>(rows: impl Iterator<Item = (&'a Row, Excerpt<'a>)>) -> Effect {
    let (shown, label) = rows::rows(rows);
    done(shown.to_string(), label)
}

/// Finds a row. An id does not name its area, so the user's areas are searched in turn.
pub(crate) async fn find(
    gate: &GateContext,
    context: &TurnContext,
    id: MemoryId,
) -> Result<(Scope, Row), Problem> {
    for scope in scopes(context) {
        let found = ask::read(gate, &scope, List::clip([id])).await.map_err(problem)?;
        if let Some(row) = found.into_iter().next() {
            return Ok((scope, row));
        }
    }
    Err(MemoryError::NotFound.into())
}

pub(crate) fn scope(context: &TurnContext, args: &Value) -> Scope {
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

/// The filter of a call, whose arguments fit the tool's schema. Values that do not fit are left out.
fn filter(args: &Value) -> Filter {
    let ms = |key| args.get(key).and_then(Value::as_u64);
    let least = args.get("importance").and_then(Value::as_u64);
    Filter {
        kinds: List::clip(words(args, "kinds")),
        types: List::clip(words(args, "types")),
        tags: names(args, "tags"),
        files: List::clip(texts(args, "files").map(Text::clip)),
        project: args.get("project").and_then(Value::as_str).map(Text::clip),
        importance: least.and_then(|least| u8::try_from(least).ok()),
        since_ms: ms("since_ms"),
        until_ms: ms("until_ms"),
        ..Filter::default()
    }
}

pub(crate) fn text<'a>(args: &'a Value, key: &str) -> &'a str {
    args.get(key).and_then(Value::as_str).unwrap_or_default()
}

pub(crate) fn texts<'a>(args: &'a Value, key: &str) -> impl Iterator<Item = &'a str> {
    args.get(key).and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str)
}

pub(crate) fn names(args: &Value, key: &str) -> List<Name, 16> {
    List::clip(texts(args, key).map(Name::clip))
}

/// A value of a closed set, by its name.
pub(crate) fn word<T: serde::de::DeserializeOwned>(args: &Value, key: &str) -> Option<T> {
    serde_json::from_value(args.get(key)?.clone()).ok()
}

fn words<T: serde::de::DeserializeOwned>(args: &Value, key: &str) -> Vec<T> {
    let words = args.get(key).and_then(Value::as_array).into_iter().flatten();
    words.filter_map(|word| serde_json::from_value(word.clone()).ok()).collect()
}

fn number(args: &Value, key: &str, usual: u16) -> u16 {
    let number = args.get(key).and_then(Value::as_u64);
    number.and_then(|number| u16::try_from(number).ok()).unwrap_or(usual)
}

pub(crate) fn id(text: &str) -> Result<MemoryId, Problem> {
    text.parse().map_err(|_| Problem::NotAnId(toolset::validate::show(text)))
}
