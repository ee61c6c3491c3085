//! The wall clock. In a debug build agentd may set it off the machine's, so that a test can step it back and forth
//! while a host runs and never touches the machine's; a release build has only the machine's.
//!
//! Durations are measured with `Instant`, which nobody steps.

use std::time::{SystemTime, UNIX_EPOCH};

#[cfg(debug_assertions)]
static OFF: std::sync::atomic::AtomicI64 = std::sync::atomic::AtomicI64::new(0);

/// The wall clock, unix ms.
#[must_use]
pub fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let ms = u64::try_from(since.as_millis()).unwrap_or(u64::MAX);
    #[cfg(debug_assertions)]
    let ms = ms.saturating_add_signed(OFF.load(std::sync::atomic::Ordering::Relaxed));
    ms
}

/// Sets it off the machine's by a number of ms, as the word of a frame carries it.
#[cfg(debug_assertions)]
pub(crate) fn step(word: u64) {
    OFF.store(word.cast_signed(), std::sync::atomic::Ordering::Relaxed);
}

/// A release build has only the machine's clock.
#[cfg(not(debug_assertions))]
pub(crate) const fn step(_: u64) {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_moves_the_clock_by_as_much_and_back() {
        const DAY: i64 = 86_400_000;
        let before = now_ms();
        for (off, expected) in
            [(DAY, before + DAY.unsigned_abs()), (-DAY, before - DAY.unsigned_abs()), (0, before)]
        {
            step(off.cast_unsigned());
            assert!(now_ms().abs_diff(expected) < DAY.unsigned_abs() / 2, "{off}");
        }
    }
}
