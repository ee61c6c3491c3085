//! The body of a request of the second vendor's API. Other fields are ignored.

use crate::body::Mixed;
use crate::chat_request::{self, ChatRequest, Draft, Options, Picture};
use crate::fault::Fault;
use ipc_proto::model::{Choice, Role, Think, Thought};
use ipc_proto::tool::ToolSpec;
use serde::Deserialize;
use serde_json::Value;

/// The vendor's highest temperature.
const WARMEST: f64 = 1.0;
/// Its least tokens to think with.
const LEAST: u32 = 1024;

/// One request.
#[derive(Debug, Deserialize)]
pub(super) struct Ask {
    pub(super) model: String,
    messages: Vec<InputMessage>,
    #[serde(default)]
    system: Mixed<Block>,
    /// Always there in a request for an answer, and never in one for a count.
    pub(super) max_tokens: Option<u32>,
    #[serde(default)]
    pub(super) stream: Option<bool>,
    temperature: Option<f64>,
    top_p: Option<f64>,
    stop_sequences: Option<Vec<String>>,
    tools: Option<Vec<Tool>>,
    tool_choice: Option<Chosen>,
    thinking: Option<Thinking>,
    metadata: Option<Metadata>,
    output_config: Option<Output>,
    /// The same form by its older name.
    output_format: Option<Value>,
}

/// How the answer is wanted.
#[derive(Debug, Deserialize)]
struct Output {
    format: Option<Value>,
}

#[derive(Debug, Deserialize)]
struct Thinking {
    #[serde(rename = "type")]
    kind: String,
    budget_tokens: Option<u32>,
}

#[derive(Debug, Deserialize)]
struct Metadata {
    user_id: Option<String>,
}

#[derive(Debug, Deserialize)]
struct InputMessage {
    role: String,
    content: Mixed<Block>,
}

/// One block of a content.
#[derive(Debug, Deserialize)]
struct Block {
    #[serde(rename = "type")]
    kind: String,
    text: Option<String>,
    source: Option<Source>,
    id: Option<String>,
    name: Option<String>,
    input: Option<Value>,
    tool_use_id: Option<String>,
    thinking: Option<String>,
    signature: Option<String>,
    data: Option<String>,
    content: Option<Mixed<Block>>,
    #[serde(default)]
    is_error: Option<bool>,
}

#[derive(Debug, Deserialize)]
struct Source {
    #[serde(rename = "type")]
    kind: String,
    media_type: Option<String>,
    data: Option<String>,
}

#[derive(Debug, Deserialize)]
struct Tool {
    #[serde(rename = "type")]
    kind: Option<String>,
    name: String,
    description: Option<String>,
    input_schema: Option<Value>,
}

#[derive(Debug, Deserialize)]
struct Chosen {
    #[serde(rename = "type")]
    kind: String,
    name: Option<String>,
    disable_parallel_tool_use: Option<bool>,
}

impl Ask {
    /// Returns true if its client takes one call at most.
    pub(super) fn takes_one_call(&self) -> bool {
        self.tool_choice.as_ref().and_then(|choice| choice.disable_parallel_tool_use) == Some(true)
    }

    /// The chat request.
    pub(super) fn chat(self) -> Result<ChatRequest, Fault> {
        let mut draft = Draft::default();
        let system = texts(self.system, "system")?;
        if !system.is_empty() {
            draft.say(Role::System, system, "system")?;
        }
        for (index, said) in self.messages.into_iter().enumerate() {
            said.put(&mut draft, &self.model, &format!("messages.{index}"))?;
        }
        let (place, form) = match self.output_config.and_then(|output| output.format) {
            Some(form) => ("output_config.format", Some(form)),
            None => ("output_format", self.output_format),
        };
        draft.form(form.as_ref(), place)?;
        if self.temperature.is_some_and(|it| it > WARMEST) {
            return Err(Fault::bad("temperature", format!("temperature: it must be from 0 to {WARMEST}")));
        }
        let given = self.tools.unwrap_or_default();
        let tools = given.iter().enumerate().filter_map(|(index, tool)| tool.spec(&format!("tools.{index}")));
        let tools = tools.collect::<Result<Vec<_>, _>>()?;
        let request = draft.request(Options {
            model: self.model,
            others: tools.len() < given.len(),
            tools,
            max_output: self.max_tokens.map(|tokens| ("max_tokens", tokens)),
            temperature: self.temperature,
            top_p: self.top_p,
            stop: ("stop_sequences", self.stop_sequences.unwrap_or_default()),
            choice: self.tool_choice.map_or(Ok(Choice::Auto), Chosen::choice)?,
            think: self.thinking.map_or(Ok(Think::ByItself), Thinking::think)?,
        })?;
        Ok(ChatRequest { request, conversation: self.metadata.and_then(|it| it.user_id), previous: None })
    }
}

