//! The API of the first vendor: chat completions, responses, embeddings.

pub(crate) mod chat;
pub(crate) mod embeddings;
pub(crate) mod responses;
