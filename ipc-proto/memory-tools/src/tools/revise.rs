//! `mem-revise`: a new row in the place of one. The old one stays in its history.

use super::fields::{self, Fields, put, source};
use crate::args::Args;
use crate::catalogue::{Tool, text};
use crate::envelope::{Code, Done, Fault};
use crate::request::{Answer, Request};
use crate::store::Store;
use crate::tools::{ask, id, revised_since, row};
use ipc_proto::Text;
use ipc_proto::ids::MemoryId;
use ipc_proto::memory::{Entry, Kind, State};
use serde_json::{Value, json};

pub(crate) const TOOL: Tool = Tool {
    name: "mem-revise",
    description: "Put a better memory in the place of one: give the id and what is to be different. The one before stays \
                  in its history.",
    reads: false,
    destroys: false,
    needs: &["id"],
    properties: || {
        let mut all = fields::properties();
        all.insert("id".to_owned(), text(128, "Which memory, by its id."));
        all.insert("reason".to_owned(), text(512, "Why it is revised; kept with it."));
        Value::Object(all)
    },
};

pub(crate) async fn run<S: Store>(store: &S, mut args: Args) -> Result<Done, Fault> {
    let old = id("id", &args.words::<128>("id")?)?;
    let reason = args.text("reason")?.unwrap_or_default();
    let given = Fields::of(&mut args)?;
    let row = row(store, old).await?;
    match row.state {
        State::Current => {}
        State::Removed { .. } | State::Proposed { .. } => return Err(Fault::no_row(&old.to_string())),
        State::Superseded { .. } => return Err(revised_since(store, old).await?),
    }
    let entry = revised(row.entry, given)?;
    let new = revise(store, old, entry, reason).await?;
    Ok(Done::new(json!({ "id": new.to_string(), "revisionOf": old.to_string() })))
}

async fn revise<S: Store>(
    store: &S,
    id: MemoryId,
    entry: Entry,
    reason: Text<512>,
) -> Result<MemoryId, Fault> {
    ask(store, Request::Revise { id, entry: Box::new(entry), reason }, Answer::id).await
}

/// The entry with the given fields in the place of the old ones.
fn revised(mut entry: Entry, given: Fields) -> Result<Entry, Fault> {
    let is_observation = matches!(entry.detail.kind, Kind::Observation(_));
    if let Some(field) = given.of_observations().filter(|_| !is_observation) {
        let kind = json!(entry.detail.kind.name());
        let must = "is of observations alone, and this memory is of another kind";
        return Err(Fault::field(field, must, json!(["narrative", "concepts", "importance"])).with(
            json!({ "field": field, "kind": kind, "valid": ["narrative", "concepts", "importance"] }),
        ));
    }
    let before = entry.clone();
    put(&mut entry.content, given.narrative);
    put(&mut entry.tags, given.concepts);
    put(&mut entry.detail.importance, given.importance);
    if let Kind::Observation(seen) = &mut entry.detail.kind {
        put(&mut seen.title, given.title);
        put(&mut seen.r#type, given.r#type);
        put(&mut seen.files_modified, given.files);
    }
    if entry == before {
        let fields: Vec<String> = fields::properties().keys().cloned().collect();
        let message = "Nothing would be different; give at least one field with another value.";
        return Err(Fault::new(Code::Validation, message).with(json!({ "valid": fields })));
    }
    if let Kind::Observation(seen) = &mut entry.detail.kind {
        seen.plain = false;
    }
    entry.id = MemoryId::random();
    entry.detail.source = source(TOOL.name);
    Ok(entry)
}
