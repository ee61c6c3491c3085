//! The implementation of each tool, a file each, and their dispatch by name.

pub(crate) mod create;
pub(crate) mod export;
pub(crate) mod find;
pub(crate) mod get;
pub(crate) mod help;
pub(crate) mod history;
pub(crate) mod import;
pub(crate) mod maintenance;
pub(crate) mod remove;
pub(crate) mod revise;

mod fields;
#[cfg(test)]
mod tests;

use crate::args::Args;
use crate::catalogue::TOOLS;
use crate::cursor::Reached;
use crate::envelope::{Code, Done, Fault, envelope};
use crate::request::{Answer, Request};
use crate::store::{Store, Trouble};
use ipc_proto::List;
use ipc_proto::ids::MemoryId;
use ipc_proto::memory::{Filter, HITS, MemoryError, Row};
use serde_json::{Map, Value, json};

/// The answer of a tool to these arguments.
pub(crate) async fn call<S: Store>(store: &S, name: &str, given: Map<String, Value>) -> Value {
    envelope(name, run(store, name, given).await)
}

async fn run<S: Store>(store: &S, name: &str, given: Map<String, Value>) -> Result<Done, Fault> {
    let names = TOOLS.map(|tool| tool.name);
    let Some(tool) = TOOLS.iter().find(|tool| tool.name == name) else {
        let fault =
            Fault::new(Code::NotFound, format!("There is no such tool; there are: {}", names.join(", ")));
        return Err(fault.with(json!({ "tools": names })));
    };
    let args = Args::of(tool, store.place(), given)?;
    match name {
        "mem-find" => find::run(store, args).await,
        "mem-history" => history::run(store, args).await,
        "mem-get" => get::run(store, args).await,
        "mem-create" => create::run(store, args).await,
        "mem-revise" => revise::run(store, args).await,
        "mem-remove" => remove::run(store, args).await,
        "mem-export" => export::run(store, args).await,
        "mem-import" => import::run(store, args).await,
        "mem-maintenance" => maintenance::run(store, args).await,
        _ => Ok(help::run(store.place())),
    }
}

/// Calls memory and takes an answer of one kind.
async fn ask<S: Store, T>(
    store: &S,
    ask: Request,
    take: impl FnOnce(Answer) -> Result<T, MemoryError>,
) -> Result<T, Fault> {
    Ok(take(store.ask(ask).await?)?)
}

/// Rows from a position in a list, newest first; a short page is the last.
async fn listed<S: Store>(
    store: &S,
    filter: Filter,
    limit: u16,
    from: &Reached,
) -> Result<List<Row, HITS>, Fault> {
    let start = from.start(MemoryId::from_bytes);
    let asked = Request::List { filter, limit, start };
    Ok(store.ask(asked).await.map_err(gone)?.rows()?)
}

/// The reason why a list does not continue.
fn gone(trouble: Trouble) -> Fault {
    match trouble {
        Trouble::Memory(MemoryError::NotFound) => {
            let must = "goes on behind what is all gone by now";
            Fault::field("cursor", must, json!("none: begin anew"))
        }
        trouble => trouble.into(),
    }
}

/// The row with this id.
async fn row<S: Store>(store: &S, id: MemoryId) -> Result<Row, Fault> {
    let rows = ask(store, Request::Read(List::clip([id])), Answer::rows).await?;
    rows.into_iter().next().ok_or_else(|| Fault::no_row(&id.to_string()))
}

/// Says of a revised row which row stands in its place now, after every further revision.
async fn revised_since<S: Store>(store: &S, id: MemoryId) -> Result<Fault, Fault> {
    let rows = ask(store, Request::History(id), Answer::rows).await?;
    let newest = rows.last().map_or(id, |row| row.entry.id);
    let fault = Fault::new(Code::Conflict, "Another memory stands in the place of this one already.");
    Ok(fault.with(json!({ "current": newest.to_string() })))
}

/// An id of a row.
fn id(field: &str, text: &str) -> Result<MemoryId, Fault> {
    let valid = json!("an id as mem-find gives it, such as 0f8fad5b-d9cb-469f-a165-70867728950e");
    text.parse().map_err(|_| Fault::field(field, "is no id of a memory", valid))
}
