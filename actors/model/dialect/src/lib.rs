//! How providers of models are spoken to: a conversation becomes a request, and the bytes that come back become pieces
//! of one form, whichever provider they are from. Pure: text and bytes in, facts out. It sends nothing, waits for
//! nothing and never sees a key.
//!
//! What a provider sends is hostile: every length is bounded, nothing of it reaches an error or a log line, and whatever
//! is not the protocol ends this one answer.

mod answer;
mod anthropic;
mod ask;
mod conversation;
pub mod count;
pub mod embedding;
mod framing;
mod halves;
mod ollama;
mod openai;
mod reader;
mod refusal;
mod responses;
mod stops;
#[cfg(test)]
mod testing;
pub mod text;
mod tokens;
mod wait;

pub use ask::{Ask, ask};
pub use reader::{Reader, WHOLE_BOUND};
pub use refusal::{REFUSAL_BOUND, refused};
pub use stops::{Stops, until};
pub use wait::wait;
