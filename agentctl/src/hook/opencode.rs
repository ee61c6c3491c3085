//! OpenCode's hooks, as the plugin passes them on: `{"directory":…,"input":…,"output":…}`, the last two as OpenCode gave
//! them to the hook that the command line names; `file` of a tool's input is the file that it worked on.

use super::{Fault, Give, Told, cut, is_memory_s_own, named, text};
use crate::project;
use ipc_proto::memory::CaptureEvent;
use ipc_proto::{Name, Text};
use serde_json::{Value, json};
use std::path::Path;

/// What is told of the conversation where its name is not: one that is asked for text alone has none.
const NO_SESSION: &str = "-";

/// What was told.
pub(super) fn told(told: &Value, event: Option<&str>) -> Result<Told, Fault> {
    let event = event.or_else(|| text(told, "/hook")).ok_or(Fault::Missing("hook"))?;
    let directory = text(told, "/directory").ok_or(Fault::Missing("directory"))?;
    let mut session = text(told, "/input/sessionID");
    let (take, give) = match event {
        "tool.execute.after" if text(told, "/input/tool").is_some_and(is_memory_s_own) => (None, None),
        "tool.execute.after" => (Some(tool(told, session.ok_or(Fault::Missing("sessionID"))?)?), None),
        "chat.message" => (message(told, session.ok_or(Fault::Missing("sessionID"))?), None),
        "experimental.chat.system.transform" => (None, Some(Give::Start)),
        "experimental.session.compacting" => (Some(CaptureEvent::Compacting), Some(Give::Compacting)),
        "event" => {
            let happened = told.pointer("/input/event").unwrap_or(&Value::Null);
            session =
                text(happened, "/properties/sessionID").or_else(|| text(happened, "/properties/info/id"));
            (session.and_then(|_| lifecycle(happened)), None)
        }
        _ => (None, None),
    };
    let session = Text::clip(session.unwrap_or(NO_SESSION));
    Ok(Told { event: event.to_owned(), session, project: project::of(Path::new(directory)), take, give })
}

fn tool(told: &Value, session: &str) -> Result<CaptureEvent, Fault> {
    let tool = text(told, "/input/tool").ok_or(Fault::Missing("tool"))?;
    let output = text(told, "/output/output").unwrap_or_default();
    let call = text(told, "/input/callID").map_or_else(|| named(&[session, tool, output]), Text::clip);
    let title = Text::clip(text(told, "/output/title").unwrap_or_default());
    let file = text(told, "/input/file").and_then(|file| Text::new(file).ok());
    Ok(CaptureEvent::Tool { tool: Name::clip(tool), call, title, file, output: cut(output) })
}

/// What the person wrote, without what their client put in for them; none if it is nothing, or not theirs.
fn message(told: &Value, session: &str) -> Option<CaptureEvent> {
    let role = text(told, "/output/message/role").unwrap_or("user");
    let parts = told.pointer("/output/parts").and_then(Value::as_array)?;
    let theirs = parts.iter().filter(|part| part.get("synthetic").and_then(Value::as_bool) != Some(true));
    let said: Vec<&str> = theirs.filter_map(|part| part.as_str().or_else(|| text(part, "/text"))).collect();
    let said = said.join("\n");
    let id = text(told, "/input/messageID").or_else(|| text(told, "/output/message/id"));
    let message = id.map_or_else(|| named(&[session, &said]), Text::clip);
    (role == "user" && !said.trim().is_empty()).then(|| CaptureEvent::Message { message, text: cut(&said) })
}

/// What an event of a session says of its course.
fn lifecycle(event: &Value) -> Option<CaptureEvent> {
    match text(event, "/type")? {
        "session.created" => Some(CaptureEvent::Started),
        "session.idle" => Some(CaptureEvent::Idle),
        "session.deleted" | "session.completed" | "session.ended" => Some(CaptureEvent::Ended),
        _ => None,
    }
}

/// The answer that the plugin puts before the model.
pub(super) fn answer(context: &str) -> Value {
    json!({ "context": context })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn heard(event: &str, input: &Value, output: &Value) -> (Option<CaptureEvent>, Option<Give>) {
        let told =
            told(&json!({ "directory": "/nowhere", "input": input, "output": output }), Some(event)).unwrap();
        assert_eq!((told.session.as_str(), told.project.as_str()), ("s", "/nowhere"), "{event}");
        (told.take, told.give)
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
        assert_eq!(heard("tool.execute.after", &of, &read), (Some(tool), None));
        // One that is cut would be another file.
        let far = json!({ "sessionID": "s", "tool": "read", "file": "p".repeat(257) });
        let (Some(CaptureEvent::Tool { file, .. }), None) = heard("tool.execute.after", &far, &read) else {
            panic!()
        };
        assert_eq!(file, None);
        let parts = json!({ "message": { "role": "user" }, "parts":
            [{ "type": "text", "text": "what is" }, "here?", { "type": "text", "text": "added", "synthetic": true }] });
        let asked = CaptureEvent::Message { message: Text::clip("m1"), text: Text::clip("what is\nhere?") };
        assert_eq!(heard("chat.message", &of, &parts), (Some(asked), None));
        let system = json!({ "system": [] });
        assert_eq!(heard("experimental.chat.system.transform", &of, &system), (None, Some(Give::Start)));
        let compacting = (Some(CaptureEvent::Compacting), Some(Give::Compacting));
        assert_eq!(heard("experimental.session.compacting", &of, &json!({})), compacting);
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
            assert_eq!(heard("event", &event, &Value::Null), (expected, None), "{name}");
        }
        let nameless =
            json!({ "directory": "/", "input": { "event": { "type": "session.idle", "properties": {} } } });
        assert_eq!(told(&nameless, Some("event")).unwrap().take, None);
    }

    #[test]
    fn what_a_model_said_or_nobody_did_is_no_message() {
        let of = json!({ "sessionID": "s" });
        for output in [
            json!({ "message": { "role": "assistant" }, "parts": ["text"] }),
            json!({ "message": {}, "parts": [{ "type": "file" }] }),
            json!({ "message": {} }),
        ] {
            assert_eq!(heard("chat.message", &of, &output).0, None, "{output}");
        }
    }
}