impl InputMessage {
    fn put(self, draft: &mut Draft, model: &str, at: &str) -> Result<(), Fault> {
        let content = format!("{at}.content");
        match (self.role.as_str(), self.content) {
            ("user", Mixed::Text(text)) if text.is_empty() => Err(empty(&content)),
            ("user", Mixed::Text(text)) => draft.say(Role::User, text, &content),
            ("user", Mixed::Parts(blocks)) if blocks.is_empty() => Err(empty(&content)),
            ("user", Mixed::Parts(blocks)) => by_user(draft, blocks, &content),
            ("assistant", Mixed::Text(text)) => draft.reply(text, Vec::new(), &content),
            ("assistant", Mixed::Parts(blocks)) => by_assistant(draft, blocks, model, &content),
            ("system", content_of) => {
                let text = texts(content_of, &content)?;
                draft.say(Role::System, text, &content)
            }
            _ => Err(Fault::bad(format!("{at}.role"), "role: it must be 'user' or 'assistant'")),
        }
    }
}

/// Adds the user's blocks: results of tools first, as they must follow the calls; then text, with every image, since not every model takes
/// one from a tool.
fn by_user(draft: &mut Draft, blocks: Vec<Block>, at: &str) -> Result<(), Fault> {
    let (mut said, mut pictures) = (Vec::new(), Vec::new());
    let mut answered = false;
    for (index, block) in blocks.into_iter().enumerate() {
        let at = format!("{at}.{index}");
        match block.kind.as_str() {
            "text" => said.push(block.said(&at)?),
            "image" => pictures.push(block.picture(&at)?),
            "tool_result" => {
                let id = block.tool_use_id.ok_or_else(|| required(&at, "tool_use_id"))?;
                let (mut text, shown) = answer(block.content.unwrap_or_default(), &at)?;
                if block.is_error == Some(true) {
                    text.insert_str(0, "error: ");
                }
                pictures.extend(shown);
                answered = true;
                draft.answer(&id, text, &at)?;
            }
            kind => return Err(unknown(kind, &at)),
        }
    }
    if said.is_empty() && pictures.is_empty() && answered {
        return Ok(());
    }
    draft.say(Role::User, said.join("\n"), at)?;
    pictures.into_iter().try_for_each(|picture| draft.show(picture, at))
}

/// Adds the assistant's blocks. Reasoning keeps its place among them: its vendor takes it back there alone.
fn by_assistant(draft: &mut Draft, blocks: Vec<Block>, model: &str, at: &str) -> Result<(), Fault> {
    let (mut said, mut calls, mut thoughts) = (Vec::new(), Vec::new(), Vec::new());
    for (index, block) in blocks.into_iter().enumerate() {
        let at = format!("{at}.{index}");
        match block.kind.as_str() {
            "text" => said.push(block.said(&at)?),
            "tool_use" => {
                let id = block.id.ok_or_else(|| required(&at, "id"))?;
                let name = block.name.ok_or_else(|| required(&at, "name"))?;
                let input = block.input.map_or_else(String::new, |input| input.to_string());
                calls.push(chat_request::asked(&id, &name, input, &at)?);
            }
            "thinking" | "redacted_thinking" => {
                let (text, seal) = match block.data {
                    Some(data) => (String::new(), data),
                    None => (block.thinking.unwrap_or_default(), block.signature.unwrap_or_default()),
                };
                let thought = chat_request::thought(model, text, seal, block.kind != "thinking", &at)?;
                let (spoken, calls) = (!said.is_empty(), u16::try_from(calls.len()).unwrap_or(u16::MAX));
                thoughts.push(Thought { spoken, calls, ..thought });
            }
            kind => return Err(unknown(kind, &at)),
        }
    }
    draft.reply(said.join("\n"), calls, at)?;
    draft.think(thoughts, at)
}

