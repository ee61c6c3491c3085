//! Events of a turn as the updates that an editor shows.

use crate::answer_text::AnswerText;
use crate::live;
use crate::tool_line;
use agent_client_protocol_schema::v1::{
    ContentBlock, ContentChunk, SessionUpdate, ToolCall, ToolCallContent, ToolCallLocation, ToolCallStatus,
    ToolCallUpdate, ToolCallUpdateFields, ToolKind,
};
use ipc_proto::approval::State;
use ipc_proto::ids::CallId;
use ipc_proto::router::{Labelled, TurnEvent};
use ipc_proto::tool::Outcome;
use ipc_proto::{Name, model};
use serde_json::Value;
use std::collections::HashSet;
use std::path::{Path, PathBuf};

/// The folder by which a jail knows the editor's directory.
const JAILED: &str = "/workspace";

/// The updates of one turn.
pub(super) struct Updates<'a> {
    /// The directory that the session works in.
    cwd: &'a Path,
    text: AnswerText,
    /// Calls that the editor knows.
    known: HashSet<CallId>,
}

impl<'a> Updates<'a> {
    pub(super) fn new(cwd: &'a Path) -> Self {
        Self { cwd, text: AnswerText::default(), known: HashSet::new() }
    }

    /// The updates for one event.
    pub(super) fn of(&mut self, event: &TurnEvent) -> Vec<SessionUpdate> {
        match event {
            TurnEvent::Started { attempt } => {
                let void = self.text.begin_again();
                self.text.settle();
                let again = void || *attempt > 1;
                again
                    .then(|| remark(&format!("(attempt {attempt}: the reply begins again)")))
                    .into_iter()
                    .collect()
            }
            TurnEvent::Text(text) => {
                self.text.push(text);
                vec![said(text)]
            }
            TurnEvent::Again => {
                let void = self.text.begin_again();
                void.then(|| remark("(the reply begins again)")).into_iter().collect()
            }
            TurnEvent::ToolStart { call, tool, args, refused, .. } => {
                self.text.settle();
                let status =
                    if refused.is_some() { ToolCallStatus::Failed } else { ToolCallStatus::InProgress };
                let why = refused.as_ref().map(|why| format!("refused: {why}"));
                vec![self.call(*call, tool, args, status, why)]
            }
            TurnEvent::Approval { call, tool, action, preview, reason, .. } => {
                let args = serde_json::from_str(action)
                    .ok()
                    .and_then(|action: Value| Some(action.get("args")?.to_string()));
                let args = args.unwrap_or_else(|| preview.to_string());
                vec![self.call(*call, tool, &args, ToolCallStatus::Pending, Some(format!("asks: {reason}")))]
            }
            TurnEvent::Answered { state: State::Approved, note, .. } if note.as_str() == "approved" => {
                Vec::new()
            }
            TurnEvent::Answered { state, note, .. } => {
                vec![remark(&format!("({})", live::answer(*state, note)))]
            }
            TurnEvent::ToolProgress { call, line } => {
                vec![changed(*call, ToolCallUpdateFields::new().content(content(line)))]
            }
            TurnEvent::ToolEnd { call, outcome, .. } => {
                let status = match outcome {
                    Outcome::Success => ToolCallStatus::Completed,
                    Outcome::Error | Outcome::Blocked | Outcome::Unknown => ToolCallStatus::Failed,
                };
                vec![changed(*call, ToolCallUpdateFields::new().status(status))]
            }
            TurnEvent::Notice(notice) => vec![remark(&format!("({notice})"))],
            TurnEvent::Done(finished) => {
                let rest = self.text.rest(&finished.text);
                (!rest.is_empty()).then(|| said(rest)).into_iter().collect()
            }
            // Output of a program that a person runs, of which a chat has none.
            TurnEvent::Output { .. } => Vec::new(),
        }
    }

    /// A call as it begins, or the change of one that the editor knows.
    fn call(
        &mut self,
        id: CallId,
        tool: &Name,
        args: &str,
        status: ToolCallStatus,
        note: Option<String>,
    ) -> SessionUpdate {
        let shown = note.as_deref().map(content);
        if !self.known.insert(id) {
            return changed(id, ToolCallUpdateFields::new().status(status).content(shown));
        }
        let input: Option<Value> = serde_json::from_str(args).ok();
        let path = input.as_ref().and_then(|input| input.get("path")?.as_str());
        let place = path.map(|path| ToolCallLocation::new(self.place(path)));
        let call = ToolCall::new(id.to_string(), tool_line::sentence(tool, args))
            .kind(kind(tool))
            .status(status)
            .content(shown.unwrap_or_default())
            .locations(place.into_iter().collect::<Vec<_>>())
            .raw_input(input.clone());
        SessionUpdate::ToolCall(call)
    }

    /// The path in the editor's directory that a jail's path means.
    fn place(&self, path: &str) -> PathBuf {
        let beneath = path.strip_prefix(JAILED).map_or(path, |rest| rest.trim_start_matches('/'));
        if beneath.starts_with('/') { PathBuf::from(beneath) } else { self.cwd.join(beneath) }
    }
}

