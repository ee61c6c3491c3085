//! Entries that wait for a signature for longer than they may. A host signs a checkpoint within a bounded time, so such
//! entries are those of a host that ended without one, of a host that cannot sign, or of another writer. Pure.

use ipc_proto::audit::{Late, UNSIGNED_MS};

/// Time that a checkpoint may take besides: a slow disk, a busy host.
const SLACK_MS: u64 = 10_000;

/// Entries without a signature whose time is over.
#[derive(Debug)]
pub(crate) struct Unsigned {
    /// The latest time of an entry that should be signed by now, unix ms.
    due_ms: u64,
    /// The number of signed entries.
    signed: u64,
    late: Option<Late>,
}

impl Unsigned {
    /// None so far; `now_ms` is the time before any checkpoint is read, so that a host may go on writing meanwhile.
    pub(crate) fn new(now_ms: u64, signed: u64) -> Self {
        Self { due_ms: now_ms.saturating_sub(u64::from(UNSIGNED_MS) + SLACK_MS), signed, late: None }
    }

    /// Looks at an entry of this time.
    pub(crate) fn see(&mut self, index: u64, time_ms: u64) {
        if index < self.signed || time_ms >= self.due_ms {
            return;
        }
        let late = self.late.get_or_insert(Late { entries: 0, since_ms: time_ms });
        late.entries += 1;
        late.since_ms = late.since_ms.min(time_ms);
    }

    /// The entries that wait too long; `None` where none does.
    pub(crate) const fn end(self) -> Option<Late> {
        self.late
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_unsigned_entries_older_than_the_longest_interval_are_late() {
        let now = 1_000_000_000;
        let due = now - u64::from(UNSIGNED_MS) - SLACK_MS;
        let late = |times: &[u64]| {
            let mut unsigned = Unsigned::new(now, 2);
            (0..).zip(times).for_each(|(index, time)| unsigned.see(index, *time));
            unsigned.end()
        };
        assert_eq!(late(&[1, 1, due, due + 1, now, now + 5]), None);
        assert_eq!(late(&[1, 1, now, due - 1, due - 7]), Some(Late { entries: 2, since_ms: due - 7 }));
    }
}
