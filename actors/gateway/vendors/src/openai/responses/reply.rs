//! A response, whole and as typed events. Official clients put the parts together by the numbers and ids in them, so every
//! event says which item and which part it is of, and none is left out.

use crate::answer::{self, Call, Origin, Whole, Writer, event, remark};
use crate::fault::Fault;
use crate::ids;
use data_encoding::HEXLOWER_PERMISSIVE as HEX;
use ipc_proto::ids::TurnId;
use ipc_proto::model::{Finish, Usage};
use serde_json::{Map, Value, json};

/// The prefix of a response's id.
pub const RESPONSE: &str = "resp_";

/// The id of a response that this turn gave.
#[must_use]
pub fn response_id(turn: TurnId, conversation: Option<&str>) -> String {
    format!(
        "{RESPONSE}{}{}",
        HEX.encode(&turn.bytes()),
        HEX.encode(conversation.unwrap_or_default().as_bytes())
    )
}

/// The part of a request that its response repeats.
#[derive(Debug, Default)]
pub struct Echo {
    pub(super) model: String,
    pub(super) instructions: Option<String>,
    pub(super) max_output_tokens: Option<u32>,
    pub(super) temperature: Option<f64>,
    pub(super) top_p: Option<f64>,
    pub(super) tools: Vec<Value>,
    pub(super) tool_choice: Option<Value>,
    /// True if its client takes one call at most.
    pub(super) alone: bool,
    pub(super) format: Option<Value>,
    pub(super) user: Option<String>,
    pub(super) previous: Option<String>,
    pub(super) metadata: Option<Map<String, Value>>,
}

/// Writes one.
pub struct Responses {
    echo: Echo,
    /// The conversation that it is of, which its id holds.
    conversation: Option<String>,
    id: String,
    /// Seconds since 1970.
    created: u64,
    /// Events so far.
    number: u64,
    /// Items that are whole.
    output: Vec<Value>,
    /// The message that is being said: its id and its text so far.
    saying: Option<(String, String)>,
}

impl Responses {
    /// One that says this of its request, of this conversation.
    #[must_use]
    pub fn new(echo: Echo, conversation: Option<String>) -> Self {
        Self {
            echo,
            conversation,
            id: String::new(),
            created: answer::now_s(),
            number: 0,
            output: Vec::new(),
            saying: None,
        }
    }

    fn tell(&mut self, name: &'static str, data: Value, out: &mut Vec<u8>) {
        let Value::Object(mut data) = data else { return };
        data.insert("type".to_owned(), name.into());
        data.insert("sequence_number".to_owned(), self.number.into());
        self.number += 1;
        event(out, Some(name), &data);
    }

    /// The response as it is now.
    fn document(&self, status: &str, usage: Option<Usage>, fault: Option<&Fault>) -> Value {
        let Echo { model, instructions, max_output_tokens, temperature, top_p, .. } = &self.echo;
        let Echo { tool_choice, alone, format, user, metadata, .. } = &self.echo;
        let or = |value: &Option<Value>, other: Value| value.clone().unwrap_or(other);
        let format = or(format, json!({"type": "text"}));
        let cut = (status == "incomplete").then(|| json!({"reason": "max_output_tokens"}));
        let fault = fault.map(|fault| json!({"code": fault.code(), "message": fault.message()}));
        json!({
            "id": self.id, "object": "response", "created_at": self.created, "status": status,
            "background": false, "error": fault, "incomplete_details": cut, "instructions": instructions,
            "max_output_tokens": max_output_tokens, "model": model, "output": self.output,
            "parallel_tool_calls": !alone, "previous_response_id": self.echo.previous,
            "reasoning": {"effort": null, "summary": null}, "store": false, "temperature": temperature,
            "text": {"format": format}, "tool_choice": or(tool_choice, json!("auto")),
            "tools": self.echo.tools, "top_p": top_p, "truncation": "disabled", "usage": usage.map(counted),
            "user": user, "metadata": metadata.clone().unwrap_or_default(),
        })
    }

    /// Begins the message, unless one is being said.
    fn begin_message(&mut self, out: &mut Vec<u8>) {
        if self.saying.is_some() {
            return;
        }
        let (id, index) = (ids::fresh("msg_"), self.output.len());
        let item =
            json!({"id": id, "type": "message", "status": "in_progress", "role": "assistant", "content": []});
        self.tell("response.output_item.added", json!({"output_index": index, "item": item}), out);
        let added = json!({"item_id": id, "output_index": index, "content_index": 0, "part": part("")});
        self.tell("response.content_part.added", added, out);
        self.saying = Some((id, String::new()));
    }

