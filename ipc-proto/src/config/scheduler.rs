//! The section of `scheduler`: `[scheduler]`. Pure data.

use crate::config::key::{flag, number, section};

section! {
    /// `[scheduler]`.
    pub struct Scheduler in "scheduler", read by [Scheduler] {
        /// If true, the host runs the scheduler: `agentctl schedule` adds jobs, and each sends its message at its times.
        enabled: bool = flag(false),
        /// The most tokens, of requests and answers together, that one message of a job may use, unless the job says another
        /// number. A turn that has used them asks no model any more, and fails.
        tokens_per_fire: u32 = number(1000..=10_000_000, 100_000),
        ..
        /// `host.time_zone`: the zone of a job that names none.
        time_zone: String,
    }
}
