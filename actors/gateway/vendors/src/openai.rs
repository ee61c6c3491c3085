//! The API of the first vendor: chat completions and responses.

pub mod chat;
mod choice;
pub mod responses;
