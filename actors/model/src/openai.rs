//! The adapter to providers that speak the OpenAI chat protocol. A request is made up here and sent by credproxy,
//! which alone has the key; the reply comes back as opaque bytes and is parsed here.
//!
//! What a provider sends is hostile: every length is bounded, nothing of it reaches a log line, and whatever is not
//! the protocol ends this one answer.

mod events;
mod exchange;
mod request;
mod sse;

pub(crate) use exchange::{Credproxy, converse};
pub(crate) use request::{Ask, ask};
