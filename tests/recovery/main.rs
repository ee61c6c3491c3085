//! Recovery: kill -9 of any process at any moment loses no accepted message and repeats no effect.
#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test that cannot go on fails")]

mod channels;
mod chaos_short;
mod clock;
mod curating;
mod delegating;
mod discord;
mod disk;
mod engines;
mod exhaustion;
mod fail_closed;
mod fault_points;
mod halting;
mod kill_each;
mod poison;
mod remembering;
mod salvaging;
mod scheduling;
mod slack;
mod steering;
mod vault;
mod warm;