    /// Ends the message, if one is being said: whole, or cut.
    fn end_message(&mut self, status: &str, out: &mut Vec<u8>) {
        let Some((id, text)) = self.saying.take() else { return };
        let place = json!({"item_id": id, "output_index": self.output.len(), "content_index": 0});
        let with = |field: &str, value: Value| joined(&place, field, value);
        let mut done = with("text", json!(text));
        if let Some(done) = done.as_object_mut() {
            done.insert("logprobs".to_owned(), json!([]));
        }
        self.tell("response.output_text.done", done, out);
        self.tell("response.content_part.done", with("part", part(&text)), out);
        self.end_item(message(&id, status, &text), out);
    }

    fn end_item(&mut self, item: Value, out: &mut Vec<u8>) {
        let done = json!({"output_index": self.output.len(), "item": item});
        self.tell("response.output_item.done", done, out);
        self.output.push(item);
    }
}

impl Writer for Responses {
    fn begin(&mut self, origin: Origin) {
        self.id = match origin.turn {
            Some(turn) => response_id(turn, self.conversation.as_deref()),
            None => answer::id(RESPONSE, origin),
        };
    }

    fn takes_one_call(&self) -> bool {
        self.echo.alone
    }

    fn by(&mut self, model: String) {
        self.echo.model = model;
    }

    fn open(&mut self, out: &mut Vec<u8>) {
        for name in ["response.created", "response.in_progress"] {
            let response = self.document("in_progress", None, None);
            self.tell(name, json!({"response": response}), out);
        }
    }

    fn text(&mut self, text: &str, out: &mut Vec<u8>) {
        self.begin_message(out);
        let index = self.output.len();
        let Some((id, said)) = &mut self.saying else { return };
        said.push_str(text);
        let delta = json!({
            "item_id": id, "output_index": index, "content_index": 0, "delta": text, "logprobs": [],
        });
        self.tell("response.output_text.delta", delta, out);
    }

    fn call(&mut self, call: &Call, out: &mut Vec<u8>) {
        self.end_message("completed", out);
        let (id, index) = (ids::shown("fc_", call.id), self.output.len());
        let item = function(call, "in_progress", "");
        self.tell("response.output_item.added", json!({"output_index": index, "item": item}), out);
        let place = json!({"item_id": id, "output_index": index});
        let delta = joined(&place, "delta", json!(call.args));
        self.tell("response.function_call_arguments.delta", delta, out);
        let mut done = joined(&place, "arguments", json!(call.args));
        if let Some(done) = done.as_object_mut() {
            done.insert("name".to_owned(), json!(call.tool.as_str()));
        }
        self.tell("response.function_call_arguments.done", done, out);
        self.end_item(function(call, "completed", &call.args), out);
    }

    fn end(&mut self, finish: Finish, usage: Usage, out: &mut Vec<u8>) {
        if self.output.is_empty() {
            self.begin_message(out);
        }
        let status = status(finish);
        self.end_message(status, out);
        let response = self.document(status, Some(usage), None);
        let name = if status == "completed" { "response.completed" } else { "response.incomplete" };
        self.tell(name, json!({"response": response}), out);
    }

    fn fail(&mut self, fault: &Fault, out: &mut Vec<u8>) {
        self.end_message("incomplete", out);
        let response = self.document("failed", None, Some(fault));
        self.tell("response.failed", json!({"response": response}), out);
    }

    fn idle(&self, out: &mut Vec<u8>) {
        remark(out, "waiting");
    }

    fn compose(&mut self, whole: &Whole) -> Value {
        if !whole.text.is_empty() || whole.calls.is_empty() {
            // Text before a call is whole.
            let status = if whole.calls.is_empty() { status(whole.finish) } else { "completed" };
            self.output.push(message(&ids::fresh("msg_"), status, &whole.text));
        }
        self.output.extend(whole.calls.iter().map(|call| function(call, "completed", &call.args)));
        self.document(status(whole.finish), Some(whole.usage), None)
    }
}

const fn status(finish: Finish) -> &'static str {
    match finish {
        Finish::Stop | Finish::ToolUse | Finish::StoppedAt(_) => "completed",
        Finish::MaxTokens => "incomplete",
    }
}

/// An object with one more field.
fn joined(object: &Value, field: &str, value: Value) -> Value {
    let mut object: Map<String, Value> = object.as_object().cloned().unwrap_or_default();
    object.insert(field.to_owned(), value);
    Value::Object(object)
}

fn part(text: &str) -> Value {
    json!({"type": "output_text", "text": text, "annotations": [], "logprobs": []})
}

fn message(id: &str, status: &str, text: &str) -> Value {
    json!({"id": id, "type": "message", "status": status, "role": "assistant", "content": [part(text)]})
}

fn function(call: &Call, status: &str, args: &str) -> Value {
    json!({
        "id": ids::shown("fc_", call.id), "type": "function_call", "status": status, "arguments": args,
        "call_id": ids::shown("call_", call.id), "name": call.tool.as_str(),
    })
}

fn counted(usage: Usage) -> Value {
    json!({
        "input_tokens": usage.input, "input_tokens_details": {"cached_tokens": usage.cache_read},
        "output_tokens": usage.output, "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": u64::from(usage.input) + u64::from(usage.output),
    })
}