/// The words of a resource that the person points to: by the jail's path where it is in the directory.
pub(super) fn reference(cwd: &Path, name: &str, uri: &str) -> String {
    let beneath =
        uri.strip_prefix("file://").and_then(|path| Path::new(path).strip_prefix(cwd).ok()?.to_str());
    match beneath {
        // An escaped character is not one of the path.
        Some(beneath) if !beneath.contains('%') => format!("[{name}]({JAILED}/{beneath})"),
        _ => format!("[{name}]({uri})"),
    }
}

/// A message of an earlier turn, as a loaded session shows it.
pub(super) fn replayed(past: &Labelled) -> Vec<SessionUpdate> {
    let message = &past.message;
    let text = ContentChunk::new(ContentBlock::from(message.text.as_str()));
    let shown = match message.role {
        model::Role::User => Some(SessionUpdate::UserMessageChunk(text)),
        model::Role::Assistant => Some(SessionUpdate::AgentMessageChunk(text)),
        // Results of tools stand with their calls, and the host's own words are no part of the conversation.
        model::Role::Tool | model::Role::System => None,
    };
    let calls = message.calls.iter().map(|call| {
        let shown = ToolCall::new(call.id.to_string(), tool_line::sentence(&call.tool, &call.args));
        SessionUpdate::ToolCall(shown.kind(kind(&call.tool)).status(ToolCallStatus::Completed))
    });
    shown.into_iter().filter(|_| !message.text.is_empty()).chain(calls).collect()
}

/// Text of the answer.
pub(super) fn said(text: &str) -> SessionUpdate {
    SessionUpdate::AgentMessageChunk(ContentChunk::new(ContentBlock::from(text)))
}

/// Words of the host about the turn, which are no part of the answer.
pub(super) fn remark(text: &str) -> SessionUpdate {
    SessionUpdate::AgentThoughtChunk(ContentChunk::new(ContentBlock::from(text)))
}

/// A change of a call.
pub(super) fn changed(id: CallId, fields: ToolCallUpdateFields) -> SessionUpdate {
    SessionUpdate::ToolCallUpdate(ToolCallUpdate::new(id.to_string(), fields))
}

/// Text as the content of a call.
pub(super) fn content(text: &str) -> Vec<ToolCallContent> {
    vec![ToolCallContent::from(ContentBlock::from(text))]
}

/// The editor's kind of a tool.
pub(super) fn kind(tool: &str) -> ToolKind {
    match tool {
        "read" | "memory_read" | "mcp_read" => ToolKind::Read,
        "write" | "edit" => ToolKind::Edit,
        "glob" | "grep" | "memory_query" | "web_search" => ToolKind::Search,
        "bash" => ToolKind::Execute,
        "web_fetch" => ToolKind::Fetch,
        "memory_delete" => ToolKind::Delete,
        _ => ToolKind::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ipc_proto::Text;
    use serde_json::json;

    fn shown(updates: &mut Updates<'_>, event: &TurnEvent) -> Value {
        serde_json::to_value(updates.of(event)).unwrap()
    }

    fn start(call: CallId, args: &str) -> TurnEvent {
        TurnEvent::ToolStart {
            call,
            tool: Text::clip("write"),
            args: Text::clip(args),
            refused: None,
            record: 7,
        }
    }

    #[test]
    fn a_call_is_announced_once_and_changed_after_that() {
        let (call, mut updates) = (CallId::random(), Updates::new(Path::new("/home/me/p")));
        let first = shown(&mut updates, &start(call, r#"{"path":"/workspace/a.md"}"#));
        assert_eq!(first[0]["sessionUpdate"], "tool_call");
        assert_eq!((&first[0]["kind"], &first[0]["status"]), (&json!("edit"), &json!("in_progress")));
        assert_eq!(first[0]["locations"][0]["path"], "/home/me/p/a.md");
        assert_eq!(first[0]["title"], "writes /workspace/a.md");
        let again = shown(&mut updates, &start(call, "{}"));
        assert_eq!(again[0]["sessionUpdate"], "tool_call_update");
        let end = TurnEvent::ToolEnd { call, outcome: Outcome::Error, duration_ms: 1 };
        assert_eq!(shown(&mut updates, &end)[0]["status"], "failed");
    }

    #[test]
    fn a_reference_to_a_file_of_the_directory_is_the_path_that_the_jail_knows() {
        let cwd = Path::new("/home/me/p");
        for (uri, words) in [
            ("file:///home/me/p/src/a.rs", "[a](/workspace/src/a.rs)"),
            ("file:///home/me/q/a.rs", "[a](file:///home/me/q/a.rs)"),
            ("file:///home/me/p/a%20b", "[a](file:///home/me/p/a%20b)"),
            ("https://example.com/", "[a](https://example.com/)"),
        ] {
            assert_eq!(reference(cwd, "a", uri), words);
        }
    }
}
