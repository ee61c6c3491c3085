//! Calls of one method by one caller: how many, how they ended, how long they took, and those that are being served.

use crate::times::Times;
use manifest::Process;
use manifest::command::{Measure, MethodCalls};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// The outcome of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// It was answered.
    Answered,
    /// Its answer was an error.
    Failed,
}

/// Counts since the process started.
#[derive(Default)]
pub(crate) struct Tally {
    calls: u64,
    errors: u64,
    refused: u64,
    abandoned: u64,
    total_us: u64,
    times: Times,
    /// The start of each call that is being served, by its number.
    running: BTreeMap<u64, Instant>,
    /// It has changed since it was reported.
    pub(crate) is_new: bool,
}

impl Tally {
    pub(crate) fn begin(&mut self, number: u64) {
        self.running.insert(number, Instant::now());
        self.is_new = true;
    }

    pub(crate) fn end(&mut self, took: Duration, outcome: Outcome) {
        let micros = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        self.calls += 1;
        self.errors += u64::from(outcome == Outcome::Failed);
        self.total_us = self.total_us.saturating_add(micros);
        self.times.add(micros);
    }

    /// The call is served no longer; `answered` is false if its caller gave it up.
    pub(crate) fn leave(&mut self, number: u64, answered: bool) {
        self.running.remove(&number);
        self.abandoned += u64::from(!answered);
        self.is_new = true;
    }

    pub(crate) fn refuse(&mut self) {
        self.refused += 1;
        self.is_new = true;
    }

    /// The figure that reports it.
    pub(crate) fn measure(&self, caller: Process, method: u16) -> Measure {
        let oldest = self.running.values().next().map_or(Duration::ZERO, Instant::elapsed);
        Measure::Calls(MethodCalls {
            caller,
            method,
            calls: self.calls,
            errors: self.errors,
            refused: self.refused,
            abandoned: self.abandoned,
            in_flight: u64::try_from(self.running.len()).unwrap_or(u64::MAX),
            oldest_ms: u64::try_from(oldest.as_millis()).unwrap_or(u64::MAX),
            p50_us: self.times.percentile(50),
            p99_us: self.times.percentile(99),
            total_us: self.total_us,
        })
    }
}
