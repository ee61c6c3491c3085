//! OpenAI's responses.

mod events;
mod request;
#[cfg(test)]
mod tests;

use crate::answer::Decoder;
use crate::openai::embeddings;
use crate::wire::{Conversation, Dialect, Embeddings};
use ipc_proto::config::ProviderModel;

/// The wire form.
pub(crate) struct Responses;

impl Dialect for Responses {
    fn path(&self) -> &'static str {
        "/responses"
    }

    fn body(&self, conversation: &Conversation<'_>) -> serde_json::Result<Vec<u8>> {
        request::body(conversation)
    }

    fn decoder(&self) -> Box<dyn Decoder> {
        Box::new(events::Decoder::default())
    }

    /// The provider knows no such texts.
    fn needs_stop_search(&self, _: ProviderModel) -> bool {
        true
    }

    fn embeddings(&self) -> Option<Embeddings> {
        Some(embeddings::METHOD)
    }
}
