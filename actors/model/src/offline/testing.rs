//! For tests: requests made of words, and a conversation in which asked tools are run by a function.

use crate::answer::{Reply, ToolCall};
use ipc_proto::ids::{CallId, UserId};
use ipc_proto::model::{Asked, Message, Payer, Request, Role};
use ipc_proto::tool::ToolSpec;
use ipc_proto::{List, Name, Text};

/// A request with these messages, by role, and tools, by name.
pub(crate) fn request(messages: &[(&str, &str)], tools: &[&str]) -> Request {
    let message = |(role, text): &(&str, &str)| {
        let role = serde_json::from_value(serde_json::json!(role)).unwrap();
        Message::text(role, text)
    };
    let tool = |name: &&str| ToolSpec {
        name: Name::clip(name),
        description: Text::clip("A tool."),
        schema: Text::clip(r#"{"type":"object"}"#),
        in_jail: true,
    };
    let said = List::clip(messages.iter().map(message));
    Request {
        tools: List::clip(tools.iter().map(tool)),
        ..Request::new(Text::clip("offline/reader"), said, payer())
    }
}

/// A payer.
pub(crate) fn payer() -> Payer {
    Payer::of(UserId::random())
}

/// A conversation that continues by itself.
pub(crate) struct Asking {
    /// The next request.
    pub(crate) request: Request,
}

impl Asking {
    /// A conversation that begins with this request.
    pub(crate) fn new(request: Request) -> Self {
        Self { request }
    }

    /// Every tool that was asked for.
    pub(crate) fn asked(&self) -> Vec<String> {
        let calls = self.request.messages.iter().flat_map(|message| &message.calls);
        calls.map(|call| call.tool.to_string()).collect()
    }

    /// Puts a reply and its calls' results into the conversation.
    pub(crate) fn took(&mut self, reply: &Reply, tool: impl Fn(&ToolCall) -> String) {
        let mut messages = std::mem::take(&mut self.request.messages).into_vec();
        let ids: Vec<CallId> = reply.calls.iter().map(|_| CallId::random()).collect();
        let asked = reply.calls.iter().zip(&ids);
        let asked =
            asked.map(|(call, id)| Asked { id: *id, tool: call.tool.clone(), args: Text::clip(&call.args) });
        let said = Message { calls: List::clip(asked), ..Message::text(Role::Assistant, &reply.text) };
        messages.push(said);
        for (call, id) in reply.calls.iter().zip(ids) {
            messages.push(Message { answers: Some(id), ..Message::text(Role::Tool, &tool(call)) });
        }
        self.request.messages = List::new(messages).unwrap();
    }

    /// Goes on until the model asks for nothing more; fails after ten rounds.
    pub(crate) fn run(&mut self, model: fn(&Request) -> Reply, tool: impl Fn(&ToolCall) -> String) -> Reply {
        for _ in 0..10 {
            let reply = model(&self.request);
            if reply.calls.is_empty() {
                return reply;
            }
            self.took(&reply, &tool);
        }
        panic!("it asks for ever: {:?}", self.asked());
    }
}
