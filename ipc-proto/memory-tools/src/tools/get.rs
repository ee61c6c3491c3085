//! `mem-get`: whole rows, by their ids.

use crate::args::Args;
use crate::catalogue::{Tool, number, texts};
use crate::envelope::{Code, Done, Fault};
use crate::request::{Answer, Request};
use crate::shape::{self, Item};
use crate::store::Store;
use crate::tools::{ask, id};
use ipc_proto::ids::MemoryId;
use ipc_proto::memory::{MOST_IDS, Row, State};
use ipc_proto::{List, Text};
use serde_json::{Value, json};

/// Rows where the call names no number.
const LIMIT: u64 = 10;
const MOST: u64 = 50;

pub(crate) const TOOL: Tool = Tool {
    name: "mem-get",
    description: "Read memories whole, by their ids. Dear: look at the token counts that mem-find gives first. What was \
                  removed shows only with its history.",
    reads: true,
    destroys: false,
    needs: &["ids"],
    properties: || {
        let says = "Also every revision of each, oldest first, with what was removed.";
        let mut ids = texts(MOST_IDS, 128, "Ids as mem-find and mem-history give them.");
        if let Some(schema) = ids.as_object_mut() {
            schema.insert("minItems".to_owned(), 1.into());
        }
        json!({
            "ids": ids,
            "includeHistory": { "type": "boolean", "default": false, "description": says },
            "limit": number(1, MOST, Some(LIMIT), "At most so many; the others are named in meta.omitted."),
        })
    },
};

pub(crate) async fn run<S: Store>(store: &S, mut args: Args) -> Result<Done, Fault> {
    let valid = || json!(format!("a list of 1 to {MOST_IDS} ids"));
    let given: List<Text<128>, MOST_IDS> =
        args.texts("ids")?.ok_or_else(|| Fault::field("ids", "is needed", valid()))?;
    if given.is_empty() {
        return Err(Fault::field("ids", "is empty", valid()));
    }
    let mut ids: Vec<MemoryId> = Vec::new();
    for (at, text) in given.iter().enumerate() {
        let id = id(&format!("ids[{at}]"), text)?;
        if !ids.contains(&id) {
            ids.push(id);
        }
    }
    let with_history = args.flag("includeHistory")?;
    let limit = args.number("limit", 1..=MOST)?.unwrap_or(10);
    let omitted = ids.split_off(limit.min(ids.len()));
    let rows = ask(store, Request::Read(List::clip(ids.iter().copied())), Answer::rows).await?;
    // Only the person sees a row that awaits their decision.
    let shows = |row: &&Row| match row.state {
        State::Proposed { .. } => false,
        State::Removed { .. } => with_history,
        State::Current | State::Superseded { .. } => true,
    };
    let shown: Vec<&Row> = rows.iter().filter(shows).collect();
    let missing: Vec<String> = ids
        .iter()
        .filter(|id| !shown.iter().any(|row| row.entry.id == **id))
        .map(ToString::to_string)
        .collect();
    if shown.is_empty() {
        let fault = Fault::new(Code::NotFound, "None of these memories is here.");
        return Err(fault.with(json!({ "missing": missing })));
    }
    let mut observations = Vec::new();
    for row in shown {
        let mut told = json!(shape::item(row));
        if let Some(fields) = told.as_object_mut().filter(|_| with_history) {
            let history = ask(store, Request::History(row.entry.id), Answer::rows).await?;
            let history: Vec<Item> = history.iter().map(shape::item).collect();
            fields.insert("history".to_owned(), json!(history));
        }
        observations.push(told);
    }
    let omitted: Vec<Value> = omitted.iter().map(|id| id.to_string().into()).collect();
    Ok(Done::new(json!({ "observations": observations, "missing": missing })).meta("omitted", omitted))
}
