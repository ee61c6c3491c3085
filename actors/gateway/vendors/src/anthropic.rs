//! The API of the second vendor: messages, and how many tokens they are.

mod ask;
mod reply;

pub use reply::Messages;

use crate::body;
use crate::fault::Fault;
use crate::wish::{self, Wish};
use ask::Ask;

/// Reads a conversation.
///
/// # Errors
/// What is wrong with it, by the name of the field.
pub fn read(bytes: &[u8]) -> Result<wish::Ask<Messages>, Fault> {
    let ask: Ask = body::decode(bytes)?;
    if ask.max_tokens.is_none() {
        let missing = Fault::bad("max_tokens", "max_tokens: Field required");
        return Err(missing.coded("missing_required_parameter"));
    }
    let (streams, alone) = (ask.stream.unwrap_or_default(), ask.takes_one_call());
    let wish = ask.wish()?;
    let writer = Messages::new(&wish.request.model, &wish.request.stop, alone);
    Ok(wish::Ask { wish, streams, writer })
}

/// Reads a conversation whose tokens are to be counted.
///
/// # Errors
/// What is wrong with it, by the name of the field.
pub fn read_count(bytes: &[u8]) -> Result<Wish, Fault> {
    body::decode::<Ask>(bytes)?.wish()
}

/// What is answered to that.
#[must_use]
pub fn counted(tokens: u64) -> serde_json::Value {
    serde_json::json!({"input_tokens": tokens})
}

#[cfg(test)]
mod tests;
