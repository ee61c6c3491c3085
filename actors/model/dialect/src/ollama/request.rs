//! A conversation as Ollama's chat has it. The server silently cuts a conversation that is longer than the window it
//! was started with, so the request asks for the window that this one needs.

use crate::conversation::{
    Entry, FunctionTool, arguments, base64, entries, function_tool, most, number, stops, tools,
};
use crate::wire::Conversation;
use ipc_proto::model::{Choice, Image, Message, Request, Role};
use ipc_proto::tool::ToolSpec;
use serde::Serialize;
use serde_json::Value;

/// The least window that is asked for: the server's own. Above it the window doubles, since each new one makes the
/// server load the model again.
const WINDOW: u32 = 4096;

#[derive(Serialize)]
struct Body<'a> {
    model: &'a str,
    messages: Vec<WireMessage<'a>>,
    stream: bool,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<FunctionTool<'a>>,
    options: Options<'a>,
}

#[derive(Serialize)]
struct Options<'a> {
    num_ctx: u32,
    num_predict: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    top_p: Option<f64>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    stop: Vec<&'a str>,
}

#[derive(Serialize)]
struct WireMessage<'a> {
    role: Role,
    content: &'a str,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    images: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tool_calls: Vec<Call<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_name: Option<&'a str>,
}

#[derive(Serialize)]
struct Call<'a> {
    function: Function<'a>,
}

#[derive(Serialize)]
struct Function<'a> {
    name: &'a str,
    arguments: Value,
}

/// The body of the request.
pub(super) fn body(conversation: &Conversation<'_>) -> serde_json::Result<Vec<u8>> {
    let &Conversation { model, known, request, tokens, .. } = conversation;
    let num_predict = most(request, known);
    serde_json::to_vec(&Body {
        model,
        messages: entries(request).into_iter().map(|entry| message(entry, request)).collect(),
        stream: true,
        tools: tools(request, known)
            .iter()
            .filter(|tool| is_offered(tool, &request.choice))
            .map(function_tool)
            .collect(),
        options: Options {
            num_ctx: window(tokens, num_predict, known.context),
            num_predict,
            temperature: number(request.temperature).filter(|_| known.sampling),
            top_p: number(request.top_p).filter(|_| known.sampling),
            stop: stops(request),
        },
    })
}

/// The window for a conversation of about this many tokens, a quarter more to be safe, and its answer.
fn window(tokens: u32, output: u32, context: u32) -> u32 {
    let needed = tokens.saturating_add(tokens / 4).saturating_add(output).max(WINDOW);
    needed.checked_next_power_of_two().unwrap_or(u32::MAX).min(context)
}

/// The server cannot be told to ask for a tool, but for no other than one.
fn is_offered(tool: &ToolSpec, choice: &Choice) -> bool {
    match choice {
        Choice::Auto | Choice::Some => true,
        Choice::Never => false,
        Choice::This(name) => tool.name == *name,
    }
}

fn message<'a>(entry: Entry<'a>, request: &'a Request) -> WireMessage<'a> {
    let shown = |images: Vec<&Image>| images.into_iter().map(base64).collect();
    match entry {
        Entry::Shown(images) => WireMessage {
            role: Role::User,
            content: "",
            images: shown(images),
            tool_calls: Vec::new(),
            tool_name: None,
        },
        Entry::Message(message, images) => WireMessage {
            role: message.role,
            content: &message.text,
            images: shown(images),
            tool_calls: message
                .calls
                .iter()
                .map(|call| Call {
                    function: Function { name: &call.tool, arguments: arguments(&call.args) },
                })
                .collect(),
            tool_name: answered(message, request),
        },
    }
}

/// The tool whose call a message answers.
fn answered<'a>(message: &Message, request: &'a Request) -> Option<&'a str> {
    let id = message.answers?;
    let calls = request.messages.iter().flat_map(|message| &message.calls);
    calls.into_iter().find(|call| call.id == id).map(|call| call.tool.as_str())
}
