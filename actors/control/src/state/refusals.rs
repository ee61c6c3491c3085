//! The bound on recorded refusals of one uid: a caller without permissions must not fill the record.

use std::collections::HashMap;
use std::time::{Duration, Instant};

/// Refusals of one uid that are recorded in one span of time; further ones are counted and logged.
const MOST: u32 = 120;
const SPAN: Duration = Duration::from_secs(60);

/// Refusals in the current span of time.
#[derive(Default)]
pub(crate) struct Refusals {
    since: Option<Instant>,
    by_uid: HashMap<u32, u32>,
}

impl Refusals {
    /// Returns whether another refusal of this uid goes on the record.
    pub(crate) fn admits(&mut self, uid: u32, now: Instant) -> bool {
        if self.since.is_none_or(|since| now.duration_since(since) >= SPAN) {
            self.since = Some(now);
            self.by_uid.clear();
        }
        let count = self.by_uid.entry(uid).or_default();
        *count = count.saturating_add(1);
        *count <= MOST
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Holds B-167.
    #[test]
    fn a_flood_of_refusals_is_recorded_to_a_bound_and_hides_nobody_elses() {
        let (mut refusals, now) = (Refusals::default(), Instant::now());
        let recorded = (0..1000).filter(|_| refusals.admits(1, now)).count();
        assert_eq!(recorded, MOST as usize);
        assert!(refusals.admits(2, now));
        assert!(!refusals.admits(1, now + SPAN / 2));
        assert!(refusals.admits(1, now + SPAN));
    }
}
