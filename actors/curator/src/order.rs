//! The order in which jobs are started. Pure: it knows numbers and names, and touches nothing.

use ipc_proto::curator::Priority;

/// After this time, ms, a job stands where a new one of the next priority would.
pub(crate) const AGEING_MS: u64 = 600_000;

/// A job that waits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Candidate {
    /// Which; they count upward as they come.
    pub(crate) seq: i64,
    /// How soon.
    pub(crate) priority: Priority,
    /// When it came, unix ms.
    pub(crate) created_ms: u64,
    /// Before when it is not begun, unix ms.
    pub(crate) due_ms: u64,
    /// The provider that it asks; empty if none.
    pub(crate) resource: String,
    /// The owner and scope of the memory that the job is about.
    pub(crate) scope: String,
}

impl Candidate {
    /// Its place: the least is begun first. Jobs of one priority stay in the order in which they came.
    pub(crate) fn rank(&self) -> (u64, i64) {
        let level = match self.priority {
            Priority::High => 0,
            Priority::Normal => 1,
            Priority::Low => 2,
        };
        (self.created_ms.saturating_add(level * AGEING_MS), self.seq)
    }
}

/// The next job to start: the first of those that are due and whose provider and scope are free.
pub(crate) fn next(
    waiting: &[Candidate],
    now_ms: u64,
    is_free: impl Fn(&Candidate) -> bool,
) -> Option<&Candidate> {
    let due = waiting.iter().filter(|job| job.due_ms <= now_ms && is_free(job));
    due.min_by_key(|job| job.rank())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn job(seq: i64, priority: Priority, created_ms: u64, due_ms: u64, resource: u8) -> Candidate {
        let resource = format!("provider{resource}");
        Candidate { seq, priority, created_ms, due_ms, resource, scope: format!("scope{seq}") }
    }

    fn any_job() -> impl Strategy<Value = (Priority, u64, u64, u8)> {
        let priority = prop_oneof![Just(Priority::High), Just(Priority::Normal), Just(Priority::Low)];
        (priority, 0..4 * AGEING_MS, 0..4 * AGEING_MS, 0..3_u8)
    }

    fn jobs(parts: Vec<(Priority, u64, u64, u8)>) -> Vec<Candidate> {
        let mut parts = parts;
        parts.sort_by_key(|part| part.1);
        let job = |(seq, (priority, created, due, resource))| job(seq, priority, created, due, resource);
        (0..).zip(parts).map(job).collect()
    }

    #[test]
    fn a_low_job_that_waited_long_enough_is_begun_before_a_new_high_one() {
        let low = job(1, Priority::Low, 0, 0, 0);
        let high = |created| job(2, Priority::High, created, 0, 0);
        let first = |other: Candidate| {
            let both = [low.clone(), other];
            next(&both, u64::MAX, |_| true).map(|job| job.seq)
        };
        assert_eq!(first(high(2 * AGEING_MS - 1)), Some(2));
        assert_eq!(first(high(2 * AGEING_MS + 1)), Some(1));
    }

    proptest! {
        // Holds P7-15.
        #[test]
        fn of_one_priority_the_oldest_that_is_due_and_free_comes_first(parts in proptest::collection::vec(any_job(), 1..40), now in 0..5 * AGEING_MS, busy in 0..3_u8) {
            let all = jobs(parts);
            let busy = format!("provider{busy}");
            let chosen = next(&all, now, |job| job.resource != busy);
            let able = |job: &&Candidate| job.due_ms <= now && job.resource != busy;
            let Some(chosen) = chosen else {
                prop_assert_eq!(all.iter().filter(able).count(), 0);
                return Ok(());
            };
            prop_assert!(able(&chosen));
            for other in all.iter().filter(able).filter(|other| other.priority == chosen.priority) {
                prop_assert!(other.seq >= chosen.seq);
            }
            for other in all.iter().filter(able).filter(|other| other.priority < chosen.priority) {
                prop_assert!(other.created_ms > chosen.created_ms, "a better one gives way only to one that waited");
            }
        }

        // Holds P7-15.
        #[test]
        fn no_job_starves_whatever_comes_after_it(parts in proptest::collection::vec(any_job(), 0..40), created in 0..AGEING_MS) {
            // However many come, those that came 20 minutes or more after it never go before it.
            let patient = job(-1, Priority::Low, created, 0, 0);
            let mut all = jobs(parts);
            for (seq, later) in (0..).zip(&mut all) {
                later.seq = seq;
                later.created_ms += created + 2 * AGEING_MS;
            }
            all.push(patient);
            prop_assert_eq!(next(&all, u64::MAX, |_| true).map(|job| job.seq), Some(-1));
        }

        #[test]
        fn all_are_begun_once_each_when_nothing_holds_them(parts in proptest::collection::vec(any_job(), 0..40)) {
            let mut all = jobs(parts);
            let count = all.len();
            let mut begun = Vec::new();
            while let Some(seq) = next(&all, u64::MAX, |_| true).map(|job| job.seq) {
                all.retain(|job| job.seq != seq);
                begun.push(seq);
            }
            begun.sort_unstable();
            begun.dedup();
            prop_assert_eq!(begun.len(), count);
        }
    }
}
