//! The APIs of two vendors: bodies of requests become conversations as the bus carries them; answers become bodies and streams of events.
//! Every byte of a request may be hostile. It calls no peer, holds no state and knows no key: gateway decides which client may ask, and
//! which process is asked.

pub mod answer;
pub mod anthropic;
pub mod body;
pub mod chat_request;
pub mod fault;
mod form;
pub mod ids;
pub mod listing;
mod matched;
pub mod openai;
pub mod pieces;
mod strict;
