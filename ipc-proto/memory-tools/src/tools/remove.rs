//! `mem-remove`: a tombstone in the place of a row, which its owner can still see. Nothing is destroyed by it.

use crate::args::Args;
use crate::catalogue::{Tool, text};
use crate::envelope::{Done, Fault};
use crate::request::{Answer, Request};
use crate::store::Store;
use crate::tools::{ask, id, revised_since, row};
use ipc_proto::memory::{MemoryError, State};
use serde_json::json;

pub(crate) const TOOL: Tool = Tool {
    name: "mem-remove",
    description: "Remove a memory that is wrong or of no use any more. It is found no more; its owner can still see it \
                  and why it went.",
    reads: false,
    destroys: true,
    needs: &["id"],
    properties: || {
        json!({
            "id": text(128, "Which memory, by its id."),
            "reason": text(512, "Why it is removed; kept with it."),
        })
    },
};

pub(crate) async fn run<S: Store>(store: &S, mut args: Args) -> Result<Done, Fault> {
    let id = id("id", &args.words::<128>("id")?)?;
    let reason = args.text("reason")?.unwrap_or_default();
    let row = row(store, id).await?;
    match row.state {
        State::Current => {}
        State::Removed { .. } | State::Proposed { .. } => return Err(Fault::no_row(&id.to_string())),
        State::Superseded { .. } => return Err(revised_since(store, id).await?),
    }
    let done = |said: Answer| if said == Answer::Done { Ok(()) } else { Err(MemoryError::Storage) };
    ask(store, Request::Remove { id, reason }, done).await?;
    Ok(Done::new(json!({ "id": id.to_string(), "removed": true })))
}
