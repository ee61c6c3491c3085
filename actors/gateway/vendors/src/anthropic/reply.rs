//! A message, whole and as typed events.

use crate::answer::{self, Call, Origin, Whole, Writer, event};
use crate::fault::{Dialect, Fault};
use crate::ids;
use ipc_proto::model::{Finish, Thought, Usage};
use serde_json::{Value, json};

/// Writes one.
pub struct Messages {
    id: String,
    model: String,
    /// The texts that the client named for the answer to end at.
    stops: Vec<String>,
    /// True if the client takes one call at most.
    alone: bool,
    /// Blocks that are whole.
    blocks: usize,
    /// True if a block of text is open.
    saying: bool,
}

impl Messages {
    /// One by this model, to a client that named these texts for it to end at; whether it takes one call at most.
    #[must_use]
    pub fn new(model: &str, stops: &[impl ToString], alone: bool) -> Self {
        let stops = stops.iter().map(ToString::to_string).collect();
        Self { id: String::new(), model: model.to_owned(), stops, alone, blocks: 0, saying: false }
    }

    fn begin_text(&mut self, out: &mut Vec<u8>) {
        if !self.saying {
            self.saying = true;
            tell("content_block_start", json!({"index": self.blocks, "content_block": text("")}), out);
        }
    }

    fn end_text(&mut self, out: &mut Vec<u8>) {
        if self.saying {
            self.saying = false;
            self.end_block(out);
        }
    }

    fn end_block(&mut self, out: &mut Vec<u8>) {
        tell("content_block_stop", json!({"index": self.blocks}), out);
        self.blocks += 1;
    }

    fn message(&self, content: Value, finish: Option<Finish>, usage: Usage) -> Value {
        let (reason, stop) = finish.map(|finish| self.ended(finish)).unzip();
        json!({
            "id": self.id, "type": "message", "role": "assistant", "model": self.model, "content": content,
            "stop_reason": reason, "stop_sequence": stop.flatten(), "usage": counted(usage),
        })
    }

    /// Why it ended, and at which of the client's texts.
    fn ended(&self, finish: Finish) -> (&'static str, Option<&str>) {
        match finish {
            Finish::Stop => ("end_turn", None),
            Finish::ToolUse => ("tool_use", None),
            Finish::MaxTokens => ("max_tokens", None),
            Finish::StoppedAt(index) => match self.stops.get(usize::from(index)) {
                Some(stop) => ("stop_sequence", Some(stop)),
                // A text of the host's own configuration, of which a client that named none knows nothing.
                None => ("end_turn", None),
            },
        }
    }
}

impl Writer for Messages {
    fn begin(&mut self, origin: Origin) {
        self.id = answer::id("msg_", origin);
    }

    fn by(&mut self, model: String) {
        self.model = model;
    }

    fn takes_one_call(&self) -> bool {
        self.alone
    }

    fn open(&mut self, out: &mut Vec<u8>) {
        let message = self.message(json!([]), None, Usage::default());
        tell("message_start", json!({"message": message}), out);
        tell("ping", json!({}), out);
    }

    fn text(&mut self, text: &str, out: &mut Vec<u8>) {
        self.begin_text(out);
        let delta = json!({"type": "text_delta", "text": text});
        tell("content_block_delta", json!({"index": self.blocks, "delta": delta}), out);
    }

    fn thought(&mut self, thought: &Thought, out: &mut Vec<u8>) {
        self.end_text(out);
        let index = self.blocks;
        if thought.hidden {
            tell("content_block_start", json!({"index": index, "content_block": thinking(thought)}), out);
            return self.end_block(out);
        }
        let block = json!({"type": "thinking", "thinking": "", "signature": ""});
        tell("content_block_start", json!({"index": index, "content_block": block}), out);
        let said = json!({"type": "thinking_delta", "thinking": thought.text.as_str()});
        let seal = json!({"type": "signature_delta", "signature": thought.seal.as_str()});
        for delta in [said, seal] {
            tell("content_block_delta", json!({"index": index, "delta": delta}), out);
        }
        self.end_block(out);
    }

    fn call(&mut self, call: &Call, out: &mut Vec<u8>) {
        self.end_text(out);
        let block = block(call, json!({}));
        tell("content_block_start", json!({"index": self.blocks, "content_block": block}), out);
        let delta = json!({"type": "input_json_delta", "partial_json": call.args});
        tell("content_block_delta", json!({"index": self.blocks, "delta": delta}), out);
        self.end_block(out);
    }

    fn end(&mut self, finish: Finish, usage: Usage, out: &mut Vec<u8>) {
        if self.blocks == 0 {
            self.begin_text(out);
        }
        self.end_text(out);
        let (reason, stop) = self.ended(finish);
        let delta = json!({"stop_reason": reason, "stop_sequence": stop});
        tell("message_delta", json!({"delta": delta, "usage": counted(usage)}), out);
        tell("message_stop", json!({}), out);
    }

    fn fail(&mut self, fault: &Fault, out: &mut Vec<u8>) {
        event(out, Some("error"), &fault.json(Dialect::Anthropic, &self.id));
    }

    fn idle(&self, out: &mut Vec<u8>) {
        tell("ping", json!({}), out);
    }

    fn compose(&mut self, whole: &Whole) -> Value {
        let thoughts = |spoken: bool, calls: usize| {
            let here =
                move |it: &&Thought| (it.spoken || it.calls > 0) == spoken && usize::from(it.calls) == calls;
            whole.thoughts.iter().filter(here).map(thinking)
        };
        let mut content: Vec<Value> = thoughts(false, 0).collect();
        if !whole.text.is_empty() || whole.calls.is_empty() {
            content.push(text(&whole.text));
        }
        let input = |call: &Call| serde_json::from_str(&call.args).unwrap_or_else(|_| json!({}));
        for (before, call) in whole.calls.iter().enumerate() {
            content.extend(thoughts(true, before));
            content.push(block(call, input(call)));
        }
        self.message(Value::Array(content), Some(whole.finish), whole.usage)
    }
}

fn tell(name: &'static str, mut data: Value, out: &mut Vec<u8>) {
    if let Some(data) = data.as_object_mut() {
        data.insert("type".to_owned(), name.into());
    }
    event(out, Some(name), &data);
}

fn text(text: &str) -> Value {
    json!({"type": "text", "text": text})
}

fn thinking(thought: &Thought) -> Value {
    if thought.hidden {
        json!({"type": "redacted_thinking", "data": thought.seal.as_str()})
    } else {
        json!({"type": "thinking", "thinking": thought.text.as_str(), "signature": thought.seal.as_str()})
    }
}

fn block(call: &Call, input: Value) -> Value {
    json!({"type": "tool_use", "id": ids::shown("toolu_", call.id), "name": call.tool.as_str(), "input": input})
}

/// The usage as this vendor counts it: tokens read from and written to the cache stand apart.
fn counted(usage: Usage) -> Value {
    let read = usage.input.saturating_sub(usage.cache_read).saturating_sub(usage.cache_write);
    json!({
        "input_tokens": read, "output_tokens": usage.output,
        "cache_read_input_tokens": usage.cache_read, "cache_creation_input_tokens": usage.cache_write,
    })
}
