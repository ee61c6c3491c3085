//! A bound on warnings of what a stranger can cause at any rate: one a minute is logged, and the others are counted.

use std::cell::Cell;
use std::time::{Duration, Instant};

/// The time in which one warning is logged.
const SPAN: Duration = Duration::from_secs(60);

/// The warnings of one kind.
#[derive(Debug, Default)]
pub struct Seldom {
    last: Cell<Option<Instant>>,
    quiet: Cell<u64>,
}

impl Seldom {
    /// Returns the number of warnings since the last that was logged, if this one is to be logged; else counts it.
    pub fn admit(&self, now: Instant) -> Option<u64> {
        if self.last.get().is_some_and(|last| now.saturating_duration_since(last) < SPAN) {
            self.quiet.set(self.quiet.get().saturating_add(1));
            return None;
        }
        self.last.set(Some(now));
        Some(self.quiet.take())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Holds B-202.
    #[test]
    fn one_warning_a_minute_is_logged_with_the_number_of_the_others() {
        let (seldom, now) = (Seldom::default(), Instant::now());
        assert_eq!(seldom.admit(now), Some(0));
        assert!((0..9).all(|_| seldom.admit(now + Duration::from_secs(59)).is_none()));
        assert_eq!(seldom.admit(now + SPAN), Some(9));
        assert_eq!(seldom.admit(now + SPAN * 2), Some(0));
    }
}
