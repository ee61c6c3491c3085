//! The promises of the policies, by the crate's own interface: every profile, every capability field, every flow rule.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod agentdojo;
mod capability;
mod flow;
mod incidents;
mod invariants;
mod lines;
mod matrix;
mod replay;
mod services;
mod verdicts;
mod world;
