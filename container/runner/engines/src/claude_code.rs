//! `claude -p --output-format stream-json`: whole messages of both sides, and before them their text in pieces where
//! that was asked for.

use super::event_log::{EventLog, plain, text_of};
use serde_json::Value;

/// One line. `streamed` says that the text of the next whole message came in pieces already.
pub(super) fn event(value: &Value, log: &mut EventLog, streamed: &mut bool) {
    // A message from one agent to another is part of a tool.
    let own = value.get("parent_tool_use_id").is_none_or(Value::is_null);
    match text_of(value, "type") {
        "system" => log.session(value.get("session_id").and_then(Value::as_str)),
        "stream_event" if own => piece(value, log, streamed),
        "assistant" if own => {
            for block in blocks(value) {
                match text_of(block, "type") {
                    "text" if !*streamed => log.paragraph(text_of(block, "text")),
                    "tool_use" => {
                        let input = block.get("input").unwrap_or(&Value::Null);
                        log.begin(text_of(block, "id"), text_of(block, "name"), input);
                    }
                    _ => {}
                }
            }
            *streamed = false;
        }
        // Text typed for the program, echoed once it has read it.
        "user" if own && value.get("isReplay").and_then(Value::as_bool) == Some(true) => {
            log.taken = log.taken.saturating_add(1);
        }
        "user" if own => {
            for block in blocks(value).iter().filter(|block| text_of(block, "type") == "tool_result") {
                let failed = block.get("is_error").and_then(Value::as_bool).unwrap_or(false);
                let output = block.get("content").map(content).unwrap_or_default();
                log.finish(text_of(block, "tool_use_id"), failed, &output);
            }
        }
        "result" => result(value, log),
        _ => {}
    }
}

fn blocks(value: &Value) -> &[Value] {
    value.pointer("/message/content").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}

fn piece(value: &Value, log: &mut EventLog, streamed: &mut bool) {
    let Some(event) = value.get("event") else { return };
    let delta = event.get("delta").filter(|delta| text_of(delta, "type") == "text_delta");
    if let Some(delta) = delta {
        let text = text_of(delta, "text");
        if *streamed {
            log.text(text)
        } else {
            log.paragraph(text)
        }
        *streamed |= !text.is_empty();
    }
}

/// The texts of a result's blocks, or the one that it is.
fn content(value: &Value) -> String {
    match value {
        Value::Array(blocks) => blocks.iter().map(|block| text_of(block, "text")).collect(),
        other => plain(other),
    }
}

fn result(value: &Value, log: &mut EventLog) {
    log.session(value.get("session_id").and_then(Value::as_str));
    let failed = value.get("is_error").and_then(Value::as_bool).unwrap_or(false);
    if !failed && text_of(value, "subtype") == "success" {
        return log.completed(text_of(value, "result"));
    }
    let why = ["result", "errors", "api_error_status", "subtype"]
        .into_iter()
        .filter_map(|name| value.get(name).map(plain))
        .filter(|why| !why.is_empty());
    log.failed(&why.collect::<Vec<_>>().join(" "));
}
