//! `/v1/chat/completions`: what a client may send, and what it is answered.

mod reply;

use super::choice;
use crate::body::{self, Mixed};
use crate::chat_request::{self, ChatRequest, Draft, Options};
use crate::fault::Fault;
use ipc_proto::model::Role;
pub use reply::Chat;
use serde::Deserialize;
use serde_json::Value;

/// The body of a request. Other fields are ignored.
#[derive(Debug, Deserialize)]
struct Ask {
    model: String,
    messages: Vec<InputMessage>,
    #[serde(default)]
    stream: Option<bool>,
    stream_options: Option<StreamOptions>,
    max_tokens: Option<u32>,
    max_completion_tokens: Option<u32>,
    temperature: Option<f64>,
    top_p: Option<f64>,
    stop: Option<Mixed<String>>,
    n: Option<u32>,
    tools: Option<Vec<Tool>>,
    tool_choice: Option<Value>,
    parallel_tool_calls: Option<bool>,
    response_format: Option<Value>,
    user: Option<String>,
    /// The older name of tools. A client that sends them reads no other calls.
    functions: Option<Vec<Value>>,
}

#[derive(Debug, Deserialize)]
struct StreamOptions {
    #[serde(default)]
    include_usage: Option<bool>,
}

#[derive(Debug, Deserialize)]
struct InputMessage {
    role: String,
    #[serde(default)]
    content: Option<Mixed<Part>>,
    tool_calls: Option<Vec<Called>>,
    tool_call_id: Option<String>,
}

#[derive(Debug, Deserialize)]
struct Part {
    #[serde(rename = "type")]
    kind: String,
    text: Option<String>,
    refusal: Option<String>,
    image_url: Option<Picture>,
}

#[derive(Debug, Deserialize)]
struct Picture {
    url: String,
}

#[derive(Debug, Deserialize)]
struct Called {
    id: String,
    function: CalledFunction,
}

#[derive(Debug, Deserialize)]
struct CalledFunction {
    name: String,
    #[serde(default)]
    arguments: String,
}

#[derive(Debug, Deserialize)]
struct Tool {
    #[serde(rename = "type")]
    kind: String,
    function: Option<Function>,
}

#[derive(Debug, Deserialize)]
struct Function {
    name: String,
    description: Option<String>,
    parameters: Option<Value>,
}

/// Reads one.
///
/// # Errors
/// The body is invalid; the error names the field.
pub fn read(bytes: &[u8]) -> Result<chat_request::Ask<Chat>, Fault> {
    let ask: Ask = body::decode(bytes)?;
    let streams = ask.stream.unwrap_or_default();
    let counts = ask.stream_options.as_ref().and_then(|it| it.include_usage).unwrap_or_default();
    let writer = Chat::new(&ask.model, counts, ask.parallel_tool_calls == Some(false));
    Ok(chat_request::Ask { chat: ask.chat()?, streams, writer })
}

impl Ask {
    fn chat(self) -> Result<ChatRequest, Fault> {
        if self.n.is_some_and(|n| n != 1) {
            return Err(Fault::bad("n", "One answer is given; ask again for another."));
        }
        if self.functions.is_some_and(|it| !it.is_empty()) {
            let message = "Functions are called as tools: send them in 'tools', and 'tool_choice' in place of 'function_call'.";
            return Err(Fault::bad("functions", message).coded("unsupported_parameter"));
        }
        let mut draft = Draft::default();
        for (index, said) in self.messages.into_iter().enumerate() {
            said.put(&mut draft, &format!("messages[{index}]"))?;
        }
        draft.form(self.response_format.as_ref(), "response_format")?;
        let tools = self.tools.unwrap_or_default();
        let tools = tools.iter().enumerate();
        let tools =
            tools.map(|(index, tool)| tool.spec(&format!("tools[{index}]"))).collect::<Result<_, _>>()?;
        let stop = match self.stop {
            None => Vec::new(),
            Some(Mixed::Text(text)) => vec![text],
            Some(Mixed::Parts(texts)) => texts,
        };
        let whole = self.max_completion_tokens.map(|tokens| ("max_completion_tokens", tokens));
        let request = draft.request(Options {
            model: self.model,
            tools,
            max_output: whole.or(self.max_tokens.map(|tokens| ("max_tokens", tokens))),
            temperature: self.temperature,
            top_p: self.top_p,
            stop: ("stop", stop),
            choice: choice::choice(self.tool_choice.as_ref())?,
            ..Options::default()
        })?;
        Ok(ChatRequest { request, conversation: self.user, previous: None })
    }
}

impl InputMessage {
    fn put(self, draft: &mut Draft, at: &str) -> Result<(), Fault> {
        let role = choice::role(&self.role, &format!("{at}.role"))?;
        let content = format!("{at}.content");
        // A message with calls needs no text, and some clients send an answer that was cut before its first word.
        if self.content.is_none() && role != Role::Assistant {
            return Err(chat_request::missing(&content));
        }
        let (text, pictures) = unmixed(self.content.unwrap_or_default(), &content)?;
        match role {
            Role::Tool => {
                let id = self.tool_call_id.as_deref();
                let id =
                    id.ok_or_else(|| Fault::bad(format!("{at}.tool_call_id"), "A tool answers a call."))?;
                draft.answer(id, text, &content)
            }
            Role::Assistant => {
                let at = format!("{at}.tool_calls");
                let calls = self.tool_calls.unwrap_or_default().into_iter();
                let calls = calls.map(|call| {
                    chat_request::asked(&call.id, &call.function.name, call.function.arguments, &at)
                });
                draft.reply(text, calls.collect::<Result<_, _>>()?, &content)
            }
            Role::System | Role::User => {
                draft.say(role, text, &content)?;
                pictures.into_iter().try_for_each(|picture| draft.show(picture, &content))
            }
        }
    }
}

/// The text of a content, and its images.
fn unmixed(content: Mixed<Part>, at: &str) -> Result<(String, Vec<chat_request::Picture>), Fault> {
    let parts = match content {
        Mixed::Text(text) => return Ok((text, Vec::new())),
        Mixed::Parts(parts) => parts,
    };
    let (mut texts, mut pictures) = (Vec::new(), Vec::new());
    for (index, part) in parts.into_iter().enumerate() {
        let at = format!("{at}[{index}]");
        match (part.kind.as_str(), part.image_url) {
            ("text", _) => texts.push(part.text.ok_or_else(|| chat_request::missing(&format!("{at}.text")))?),
            ("refusal", _) => texts.push(part.refusal.unwrap_or_default()),
            ("image_url", Some(picture)) => {
                pictures.push(chat_request::picture_at(&picture.url, &format!("{at}.image_url.url"))?);
            }
            _ => {
                let message = "Invalid value: supported parts are 'text' and 'image_url'.";
                return Err(Fault::bad(format!("{at}.type"), message).coded("invalid_value"));
            }
        }
    }
    Ok((texts.join("\n"), pictures))
}

impl Tool {
    fn spec(&self, at: &str) -> Result<ipc_proto::tool::ToolSpec, Fault> {
        if self.kind != "function" {
            return Err(Fault::bad(format!("{at}.type"), "Only functions can be called."));
        }
        let at = format!("{at}.function");
        let function = self.function.as_ref().ok_or_else(|| chat_request::missing(&at))?;
        let schema = ("parameters", function.parameters.as_ref());
        chat_request::tool(&function.name, function.description.as_deref(), schema, &at)
    }
}

#[cfg(test)]
mod tests;
