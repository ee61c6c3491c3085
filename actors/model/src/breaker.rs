//! The recent state of each model: tasks pass over one that failed for a while, and one that failed again and again is
//! not asked at all until one request has shown that it answers. It is in memory only: after a restart every model is
//! asked again.
//!
//! It never lengthens the wait of a request that names its model, save while the circuit is open.

use crate::failure_class::{is_the_providers, said_wait};
use ipc_proto::model::{ModelError, ModelName};
use std::collections::HashMap;
use std::time::Duration;
use tokio::time::Instant;

/// How long a task passes over a model that failed; it doubles with each failure.
const COOL_FIRST: Duration = Duration::from_secs(30);
/// The longest.
const COOL_MOST: Duration = Duration::from_secs(300);
/// Failures in a row that open the circuit.
const OPEN_AFTER: u32 = 5;
/// How long it stays open before one request may try.
const OPEN_FOR: Duration = Duration::from_secs(30);
/// Models that are remembered; the table of models has fewer.
const MODELS: usize = 512;

/// The state of a model's breaker, which says if the model may be asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// It may.
    Ready,
    /// Others are to be asked first, for as long.
    Cooling(Duration),
    /// It may not, for as long.
    Open(Duration),
}

/// How one model did.
#[derive(Debug, Default)]
struct Health {
    failures: u32,
    cool_for: Duration,
    cool_until: Option<Instant>,
    open_until: Option<Instant>,
    /// One request is trying whether it answers again.
    probing: bool,
}

/// How all of them did.
#[derive(Debug, Default)]
pub(crate) struct Breaker {
    models: HashMap<ModelName, Health>,
}

impl Breaker {
    /// Returns whether this model may be asked now.
    pub(crate) fn state(&self, model: &ModelName, now: Instant) -> State {
        let Some(health) = self.models.get(model) else { return State::Ready };
        let left = |until: Option<Instant>| until.map(|until| until.saturating_duration_since(now));
        match (left(health.open_until), left(health.cool_until)) {
            (Some(open), _) if !open.is_zero() => State::Open(open),
            // Half open: the one that tries it has it to itself.
            (Some(_), _) if health.probing => State::Open(Duration::from_secs(1)),
            (None, Some(cool)) if !cool.is_zero() => State::Cooling(cool),
            _ => State::Ready,
        }
    }

    /// Begins a request to it.
    ///
    /// # Errors
    /// How long it may not be asked.
    pub(crate) fn begin(&mut self, model: &ModelName, now: Instant) -> Result<(), Duration> {
        if let State::Open(left) = self.state(model, now) {
            return Err(left);
        }
        if let Some(health) = self.models.get_mut(model) {
            health.probing = health.open_until.is_some();
        }
        Ok(())
    }

    /// It answered.
    pub(crate) fn succeeded(&mut self, model: &ModelName) {
        self.models.remove(model);
    }

    /// It failed so. A refusal of the request itself says that it is there.
    pub(crate) fn failed(&mut self, model: &ModelName, error: &ModelError, now: Instant) {
        if !is_the_providers(error) {
            return self.ended(model);
        }
        if self.models.len() >= MODELS {
            self.models.clear();
        }
        let health = self.models.entry(model.clone()).or_default();
        health.probing = false;
        health.cool_for = health.cool_for.saturating_mul(2).clamp(COOL_FIRST, COOL_MOST);
        let wait = said_wait(error).unwrap_or(health.cool_for);
        health.cool_until = Some(now + wait);
        // A provider that says when to come back is well.
        if !matches!(error, ModelError::RateLimited { .. }) {
            health.failures = health.failures.saturating_add(1);
        }
        if health.failures >= OPEN_AFTER {
            health.open_until = Some(now + OPEN_FOR);
        }
    }

    /// A request to it ended and says nothing of it.
    pub(crate) fn ended(&mut self, model: &ModelName) {
        if let Some(health) = self.models.get_mut(model) {
            health.probing = false;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FAILED: ModelError = ModelError::Server { status: 500 };

    fn name() -> ModelName {
        ModelName::clip("p/m")
    }

    fn after(seconds: u64) -> Instant {
        Instant::now() + Duration::from_secs(seconds)
    }

    // Holds B-63.
    #[tokio::test(start_paused = true)]
    async fn a_failure_cools_for_half_a_minute_doubling_to_five_until_a_success() {
        let mut breaker = Breaker::default();
        let now = Instant::now();
        for seconds in [30, 60, 120, 240] {
            breaker.failed(&name(), &FAILED, now);
            assert_eq!(breaker.state(&name(), now), State::Cooling(Duration::from_secs(seconds)));
        }
        assert_eq!(breaker.state(&name(), after(240)), State::Ready);
        breaker.succeeded(&name());
        assert_eq!(breaker.state(&name(), now), State::Ready);
        breaker.failed(&name(), &ModelError::RateLimited { retry_after_s: 7 }, now);
        assert_eq!(breaker.state(&name(), now), State::Cooling(Duration::from_secs(7)));
    }

    // Holds B-63.
    #[tokio::test(start_paused = true)]
    async fn five_failures_open_the_circuit_and_then_one_request_tries_alone() {
        let mut breaker = Breaker::default();
        (0..OPEN_AFTER).for_each(|_| breaker.failed(&name(), &FAILED, Instant::now()));
        assert_eq!(breaker.begin(&name(), Instant::now()), Err(OPEN_FOR));
        assert_eq!(breaker.begin(&name(), after(30)), Ok(()));
        assert!(breaker.begin(&name(), after(30)).is_err(), "a second one beside it");
        breaker.ended(&name());
        assert_eq!(breaker.begin(&name(), after(30)), Ok(()), "one that was cancelled gives way");
        breaker.failed(&name(), &FAILED, after(30));
        assert_eq!(breaker.state(&name(), after(31)), State::Open(Duration::from_secs(29)));
        assert_eq!(breaker.begin(&name(), after(60)), Ok(()));
        breaker.succeeded(&name());
        assert_eq!(breaker.begin(&name(), after(60)), Ok(()));
        assert_eq!(breaker.state(&name(), after(60)), State::Ready);
    }

    #[tokio::test(start_paused = true)]
    async fn what_says_nothing_of_the_provider_neither_cools_nor_opens() {
        let mut breaker = Breaker::default();
        let now = Instant::now();
        for error in
            [ModelError::Auth, ModelError::Rejected { status: 400 }, ModelError::TooLong { context: 1 }]
        {
            (0..9).for_each(|_| breaker.failed(&name(), &error, now));
            assert_eq!(breaker.state(&name(), now), State::Ready, "{error}");
        }
        let limited = ModelError::RateLimited { retry_after_s: 1 };
        (0..9).for_each(|_| breaker.failed(&name(), &limited, now));
        assert_eq!(breaker.state(&name(), after(1)), State::Ready, "a full quota opens no circuit");
    }
}
