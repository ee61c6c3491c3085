//! `opencode run --format json`: parts of messages once they are whole; a tool is reported once it has ended. The
//! format does not say that the program has answered: its exit status does. An error is its end only if nothing
//! follows: it gets over some.

use super::event_log::{EventLog, plain, text_of};
use serde_json::Value;

/// One line.
pub(super) fn event(value: &Value, log: &mut EventLog) {
    log.session(value.get("sessionID").and_then(Value::as_str));
    let part = value.get("part").unwrap_or(&Value::Null);
    if matches!(text_of(value, "type"), "text" | "tool_use" | "step_start") {
        log.doubt = None;
    }
    match text_of(value, "type") {
        "text" => log.paragraph(text_of(part, "text")),
        "tool_use" => {
            let (id, state) = (text_of(part, "callID"), part.get("state").unwrap_or(&Value::Null));
            log.begin(id, text_of(part, "tool"), state.get("input").unwrap_or(&Value::Null));
            let failed = text_of(state, "status") == "error";
            let output = state.get(if failed { "error" } else { "output" }).map(plain).unwrap_or_default();
            log.finish(id, failed, &output);
        }
        "error" => {
            let error = value.get("error").unwrap_or(&Value::Null);
            let words = [
                text_of(error, "name").to_owned(),
                error.pointer("/data/message").map(plain).unwrap_or_default(),
                error.pointer("/data/statusCode").map(plain).unwrap_or_default(),
            ];
            log.doubted(&words.join(" "));
        }
        _ => {}
    }
}
