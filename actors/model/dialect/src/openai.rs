//! OpenAI's chat completions, which most servers speak.

pub(crate) mod embeddings;
mod events;
mod request;
#[cfg(test)]
mod tests;

use crate::answer::Decoder;
use crate::wire::{Conversation, Dialect, Embeddings};
pub(crate) use events::Details;
use ipc_proto::config::ProviderModel;

/// The wire form.
pub(crate) struct ChatCompletions;

impl Dialect for ChatCompletions {
    fn path(&self) -> &'static str {
        "/chat/completions"
    }

    fn body(&self, conversation: &Conversation<'_>) -> serde_json::Result<Vec<u8>> {
        request::body(conversation)
    }

    fn decoder(&self) -> Box<dyn Decoder> {
        Box::new(events::Decoder::default())
    }

    /// Its reasoning models refuse such texts.
    fn needs_stop_search(&self, known: ProviderModel) -> bool {
        !request::takes_stops(known)
    }

    fn embeddings(&self) -> Option<Embeddings> {
        Some(embeddings::METHOD)
    }
}
