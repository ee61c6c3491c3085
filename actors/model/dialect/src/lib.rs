//! The wire forms of providers of models: a conversation becomes a request, and the reply's bytes become pieces of one
//! form, whichever provider they are from. Pure: text and bytes in, facts out. It sends nothing, waits for nothing and
//! never sees a key.
//!
//! A provider's bytes are hostile: every length is bounded, nothing of them reaches an error or a log line, and bytes
//! that are not the protocol end this one answer.

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
mod table;
#[cfg(test)]
mod testing;
pub mod text;
mod tokens;
mod wait;
mod wire;

pub use ask::{Ask, ask};
pub use reader::{Reader, WHOLE_BOUND};
pub use refusal::{REFUSAL_BOUND, refused};
pub use stops::{Stops, until};
pub use wait::wait;
