//! What a provider's events say: chunks of the chat protocol turned into pieces. A call's arguments are passed on
//! as they come, and its end is told only when they are a whole JSON object: nothing may run on part of one.
//!
//! It never waits and never fails but by a `ModelError`; any text at all may come.

use crate::answer::{PIECE, chunks, tokens};
use ipc_proto::Name;
use ipc_proto::Text;
use ipc_proto::model::{Finish, ModelError, Piece, Usage};
use ipc_proto::tool::{ARGS_BOUND, OUTPUT_BOUND};
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::Value;
use std::collections::BTreeMap;

/// Calls of one answer: the bound of a message.
const CALLS: usize = 32;
/// Seconds to wait if a provider does not say how long.
pub(crate) const RETRY_AFTER: u32 = 60;
/// The data of the last event.
const LAST: &str = "[DONE]";

/// A chunk of a stream, or the whole reply of a provider that does not stream. Unknown fields are passed over.
#[derive(Deserialize)]
struct Chunk {
    #[serde(default)]
    choices: Option<Vec<Choice>>,
    #[serde(default)]
    usage: Option<Counted>,
    #[serde(default)]
    error: Option<Value>,
}

#[derive(Deserialize)]
struct Choice {
    #[serde(default, alias = "message")]
    delta: Option<Delta>,
    #[serde(default)]
    finish_reason: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Delta {
    content: Option<Content>,
    // Two names are in use for the same.
    reasoning_content: Option<String>,
    reasoning: Option<String>,
    refusal: Option<String>,
    tool_calls: Option<Vec<CallDelta>>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Content {
    Text(String),
    Parts(Vec<Part>),
}

#[derive(Deserialize)]
struct Part {
    #[serde(default)]
    text: Option<String>,
}

#[derive(Deserialize)]
struct CallDelta {
    #[serde(default)]
    index: Option<u64>,
    #[serde(default)]
    id: Option<String>,
    #[serde(default)]
    function: Option<FunctionDelta>,
}

#[derive(Deserialize)]
struct FunctionDelta {
    #[serde(default)]
    name: Option<String>,
    #[serde(default)]
    arguments: Option<Arguments>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Arguments {
    Text(String),
    /// Some servers send the object itself.
    Object(serde_json::Map<String, Value>),
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Counted {
    prompt_tokens: u32,
    completion_tokens: u32,
    prompt_tokens_details: Option<Details>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Details {
    cached_tokens: Option<u32>,
}

/// A call that is coming.
struct Call {
    /// The provider's number of it.
    index: Option<u64>,
    /// The provider's id of it.
    id: String,
    tool: Option<Name>,
    args: String,
}

/// One answer that is being read.
#[derive(Default)]
pub(crate) struct Decoder {
    out: Vec<Piece>,
    calls: Vec<Call>,
    finish: Option<Finish>,
    usage: Option<Usage>,
    /// Bytes of text and of reasoning; the gate takes as much of text.
    said: usize,
    /// Characters of everything that came, for providers that do not count.
    came: usize,
    /// Some part of an answer has come, were it empty.
    chosen: bool,
    last: bool,
}

impl Decoder {
    /// Takes the data of one event.
    pub(crate) fn event(&mut self, data: &str) -> Result<(), ModelError> {
        let data = data.trim();
        if data == LAST {
            self.last = true;
        }
        if data == LAST || data.is_empty() || self.last {
            return Ok(());
        }
        self.take(data)
    }

    /// Takes the whole reply of a provider that does not stream.
    pub(crate) fn whole(&mut self, json: &str) -> Result<(), ModelError> {
        self.last = true;
        self.take(json)?;
        if self.chosen { Ok(()) } else { Err(ModelError::InvalidJson) }
    }

    /// Whether no more can follow.
    pub(crate) const fn is_last(&self) -> bool {
        self.last
    }

    /// Whether the provider has said why the answer ended, so that what is lost after it does no harm.
    pub(crate) const fn is_finished(&self) -> bool {
        self.last || self.finish.is_some()
    }

    /// What is ready to be given.
    pub(crate) fn ready(&mut self) -> Vec<Piece> {
        std::mem::take(&mut self.out)
    }

    /// Ends the answer: the ends of its calls, its tokens (or, uncounted, an estimate with these asked), and why.
    pub(crate) fn end(mut self, asked: u32) -> Result<Vec<Piece>, ModelError> {
        let finish = self.finish.or(self.last.then_some(Finish::Stop)).ok_or(ModelError::Truncated)?;
        let mut whole = 0;
        for (index, call) in (0..).zip(&mut self.calls) {
            if call.tool.is_none() {
                return Err(ModelError::InvalidJson);
            }
            if call.args.trim().is_empty() && finish != Finish::MaxTokens {
                call.args = "{}".to_owned();
                self.out.push(Piece::CallDelta { index, args: Text::clip(&call.args) });
            }
            if serde_json::from_str::<BTreeMap<String, IgnoredAny>>(&call.args).is_ok() {
                self.out.push(Piece::CallEnd { index });
                whole += 1;
            } else if finish != Finish::MaxTokens {
                return Err(ModelError::InvalidJson);
            }
        }
        let estimate = Usage { input: asked, output: tokens(self.came), ..Usage::default() };
        self.out.push(Piece::Usage(self.usage.unwrap_or(estimate)));
        // Some say `stop` of an answer with calls, or `tool_calls` of one without.
        self.out.push(Piece::Done(match finish {
            Finish::MaxTokens => Finish::MaxTokens,
            Finish::Stop | Finish::ToolUse if whole > 0 => Finish::ToolUse,
            Finish::Stop | Finish::ToolUse => Finish::Stop,
        }));
        Ok(self.out)
    }

    fn take(&mut self, json: &str) -> Result<(), ModelError> {
        // To serde a list is a struct whose fields have no names.
        if !json.trim_start().starts_with('{') {
            return Err(ModelError::InvalidJson);
        }
        let chunk: Chunk = serde_json::from_str(json).map_err(|_| ModelError::InvalidJson)?;
        if let Some(error) = chunk.error.filter(|error| !error.is_null()) {
            return Err(fault(&error));
        }
        if let Some(counted) = chunk.usage {
            self.usage = Some(counted.into());
        }
        // Only one answer was asked for.
        match chunk.choices.into_iter().flatten().next() {
            Some(choice) => self.choice(choice),
            None => Ok(()),
        }
    }

    fn choice(&mut self, choice: Choice) -> Result<(), ModelError> {
        self.chosen = true;
        let delta = choice.delta.unwrap_or_default();
        for reasoning in [delta.reasoning_content, delta.reasoning].into_iter().flatten().take(1) {
            self.words(&reasoning, Piece::Reasoning)?;
        }
        let content = match delta.content {
            Some(Content::Text(text)) => Some(text),
            Some(Content::Parts(parts)) => Some(parts.into_iter().filter_map(|part| part.text).collect()),
            None => None,
        };
        for text in [content, delta.refusal].into_iter().flatten() {
            self.words(&text, Piece::Text)?;
        }
        for call in delta.tool_calls.into_iter().flatten() {
            self.call(call)?;
        }
        match choice.finish_reason.as_deref() {
            None | Some("") => {}
            Some("length" | "max_tokens") => self.finish = Some(Finish::MaxTokens),
            Some("tool_calls" | "function_call") => self.finish = Some(Finish::ToolUse),
            // The provider took it back: asking again would come to the same.
            Some("content_filter") => return Err(ModelError::Rejected { status: 200 }),
            Some(_) => self.finish = Some(Finish::Stop),
        }
        Ok(())
    }

    fn words(&mut self, text: &str, piece: fn(Text<16384>) -> Piece) -> Result<(), ModelError> {
        self.said += text.len();
        self.came += text.chars().count();
        if self.said > OUTPUT_BOUND {
            return Err(ModelError::Truncated);
        }
        self.out.extend(chunks(text, PIECE).map(|part| piece(Text::clip(part))));
        Ok(())
    }

    fn call(&mut self, delta: CallDelta) -> Result<(), ModelError> {
        let id = delta.id.unwrap_or_default();
        let at = match self.position(delta.index, &id) {
            Some(at) => at,
            None if self.calls.len() < CALLS => {
                self.calls.push(Call { index: delta.index, id, tool: None, args: String::new() });
                self.calls.len() - 1
            }
            None => return Err(ModelError::InvalidJson),
        };
        match delta.function {
            Some(function) => self.function(at, function),
            None => Ok(()),
        }
    }

    /// Which call a fragment belongs to: by its number, unless another id says that this is a new one; without a
    /// number by its id; with neither, the last.
    fn position(&self, index: Option<u64>, id: &str) -> Option<usize> {
        let same = |call: &Call| id.is_empty() || call.id.is_empty() || call.id == id;
        self.calls.iter().rposition(|call| match index {
            Some(_) => call.index == index && same(call),
            None => same(call),
        })
    }

    fn function(&mut self, at: usize, function: FunctionDelta) -> Result<(), ModelError> {
        let index = u16::try_from(at).map_err(|_| ModelError::InvalidJson)?;
        let Some(call) = self.calls.get_mut(at) else { return Err(ModelError::InvalidJson) };
        let args = match function.arguments {
            Some(Arguments::Text(text)) => text,
            Some(Arguments::Object(object)) => Value::Object(object).to_string(),
            None => String::new(),
        };
        self.came += args.chars().count();
        call.args.push_str(&args);
        if call.args.len() > ARGS_BOUND {
            return Err(ModelError::InvalidJson);
        }
        // Fragments that came before the name are given with it.
        let mut given = args;
        if call.tool.is_none() {
            let Some(name) = function.name.filter(|name| !name.is_empty()) else { return Ok(()) };
            self.came += name.len();
            let tool = Name::new(name).map_err(|_| ModelError::InvalidJson)?;
            call.tool = Some(tool.clone());
            self.out.push(Piece::CallStart { index, tool });
            given.clone_from(&call.args);
        }
        self.out.extend(chunks(&given, PIECE).map(|part| Piece::CallDelta { index, args: Text::clip(part) }));
        Ok(())
    }
}

impl From<Counted> for Usage {
    fn from(counted: Counted) -> Self {
        let cached = counted.prompt_tokens_details.and_then(|details| details.cached_tokens);
        Self {
            input: counted.prompt_tokens,
            output: counted.completion_tokens,
            cache_read: cached.unwrap_or(0),
            cache_write: 0,
        }
    }
}

/// What an HTTP status says, if it is not success.
pub(crate) fn refusal(status: u16, retry_after: Option<u32>) -> Option<ModelError> {
    Some(match status {
        200..=299 => return None,
        401 | 403 => ModelError::Auth,
        408 => ModelError::Timeout,
        429 => ModelError::RateLimited { retry_after_s: retry_after.unwrap_or(RETRY_AFTER) },
        500.. => ModelError::Server { status },
        _ => ModelError::Rejected { status },
    })
}

/// What an error inside a stream says: by its number if it has one, else by its kind.
fn fault(error: &Value) -> ModelError {
    let fields = ["status", "code", "type"].map(|key| error.get(key));
    let number = |value: &Value| value.as_u64().or_else(|| value.as_str()?.parse().ok());
    let status =
        fields.iter().flatten().find_map(|value| number(value)).and_then(|code| u16::try_from(code).ok());
    if let Some(refusal) = status.filter(|status| *status >= 400).and_then(|status| refusal(status, None)) {
        return refusal;
    }
    let kinds: String = fields.iter().flatten().filter_map(|value| value.as_str()).collect();
    let says = |words: &[&str]| words.iter().any(|word| kinds.contains(word));
    if says(&["rate_limit"]) {
        ModelError::RateLimited { retry_after_s: RETRY_AFTER }
    } else if says(&["authentication", "permission", "invalid_api_key"]) {
        ModelError::Auth
    } else if says(&["invalid_request", "context_length", "not_found", "insufficient_quota"]) {
        ModelError::Rejected { status: 400 }
    } else if says(&["overloaded"]) {
        ModelError::Server { status: 529 }
    } else {
        ModelError::Server { status: 500 }
    }
}

#[cfg(test)]
mod tests;
