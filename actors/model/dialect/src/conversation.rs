//! A conversation as every provider's request needs it: messages with their images, the tools offered, and the numbers
//! as JSON has them.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ipc_proto::config::ProviderModel;
use ipc_proto::model::{Choice, Image, Message, Request, Role};
use ipc_proto::tool::ToolSpec;
use serde::Serialize;
use serde_json::{Map, Value};

/// One thing in a conversation.
pub(crate) enum Entry<'a> {
    /// A message. Only a person's has images.
    Message(&'a Message, Vec<&'a Image>),
    /// Images that belong to an earlier message: a person shows them, since no provider takes them from another role in
    /// every place.
    Shown(Vec<&'a Image>),
}

/// The conversation. Nothing stands between a call and its results: images of results are shown after the last of them.
pub(crate) fn entries(request: &Request) -> Vec<Entry<'_>> {
    let mut entries = Vec::with_capacity(request.messages.len());
    let mut late = Vec::new();
    for (index, message) in request.messages.iter().enumerate() {
        if message.role != Role::Tool && !late.is_empty() {
            entries.push(Entry::Shown(std::mem::take(&mut late)));
        }
        let images = request.images.iter().filter(|image| usize::from(image.message) == index);
        if message.role == Role::User {
            entries.push(Entry::Message(message, images.collect()));
        } else {
            entries.push(Entry::Message(message, Vec::new()));
            late.extend(images);
        }
    }
    if !late.is_empty() {
        entries.push(Entry::Shown(late));
    }
    entries
}

/// An image's bytes as text.
pub(crate) fn base64(image: &Image) -> String {
    STANDARD.encode(&*image.bytes)
}

/// An image as an address that holds it.
pub(crate) fn data_url(image: &Image) -> String {
    format!("data:{};base64,{}", image.media.as_str(), base64(image))
}

/// The tools offered to a model; one that cannot call any is offered none.
pub(crate) fn tools(request: &Request, known: ProviderModel) -> &[ToolSpec] {
    if known.tools { &request.tools } else { &[] }
}

/// The choice of tools, as far as the model can be forced: one that refuses to be forced may choose, which is nearer to
/// the request than an error.
pub(crate) fn choice(request: &Request, known: ProviderModel) -> &Choice {
    match &request.choice {
        Choice::Some | Choice::This(_) if !known.forced => &Choice::Auto,
        choice => choice,
    }
}

/// A tool's schema. One that cannot be read is one that allows anything: the gate checks the arguments all the same.
pub(crate) fn schema(tool: &ToolSpec) -> Value {
    serde_json::from_str(&tool.schema).unwrap_or_else(|_| serde_json::json!({ "type": "object" }))
}

/// A tool as chat completions and Ollama's chat describe it.
#[derive(Serialize)]
pub(crate) struct FunctionTool<'a> {
    r#type: &'static str,
    function: Described<'a>,
}

#[derive(Serialize)]
struct Described<'a> {
    name: &'a str,
    description: &'a str,
    parameters: Value,
}

/// This one.
pub(crate) fn function_tool(tool: &ToolSpec) -> FunctionTool<'_> {
    let function = Described { name: &tool.name, description: &tool.description, parameters: schema(tool) };
    FunctionTool { r#type: "function", function }
}

/// A call's arguments as the object that they are.
pub(crate) fn arguments(text: &str) -> Value {
    Value::Object(serde_json::from_str::<Map<String, Value>>(text).unwrap_or_default())
}

/// Most tokens of the answer: the bound of the request, and no more than the model gives.
pub(crate) fn most(request: &Request, known: ProviderModel) -> u32 {
    if request.max_output == 0 { known.output } else { request.max_output.min(known.output) }
}

/// A number in thousandths.
pub(crate) fn number(thousandths: Option<u16>) -> Option<f64> {
    thousandths.map(|number| f64::from(number) / 1000.0)
}

/// The texts at which the answer ends.
pub(crate) fn stops(request: &Request) -> Vec<&str> {
    request.stop.iter().map(|stop| stop.as_str()).collect()
}
