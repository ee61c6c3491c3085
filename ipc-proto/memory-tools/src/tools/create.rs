//! `mem-create`: an observation that a model wants stored.

use super::fields::{self, Fields, source};
use crate::args::{Args, Scope};
use crate::catalogue::{Tool, choice};
use crate::envelope::{Done, Fault};
use crate::request::{Answer, Request};
use crate::store::Store;
use crate::tools::ask;
use ipc_proto::ids::MemoryId;
use ipc_proto::label::{Class, Label, Trust};
use ipc_proto::memory::{Detail, Entry, Kind, Observation};
use serde_json::{Value, json};

/// The scopes that it may belong to.
const SCOPES: [(&str, Scope); 2] = [("project", Scope::Project), ("user", Scope::User)];

pub(crate) const TOOL: Tool = Tool {
    name: "mem-create",
    description: "Keep something that will matter again: a decision and why, a fault and its cause, how something works. \
                  Not what the files say anyway. It is kept as what a model concluded.",
    reads: false,
    destroys: false,
    needs: &["title", "type", "narrative"],
    properties: || {
        let mut all = fields::properties();
        let says = "What it is about: the project that the client works in, or no project. The project where there is one.";
        all.insert("scope".to_owned(), choice(&SCOPES, says));
        Value::Object(all)
    },
};

pub(crate) async fn run<S: Store>(store: &S, mut args: Args) -> Result<Done, Fault> {
    let given = Fields::of(&mut args)?;
    let missing = [
        ("title", given.title.is_none()),
        ("type", given.r#type.is_none()),
        ("narrative", given.narrative.is_none()),
    ];
    if let Some((name, _)) = missing.into_iter().find(|(_, is_missing)| *is_missing) {
        return Err(Fault::field(name, "is needed", json!(TOOL.needs)));
    }
    let project = args.scope(store.place(), &SCOPES)?.filter(|project| !project.is_empty());
    let seen = Observation {
        r#type: given.r#type.unwrap_or_default(),
        title: given.title.unwrap_or_default(),
        files_modified: given.files.unwrap_or_default(),
        ..Observation::default()
    };
    let entry = Entry {
        id: MemoryId::random(),
        content: given.narrative.unwrap_or_default(),
        tags: given.concepts.unwrap_or_default(),
        label: Label::of(Trust::Untrusted, Class::Internal, "mcp"),
        session: None,
        detail: Detail {
            kind: Kind::Observation(Box::new(seen)),
            source: source(TOOL.name),
            importance: given.importance.unwrap_or_default(),
            project,
            expires_ms: None,
        },
    };
    let id = ask(store, Request::Write(Box::new(entry)), Answer::id).await?;
    Ok(Done::new(json!({ "id": id.to_string() })))
}
