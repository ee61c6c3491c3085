//! `codex exec --json`: threads, turns and items, the last of which begin, change and end.

use super::said::{Said, plain, text_of};
use serde_json::{Value, json};

/// Kinds of items that are no tools.
const NO_TOOLS: [&str; 4] = ["agent_message", "reasoning", "error", "todo_list"];

/// One line.
pub(super) fn event(value: &Value, said: &mut Said) {
    match text_of(value, "type") {
        "thread.started" => said.session(value.get("thread_id").and_then(Value::as_str)),
        "item.started" => item(value, said, Moment::Begins),
        "item.updated" => item(value, said, Moment::GoesOn),
        "item.completed" => item(value, said, Moment::Ends),
        "turn.completed" => said.completed(""),
        "turn.failed" => {
            let why = value.pointer("/error/message").map(plain).unwrap_or_default();
            said.failed(&why);
        }
        // It may try again by itself after this one.
        "error" => said.trouble = Some(text_of(value, "message").to_owned()),
        _ => {}
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Moment {
    Begins,
    GoesOn,
    Ends,
}

fn item(value: &Value, said: &mut Said, moment: Moment) {
    let Some(item) = value.get("item") else { return };
    let (kind, id) = (text_of(item, "type"), text_of(item, "id"));
    if kind == "agent_message" && moment == Moment::Ends {
        return said.paragraph(text_of(item, "text"));
    }
    if NO_TOOLS.contains(&kind) || kind.is_empty() {
        return;
    }
    if !said.is_open(id) {
        said.begin(id, tool(item, kind), &args(item));
    }
    match moment {
        Moment::Begins => {}
        Moment::GoesOn => said.progress(id, text_of(item, "status")),
        Moment::Ends => {
            let failed = matches!(text_of(item, "status"), "failed" | "declined");
            said.finish(id, failed, &output(item));
        }
    }
}

/// The name of a tool: a server's own where it is one's.
fn tool<'a>(item: &'a Value, kind: &'a str) -> &'a str {
    let own = text_of(item, "tool");
    if own.is_empty() { kind } else { own }
}

fn args(item: &Value) -> Value {
    let named = ["command", "changes", "arguments", "query", "prompt", "path"];
    let found = named.into_iter().filter_map(|name| Some((name.to_owned(), item.get(name)?.clone())));
    let found: serde_json::Map<String, Value> = found.collect();
    if found.is_empty() { json!({}) } else { Value::Object(found) }
}

fn output(item: &Value) -> String {
    let found = ["aggregated_output", "result", "error"].into_iter().find_map(|name| {
        let value = item.get(name).filter(|value| !value.is_null())?;
        Some(plain(value))
    });
    found.unwrap_or_default()
}
