//! Anthropic's messages.

mod events;
pub(crate) mod request;
#[cfg(test)]
mod tests;

pub(crate) use events::Decoder;

/// The version of the protocol that this speaks; the provider asks for it in a header.
pub(crate) const VERSION: &str = "2023-06-01";
