//! The events of the messages API. Unknown kinds of events, blocks and fragments are skipped, as the provider asks for.

use crate::answer::{self, Answer, object};
use crate::refusal::stream_error;
use crate::tokens::Tokens;
use ipc_proto::model::{Finish, ModelError, Usage};
use serde::Deserialize;
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// Blocks of one answer; a model of today gives a handful.
const BLOCKS: usize = 4096;

#[derive(Deserialize)]
struct Event {
    #[serde(default)]
    r#type: String,
    #[serde(default)]
    index: u64,
    #[serde(default)]
    message: Option<Message>,
    #[serde(default)]
    content_block: Option<Block>,
    #[serde(default)]
    delta: Option<Delta>,
    #[serde(default)]
    usage: Option<Counted>,
    #[serde(default)]
    error: Value,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Message {
    r#type: String,
    content: Option<Vec<Block>>,
    stop_reason: Option<String>,
    stop_sequence: Option<String>,
    usage: Option<Counted>,
    error: Value,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Block {
    r#type: String,
    text: Option<String>,
    thinking: Option<String>,
    signature: Option<String>,
    data: Option<String>,
    name: Option<String>,
    input: Option<Map<String, Value>>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Delta {
    r#type: String,
    text: Option<String>,
    thinking: Option<String>,
    signature: Option<String>,
    partial_json: Option<String>,
    stop_reason: Option<String>,
    stop_sequence: Option<String>,
}

/// Tokens as an event counts them; a missing one keeps its earlier value.
#[derive(Clone, Copy, Default, Deserialize)]
#[serde(default)]
struct Counted {
    input_tokens: Tokens,
    output_tokens: Tokens,
    cache_creation_input_tokens: Tokens,
    cache_read_input_tokens: Tokens,
}

/// Reads the events of one answer.
#[derive(Default)]
pub(super) struct Decoder {
    /// For each block: the call it is, if it is one.
    blocks: BTreeMap<u64, Option<usize>>,
    /// The block of reasoning that is coming.
    thinking: Option<u64>,
    counted: Counted,
}

impl answer::Decoder for Decoder {
    fn event(&mut self, json: &str, answer: &mut Answer) -> Result<(), ModelError> {
        let event: Event = object(json)?;
        match event.r#type.as_str() {
            "message_start" => {
                answer.begin();
                self.count(event.message.and_then(|message| message.usage), answer);
                Ok(())
            }
            "content_block_start" => match event.content_block {
                Some(block) => self.block(event.index, block, answer),
                None => Err(ModelError::InvalidJson),
            },
            "content_block_delta" => self.delta(event.index, event.delta.unwrap_or_default(), answer),
            "content_block_stop" => {
                self.stop(event.index, answer);
                Ok(())
            }
            "message_delta" => {
                self.count(event.usage, answer);
                let Delta { stop_reason, stop_sequence, .. } = event.delta.unwrap_or_default();
                finish(stop_reason.as_deref(), stop_sequence.as_deref(), answer)
            }
            "message_stop" => {
                answer.last();
                Ok(())
            }
            "error" => Err(stream_error(&event.error, answer.context)),
            "" if !event.error.is_null() => Err(stream_error(&event.error, answer.context)),
            _ => Ok(()),
        }
    }

    fn whole(&mut self, json: &str, answer: &mut Answer) -> Result<(), ModelError> {
        let message: Message = object(json)?;
        if !message.error.is_null() {
            return Err(stream_error(&message.error, answer.context));
        }
        if message.r#type != "message" {
            return Err(ModelError::InvalidJson);
        }
        answer.begin();
        for (index, block) in (0..).zip(message.content.into_iter().flatten()) {
            self.block(index, block, answer)?;
            self.stop(index, answer);
        }
        self.count(message.usage, answer);
        finish(message.stop_reason.as_deref(), message.stop_sequence.as_deref(), answer)
    }
}

impl Decoder {
    fn block(&mut self, index: u64, block: Block, answer: &mut Answer) -> Result<(), ModelError> {
        if self.blocks.len() >= BLOCKS {
            return Err(ModelError::InvalidJson);
        }
        self.blocks.insert(index, None);
        match block.r#type.as_str() {
            "text" => answer.text(&block.text.unwrap_or_default()),
            "thinking" => {
                self.thinking = Some(index);
                answer.think(&block.thinking.unwrap_or_default(), &block.signature.unwrap_or_default())
            }
            "redacted_thinking" => {
                answer.think("", &block.data.unwrap_or_default())?;
                answer.thought(true);
                Ok(())
            }
            "tool_use" => {
                let call = answer.open()?;
                self.blocks.insert(index, Some(call));
                answer.name(call, &block.name.unwrap_or_default())?;
                // In a stream the input is empty here and follows in fragments.
                match block.input {
                    Some(input) if !input.is_empty() => answer.args(call, &Value::Object(input).to_string()),
                    _ => Ok(()),
                }
            }
            _ => Ok(()),
        }
    }

