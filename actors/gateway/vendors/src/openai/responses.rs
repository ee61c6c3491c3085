//! `/v1/responses`: what a client may send, and what it is answered. Nothing is stored of a model's answers, so a client
//! that passes through sends the whole conversation each time; an agent's is gone on from by the id of a response.

mod reply;

use super::choice;
use crate::body::{self, Mixed};
use crate::chat_request::{self, ChatRequest, Draft, Options};
use crate::fault::Fault;
use ipc_proto::model::Role;
use ipc_proto::tool::ToolSpec;
pub use reply::{Echo, RESPONSE, Responses, response_id};
use serde::Deserialize;
use serde_json::{Map, Value};

/// The body of a request. Other fields are ignored.
#[derive(Debug, Deserialize)]
struct Ask {
    model: String,
    #[serde(default)]
    input: Mixed<Item>,
    instructions: Option<String>,
    #[serde(default)]
    stream: Option<bool>,
    max_output_tokens: Option<u32>,
    temperature: Option<f64>,
    top_p: Option<f64>,
    tools: Option<Vec<Value>>,
    tool_choice: Option<Value>,
    parallel_tool_calls: Option<bool>,
    text: Option<Form>,
    previous_response_id: Option<String>,
    /// A conversation that the vendor keeps, by its id or with it; none is kept here.
    conversation: Option<Value>,
    user: Option<String>,
    metadata: Option<Map<String, Value>>,
}

#[derive(Debug, Deserialize)]
struct Form {
    format: Option<Value>,
}

/// One item of the input: a message, a call, what came of one, or the model's reasoning, which is passed over.
#[derive(Debug, Deserialize)]
struct Item {
    #[serde(rename = "type")]
    kind: Option<String>,
    role: Option<String>,
    content: Option<Mixed<Part>>,
    call_id: Option<String>,
    name: Option<String>,
    arguments: Option<String>,
    output: Option<Mixed<Part>>,
}

#[derive(Debug, Deserialize)]
struct Part {
    #[serde(rename = "type")]
    kind: String,
    text: Option<String>,
    refusal: Option<String>,
    image_url: Option<String>,
}

/// Reads one; who answers it makes the writer, since a response's id says which conversation it is of.
///
/// # Errors
/// The body is invalid; the error names the field.
pub fn read(bytes: &[u8]) -> Result<chat_request::Ask<Echo>, Fault> {
    let ask: Ask = body::decode(bytes)?;
    let (streams, writer) = (ask.stream.unwrap_or_default(), ask.echo());
    Ok(chat_request::Ask { chat: ask.chat()?, streams, writer })
}

/// No such response.
#[must_use]
pub fn unknown(id: &str) -> Fault {
    let shown: String = id.chars().take(80).collect();
    Fault::bad("previous_response_id", format!("Previous response with id '{shown}' not found."))
        .coded("previous_response_not_found")
}

impl Ask {
    /// The part of the request that the response repeats.
    fn echo(&self) -> Echo {
        Echo {
            model: self.model.clone(),
            instructions: self.instructions.clone(),
            max_output_tokens: self.max_output_tokens,
            temperature: self.temperature,
            top_p: self.top_p,
            tools: self.tools.clone().unwrap_or_default(),
            tool_choice: self.tool_choice.clone(),
            alone: self.parallel_tool_calls == Some(false),
            format: self.text.as_ref().and_then(|text| text.format.clone()),
            user: self.user.clone(),
            previous: self.previous_response_id.clone(),
            metadata: self.metadata.clone(),
        }
    }

    fn chat(self) -> Result<ChatRequest, Fault> {
        if self.conversation.is_some_and(|it| !it.is_null()) {
            let message =
                "Conversations are not kept here: send the whole input, or previous_response_id to an agent.";
            return Err(Fault::bad("conversation", message));
        }
        let mut draft = Draft::default();
        if let Some(text) = self.instructions {
            draft.say(Role::System, text, "instructions")?;
        }
        match self.input {
            Mixed::Text(text) => draft.say(Role::User, text, "input")?,
            Mixed::Parts(items) if items.is_empty() => {
                return Err(chat_request::missing("input"));
            }
            Mixed::Parts(items) => {
                for (index, item) in items.into_iter().enumerate() {
                    item.put(&mut draft, &format!("input[{index}]"))?;
                }
            }
        }
        let form = self.text.and_then(|text| text.format);
        draft.form(form.as_ref(), "text.format")?;
        let given = self.tools.as_deref().unwrap_or_default();
        let tools = tools(given)?;
        let request = draft.request(Options {
            model: self.model,
            others: tools.len() < given.len(),
            tools,
            max_output: self.max_output_tokens.map(|tokens| ("max_output_tokens", tokens)),
            temperature: self.temperature,
            top_p: self.top_p,
            choice: choice::choice(self.tool_choice.as_ref())?,
            ..Options::default()
        })?;
        Ok(ChatRequest { request, conversation: self.user, previous: self.previous_response_id })
    }
}

