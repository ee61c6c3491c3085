//! Ollama's own chat.

mod events;
pub(crate) mod request;
#[cfg(test)]
mod tests;

pub(crate) use events::Decoder;
