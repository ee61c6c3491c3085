//! Security: what a process may not do, it cannot, tried from inside each of them.
//!
//! A probe stands in the place of one process or another of a real host; a runner's jail is tried with ordinary
//! programs. Expectations come from the table, so that a row which changes changes what is expected with it.
#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test that cannot go on fails"
)]

mod attached;
mod attest;
mod callers;
mod commands;
mod crossings;
mod denials;
mod fetches;
mod files;
mod hijack;
mod hostile_client;
mod hostile_peer;
mod incidents;
mod inodes;
mod jail;
mod limits;
mod linked;
mod needed;
mod privileges;
mod probed;
mod probes;
mod rare;
mod remembered;
mod schedules;
mod secrets;
mod shares;
mod slack;
mod stalled;
mod supervisor;
mod syscalls;
mod unsealable;
mod violations;
mod workspace_labels;
