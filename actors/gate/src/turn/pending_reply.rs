//! A reply whose calls were decided on. Each call carries its decision, and its question until a person has answered it.

use ipc_proto::List;
use ipc_proto::approval::Question;
use ipc_proto::model::{Asked, Finish, Message, Role};
use ipc_proto::router::Released;
use ipc_proto::runner_gate::CompletionState;

/// A call with its decision.
pub(crate) struct DecidedCall {
    pub(crate) released: Released,
    /// The question that a person has not answered yet.
    pub(crate) question: Option<Question>,
}

/// A reply with its decided calls. The runner sees it once all questions are answered, so none of its calls has run.
pub(crate) struct PendingReply {
    pub(crate) text: String,
    pub(crate) finish: Finish,
    pub(crate) calls: Vec<DecidedCall>,
}

impl PendingReply {
    /// Returns true while a question is open.
    pub(crate) fn waits(&self) -> bool {
        self.calls.iter().any(|call| call.question.is_some())
    }

    /// The calls with their decisions.
    pub(crate) fn released(&self) -> impl Iterator<Item = &Released> {
        self.calls.iter().map(|call| &call.released)
    }

    /// The reply as the runner gets it.
    pub(crate) fn into_completion(self) -> CompletionState {
        let message = assistant(&self.text, self.released());
        let calls = List::clip(self.calls.into_iter().map(|call| call.released));
        CompletionState::Reply { message, calls, finish: self.finish }
    }
}

/// An assistant's message as it stands in the conversation.
pub(crate) fn assistant<'a>(text: &str, calls: impl Iterator<Item = &'a Released>) -> Message {
    let asked = calls.map(|released| {
        let call = &released.call;
        Asked { id: call.id, tool: call.tool.clone(), args: call.args.clone() }
    });
    Message { calls: List::clip(asked), ..Message::text(Role::Assistant, text) }
}
