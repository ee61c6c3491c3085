//! What clients of two vendors say and hear: bodies of requests in, a conversation as the bus carries it out; an answer
//! in, bodies and streams of events out. Every byte of a request may be hostile. It asks nobody, holds nothing and knows
//! no key: who may ask, and who is asked, is said by the program that it is part of.

pub mod answer;
pub mod anthropic;
pub mod body;
pub mod fault;
mod form;
pub mod ids;
pub mod listing;
mod matched;
pub mod openai;
pub mod pieces;
mod strict;
pub mod wish;
