//! Functional: what a person asks for happens, through real processes.
#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test that cannot go on fails")]

mod alerts;
mod approvals;
mod asking;
mod backup;
mod carried;
mod control;
mod curator;
mod demo;
mod embedding;
mod engines;
mod events;
mod finding;
mod gateway;
mod inspecting;
mod keys;
mod mcp;
mod memory;
mod models;
mod operations;
mod own_words;
mod providers;
mod queue;
mod reminded;
mod running;
mod sandbox;
mod services;
mod spending;
mod steering;
mod telegram;
mod thinking;
mod turns;
mod vault;
mod witness;
