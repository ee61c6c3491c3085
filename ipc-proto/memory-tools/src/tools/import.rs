//! `mem-import`: rows of a document as `mem-export` or open-mem writes it, put back with their ids, times and states.
//! The document is read whole before any row is stored; then each row is stored or refused by itself. Its rows are a
//! stranger's, whatever it claims.

use crate::CONTRACT;
use crate::args::Args;
use crate::catalogue::{Tool, choice};
use crate::envelope::{Done, Fault};
use crate::request::{Answer, Request};
use crate::shape::Item;
use crate::store::Store;
use crate::tools::ask;
use ipc_proto::List;
use ipc_proto::Text;
use ipc_proto::ids::MemoryId;
use ipc_proto::memory::{KindName, MOST_IDS, Over, Project, RAW_BOUND, Row};
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// Rows of one document.
const MOST: usize = 10_000;

/// The lists of rows in a document.
const LISTS: [&str; 3] = ["observations", "summaries", "memories"];

const MODES: [(&str, Over); 3] = [("skip", Over::Skip), ("merge", Over::Merge), ("replace", Over::Replace)];

pub(crate) const TOOL: Tool = Tool {
    name: "mem-import",
    description: "Put memories back from a document of mem-export or of open-mem. They keep their ids, times, revisions \
                  and removals, and are kept as what a stranger wrote.",
    reads: false,
    destroys: true,
    needs: &["payload"],
    properties: || {
        let says = "Where a memory with the same id is here: leave it, join the state of both with the text of what is \
                    here, or put the other in its place.";
        let mut mode = choice(&MODES, says);
        if let Some(schema) = mode.as_object_mut() {
            schema.insert("default".to_owned(), "skip".into());
        }
        json!({
            "payload": { "type": ["object", "string"], "description": "The document, or its text." },
            "mode": mode,
        })
    },
};

/// The document.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Payload {
    #[serde(default)]
    version: Option<Value>,
    #[serde(default)]
    contract_version: Option<Text<16>>,
    #[serde(default, rename = "exportedAt")]
    _exported_at: IgnoredAny,
    #[serde(default)]
    project: Option<Project>,
    #[serde(default)]
    observations: Vec<Item>,
    #[serde(default)]
    summaries: Vec<Item>,
    #[serde(default)]
    memories: Vec<Item>,
}

impl Payload {
    /// Returns true if its form is supported: open-mem's first one, and this contract's.
    fn known(&self) -> Result<(), Fault> {
        let is_first = |version: &Value| match version {
            Value::String(text) => text == "1" || text.starts_with("1."),
            version => version.as_f64() == Some(1.0),
        };
        if self.version.as_ref().is_some_and(|version| !is_first(version)) {
            return Err(Fault::field("payload.version", "is not known", json!([1])));
        }
        let contract = self.contract_version.as_ref();
        if contract.is_some_and(|version| !version.starts_with("1.")) {
            return Err(Fault::field("payload.contractVersion", "is not known", json!([CONTRACT])));
        }
        Ok(())
    }
}

/// A row, and its material.
type Restored = (Row, Text<RAW_BOUND>);

pub(crate) async fn run<S: Store>(store: &S, mut args: Args) -> Result<Done, Fault> {
    let payload = args.need("payload", "a document as mem-export gives it")?;
    let over = args.choice("mode", &MODES)?.unwrap_or_default();
    let rows = read(payload, store.place().project.as_ref())?;
    let here = present(store, &rows).await?;
    let (mut imported, mut replaced, mut merged, mut skipped) = (0_u32, 0_u32, 0_u32, 0_u32);
    let mut failed = Vec::new();
    for (row, raw) in rows {
        let id = row.entry.id;
        let restore = Request::Restore(Box::new(ipc_proto::memory::Restored {
            row,
            raw,
            over,
            mine: false,
            dry_run: false,
        }));
        match ask(store, restore, Answer::restored).await {
            Ok(None) => skipped += 1,
            Ok(Some(_)) => match (here.contains(&id), over) {
                (false, _) => imported += 1,
                (true, Over::Merge) => merged += 1,
                (true, _) => replaced += 1,
            },
            Err(fault) => {
                let code = fault.code.name();
                let (message, details) = (fault.message, fault.details);
                failed.push(
                    json!({ "id": id.to_string(), "code": code, "message": message, "details": details }),
                );
            }
        }
    }
    Ok(Done::new(json!({
        "imported": imported, "merged": merged, "replaced": replaced, "skipped": skipped, "failed": failed,
    })))
}

/// The rows of a document, a revised row before its revisions.
fn read(payload: Value, place: Option<&Project>) -> Result<Vec<Restored>, Fault> {
    let payload = match payload {
        Value::String(text) => serde_json::from_str(&text).map_err(|error| {
            let place = format!("line {} column {}", error.line(), error.column());
            Fault::field(
                "payload",
                &format!("is no JSON document ({place})"),
                json!("a document of mem-export"),
            )
        })?,
        payload => payload,
    };
    objects(&payload)?;
    let payload: Payload = serde_path_to_error::deserialize(payload).map_err(|fault| {
        let path = fault.path().to_string();
        let field = if path == "." { "payload".to_owned() } else { format!("payload.{path}") };
        Fault::field(
            &field,
            &format!("is not as it must be: {}", fault.inner()),
            json!("as mem-export gives it"),
        )
    })?;
    payload.known()?;
    let home = place.cloned().or(payload.project);
    let [seen, summed, kept] = LISTS;
    let lists = [
        (seen, KindName::Observation, payload.observations),
        (summed, KindName::Summary, payload.summaries),
        (kept, KindName::Note, payload.memories),
    ];
    let mut rows = Vec::new();
    for (list, kind, items) in lists {
        for (at, mut item) in items.into_iter().enumerate() {
            let raw = item.raw_tool_output.take().unwrap_or_default();
            let row = item.row(kind, home.as_ref()).map_err(|(field, must)| {
                Fault::field(&format!("payload.{list}[{at}].{field}"), &must, json!("as mem-export gives it"))
            })?;
            rows.push((row, raw));
        }
    }
    if rows.len() > MOST {
        let must = format!("has {} memories; at most {MOST} fit in one document", rows.len());
        return Err(Fault::field("payload", &must, json!({ "maximum": MOST })));
    }
    rows.sort_by_key(|(row, _)| row.created_ms);
    Ok(rows)
}

/// A document and its rows are objects: a list of values would be read as one, field by field in their order.
fn objects(payload: &Value) -> Result<(), Fault> {
    let must = |field: &str| Err(Fault::field(field, "must be an object", json!("as mem-export gives it")));
    let Value::Object(fields) = payload else { return must("payload") };
    for list in LISTS {
        let items = fields.get(list).and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        if let Some(at) = items.iter().position(|item| !item.is_object()) {
            return must(&format!("payload.{list}[{at}]"));
        }
    }
    Ok(())
}

/// The ids of those rows that exist.
async fn present<S: Store>(store: &S, rows: &[Restored]) -> Result<BTreeSet<MemoryId>, Fault> {
    let mut here = BTreeSet::new();
    for some in rows.chunks(MOST_IDS) {
        let ids = List::clip(some.iter().map(|(row, _)| row.entry.id));
        let found = ask(store, Request::Read(ids), Answer::rows).await?;
        here.extend(found.iter().map(|row| row.entry.id));
    }
    Ok(here)
}
