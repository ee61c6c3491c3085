//! A set of measurements of one thing, and what is told of it. It measures nothing itself.

use std::time::Duration;

/// Measurements of one thing, in one unit.
#[derive(Clone, Debug, Default)]
pub(crate) struct Samples(Vec<f64>);

/// The summary of a set of measurements.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Spread {
    /// How many there were.
    pub(crate) n: usize,
    pub(crate) min: f64,
    pub(crate) p50: f64,
    pub(crate) p90: f64,
    pub(crate) p99: f64,
}

impl Samples {
    pub(crate) fn add(&mut self, value: f64) {
        self.0.push(value);
    }

    pub(crate) fn add_micros(&mut self, took: Duration) {
        self.add(took.as_secs_f64() * 1e6);
    }

    pub(crate) fn add_millis(&mut self, took: Duration) {
        self.add(took.as_secs_f64() * 1e3);
    }

    pub(crate) fn append(&mut self, other: Self) {
        self.0.extend(other.0);
    }

    /// The sums of the measurements of both, one by one.
    pub(crate) fn plus(&self, other: &Self) -> Self {
        Self(self.0.iter().zip(&other.0).map(|(one, another)| one + another).collect())
    }

    /// A single measurement.
    pub(crate) fn one(value: f64) -> Self {
        Self(vec![value])
    }

    /// By how much the median and the 99th percentile are over those of another set.
    pub(crate) fn over(&self, other: &Self) -> (f64, f64) {
        let none = || (f64::NAN, f64::NAN);
        let both = self.spread().zip(other.spread());
        both.map_or_else(none, |(one, other)| (one.p50 - other.p50, one.p99 - other.p99))
    }

    /// `None` without a measurement.
    pub(crate) fn spread(&self) -> Option<Spread> {
        let mut sorted = self.0.clone();
        sorted.sort_by(f64::total_cmp);
        // The least value that this many of a hundred do not pass.
        let rank = |percent: usize| sorted.get((sorted.len() * percent).div_ceil(100).max(1) - 1).copied();
        Some(Spread {
            n: sorted.len(),
            min: *sorted.first()?,
            p50: rank(50)?,
            p90: rank(90)?,
            p99: rank(99)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_percentile_is_the_least_value_that_so_many_do_not_pass() {
        let mut samples = Samples::default();
        assert_eq!(samples.spread(), None);
        for value in (1..=200).rev() {
            samples.add(f64::from(value));
        }
        let spread = samples.spread().unwrap();
        assert_eq!(
            (spread.n, spread.min, spread.p50, spread.p90, spread.p99),
            (200, 1.0, 100.0, 180.0, 198.0)
        );
    }
}
