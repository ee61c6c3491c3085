//! OpenCode's hooks, as the plugin passes them on: `{"directory":…,"input":…,"output":…}`, the last two as OpenCode gave
//! them to the hook that the command line names; `file` of a tool's input is the file of the call.

use super::{ContextRequest, Fault, HookEvent, cut, is_memory_s_own, named, text};
use crate::project;
use ipc_proto::memory::CaptureEvent;
use ipc_proto::{Name, Text};
use serde_json::{Value, json};
use std::path::Path;

/// The name of a conversation that has none: a request for text alone has no session.
const NO_SESSION: &str = "-";

/// Reads an event.
pub(super) fn read_event(payload: &Value, event: Option<&str>) -> Result<HookEvent, Fault> {
    let event = event.or_else(|| text(payload, "/hook")).ok_or(Fault::Missing("hook"))?;
    let directory = text(payload, "/directory").ok_or(Fault::Missing("directory"))?;
    let mut session = text(payload, "/input/sessionID");
    let (capture, context) = match event {
        "tool.execute.after" if text(payload, "/input/tool").is_some_and(is_memory_s_own) => (None, None),
        "tool.execute.after" => (Some(tool(payload, session.ok_or(Fault::Missing("sessionID"))?)?), None),
        "chat.message" => (message(payload, session.ok_or(Fault::Missing("sessionID"))?), None),
        "experimental.chat.system.transform" => (None, Some(ContextRequest::Start)),
        "experimental.session.compacting" => {
            (Some(CaptureEvent::Compacting), Some(ContextRequest::Compacting))
        }
        "event" => {
            let happened = payload.pointer("/input/event").unwrap_or(&Value::Null);
            session =
                text(happened, "/properties/sessionID").or_else(|| text(happened, "/properties/info/id"));
            (session.and_then(|_| lifecycle(happened)), None)
        }
        _ => (None, None),
    };
    let session = Text::clip(session.unwrap_or(NO_SESSION));
    Ok(HookEvent {
        event: event.to_owned(),
        session,
        project: project::of(Path::new(directory)),
        capture,
        context,
    })
}

fn tool(payload: &Value, session: &str) -> Result<CaptureEvent, Fault> {
    let tool = text(payload, "/input/tool").ok_or(Fault::Missing("tool"))?;
    let output = text(payload, "/output/output").unwrap_or_default();
    let call = text(payload, "/input/callID").map_or_else(|| named(&[session, tool, output]), Text::clip);
    let title = Text::clip(text(payload, "/output/title").unwrap_or_default());
    let file = text(payload, "/input/file").and_then(|file| Text::new(file).ok());
    Ok(CaptureEvent::Tool { tool: Name::clip(tool), call, title, file, output: cut(output) })
}

/// The person's own text, without the parts that their client added; `None` if it is empty or not theirs.
fn message(payload: &Value, session: &str) -> Option<CaptureEvent> {
    let role = text(payload, "/output/message/role").unwrap_or("user");
    let parts = payload.pointer("/output/parts").and_then(Value::as_array)?;
    let theirs = parts.iter().filter(|part| part.get("synthetic").and_then(Value::as_bool) != Some(true));
    let written: Vec<&str> =
        theirs.filter_map(|part| part.as_str().or_else(|| text(part, "/text"))).collect();
    let written = written.join("\n");
    let id = text(payload, "/input/messageID").or_else(|| text(payload, "/output/message/id"));
    let message = id.map_or_else(|| named(&[session, &written]), Text::clip);
    (role == "user" && !written.trim().is_empty())
        .then(|| CaptureEvent::Message { message, text: cut(&written) })
}

/// The start or end of a session that an event reports.
fn lifecycle(event: &Value) -> Option<CaptureEvent> {
    match text(event, "/type")? {
        "session.created" => Some(CaptureEvent::Started),
        "session.idle" => Some(CaptureEvent::Idle),
        "session.deleted" | "session.completed" | "session.ended" => Some(CaptureEvent::Ended),
        _ => None,
    }
}

