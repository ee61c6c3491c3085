//! The tools that look into memory. They look in the scope of the turn's user and agent and in no other; what they give
//! back carries the join of the labels of its rows.

use super::shown::{self, Much};
use super::{Effect, done};
use crate::context::TurnContext;
use crate::host::Shared;
use crate::relay::{self, Client};
use crate::running::Asker;
use ipc_proto::gate::RelayError;
use ipc_proto::ids::MemoryId;
use ipc_proto::memory::{self, Area, Ask, Filter, MemoryError, Question, Row, Said, Scope, Start, State};
use ipc_proto::{List, Name, Text};
use serde_json::{Value, json};

/// Why there is no effect: told to the model.
#[derive(Debug, thiserror::Error)]
pub(super) enum Problem {
    /// Memory did not answer.
    #[error("memory is not there")]
    Gone,
    /// Memory refused.
    #[error(transparent)]
    Memory(#[from] MemoryError),
    /// A model that has a part in the search failed.
    #[error("{0}")]
    Search(RelayError),
    /// What stands for an id is none.
    #[error("{0} is not the id of a memory; memory_list shows them")]
    NotAnId(String),
    /// The arguments do not fit each other.
    #[error("{0}")]
    Unfit(&'static str),
}

fn problem(error: RelayError) -> Problem {
    match error {
        RelayError::Memory(error) => Problem::Memory(error),
        RelayError::Down(name) if name.as_str() == "memory" => Problem::Gone,
        error => Problem::Search(error),
    }
}

/// Asks memory.
pub(super) async fn ask(shared: &Shared, scope: Scope, ask: Ask) -> Result<Said, Problem> {
    relay::asked(shared, scope, ask).await.map_err(problem)
}

pub(super) async fn query(shared: &Shared, context: &TurnContext, args: &Value) -> Result<Effect, Problem> {
    let limit = number(args, "limit", 10);
    let question = Question {
        filter: filter(args),
        manner: word(args, "by").unwrap_or_default(),
        varied: args.get("varied").and_then(Value::as_bool).unwrap_or_default(),
        weigh: List::clip(words(args, "weigh")),
        ..Question::new(memory::words(text(args, "query")), limit)
    };
    let client = Client::run(&Asker::of(context));
    let answered = relay::find(shared, &client, scope(context, args), question).await.map_err(problem)?;
    let hits = answered.rows.iter().map(|found| (&found.hit.row, Much::Around(&found.hit.snippet)));
    let (mut shown, label) = shown::rows(hits);
    if let Value::Array(rows) = &mut shown {
        rows.extend(answered.notes.iter().map(|note| json!({ "note": note.as_str() })));
    }
    // The order says something of every row that a model read for it.
    let label = match (label, answered.read) {
        (Some(label), Some(read)) => Some(label.join(&read)),
        (label, read) => label.or(read),
    };
    Ok(done(shown.to_string(), label))
}

pub(super) async fn list(shared: &Shared, context: &TurnContext, args: &Value) -> Result<Effect, Problem> {
    let offset = args.get("offset").and_then(Value::as_u64).unwrap_or_default();
    let newest = Ask::List {
        filter: Box::new(filter(args)),
        limit: number(args, "limit", 10),
        start: Start::After(u32::try_from(offset).unwrap_or(u32::MAX)),
    };
    let listed = ask(shared, scope(context, args), newest).await?.rows()?;
    Ok(rows(listed.iter().map(|row| (row, Much::Beginning))))
}

/// What was around a memory in time; around the newest without one.
pub(super) async fn timeline(
    shared: &Shared,
    context: &TurnContext,
    args: &Value,
) -> Result<Effect, Problem> {
    let anchor = match args.get("anchor") {
        Some(_) => Some(id(text(args, "anchor"))?),
        None => None,
    };
    let scope = match anchor {
        Some(id) => find(shared, context, id).await?.0,
        None => scope(context, args),
    };
    let around = Ask::Timeline {
        anchor,
        filter: Box::new(filter(args)),
        before: number(args, "before", 5),
        after: number(args, "after", 5),
    };
    let around = ask(shared, scope, around).await?.rows()?;
    Ok(rows(around.iter().map(|row| (row, Much::Beginning))))
}

/// Memories whole, in the order in which they were asked for; those that are not there are left out.
pub(super) async fn read(shared: &Shared, context: &TurnContext, args: &Value) -> Result<Effect, Problem> {
    let ids = args.get("ids").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
    let ids = ids.map(id).collect::<Result<Vec<_>, _>>()?;
    let mut found: Vec<Row> = Vec::new();
    for scope in scopes(context) {
        let rows = ask(shared, scope, Ask::Read(List::clip(ids.iter().copied()))).await?.rows()?;
        // What waits for a person's word is for the person alone.
        found.extend(rows.into_vec().into_iter().filter(|row| !matches!(row.state, State::Proposed { .. })));
    }
    found.sort_by_key(|row| ids.iter().position(|id| *id == row.entry.id));
    if found.is_empty() {
        return Err(MemoryError::NotFound.into());
    }
    Ok(rows(found.iter().map(|row| (row, Much::Whole))))
}

fn rows<'a>(rows: impl Iterator<Item = (&'a Row, Much<'a>)>) -> Effect {
    let (shown, label) = shown::rows(rows);
    done(shown.to_string(), label)
}

/// An id does not say which part of memory it is in: a user's parts are looked through in turn.
pub(super) async fn find(
    shared: &Shared,
    context: &TurnContext,
    id: MemoryId,
) -> Result<(Scope, Row), Problem> {
    for scope in scopes(context) {
        let found = ask(shared, scope.clone(), Ask::Read(List::clip([id]))).await?.rows()?;
        if let Some(row) = found.into_iter().next() {
            return Ok((scope, row));
        }
    }
    Err(MemoryError::NotFound.into())
}

pub(super) fn scope(context: &TurnContext, args: &Value) -> Scope {
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

/// What was checked against the tool's schema; what does not fit it is not asked for.
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

pub(super) fn text<'a>(args: &'a Value, key: &str) -> &'a str {
    args.get(key).and_then(Value::as_str).unwrap_or_default()
}

pub(super) fn texts<'a>(args: &'a Value, key: &str) -> impl Iterator<Item = &'a str> {
    args.get(key).and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str)
}

pub(super) fn names(args: &Value, key: &str) -> List<Name, 16> {
    List::clip(texts(args, key).map(Name::clip))
}

/// A value of a closed set, by its name.
pub(super) fn word<T: serde::de::DeserializeOwned>(args: &Value, key: &str) -> Option<T> {
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

pub(super) fn id(text: &str) -> Result<MemoryId, Problem> {
    text.parse().map_err(|_| Problem::NotAnId(toolset::validate::show(text)))
}