    fn delta(&mut self, index: u64, delta: Delta, answer: &mut Answer) -> Result<(), ModelError> {
        match (delta.r#type.as_str(), self.blocks.get(&index)) {
            ("text_delta", _) => answer.text(&delta.text.unwrap_or_default()),
            ("thinking_delta", _) => answer.think(&delta.thinking.unwrap_or_default(), ""),
            ("signature_delta", _) => answer.think("", &delta.signature.unwrap_or_default()),
            ("input_json_delta", Some(Some(call))) => {
                answer.args(*call, &delta.partial_json.unwrap_or_default())
            }
            // A fragment of a block that is no call of ours: a tool that the provider runs itself.
            ("input_json_delta", Some(None)) => Ok(()),
            ("input_json_delta", None) => Err(ModelError::InvalidJson),
            _ => Ok(()),
        }
    }

    /// A block of reasoning is whole with its end.
    fn stop(&mut self, index: u64, answer: &mut Answer) {
        if self.thinking == Some(index) {
            self.thinking = None;
            answer.thought(false);
        }
    }

    fn count(&mut self, counted: Option<Counted>, answer: &mut Answer) {
        let Some(now) = counted else { return };
        let before = self.counted;
        self.counted = Counted {
            input_tokens: now.input_tokens.or(before.input_tokens),
            output_tokens: now.output_tokens.or(before.output_tokens),
            cache_creation_input_tokens: now
                .cache_creation_input_tokens
                .or(before.cache_creation_input_tokens),
            cache_read_input_tokens: now.cache_read_input_tokens.or(before.cache_read_input_tokens),
        };
        answer.usage(self.counted.into());
    }
}

/// Why it ended; where at one of the texts that were named, at which.
fn finish(reason: Option<&str>, stop: Option<&str>, answer: &mut Answer) -> Result<(), ModelError> {
    match (reason, stop) {
        (None, _) => {}
        (Some("max_tokens" | "model_context_window_exceeded"), _) => answer.finish(Finish::MaxTokens),
        (Some("tool_use"), _) => answer.finish(Finish::ToolUse),
        // The provider took it back: another try would have the same end.
        (Some("refusal"), _) => return Err(ModelError::Rejected { status: 200 }),
        (Some("stop_sequence"), Some(text)) => answer.stopped_at(text),
        (Some(_), _) => answer.finish(Finish::Stop),
    }
    Ok(())
}

/// Here tokens read from the cache or put into it do not count as read.
impl From<Counted> for Usage {
    fn from(counted: Counted) -> Self {
        let cache_read = counted.cache_read_input_tokens.or_zero();
        let cache_write = counted.cache_creation_input_tokens.or_zero();
        let fresh = counted.input_tokens.or_zero();
        Self {
            input: fresh.saturating_add(cache_read).saturating_add(cache_write),
            output: counted.output_tokens.or_zero(),
            cache_read,
            cache_write,
            ..Self::default()
        }
    }
}
