//! What each tool does, a file each; and the way to them by name.

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
use crate::envelope::{Code, Done, Fault, envelope};
use crate::store::Store;
use ipc_proto::List;
use ipc_proto::ids::MemoryId;
use ipc_proto::memory::{Ask, Row};
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

/// Asks memory for something of one kind.
async fn ask<S: Store, T>(
    store: &S,
    ask: Ask,
    take: impl FnOnce(ipc_proto::memory::Said) -> Result<T, ipc_proto::memory::MemoryError>,
) -> Result<T, Fault> {
    Ok(take(store.ask(ask).await?)?)
}

/// The row with this id.
async fn row<S: Store>(store: &S, id: MemoryId) -> Result<Row, Fault> {
    let rows = ask(store, Ask::Read(List::clip([id])), ipc_proto::memory::Said::rows).await?;
    rows.into_iter().next().ok_or_else(|| Fault::no_row(&id.to_string()))
}

/// An id of a row.
fn id(field: &str, text: &str) -> Result<MemoryId, Fault> {
    let valid = json!("an id as mem-find gives it, such as 0f8fad5b-d9cb-469f-a165-70867728950e");
    text.parse().map_err(|_| Fault::field(field, "is no id of a memory", valid))
}
