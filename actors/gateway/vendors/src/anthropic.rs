//! The API of the second vendor: messages, and how many tokens they are.

mod ask;
mod reply;

pub use reply::Messages;

use crate::body;
use crate::chat_request::{self, ChatRequest};
use crate::fault::Fault;
use ask::Ask;

/// Reads a conversation.
///
/// # Errors
/// The body is invalid; the error names the field.
pub fn read(bytes: &[u8]) -> Result<chat_request::Ask<Messages>, Fault> {
    let ask: Ask = body::decode(bytes)?;
    if ask.max_tokens.is_none() {
        let missing = Fault::bad("max_tokens", "max_tokens: Field required");
        return Err(missing.coded("missing_required_parameter"));
    }
    let (streams, alone) = (ask.stream.unwrap_or_default(), ask.takes_one_call());
    let chat = ask.chat()?;
    let writer = Messages::new(&chat.request.model, &chat.request.stop, alone);
    Ok(chat_request::Ask { chat, streams, writer })
}

/// Reads a conversation whose tokens are to be counted.
///
/// # Errors
/// The body is invalid; the error names the field.
pub fn read_count(bytes: &[u8]) -> Result<ChatRequest, Fault> {
    body::decode::<Ask>(bytes)?.chat()
}

/// The answer to a count of tokens.
#[must_use]
pub fn counted(tokens: u64) -> serde_json::Value {
    serde_json::json!({"input_tokens": tokens})
}

#[cfg(test)]
mod tests;
