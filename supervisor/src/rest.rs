//! The pause after work that a jail can cause again and again. It is some times as long as the work was, so that agentd, which has
//! one thread, keeps the greater part of its time for its other work.

use std::time::{Duration, Instant};

/// The length of a pause, in times of the work before it.
const TIMES: u32 = 4;

/// The pause.
#[derive(Debug, Default)]
pub(crate) struct Rest {
    until: Option<Instant>,
}

impl Rest {
    /// Returns true if the pause is not over yet.
    pub(crate) fn lasts(&self) -> bool {
        self.until.is_some_and(|until| Instant::now() < until)
    }

    /// Begins a pause, after work that began at `began`, of at most `longest`.
    pub(crate) fn begin(&mut self, began: Instant, longest: Duration) {
        self.until = Some(Instant::now() + began.elapsed().saturating_mul(TIMES).min(longest));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pause_is_four_times_as_long_as_the_work_and_has_a_bound() {
        let mut rest = Rest::default();
        assert!(!rest.lasts(), "nothing was done yet");
        let hour = Duration::from_secs(3600);
        let began = Instant::now().checked_sub(Duration::from_secs(60)).unwrap();
        rest.begin(began, hour);
        let left = rest.until.unwrap().saturating_duration_since(Instant::now());
        assert!(left > Duration::from_secs(230) && left < Duration::from_secs(300), "{left:?}");
        rest.begin(began, Duration::ZERO);
        assert!(!rest.lasts(), "its bound is shorter");
    }
}
