//! Functional: what a person asks for happens, through real processes.
#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test that cannot go on fails")]

mod approvals;
mod backup;
mod events;
mod finding;
mod gateway;
mod keys;
mod models;
mod operations;
mod providers;
mod queue;
mod sandbox;
mod services;
mod spending;
mod turns;
mod vault;
mod witness;
