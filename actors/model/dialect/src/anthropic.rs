//! Anthropic's messages.

mod events;
mod request;
#[cfg(test)]
mod tests;

use crate::answer::Decoder;
use crate::wire::{Conversation, Dialect};
use ipc_proto::credproxy::Placement;

/// The version of the protocol that this speaks; the provider asks for it in a header.
const VERSION: &str = "2023-06-01";

/// The wire form. The provider embeds no texts.
pub(crate) struct Messages;

impl Dialect for Messages {
    fn path(&self) -> &'static str {
        "/messages"
    }

    fn body(&self, conversation: &Conversation<'_>) -> serde_json::Result<Vec<u8>> {
        request::body(conversation)
    }

    fn decoder(&self) -> Box<dyn Decoder> {
        Box::new(events::Decoder::default())
    }

    fn headers(&self) -> &'static [(&'static str, &'static str)] {
        &[("anthropic-version", VERSION)]
    }

    fn placement(&self, secret: &str) -> Placement {
        Placement::header(secret, "x-api-key", "")
    }
}