/// The result of a tool: its text, and its images.
fn answer(content: Mixed<Block>, at: &str) -> Result<(String, Vec<Picture>), Fault> {
    let blocks = match content {
        Mixed::Text(text) => return Ok((text, Vec::new())),
        Mixed::Parts(blocks) => blocks,
    };
    let (mut texts, mut pictures) = (Vec::new(), Vec::new());
    for (index, block) in blocks.into_iter().enumerate() {
        let at = format!("{at}.content.{index}");
        match block.kind.as_str() {
            "text" => texts.push(block.said(&at)?),
            "image" => pictures.push(block.picture(&at)?),
            kind => return Err(unknown(kind, &at)),
        }
    }
    Ok((texts.join("\n"), pictures))
}

/// A content that may hold text alone.
fn texts(content: Mixed<Block>, at: &str) -> Result<String, Fault> {
    match answer(content, at)? {
        (text, pictures) if pictures.is_empty() => Ok(text),
        _ => Err(Fault::bad(at, format!("{at}: only text can stand here"))),
    }
}

impl Block {
    fn said(self, at: &str) -> Result<String, Fault> {
        self.text.ok_or_else(|| required(at, "text"))
    }

    fn picture(self, at: &str) -> Result<Picture, Fault> {
        let source = self.source.ok_or_else(|| required(at, "source"))?;
        match (source.kind.as_str(), source.media_type, source.data) {
            ("base64", Some(media), Some(data)) => {
                chat_request::picture(&media, &data, &format!("{at}.source"))
            }
            ("url" | "file", ..) => {
                let message = "Images are not fetched from an address: send the image itself in base64.";
                Err(Fault::bad(format!("{at}.source"), message))
            }
            _ => Err(required(at, "source.data")),
        }
    }
}

impl Tool {
    /// A client's own tool; none for those that the vendor itself runs, without which a client goes on.
    fn spec(&self, at: &str) -> Option<Result<ToolSpec, Fault>> {
        let own = self.kind.as_deref().is_none_or(|kind| kind == "custom");
        let schema = ("input_schema", self.input_schema.as_ref());
        own.then(|| match schema.1.is_some_and(|schema| !schema.is_null()) {
            true => chat_request::tool(&self.name, self.description.as_deref(), schema, at),
            false => Err(required(at, "input_schema")),
        })
    }
}

impl Thinking {
    fn think(self) -> Result<Think, Fault> {
        match (self.kind.as_str(), self.budget_tokens) {
            ("disabled", _) => Ok(Think::Never),
            ("adaptive", _) => Ok(Think::AsFit),
            ("enabled", Some(tokens)) if tokens < LEAST => {
                let message = format!("thinking.budget_tokens: it must be at least {LEAST}");
                Err(Fault::bad("thinking.budget_tokens", message))
            }
            ("enabled", Some(tokens)) => Ok(Think::Tokens(tokens)),
            ("enabled", None) => Err(required("thinking", "budget_tokens")),
            _ => Err(Fault::bad("thinking", "thinking: it must be 'enabled', 'disabled' or 'adaptive'")),
        }
    }
}

impl Chosen {
    fn choice(self) -> Result<Choice, Fault> {
        match (self.kind.as_str(), self.name) {
            ("auto", _) => Ok(Choice::Auto),
            ("any", _) => Ok(Choice::Some),
            ("none", _) => Ok(Choice::Never),
            ("tool", Some(name)) => chat_request::tool_name(&name, "tool_choice.name").map(Choice::This),
            _ => Err(Fault::bad(
                "tool_choice",
                "tool_choice: it must be 'auto', 'any', 'none' or 'tool' with a name",
            )),
        }
    }
}

fn empty(at: &str) -> Fault {
    Fault::bad(at, format!("{at}: a message of the user must not be empty"))
}

fn required(at: &str, field: &str) -> Fault {
    Fault::bad(format!("{at}.{field}"), format!("{at}.{field}: Field required"))
}

fn unknown(kind: &str, at: &str) -> Fault {
    let kind: String = kind.chars().take(40).collect();
    Fault::bad(format!("{at}.type"), format!("{at}: content of type '{kind}' is not supported here"))
}
