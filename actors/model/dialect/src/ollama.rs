//! Ollama's own chat.

mod embeddings;
mod events;
mod request;
#[cfg(test)]
mod tests;

use crate::answer::Decoder;
use crate::wire::{Conversation, Dialect, Embeddings, Framing};

/// The wire form.
pub(crate) struct Chat;

impl Dialect for Chat {
    fn path(&self) -> &'static str {
        "/api/chat"
    }

    fn body(&self, conversation: &Conversation<'_>) -> serde_json::Result<Vec<u8>> {
        request::body(conversation)
    }

    fn decoder(&self) -> Box<dyn Decoder> {
        Box::new(events::Decoder)
    }

    fn framing(&self) -> Framing {
        Framing::Lines
    }

    fn accept(&self) -> &'static str {
        "application/x-ndjson, application/json"
    }

    fn truncates_silently(&self) -> bool {
        true
    }

    fn embeddings(&self) -> Option<Embeddings> {
        Some(embeddings::METHOD)
    }
}
