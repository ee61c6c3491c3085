//! `mem-find`: the rows that fit words best, as an index. Pages reach as far as one answer of memory does; beyond
//! that, a narrower question is needed.

use crate::args::{Args, SCOPES, of_project};
use crate::catalogue::{Tool, any_text, cursor, number, scope, types};
use crate::envelope::{Done, Fault};
use crate::request::{Answer, Request};
use crate::shape;
use crate::store::Store;
use crate::tools::ask;
use ipc_proto::Text;
use ipc_proto::memory::{Filter, Found, HITS, Question, State, WORDS};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Rows where the call names no number.
const LIMIT: u64 = 10;
const MOST: u64 = 50;
/// Optional parts of each result.
const PARTS: [&str; 3] = ["snippets", "scores", "relations"];

pub(crate) const TOOL: Tool = Tool {
    name: "mem-find",
    description: "Find memories by words, best first, as an index with what each costs to read. The first step: then \
                  mem-history for what was around one, and mem-get for the few that matter.",
    reads: true,
    destroys: false,
    needs: &["query"],
    properties: || {
        let part =
            |default: bool, says: &str| json!({ "type": "boolean", "default": default, "description": says });
        json!({
            "query": any_text("What is looked for; any text at all, such as a question. Its first 2048 bytes are looked for."),
            "scope": scope(),
            "types": types(),
            "limit": number(1, MOST, Some(LIMIT), "At most so many in one answer."),
            "cursor": cursor(),
            "include": {
                "type": "object", "additionalProperties": false,
                "description": "What is told of each besides.",
                "properties": {
                    "snippets": part(true, "The words around the match, in [ ]."),
                    "scores": part(false, "How well it fits, and why."),
                    "relations": part(false, "Its revisions, session, files and concepts."),
                },
            },
        })
    },
};

pub(crate) async fn run<S: Store>(store: &S, mut args: Args) -> Result<Done, Fault> {
    let place = args.cursor()?;
    let (words, is_less) = args.question("query")?;
    let project = args.scope(store.place(), &SCOPES)?;
    let filter = Filter { types: args.types()?, ..of_project(project) };
    let limit = args.number("limit", 1..=MOST)?.unwrap_or(LIMIT);
    let include = args.flags("include", &PARTS)?;
    let most = u64::try_from(HITS).unwrap_or(u64::MAX);
    // One more than is shown tells whether there are more.
    let wanted = place.saturating_add(limit).saturating_add(1).min(most);
    let question = Question { filter, ..Question::new(words, u16::try_from(wanted).unwrap_or(u16::MAX)) };
    let answered = ask(store, Request::Find(Box::new(question)), Answer::found).await?;
    let found = &answered.rows;
    let there = u64::try_from(found.len()).unwrap_or(most);
    let skip = usize::try_from(place).unwrap_or(usize::MAX);
    let shown = found.iter().enumerate().skip(skip).take(usize::try_from(limit).unwrap_or(0));
    let results: Vec<Value> = shown.map(|(at, found)| result(at, found, &include)).collect();
    let mut done = Done::new(json!({ "results": results }));
    let clipped = is_less.then(|| format!("the first {WORDS} bytes of the query were looked for"));
    let notes: Vec<&str> =
        clipped.as_deref().into_iter().chain(answered.notes.iter().map(Text::as_str)).collect();
    if !notes.is_empty() {
        done = done.meta("notes", notes);
    }
    let end = place.saturating_add(limit);
    Ok(if there > end { done.meta("nextCursor", args.bound.at(end)) } else { done })
}

fn result(at: usize, found: &Found, include: &BTreeMap<String, bool>) -> Value {
    let (hit, why) = (&found.hit, &found.why);
    let row = &hit.row;
    let mut shown = shape::index(row);
    let Some(fields) = shown.as_object_mut() else { return shown };
    if include.get("snippets").copied().unwrap_or(true) {
        fields.insert("snippet".to_owned(), hit.snippet.as_str().into());
    }
    if include.get("scores").copied().unwrap_or(false) {
        fields.insert("rank".to_owned(), json!(at + 1));
        fields.insert("score".to_owned(), json!(f64::from(hit.score) / 1000.0));
        fields.insert("explain".to_owned(), json!(why));
    }
    if include.get("relations").copied().unwrap_or(false) {
        let item = shape::item(row);
        let by = if let State::Superseded { by, .. } = row.state { Some(by.to_string()) } else { None };
        fields.insert(
            "relations".to_owned(),
            json!({ "revisionOf": item.revision_of, "supersededBy": by, "sessionId": item.session_id,
                    "filesRead": item.files_read, "filesModified": item.files_modified,
                    "concepts": item.concepts, "project": item.project }),
        );
    }
    shown
}
