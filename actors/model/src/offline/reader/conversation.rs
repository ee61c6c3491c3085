//! What the reader sees of a conversation: the last thing the person said, and what its own calls since then gave
//! back. This is all of its state, so that it is the same program before and after a restart.

use super::result::Came;
use ipc_proto::model::{Message, Role};
use ipc_proto::tool::ToolList;

/// The current turn.
pub(super) struct Turn<'a> {
    /// What the person said last.
    pub(super) question: &'a str,
    /// The calls since then, oldest first.
    pub(super) calls: Vec<Call<'a>>,
    tools: &'a ToolList,
}

/// A call that was asked for.
pub(super) struct Call<'a> {
    /// The tool.
    pub(super) tool: &'a str,
    /// Its arguments, JSON.
    pub(super) args: &'a str,
    /// What it gave back, if anything.
    output: Option<&'a str>,
}

impl<'a> Call<'a> {
    /// What came of it.
    pub(super) fn came(&self) -> Came<'a> {
        self.output.map_or(Came::Nothing, Came::of)
    }

    /// One of its arguments.
    pub(super) fn argument(&self, name: &str) -> Option<String> {
        let args: serde_json::Value = serde_json::from_str(self.args).ok()?;
        args.get(name)?.as_str().map(str::to_owned)
    }
}

impl<'a> Turn<'a> {
    /// The turn that the last message of a person began.
    pub(super) fn of(messages: &[&'a Message], tools: &'a ToolList) -> Self {
        let began = messages.iter().rposition(|message| message.role == Role::User);
        let question =
            began.and_then(|began| messages.get(began)).map_or("", |message| message.text.as_str());
        let since = began.and_then(|began| messages.get(began..)).unwrap_or_default();
        let asked =
            since.iter().filter(|message| message.role == Role::Assistant).flat_map(|message| &message.calls);
        let calls = asked.map(|call| Call {
            tool: call.tool.as_str(),
            args: call.args.as_str(),
            output: since.iter().find(|m| m.answers == Some(call.id)).map(|m| m.text.as_str()),
        });
        Self { question, calls: calls.collect(), tools }
    }

    /// Returns whether it was told of this tool.
    pub(super) fn has(&self, tool: &str) -> bool {
        self.tools.iter().any(|spec| spec.name.as_str() == tool)
    }

    /// The calls of one tool.
    pub(super) fn calls_of(&self, tool: &str) -> impl Iterator<Item = &Call<'a>> {
        self.calls.iter().filter(move |call| call.tool == tool)
    }

    /// What came of the last call of this tool, if it was asked for.
    pub(super) fn came(&self, tool: &str) -> Option<Came<'a>> {
        self.calls_of(tool).last().map(Call::came)
    }
}
