//! Calls of model: an answer as a stream of pieces, the wait for its money, and the pieces put together. Nothing here knows who asks.

pub(crate) mod assembly;
pub(crate) mod budget;
pub(crate) mod stream;
