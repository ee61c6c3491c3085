//! A conversation as the responses API has it. The provider is asked to store none of it.

use crate::conversation::{Entry, choice, data_url, entries, most, number, schema, tools};
use crate::wire::Conversation;
use ipc_proto::model::{Choice, Image, Message, Role};
use ipc_proto::tool::ToolSpec;
use serde::Serialize;
use serde_json::{Value, json};

/// The least bound of output that the provider takes.
const LEAST: u32 = 16;

#[derive(Serialize)]
struct Body<'a> {
    model: &'a str,
    input: Vec<Item<'a>>,
    stream: bool,
    store: bool,
    max_output_tokens: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    top_p: Option<f64>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<Tool<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_choice: Option<Value>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Item<'a> {
    Message { role: Role, content: Content<'a> },
    Call { r#type: &'static str, call_id: String, name: &'a str, arguments: &'a str },
    Result { r#type: &'static str, call_id: String, output: &'a str },
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
    InputText { text: &'a str },
    InputImage { image_url: String },
}

#[derive(Serialize)]
struct Tool<'a> {
    r#type: &'static str,
    name: &'a str,
    description: &'a str,
    parameters: Value,
    // Strict schemas must name every property as required, which ours do not.
    strict: bool,
}

/// The body of the request.
pub(super) fn body(conversation: &Conversation<'_>) -> serde_json::Result<Vec<u8>> {
    let &Conversation { model, known, request, .. } = conversation;
    let tools = tools(request, known);
    serde_json::to_vec(&Body {
        model,
        input: entries(request).into_iter().flat_map(items).collect(),
        stream: true,
        store: false,
        max_output_tokens: most(request, known).max(LEAST),
        temperature: number(request.temperature).filter(|_| known.sampling),
        top_p: number(request.top_p).filter(|_| known.sampling),
        tools: tools.iter().map(described).collect(),
        tool_choice: if tools.is_empty() { None } else { chosen(choice(request, known)) },
    })
}

fn items(entry: Entry<'_>) -> Vec<Item<'_>> {
    match entry {
        Entry::Shown(images) => vec![Item::Message { role: Role::User, content: parts("", &images) }],
        Entry::Message(message, images) => match (message.role, message.answers) {
            (Role::Tool, Some(id)) => {
                let call_id = id.to_string();
                vec![Item::Result { r#type: "function_call_output", call_id, output: &message.text }]
            }
            _ => message_items(message, &images),
        },
    }
}

fn message_items<'a>(message: &'a Message, images: &[&Image]) -> Vec<Item<'a>> {
    let content = match images {
        [] => Content::Text(&message.text),
        images => parts(&message.text, images),
    };
    let silent = message.text.is_empty() && images.is_empty();
    // A result of an unknown call is a user's message.
    let role = if message.role == Role::Tool { Role::User } else { message.role };
    let text = (!silent).then_some(Item::Message { role, content });
    let calls = message.calls.iter().map(|call| Item::Call {
        r#type: "function_call",
        call_id: call.id.to_string(),
        name: &call.tool,
        arguments: &call.args,
    });
    text.into_iter().chain(calls).collect()
}

fn parts<'a>(text: &'a str, images: &[&Image]) -> Content<'a> {
    let text = Some(text).filter(|text| !text.is_empty()).map(|text| Part::InputText { text });
    let images = images.iter().map(|image| Part::InputImage { image_url: data_url(image) });
    Content::Parts(text.into_iter().chain(images).collect())
}

fn described(tool: &ToolSpec) -> Tool<'_> {
    Tool {
        r#type: "function",
        name: &tool.name,
        description: &tool.description,
        parameters: schema(tool),
        strict: false,
    }
}

fn chosen(choice: &Choice) -> Option<Value> {
    match choice {
        Choice::Auto => None,
        Choice::Never => Some(json!("none")),
        Choice::Some => Some(json!("required")),
        Choice::This(name) => Some(json!({ "type": "function", "name": name.as_str() })),
    }
}
