//! `codex exec --json`: threads, turns and items, the last of which begin, change and end.

use super::event_log::{EventLog, plain, text_of};
use serde_json::{Value, json};

/// Kinds of items that are no tools.
const NO_TOOLS: [&str; 4] = ["agent_message", "reasoning", "error", "todo_list"];

/// One line.
pub(super) fn event(value: &Value, log: &mut EventLog) {
    match text_of(value, "type") {
        "thread.started" => log.session(value.get("thread_id").and_then(Value::as_str)),
        "item.started" => item(value, log, Moment::Begins),
        "item.updated" => item(value, log, Moment::GoesOn),
        "item.completed" => item(value, log, Moment::Ends),
        "turn.completed" => log.completed(""),
        "turn.failed" => {
            let why = value.pointer("/error/message").map(plain).unwrap_or_default();
            log.failed(&why);
        }
        // The program may try again by itself after this one.
        "error" => log.trouble = Some(text_of(value, "message").to_owned()),
        _ => {}
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Moment {
    Begins,
    GoesOn,
    Ends,
}

fn item(value: &Value, log: &mut EventLog, moment: Moment) {
    let Some(item) = value.get("item") else { return };
    let (kind, id) = (text_of(item, "type"), text_of(item, "id"));
    if kind == "agent_message" && moment == Moment::Ends {
        return log.paragraph(text_of(item, "text"));
    }
    if NO_TOOLS.contains(&kind) || kind.is_empty() {
        return;
    }
    if !log.is_open(id) {
        log.begin(id, tool(item, kind), &args(item));
    }
    match moment {
        Moment::Begins => {}
        Moment::GoesOn => log.progress(id, text_of(item, "status")),
        Moment::Ends => {
            let failed = matches!(text_of(item, "status"), "failed" | "declined");
            log.finish(id, failed, &output(item));
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
