//! OpenAI's chat completions, which most servers speak.

mod events;
pub(crate) mod request;
#[cfg(test)]
mod tests;

pub(crate) use events::{Decoder, Details};
