//! The calls of the bot with the time at which each was read, for those who measure.

use super::Telegram;
use serde_json::Value;
use std::time::Instant;

/// A call of the bot.
#[derive(Debug, Clone)]
pub struct Call {
    /// The time at which the whole request was read.
    pub at: Instant,
    /// The method.
    pub method: String,
    /// Its parameters.
    pub parameters: Value,
}

impl Call {
    /// Its text; empty if it has none.
    #[must_use]
    pub fn text(&self) -> &str {
        self.parameters["text"].as_str().unwrap_or_default()
    }

    /// Its chat, if it is about one.
    #[must_use]
    pub fn chat(&self) -> Option<i64> {
        self.parameters["chat_id"].as_i64()
    }
}

impl Telegram {
    /// The calls so far, without the first ones.
    #[must_use]
    pub fn calls_from(&self, first: usize) -> Vec<Call> {
        self.shared.state().calls.get(first..).unwrap_or_default().to_vec()
    }

    /// The number of the calls so far.
    #[must_use]
    pub fn call_count(&self) -> usize {
        self.shared.state().calls.len()
    }
}
