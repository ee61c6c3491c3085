//! Functional: what a person asks for happens, through real processes.
#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test that cannot go on fails")]

mod approvals;
mod backup;
mod events;
mod operations;
mod queue;
mod sandbox;
mod turns;
mod witness;
