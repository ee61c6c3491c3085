//! The pass-through: requests to models and memory without an agent, by clients of the API, programs in jails and background work.

mod admit;
mod answer;
mod clean;
pub(crate) mod client;
mod deps;
pub(crate) mod embed;
pub(crate) mod find;
pub(crate) mod memory;
pub(crate) mod program;
pub(crate) mod streams;
#[cfg(test)]
mod testing;
pub(crate) mod try_model;
