//! The reader's view of a conversation: the last thing the person said, and the results of its own calls since then.
//! This is all of its state, so that it is the same program before and after a restart.

use super::result::CallOutcome;
use ipc_proto::model::{Message, Role};
use ipc_proto::tool::ToolList;

/// The current turn.
pub(super) struct Turn<'a> {
    /// The person's last message.
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
    /// Its output, if any.
    output: Option<&'a str>,
}

impl<'a> Call<'a> {
    /// The result of the call.
    pub(super) fn outcome(&self) -> CallOutcome<'a> {
        self.output.map_or(CallOutcome::Nothing, CallOutcome::of)
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

    /// Returns true if the request offers this tool.
    pub(super) fn has(&self, tool: &str) -> bool {
        self.tools.iter().any(|spec| spec.name.as_str() == tool)
    }

    /// The calls of one tool.
    pub(super) fn calls_of(&self, tool: &str) -> impl Iterator<Item = &Call<'a>> {
        self.calls.iter().filter(move |call| call.tool == tool)
    }

    /// The result of the last call of this tool, if it was asked for.
    pub(super) fn outcome(&self, tool: &str) -> Option<CallOutcome<'a>> {
        self.calls_of(tool).last().map(Call::outcome)
    }
}
