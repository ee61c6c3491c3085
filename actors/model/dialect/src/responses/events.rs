//! The events of the responses API. Unknown kinds of events are skipped, as the provider asks for; parts that a server
//! leaves out of its fragments are taken from the item when it is done.

use crate::answer::{self, Answer, object};
use crate::openai::Details;
use crate::refusal::stream_error;
use crate::tokens::Tokens;
use ipc_proto::model::{Finish, ModelError, Usage};
use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeMap;

/// Items of one answer; a model of today gives a handful.
const ITEMS: usize = 4096;

#[derive(Deserialize)]
struct Event {
    #[serde(default)]
    r#type: String,
    #[serde(default)]
    response: Option<Response>,
    #[serde(default)]
    item: Option<Item>,
    #[serde(default)]
    output_index: u64,
    // Text, or something else in events that are not read here.
    #[serde(default)]
    delta: Value,
    #[serde(default)]
    error: Value,
}

#[derive(Deserialize)]
struct Response {
    #[serde(default)]
    status: Option<String>,
    #[serde(default)]
    output: Option<Vec<Item>>,
    #[serde(default)]
    usage: Option<Counted>,
    #[serde(default)]
    error: Value,
    #[serde(default)]
    incomplete_details: Option<Incomplete>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Incomplete {
    reason: Option<String>,
}

#[derive(Deserialize)]
struct Item {
    #[serde(default)]
    r#type: String,
    #[serde(default)]
    name: Option<String>,
    #[serde(default)]
    arguments: Option<String>,
    #[serde(default)]
    content: Option<Vec<Part>>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Part {
    text: Option<String>,
    refusal: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Counted {
    input_tokens: Tokens,
    output_tokens: Tokens,
    input_tokens_details: Option<Details>,
}

/// The state of an item.
#[derive(Clone, Copy)]
enum ItemState {
    /// Text, of which some has come.
    Message,
    /// The call of this number.
    Call(usize),
}

/// Reads the events of one answer.
#[derive(Default)]
pub(super) struct Decoder {
    items: BTreeMap<u64, ItemState>,
}

impl answer::Decoder for Decoder {
    fn event(&mut self, json: &str, answer: &mut Answer) -> Result<(), ModelError> {
        let event: Event = object(json)?;
        let index = event.output_index;
        let delta = event.delta.as_str().unwrap_or_default();
        match event.r#type.as_str() {
            "response.output_text.delta" | "response.refusal.delta" => {
                self.know(index, ItemState::Message)?;
                answer.text(delta)
            }
            "response.reasoning_summary_text.delta" | "response.reasoning_text.delta" => {
                answer.reasoning(delta)
            }
            "response.output_item.added" => self.added(index, event.item, answer),
            "response.function_call_arguments.delta" => match self.items.get(&index) {
                Some(ItemState::Call(call)) => answer.args(*call, delta),
                _ => Err(ModelError::InvalidJson),
            },
            "response.output_item.done" => self.done(index, event.item, answer),
            "response.completed" | "response.incomplete" | "response.failed" | "response.cancelled" => {
                let mut response = event.response.ok_or(ModelError::InvalidJson)?;
                // Some servers repeat all of it in their last event. It is read only if nothing came before.
                if self.items.is_empty() {
                    self.items(&mut response, answer)?;
                }
                ended(&response, answer)?;
                answer.last();
                Ok(())
            }
            "error" => {
                let error = if event.error.is_null() { object(json)? } else { event.error };
                Err(stream_error(&error, answer.context))
            }
            "" if !event.error.is_null() => Err(stream_error(&event.error, answer.context)),
            _ => Ok(()),
        }
    }

    fn whole(&mut self, json: &str, answer: &mut Answer) -> Result<(), ModelError> {
        let mut response: Response = object(json)?;
        self.items(&mut response, answer)?;
        ended(&response, answer)
    }
}

impl Decoder {
    /// The items of a whole reply.
    fn items(&mut self, response: &mut Response, answer: &mut Answer) -> Result<(), ModelError> {
        for (index, item) in (0..).zip(response.output.take().into_iter().flatten()) {
            self.done(index, Some(item), answer)?;
            if answer.is_last() {
                break;
            }
        }
        Ok(())
    }

    fn know(&mut self, index: u64, item: ItemState) -> Result<(), ModelError> {
        if self.items.len() >= ITEMS && !self.items.contains_key(&index) {
            return Err(ModelError::InvalidJson);
        }
        self.items.insert(index, item);
        Ok(())
    }

    fn added(&mut self, index: u64, item: Option<Item>, answer: &mut Answer) -> Result<(), ModelError> {
        answer.begin();
        match item {
            Some(item) if item.r#type == "function_call" => {
                let call = self.call(index, &item, answer)?;
                answer.args(call, &item.arguments.unwrap_or_default())
            }
            _ => Ok(()),
        }
    }

    /// Completes a whole item with the parts that its fragments left out.
    fn done(&mut self, index: u64, item: Option<Item>, answer: &mut Answer) -> Result<(), ModelError> {
        let Some(item) = item else { return Ok(()) };
        if item.r#type == "function_call" {
            let call = self.call(index, &item, answer)?;
            let args = item.arguments.filter(|_| answer.is_bare(call)).unwrap_or_default();
            return answer.args(call, &args);
        }
        if item.r#type != "message" || self.items.contains_key(&index) {
            return Ok(());
        }
        for part in item.content.into_iter().flatten() {
            for text in [part.text, part.refusal].into_iter().flatten() {
                self.know(index, ItemState::Message)?;
                answer.text(&text)?;
            }
        }
        Ok(())
    }

    fn call(&mut self, index: u64, item: &Item, answer: &mut Answer) -> Result<usize, ModelError> {
        let call = match self.items.get(&index) {
            Some(ItemState::Call(call)) => *call,
            _ => {
                let call = answer.open()?;
                self.know(index, ItemState::Call(call))?;
                call
            }
        };
        answer.name(call, item.name.as_deref().unwrap_or_default())?;
        Ok(call)
    }
}

fn ended(response: &Response, answer: &mut Answer) -> Result<(), ModelError> {
    if let Some(counted) = &response.usage {
        answer.usage(counted.into());
    }
    let why = response.incomplete_details.as_ref().and_then(|details| details.reason.as_deref());
    match (response.status.as_deref(), why) {
        (Some("failed"), _) => Err(stream_error(&response.error, answer.context)),
        (Some("cancelled"), _) => Err(ModelError::Truncated),
        // The provider took it back: another try would have the same end.
        (_, Some("content_filter")) => Err(ModelError::Rejected { status: 200 }),
        (Some("incomplete"), _) => {
            answer.finish(Finish::MaxTokens);
            Ok(())
        }
        (Some(_), _) => {
            answer.finish(Finish::Stop);
            Ok(())
        }
        (None, _) if !response.error.is_null() => Err(stream_error(&response.error, answer.context)),
        (None, _) => Err(ModelError::InvalidJson),
    }
}

impl From<&Counted> for Usage {
    fn from(counted: &Counted) -> Self {
        let details = counted.input_tokens_details.as_ref();
        Self {
            input: counted.input_tokens.or_zero(),
            output: counted.output_tokens.or_zero(),
            cache_read: details.map_or(0, |details| details.cached_tokens.or_zero()),
            cache_write: details.map_or(0, |details| details.cache_write_tokens.or_zero()),
            ..Self::default()
        }
    }
}
