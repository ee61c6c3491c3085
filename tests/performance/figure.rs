//! A figure: what was measured, its floor, what is asked of it, and whether it holds.

use crate::spread::{Samples, Spread};

/// The bound of a figure.
#[derive(Clone, Copy, Debug)]
enum Bound {
    /// Its median is at most this.
    AtMost(f64),
    /// Its median is at least this.
    AtLeast(f64),
    /// Its median is at most so many times the floor's.
    TimesFloor(f64),
    /// Its median is at least so many times the floor's.
    AtLeastTimesFloor(f64),
}

/// One figure.
#[derive(Debug)]
pub(crate) struct Figure {
    name: String,
    unit: &'static str,
    measured: Option<Spread>,
    floor: Option<(String, Option<Spread>)>,
    bound: Option<Bound>,
}

impl Figure {
    pub(crate) fn new(name: impl Into<String>, unit: &'static str, measured: &Samples) -> Self {
        Self { name: name.into(), unit, measured: measured.spread(), floor: None, bound: None }
    }

    /// The least that the kernel asks for the same thing.
    pub(crate) fn floor(mut self, name: impl Into<String>, measured: &Samples) -> Self {
        self.floor = Some((name.into(), measured.spread()));
        self
    }

    pub(crate) const fn at_most(mut self, value: f64) -> Self {
        self.bound = Some(Bound::AtMost(value));
        self
    }

    pub(crate) const fn at_least(mut self, value: f64) -> Self {
        self.bound = Some(Bound::AtLeast(value));
        self
    }

    pub(crate) const fn at_most_times_floor(mut self, times: f64) -> Self {
        self.bound = Some(Bound::TimesFloor(times));
        self
    }

    pub(crate) const fn at_least_times_floor(mut self, times: f64) -> Self {
        self.bound = Some(Bound::AtLeastTimesFloor(times));
        self
    }

    /// Median over the floor's median.
    fn ratio(&self) -> Option<f64> {
        let floor = self.floor.as_ref().and_then(|(_, spread)| *spread)?;
        Some(self.measured?.p50 / floor.p50)
    }

    /// Returns whether it keeps its bound; `None` where nothing is asked of it.
    pub(crate) fn holds(&self) -> Option<bool> {
        let held = |bound| match bound {
            Bound::AtMost(value) => self.measured.is_some_and(|spread| spread.p50 <= value),
            Bound::AtLeast(value) => self.measured.is_some_and(|spread| spread.p50 >= value),
            Bound::TimesFloor(times) => self.ratio().is_some_and(|ratio| ratio <= times),
            Bound::AtLeastTimesFloor(times) => self.ratio().is_some_and(|ratio| ratio >= times),
        };
        self.bound.map(held)
    }

    /// Its rows of the table: the figure's, and its floor's.
    pub(crate) fn rows(&self) -> Vec<[String; 9]> {
        let asked = match self.bound {
            Some(Bound::AtMost(value)) => format!("≤ {}", number(value)),
            Some(Bound::AtLeast(value)) => format!("≥ {}", number(value)),
            Some(Bound::TimesFloor(times)) => format!("≤ {times} × floor"),
            Some(Bound::AtLeastTimesFloor(times)) => format!("≥ {times} × floor"),
            None => String::new(),
        };
        let held = match self.holds() {
            Some(true) => "yes",
            Some(false) => "NO",
            None => "",
        };
        let ratio = self.ratio().map(|ratio| format!("{ratio:.2}")).unwrap_or_default();
        let mut rows = vec![row(&self.name, self.unit, self.measured, [ratio, asked, held.to_owned()])];
        if let Some((name, spread)) = &self.floor {
            rows.push(row(&format!("– floor: {name}"), self.unit, *spread, Default::default()));
        }
        rows
    }
}

/// The heads of the columns of [`Figure::rows`].
pub(crate) const HEADS: [&str; 9] =
    ["figure", "unit", "min", "p50", "p90", "p99", "n", "× floor", "asked / kept"];

fn row(name: &str, unit: &str, spread: Option<Spread>, [ratio, asked, held]: [String; 3]) -> [String; 9] {
    let value =
        |of: fn(&Spread) -> f64| spread.as_ref().map_or_else(|| "–".to_owned(), |spread| number(of(spread)));
    let n = spread.map_or(0, |spread| spread.n).to_string();
    let verdict = if asked.is_empty() { asked } else { format!("{asked}: {held}") };
    [
        name.to_owned(),
        unit.to_owned(),
        value(|s| s.min),
        value(|s| s.p50),
        value(|s| s.p90),
        value(|s| s.p99),
        n,
        ratio,
        verdict,
    ]
}

/// Three digits that matter.
fn number(value: f64) -> String {
    let places = if value.abs() >= 100.0 {
        0
    } else if value.abs() >= 10.0 {
        1
    } else {
        2
    };
    format!("{value:.places$}")
}
