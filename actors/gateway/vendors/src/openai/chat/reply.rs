//! A chat completion, whole and in chunks.

use crate::answer::{self, Call, Origin, Whole, Writer, event, remark};
use crate::fault::{Dialect, Fault};
use crate::ids;
use ipc_proto::model::{Finish, Usage};
use serde::Serialize;
use serde_json::{Value, json};

/// Writes one.
pub struct Chat {
    id: String,
    model: String,
    /// Seconds since 1970.
    created: u64,
    /// True if a stream ends with what it cost.
    counts: bool,
    /// True if its client takes one call at most.
    alone: bool,
    calls: usize,
}

/// One chunk of a stream, in the vendor's own order of fields.
#[derive(Serialize)]
struct Chunk<'a, D> {
    id: &'a str,
    object: &'static str,
    created: u64,
    model: &'a str,
    choices: &'a [Chosen<D>],
    #[serde(skip_serializing_if = "Option::is_none")]
    usage: Option<Value>,
}

#[derive(Serialize)]
struct Chosen<D> {
    index: u8,
    delta: D,
    finish_reason: Option<&'static str>,
}

#[derive(Serialize)]
struct Content<'a> {
    content: &'a str,
}

impl Chat {
    /// One by this model; whether a stream ends with what it cost, and whether its client takes one call at most.
    #[must_use]
    pub fn new(model: &str, counts: bool, alone: bool) -> Self {
        let created = answer::now_s();
        Self { id: String::new(), model: model.to_owned(), created, counts, alone, calls: 0 }
    }

    fn chunk<D: Serialize>(&self, choices: &[Chosen<D>], usage: Option<Value>, out: &mut Vec<u8>) {
        let Self { id, model, created, .. } = self;
        // Where the end says what it cost, every chunk before says that it does not yet.
        let usage = usage.or_else(|| self.counts.then_some(Value::Null));
        let chunk = Chunk { id, object: "chat.completion.chunk", created: *created, model, choices, usage };
        event(out, None, &chunk);
    }

    fn delta(&self, delta: impl Serialize, finish_reason: Option<&'static str>, out: &mut Vec<u8>) {
        self.chunk(&[Chosen { index: 0, delta, finish_reason }], None, out);
    }
}

impl Writer for Chat {
    fn begin(&mut self, origin: Origin) {
        self.id = answer::id("chatcmpl-", origin);
    }

    fn by(&mut self, model: String) {
        self.model = model;
    }

    fn takes_one_call(&self) -> bool {
        self.alone
    }

    fn open(&mut self, out: &mut Vec<u8>) {
        self.delta(json!({"role": "assistant", "content": "", "refusal": null}), None, out);
    }

    fn text(&mut self, text: &str, out: &mut Vec<u8>) {
        self.delta(Content { content: text }, None, out);
    }

    fn call(&mut self, call: &Call, out: &mut Vec<u8>) {
        let index = self.calls;
        self.calls += 1;
        let begun = json!({"tool_calls": [{
            "index": index, "id": ids::shown("call_", call.id), "type": "function",
            "function": {"name": call.tool.as_str(), "arguments": ""},
        }]});
        self.delta(begun, None, out);
        let rest = json!({"tool_calls": [{"index": index, "function": {"arguments": call.args}}]});
        self.delta(rest, None, out);
    }

    fn end(&mut self, finish: Finish, usage: Usage, out: &mut Vec<u8>) {
        self.delta(json!({}), Some(reason(finish)), out);
        if self.counts {
            self.chunk::<Value>(&[], Some(counted(usage)), out);
        }
        out.extend_from_slice(b"data: [DONE]\n\n");
    }

    fn fail(&mut self, fault: &Fault, out: &mut Vec<u8>) {
        event(out, None, &fault.json(Dialect::OpenAi, ""));
    }

    fn idle(&self, out: &mut Vec<u8>) {
        remark(out, "waiting");
    }

    fn compose(&mut self, whole: &Whole) -> Value {
        let calls = whole.calls.iter().map(|call| {
            json!({
                "id": ids::shown("call_", call.id), "type": "function",
                "function": {"name": call.tool.as_str(), "arguments": call.args},
            })
        });
        let silent = whole.text.is_empty() && !whole.calls.is_empty();
        let content = if silent { Value::Null } else { json!(whole.text) };
        let mut message =
            json!({"role": "assistant", "content": content, "refusal": null, "annotations": []});
        if let (Some(message), false) = (message.as_object_mut(), whole.calls.is_empty()) {
            message.insert("tool_calls".to_owned(), calls.collect());
        }
        json!({
            "id": self.id, "object": "chat.completion", "created": self.created, "model": self.model,
            "choices": [{
                "index": 0, "message": message, "logprobs": null, "finish_reason": reason(whole.finish),
            }],
            "usage": counted(whole.usage),
        })
    }
}

const fn reason(finish: Finish) -> &'static str {
    match finish {
        Finish::Stop | Finish::StoppedAt(_) => "stop",
        Finish::ToolUse => "tool_calls",
        Finish::MaxTokens => "length",
    }
}

fn counted(usage: Usage) -> Value {
    json!({
        "prompt_tokens": usage.input, "completion_tokens": usage.output,
        "total_tokens": u64::from(usage.input) + u64::from(usage.output),
        "prompt_tokens_details": {"cached_tokens": usage.cache_read, "audio_tokens": 0},
        "completion_tokens_details": {"reasoning_tokens": 0, "audio_tokens": 0},
    })
}