/// The functions among the tools. Tools that the vendor itself runs are not here, and a client that lists them among its
/// own goes on without them.
fn tools(tools: &[Value]) -> Result<Vec<ToolSpec>, Fault> {
    if let Some(index) = tools.iter().position(|tool| kind(tool).is_none()) {
        return Err(chat_request::invalid_type(
            &format!("tools[{index}]"),
            "it must be an object with a 'type'",
        ));
    }
    let functions = tools.iter().enumerate().filter(|(_, tool)| kind(tool) == Some("function"));
    let specs = functions.map(|(index, tool)| {
        let at = format!("tools[{index}]");
        let text = |field: &str| tool.get(field).and_then(Value::as_str);
        let name =
            text("name").ok_or_else(|| Fault::bad(format!("{at}.name"), "A function needs a name."))?;
        if tool.get("description").is_some_and(|it| !it.is_string() && !it.is_null()) {
            return Err(chat_request::invalid_type(&format!("{at}.description"), "it must be a string"));
        }
        chat_request::tool(name, text("description"), ("parameters", tool.get("parameters")), &at)
    });
    specs.collect()
}

fn kind(tool: &Value) -> Option<&str> {
    tool.get("type").and_then(Value::as_str)
}

impl Item {
    fn put(self, draft: &mut Draft, at: &str) -> Result<(), Fault> {
        let missing = |field: &str| chat_request::missing(&format!("{at}.{field}"));
        match self.kind.as_deref().unwrap_or("message") {
            "message" => {
                let role = self.role.ok_or_else(|| missing("role"))?;
                let role = match choice::role(&role, &format!("{at}.role"))? {
                    // The result of a tool is an item of its own.
                    Role::Tool => {
                        return Err(choice::no_role(
                            &format!("{at}.role"),
                            "'system', 'developer', 'user' and 'assistant'",
                        ));
                    }
                    role => role,
                };
                let content = format!("{at}.content");
                let (text, pictures) = unmixed(self.content.ok_or_else(|| missing("content"))?, &content)?;
                draft.say(role, text, &content)?;
                pictures.into_iter().try_for_each(|picture| draft.show(picture, &content))
            }
            "function_call" | "custom_tool_call" => {
                let id = self.call_id.ok_or_else(|| missing("call_id"))?;
                let name = self.name.ok_or_else(|| missing("name"))?;
                draft.ask(chat_request::asked(&id, &name, self.arguments.unwrap_or_default(), at)?, at)
            }
            "function_call_output" | "custom_tool_call_output" => {
                let id = self.call_id.ok_or_else(|| missing("call_id"))?;
                let (text, pictures) = unmixed(self.output.ok_or_else(|| missing("output"))?, at)?;
                draft.answer(&id, text, at)?;
                if pictures.is_empty() {
                    return Ok(());
                }
                // Not every model takes an image from a tool, and every one that sees takes it from the user.
                draft.say(Role::User, String::new(), at)?;
                pictures.into_iter().try_for_each(|picture| draft.show(picture, at))
            }
            "reasoning" => Ok(()),
            _ => {
                let valid = "'message', 'function_call', 'function_call_output' and 'reasoning'";
                let message = format!("Invalid value: supported items are {valid}.");
                Err(Fault::bad(format!("{at}.type"), message).coded("invalid_value"))
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
        match (part.kind.as_str(), part.image_url) {
            ("input_text" | "output_text" | "text", _) => {
                texts.push(part.text.ok_or_else(|| chat_request::missing(&format!("{at}[{index}].text")))?);
            }
            ("refusal", _) => texts.push(part.refusal.unwrap_or_default()),
            ("input_image", Some(url)) => {
                pictures.push(chat_request::picture_at(&url, &format!("{at}[{index}].image_url"))?);
            }
            _ => {
                let message = "Invalid value: supported parts are 'input_text', 'output_text' and 'input_image' with \
                               an image_url.";
                return Err(Fault::bad(format!("{at}[{index}].type"), message).coded("invalid_value"));
            }
        }
    }
    Ok((texts.join("\n"), pictures))
}

#[cfg(test)]
mod tests;
