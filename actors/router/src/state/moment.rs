//! The time, as the actor sets it.

use std::time::{Duration, Instant};

/// After this long, work that could not be done for want of a peer or of room on the disk is tried again.
pub(crate) const PAUSE: Duration = Duration::from_secs(1);

/// One moment on the monotonic clock and on the wall clock.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Moment {
    pub(crate) at: Instant,
    /// Unix time in milliseconds.
    pub(crate) ms: u64,
}

impl Moment {
    pub(crate) fn now() -> Self {
        Self { at: Instant::now(), ms: kit::now_ms() }
    }
}
