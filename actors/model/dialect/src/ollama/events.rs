//! The lines of Ollama's chat: each is a JSON object, and the one that is `done` is the last. Calls come whole.

use crate::answer::{self, Answer, object};
use crate::refusal::stream_error;
use crate::tokens::Tokens;
use ipc_proto::model::{Finish, ModelError, Usage};
use serde::Deserialize;
use serde_json::{Map, Value};

#[derive(Deserialize)]
struct Line {
    #[serde(default)]
    message: Option<Message>,
    #[serde(default)]
    done: bool,
    #[serde(default)]
    done_reason: Option<String>,
    #[serde(default)]
    prompt_eval_count: Tokens,
    #[serde(default)]
    eval_count: Tokens,
    #[serde(default)]
    error: Value,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Message {
    content: Option<String>,
    thinking: Option<String>,
    tool_calls: Option<Vec<Call>>,
}

#[derive(Deserialize)]
struct Call {
    function: Function,
}

#[derive(Deserialize)]
struct Function {
    name: String,
    #[serde(default)]
    arguments: Option<Map<String, Value>>,
}

/// Reads the lines of one answer.
pub(super) struct Decoder;

impl answer::Decoder for Decoder {
    fn event(&mut self, json: &str, answer: &mut Answer) -> Result<(), ModelError> {
        let line: Line = object(json)?;
        if !line.error.is_null() {
            return Err(stream_error(&line.error, answer.context));
        }
        if let Some(message) = line.message {
            self::message(message, answer)?;
        }
        if line.done {
            // A prompt that the server had read before is not counted by older ones.
            let (input, output) = (line.prompt_eval_count.or_zero(), line.eval_count.or_zero());
            answer.usage(Usage { input, output, ..Usage::default() });
            answer.finish(match line.done_reason.as_deref() {
                Some("length") => Finish::MaxTokens,
                _ => Finish::Stop,
            });
            answer.last();
        }
        Ok(())
    }
}

fn message(message: Message, answer: &mut Answer) -> Result<(), ModelError> {
    answer.begin();
    answer.reasoning(&message.thinking.unwrap_or_default())?;
    answer.text(&message.content.unwrap_or_default())?;
    for call in message.tool_calls.into_iter().flatten() {
        let at = answer.open()?;
        answer.name(at, &call.function.name)?;
        answer.args(at, &Value::Object(call.function.arguments.unwrap_or_default()).to_string())?;
    }
    Ok(())
}
