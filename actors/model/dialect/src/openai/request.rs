//! A conversation as chat completions have it.

use crate::conversation::{
    Entry, FunctionTool, choice, data_url, entries, function_tool, most, number, stops, tools,
};
use crate::wire::Conversation;
use ipc_proto::config::{Provider, ProviderModel};
use ipc_proto::model::{Asked, Choice, Image, Message, Role};
use serde::Serialize;
use serde_json::{Value, json};

/// The provider that no longer takes `max_tokens`, and the only one that requires its successor.
const RENAMED: &str = "https://api.openai.com/";

#[derive(Serialize)]
struct Body<'a> {
    model: &'a str,
    messages: Vec<WireMessage<'a>>,
    stream: bool,
    stream_options: StreamOptions,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_tokens: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_completion_tokens: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    top_p: Option<f64>,
    // Empty lists are errors to some.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    stop: Vec<&'a str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<FunctionTool<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_choice: Option<Value>,
}

#[derive(Serialize)]
struct StreamOptions {
    include_usage: bool,
}

#[derive(Serialize)]
struct WireMessage<'a> {
    role: Role,
    content: Option<Content<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tool_calls: Vec<Call<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_call_id: Option<String>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Content<'a> {
    Text(&'a str),
    Parts(Vec<Part<'a>>),
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Part<'a> {
    Text { text: &'a str },
    ImageUrl { image_url: Url },
}

#[derive(Serialize)]
struct Url {
    url: String,
}

#[derive(Serialize)]
struct Call<'a> {
    id: String,
    r#type: &'static str,
    function: Function<'a>,
}

#[derive(Serialize)]
struct Function<'a> {
    name: &'a str,
    arguments: &'a str,
}

/// Returns true if the bound of the output has its newer name there.
fn is_renamed(provider: &Provider) -> bool {
    provider.base_url.starts_with(RENAMED)
}

/// Returns true if the model ends its answer at the texts of a request.
pub(super) const fn takes_stops(known: ProviderModel) -> bool {
    known.sampling
}

/// The body of the request.
pub(super) fn body(conversation: &Conversation<'_>) -> serde_json::Result<Vec<u8>> {
    let &Conversation { provider, model, known, request, .. } = conversation;
    let renamed = is_renamed(provider);
    let bound = Some(most(request, known)).filter(|bound| *bound > 0);
    let tools = tools(request, known);
    serde_json::to_vec(&Body {
        model,
        messages: entries(request).into_iter().map(message).collect(),
        stream: true,
        stream_options: StreamOptions { include_usage: true },
        max_tokens: bound.filter(|_| !renamed),
        max_completion_tokens: bound.filter(|_| renamed),
        temperature: number(request.temperature).filter(|_| known.sampling),
        top_p: number(request.top_p).filter(|_| known.sampling),
        stop: if takes_stops(known) { stops(request) } else { Vec::new() },
        tools: tools.iter().map(function_tool).collect(),
        tool_choice: if tools.is_empty() { None } else { chosen(choice(request, known)) },
    })
}

fn message(entry: Entry<'_>) -> WireMessage<'_> {
    let (role, content, message) = match entry {
        Entry::Shown(images) => (Role::User, parts(None, &images), None),
        Entry::Message(message, images) => (message.role, content(message, &images), Some(message)),
    };
    WireMessage {
        role,
        content,
        tool_calls: message.into_iter().flat_map(|message| &message.calls).map(call).collect(),
        tool_call_id: message.and_then(|message| message.answers).map(|id| id.to_string()),
    }
}

fn content<'a>(message: &'a Message, images: &[&Image]) -> Option<Content<'a>> {
    if !images.is_empty() {
        return parts(Some(&message.text), images);
    }
    let silent = message.text.is_empty() && !message.calls.is_empty();
    (!silent).then_some(Content::Text(&message.text))
}

fn parts<'a>(text: Option<&'a str>, images: &[&Image]) -> Option<Content<'a>> {
    let text = text.filter(|text| !text.is_empty()).map(|text| Part::Text { text });
    let images = images.iter().map(|image| Part::ImageUrl { image_url: Url { url: data_url(image) } });
    Some(Content::Parts(text.into_iter().chain(images).collect()))
}

fn call(call: &Asked) -> Call<'_> {
    let function = Function { name: &call.tool, arguments: &call.args };
    Call { id: call.id.to_string(), r#type: "function", function }
}

fn chosen(choice: &Choice) -> Option<Value> {
    match choice {
        Choice::Auto => None,
        Choice::Never => Some(json!("none")),
        Choice::Some => Some(json!("required")),
        Choice::This(name) => Some(json!({ "type": "function", "function": { "name": name.as_str() } })),
    }
}
