//! Recovery: kill -9 of any process at any moment loses no accepted message and repeats no effect.
#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test that cannot go on fails")]

mod disk;
mod fault_points;
mod kill_each;
