//! The decision on the next start of a process that ended: a pure function of its history.

use manifest::Backoff;

/// The earlier lives of one process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct History {
    /// Ends in a row, each within the quiet time of its start.
    pub(crate) short_lives: u32,
}

/// The decision after an end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Decision {
    /// Start it again after this many milliseconds.
    After(u64),
    /// Leave it stopped until an operator releases it.
    Hold,
}

/// Decides on a process that lived for `lived_ms`.
pub(crate) fn decide(policy: &Backoff, history: History, lived_ms: u64) -> (Decision, History) {
    let short_lives = if lived_ms >= u64::from(policy.quiet_ms) { 1 } else { history.short_lives + 1 };
    let history = History { short_lives };
    if short_lives >= policy.hold_after {
        return (Decision::Hold, history);
    }
    // The first end after a quiet time is followed by a start at once; then the wait doubles.
    let doublings = short_lives.saturating_sub(2);
    let wait = u64::from(policy.first_ms).checked_shl(doublings).unwrap_or(u64::MAX);
    let wait = if short_lives <= 1 { 0 } else { wait.min(policy.max_ms.into()) };
    (Decision::After(wait), history)
}

#[cfg(test)]
mod tests {
    use super::*;

    const POLICY: Backoff = Backoff { first_ms: 100, max_ms: 1_000, hold_after: 7, quiet_ms: 10_000 };

    fn waits(lives: &[u64]) -> Vec<Decision> {
        let mut history = History::default();
        let mut decisions = Vec::new();
        for lived in lives {
            let (decision, next) = decide(&POLICY, history, *lived);
            history = next;
            decisions.push(decision);
        }
        decisions
    }

    // Holds B-07.
    #[test]
    fn the_first_restart_is_at_once_then_the_wait_doubles_until_it_is_held() {
        use Decision::{After, Hold};
        let expected = [After(0), After(100), After(200), After(400), After(800), After(1_000), Hold];
        assert_eq!(waits(&[5; 7]), expected);
    }

    // Holds B-07.
    #[test]
    fn a_life_of_the_quiet_time_forgets_the_history() {
        assert_eq!(waits(&[5, 5, 5, 10_000, 5])[3..], [Decision::After(0), Decision::After(100)]);
    }

    #[test]
    fn no_history_overflows() {
        let (decision, _) =
            decide(&Backoff { hold_after: u32::MAX, ..POLICY }, History { short_lives: 90 }, 1);
        assert_eq!(decision, Decision::After(1_000));
    }
}
