//! Numbers about the queue for operators, held where the process's heartbeat reads them.

use manifest::command::Gauge;
use std::sync::atomic::{AtomicU64, Ordering};

/// The numbers, since the process started or as they are now.
#[derive(Default)]
pub(crate) struct Gauges {
    /// Messages that wait for their lane.
    pub(crate) waiting: AtomicU64,
    pub(crate) running: AtomicU64,
    pub(crate) dead_letters: AtomicU64,
    pub(crate) approvals: AtomicU64,
    pub(crate) answered: AtomicU64,
    pub(crate) failed: AtomicU64,
}

impl Gauges {
    /// Counts the end of a turn.
    pub(crate) fn ended(&self, answered: bool) {
        let counter = if answered { &self.answered } else { &self.failed };
        counter.fetch_add(1, Ordering::Relaxed);
    }

    /// Every number.
    pub(crate) fn all(&self) -> Vec<(Gauge, u64)> {
        let numbers = [
            (Gauge::MessagesWaiting, &self.waiting),
            (Gauge::TurnsRunning, &self.running),
            (Gauge::DeadLetters, &self.dead_letters),
            (Gauge::ApprovalsPending, &self.approvals),
            (Gauge::TurnsAnswered, &self.answered),
            (Gauge::TurnsFailed, &self.failed),
        ];
        numbers.into_iter().map(|(gauge, number)| (gauge, number.load(Ordering::Relaxed))).collect()
    }
}
