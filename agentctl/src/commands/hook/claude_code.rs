//! Claude Code's hooks: the fields of its events, and the form of the answers. Other fields are ignored, above all the path
//! of its transcript.

use super::{ContextRequest, Fault, HookEvent, cut, is_memory_s_own, named, text};
use crate::project;
use ipc_proto::memory::{CaptureEvent, words};
use ipc_proto::{Name, Text};
use serde_json::{Value, json};
use std::path::Path;

/// Bytes of a tool's input that are captured beside its output.
const INPUT: usize = 2000;
/// Fields of a tool's input that make a title, the best first.
const TITLES: [&str; 8] =
    ["description", "file_path", "notebook_path", "command", "pattern", "query", "url", "path"];
/// Fields that name the file of the call.
const FILES: [&str; 2] = ["file_path", "notebook_path"];

/// Reads an event.
pub(super) fn read_event(payload: &Value, event: Option<&str>) -> Result<HookEvent, Fault> {
    let event = text(payload, "/hook_event_name").or(event).ok_or(Fault::Missing("hook_event_name"))?;
    let session = text(payload, "/session_id").ok_or(Fault::Missing("session_id"))?;
    let directory = text(payload, "/cwd").ok_or(Fault::Missing("cwd"))?;
    let (capture, context) = match event {
        "SessionStart" if text(payload, "/source") == Some("compact") => {
            (None, Some(ContextRequest::Compacting))
        }
        "SessionStart" => (Some(CaptureEvent::Started), Some(ContextRequest::Start)),
        "UserPromptSubmit" => {
            let prompt = text(payload, "/prompt").ok_or(Fault::Missing("prompt"))?;
            let message = text(payload, "/prompt_id").map_or_else(|| named(&[session, prompt]), Text::clip);
            let captured = CaptureEvent::Message { message, text: cut(prompt) };
            (Some(captured), Some(ContextRequest::Question(words(prompt.trim()))))
        }
        "PostToolUse" if text(payload, "/tool_name").is_some_and(is_memory_s_own) => (None, None),
        "PostToolUse" => (Some(tool(payload, session)?), None),
        // Output at this event reaches no model: the client takes context at the start that follows.
        "PreCompact" => (Some(CaptureEvent::Compacting), None),
        "Stop" => (Some(CaptureEvent::Idle), None),
        "SessionEnd" => (Some(CaptureEvent::Ended), None),
        _ => (None, None),
    };
    let project = project::of(Path::new(directory));
    Ok(HookEvent { event: event.to_owned(), session: Text::clip(session), project, capture, context })
}

fn tool(payload: &Value, session: &str) -> Result<CaptureEvent, Fault> {
    let tool = text(payload, "/tool_name").ok_or(Fault::Missing("tool_name"))?;
    let input = payload.get("tool_input").unwrap_or(&Value::Null);
    let mut output = payload.get("tool_response").map(response_text).unwrap_or_default();
    let call = text(payload, "/tool_use_id").map_or_else(|| named(&[session, tool, &output]), Text::clip);
    if !output.trim().is_empty() && !input.is_null() {
        // The input, which is short, follows the output, so that a long output does not push it out.
        let input = Text::<INPUT>::clip(&input.to_string());
        let room = ipc_proto::memory::RAW_BOUND.saturating_sub(INPUT + 64);
        if output.len() > room {
            let end = (0..=room).rev().find(|end| output.is_char_boundary(*end)).unwrap_or_default();
            output.truncate(end);
            output.push_str(super::CUT);
        }
        output.push_str(&format!("\n\ninput: {input}"));
    }
    let title = TITLES.iter().find_map(|name| input.get(name).and_then(Value::as_str)).unwrap_or_default();
    let title = Text::clip(&crate::text::begin(title, 120));
    let file = FILES.iter().find_map(|name| input.get(name).and_then(Value::as_str));
    let file = file.and_then(|file| Text::new(file).ok());
    Ok(CaptureEvent::Tool { tool: Name::clip(tool), call, title, file, output: cut(&output) })
}

/// A tool's response as text: its standard output, or the contents of its file, or all of it.
fn response_text(response: &Value) -> String {
    if let Some(text) = response.as_str() {
        return text.to_owned();
    }
    if let Some(parts) = response.as_array() {
        return parts.iter().map(response_text).collect::<Vec<_>>().join("\n");
    }
    let piece = |pointer| text(response, pointer).map(str::to_owned);
    let pieces = ["/stdout", "/stderr", "/filePath", "/file/filePath", "/file/content", "/text", "/content"];
    let pieces: Vec<String> = pieces.into_iter().filter_map(piece).collect();
    match (pieces.is_empty(), response) {
        (false, _) => pieces.join("\n"),
        (true, Value::Null) => String::new(),
        // A response that only has an empty output is empty.
        (true, Value::Object(fields)) if fields.contains_key("stdout") => String::new(),
        (true, other) => other.to_string(),
    }
}