/// The answer that the plugin adds to the model's context.
pub(super) fn answer(context: &str) -> Value {
    json!({ "context": context })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn captured(
        event: &str,
        input: &Value,
        output: &Value,
    ) -> (Option<CaptureEvent>, Option<ContextRequest>) {
        let payload =
            read_event(&json!({ "directory": "/nowhere", "input": input, "output": output }), Some(event))
                .unwrap();
        assert_eq!((payload.session.as_str(), payload.project.as_str()), ("s", "/nowhere"), "{event}");
        (payload.capture, payload.context)
    }

    #[test]
    fn each_of_the_five_hooks_is_taken_down_and_answered() {
        let of = json!({ "sessionID": "s", "tool": "read", "callID": "c1", "messageID": "m1", "file": "/p/note.txt" });
        let read = json!({ "title": "note.txt", "output": "harbour-light", "metadata": {} });
        let tool = CaptureEvent::Tool {
            tool: Name::clip("read"),
            call: Text::clip("c1"),
            title: Text::clip("note.txt"),
            file: Some(Text::clip("/p/note.txt")),
            output: Text::clip("harbour-light"),
        };
        assert_eq!(captured("tool.execute.after", &of, &read), (Some(tool), None));
        // One that is cut would be another file.
        let far = json!({ "sessionID": "s", "tool": "read", "file": "p".repeat(257) });
        let (Some(CaptureEvent::Tool { file, .. }), None) = captured("tool.execute.after", &far, &read)
        else {
            panic!()
        };
        assert_eq!(file, None);
        let parts = json!({ "message": { "role": "user" }, "parts":
            [{ "type": "text", "text": "what is" }, "here?", { "type": "text", "text": "added", "synthetic": true }] });
        let asked = CaptureEvent::Message { message: Text::clip("m1"), text: Text::clip("what is\nhere?") };
        assert_eq!(captured("chat.message", &of, &parts), (Some(asked), None));
        let system = json!({ "system": [] });
        assert_eq!(
            captured("experimental.chat.system.transform", &of, &system),
            (None, Some(ContextRequest::Start))
        );
        let compacting = (Some(CaptureEvent::Compacting), Some(ContextRequest::Compacting));
        assert_eq!(captured("experimental.session.compacting", &of, &json!({})), compacting);
    }

    #[test]
    fn events_of_a_session_s_course_are_taken_down_and_all_others_passed_over() {
        for (name, properties, expected) in [
            ("session.created", json!({ "info": { "id": "s" } }), Some(CaptureEvent::Started)),
            ("session.idle", json!({ "sessionID": "s" }), Some(CaptureEvent::Idle)),
            ("session.deleted", json!({ "info": { "id": "s" } }), Some(CaptureEvent::Ended)),
            ("session.completed", json!({ "sessionID": "s" }), Some(CaptureEvent::Ended)),
            ("message.updated", json!({ "sessionID": "s" }), None),
        ] {
            let event = json!({ "event": { "type": name, "properties": properties } });
            assert_eq!(captured("event", &event, &Value::Null), (expected, None), "{name}");
        }
        let nameless =
            json!({ "directory": "/", "input": { "event": { "type": "session.idle", "properties": {} } } });
        assert_eq!(read_event(&nameless, Some("event")).unwrap().capture, None);
    }

    #[test]
    fn a_models_text_or_an_empty_one_is_no_message() {
        let of = json!({ "sessionID": "s" });
        for output in [
            json!({ "message": { "role": "assistant" }, "parts": ["text"] }),
            json!({ "message": {}, "parts": [{ "type": "file" }] }),
            json!({ "message": {} }),
        ] {
            assert_eq!(captured("chat.message", &of, &output).0, None, "{output}");
        }
    }
}
