//! The events of chat completions. Servers differ in how they number calls and in what they leave out; unknown fields
//! are skipped.

use crate::answer::{self, Answer, object};
use crate::refusal::stream_error;
use crate::tokens::Tokens;
use ipc_proto::model::{Finish, ModelError, Usage};
use serde::Deserialize;
use serde_json::Value;

/// A chunk of a stream, or the whole reply of a provider that does not stream.
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
    // Where the model stopped, of servers that tell more than the vendor does, such as vLLM and SGLang: a text, or a token's
    // number.
    #[serde(default)]
    stop_reason: Value,
    #[serde(default)]
    matched_stop: Value,
    #[serde(default)]
    error: Value,
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
    // The one call of an answer, as servers from before `tool_calls` write it.
    function_call: Option<FunctionDelta>,
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

impl FunctionDelta {
    /// Returns whether it is more than a field that is filled in with nothing.
    fn says_something(&self) -> bool {
        let is_named = self.name.as_ref().is_some_and(|name| !name.is_empty());
        let has_words = match &self.arguments {
            Some(Arguments::Text(text)) => !text.is_empty(),
            Some(Arguments::Object(_)) => true,
            None => false,
        };
        is_named || has_words
    }
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
    prompt_tokens: Tokens,
    completion_tokens: Tokens,
    prompt_tokens_details: Option<Details>,
}

/// The cached tokens, where the provider tells of them.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(crate) struct Details {
    /// Read from the cache.
    pub(crate) cached_tokens: Tokens,
    /// Put into it.
    pub(crate) cache_write_tokens: Tokens,
}

/// The key by which a provider separates calls.
struct Key {
    index: Option<u64>,
    id: String,
}

/// Reads the events of one answer.
#[derive(Default)]
pub(super) struct Decoder {
    /// The key of each call of the answer, in their order.
    calls: Vec<Key>,
}

impl answer::Decoder for Decoder {
    fn event(&mut self, json: &str, answer: &mut Answer) -> Result<(), ModelError> {
        let chunk: Chunk = object(json)?;
        if let Some(error) = chunk.error.filter(|error| !error.is_null()) {
            return Err(stream_error(&error, answer.context));
        }
        if let Some(counted) = chunk.usage {
            answer.usage(counted.into());
        }
        // Only one answer was asked for.
        match chunk.choices.into_iter().flatten().next() {
            Some(choice) => self.choice(choice, answer),
            None => Ok(()),
        }
    }
}

impl Decoder {
    fn choice(&mut self, mut choice: Choice, answer: &mut Answer) -> Result<(), ModelError> {
        answer.begin();
        let delta = choice.delta.take().unwrap_or_default();
        for reasoning in [delta.reasoning_content, delta.reasoning].into_iter().flatten().take(1) {
            answer.reasoning(&reasoning)?;
        }
        let content = match delta.content {
            Some(Content::Text(text)) => Some(text),
            Some(Content::Parts(parts)) => Some(parts.into_iter().filter_map(|part| part.text).collect()),
            None => None,
        };
        for text in [content, delta.refusal].into_iter().flatten() {
            answer.text(&text)?;
        }
        if answer.is_last() {
            return Ok(());
        }
        let calls = delta.tool_calls.unwrap_or_default();
        // Some servers fill in the older field as well, with nothing or with the same call.
        let older = delta.function_call.filter(|call| calls.is_empty() && call.says_something());
        let older = older.map(|call| CallDelta { index: None, id: None, function: Some(call) });
        for call in calls.into_iter().chain(older) {
            self.call(call, answer)?;
        }
        finish(&choice, answer)
    }

    fn call(&mut self, delta: CallDelta, answer: &mut Answer) -> Result<(), ModelError> {
        let id = delta.id.unwrap_or_default();
        let at = match self.position(delta.index, &id) {
            Some(at) => at,
            None => {
                let at = answer.open()?;
                self.calls.push(Key { index: delta.index, id });
                at
            }
        };
        let Some(function) = delta.function else { return Ok(()) };
        if let Some(name) = &function.name {
            answer.name(at, name)?;
        }
        match function.arguments {
            Some(Arguments::Text(text)) => answer.args(at, &text),
            Some(Arguments::Object(object)) => answer.args(at, &Value::Object(object).to_string()),
            None => Ok(()),
        }
    }

    /// The call that a fragment belongs to: by its number, unless another id says that this is a new one; without a
    /// number by its id; with neither, the last.
    fn position(&self, index: Option<u64>, id: &str) -> Option<usize> {
        let same = |call: &Key| id.is_empty() || call.id.is_empty() || call.id == id;
        self.calls.iter().rposition(|call| match index {
            Some(_) => call.index == index && same(call),
            None => same(call),
        })
    }
}

/// The reason for the end. Unknown reasons are an end like another.
fn finish(choice: &Choice, answer: &mut Answer) -> Result<(), ModelError> {
    if !choice.error.is_null() {
        return Err(stream_error(&choice.error, answer.context));
    }
    match choice.finish_reason.as_deref() {
        None | Some("") => {}
        Some("length" | "max_tokens" | "model_length") => answer.finish(Finish::MaxTokens),
        Some("tool_calls" | "function_call") => answer.finish(Finish::ToolUse),
        // The provider took it back: another try would have the same end.
        Some("content_filter" | "sensitive") => return Err(ModelError::Rejected { status: 200 }),
        // The servers' words for an answer that they did not bring to its end.
        Some("error" | "network_error" | "insufficient_system_resource" | "abort") => {
            return Err(ModelError::Truncated);
        }
        Some(_) => match choice.stop_reason.as_str().or(choice.matched_stop.as_str()) {
            Some(text) => answer.stopped_at(text),
            None => answer.finish(Finish::Stop),
        },
    }
    Ok(())
}

impl From<Counted> for Usage {
    fn from(counted: Counted) -> Self {
        let details = counted.prompt_tokens_details.unwrap_or_default();
        Self {
            input: counted.prompt_tokens.or_zero(),
            output: counted.completion_tokens.or_zero(),
            cache_read: details.cached_tokens.or_zero(),
            cache_write: details.cache_write_tokens.or_zero(),
            ..Self::default()
        }
    }
}