/// The answer that adds a text to the model's context.
pub(super) fn answer(event: &str, context: &str) -> Value {
    json!({ "hookSpecificOutput": { "hookEventName": event, "additionalContext": context } })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(name: &str, more: &Value) -> Value {
        let mut payload =
            json!({ "session_id": "s", "cwd": "/nowhere", "hook_event_name": name, "transcript_path": "/t" });
        let map = payload.as_object_mut().unwrap();
        map.extend(more.as_object().unwrap().clone());
        payload
    }

    fn captured(name: &str, more: &Value) -> (Option<CaptureEvent>, Option<ContextRequest>) {
        let payload = read_event(&event(name, more), None).unwrap();
        assert_eq!((payload.session.as_str(), payload.project.as_str()), ("s", "/nowhere"));
        (payload.capture, payload.context)
    }

    #[test]
    fn each_event_is_taken_down_and_answered_as_its_client_takes_it() {
        let none = json!({});
        assert_eq!(
            captured("SessionStart", &none),
            (Some(CaptureEvent::Started), Some(ContextRequest::Start))
        );
        assert_eq!(
            captured("SessionStart", &json!({ "source": "compact" })),
            (None, Some(ContextRequest::Compacting))
        );
        for (name, expected) in [
            ("PreCompact", Some(CaptureEvent::Compacting)),
            ("Stop", Some(CaptureEvent::Idle)),
            ("SessionEnd", Some(CaptureEvent::Ended)),
            ("Notification", None),
            ("AnythingNew", None),
        ] {
            assert_eq!(captured(name, &none), (expected, None), "{name}");
        }
        let (message, asked) = captured("UserPromptSubmit", &json!({ "prompt": "why", "prompt_id": "p1" }));
        let message = message.unwrap();
        assert_eq!(message, CaptureEvent::Message { message: Text::clip("p1"), text: Text::clip("why") });
        assert_eq!(asked, Some(ContextRequest::Question(Text::clip("why"))));
    }

    #[test]
    fn a_tool_is_taken_down_with_what_it_printed_and_what_it_was_asked() {
        let bash = json!({ "tool_name": "Bash", "tool_use_id": "t1", "tool_input": { "command": "ls", "description": "List" },
            "tool_response": { "stdout": "note.txt", "stderr": "", "interrupted": false } });
        let (Some(CaptureEvent::Tool { tool, call, title, file: None, output }), None) =
            captured("PostToolUse", &bash)
        else {
            panic!()
        };
        assert_eq!((tool.as_str(), call.as_str(), title.as_str()), ("Bash", "t1", "List"));
        assert!(output.starts_with("note.txt\n\ninput: {") && output.contains("\"ls\""), "{output}");
        let edit = json!({ "tool_name": "Edit", "tool_input": { "file_path": "/p/a.rs", "old_string": "src/b.rs" },
            "tool_response": { "filePath": "/p/c.rs" } });
        let (Some(CaptureEvent::Tool { file, .. }), None) = captured("PostToolUse", &edit) else { panic!() };
        assert_eq!(file.as_deref(), Some("/p/a.rs"));
        // One that is cut would be another file.
        for (bytes, kept) in [(256, true), (257, false)] {
            let path = format!("/{}", "p".repeat(bytes - 1));
            let read =
                json!({ "tool_name": "Read", "tool_input": { "file_path": path }, "tool_response": "x" });
            let (Some(CaptureEvent::Tool { file, .. }), None) = captured("PostToolUse", &read) else {
                panic!()
            };
            assert_eq!(file.is_some(), kept, "{bytes} bytes");
        }
        let silent = json!({ "tool_name": "Bash", "tool_input": { "command": "true" }, "tool_response": { "stdout": "" } });
        let (Some(CaptureEvent::Tool { call, output, .. }), None) = captured("PostToolUse", &silent) else {
            panic!()
        };
        assert_eq!((call.len(), output.as_str()), (64, ""));
    }

    #[test]
    fn what_is_needed_and_missing_is_named() {
        for (gone, name) in [
            ("session_id", "SessionStart"),
            ("cwd", "Stop"),
            ("tool_name", "PostToolUse"),
            ("prompt", "UserPromptSubmit"),
        ] {
            let mut event = event(name, &json!({}));
            event.as_object_mut().unwrap().remove(gone);
            assert!(read_event(&event, None).unwrap_err().to_string().ends_with(gone), "{gone}");
        }
    }
}
