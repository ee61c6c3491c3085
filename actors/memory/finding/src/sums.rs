//! Scores of rows while a question is answered. Pure.

/// One number a row, most of them 0.
pub(crate) struct Sums {
    of: Vec<f32>,
    /// The rows whose number is not 0, each once.
    pub(crate) touched: Vec<usize>,
}

impl Sums {
    /// Sums for this many rows.
    pub(crate) fn new(rows: usize) -> Self {
        Self { of: vec![0.0; rows], touched: Vec::new() }
    }

    /// The number of a row.
    pub(crate) fn get(&self, row: usize) -> f32 {
        self.of.get(row).copied().unwrap_or_default()
    }

    /// Makes a row's number another one of it and of `by`, which is over 0.
    pub(crate) fn join(&mut self, row: usize, by: f32, joined: impl FnOnce(f32, f32) -> f32) {
        if let Some(sum) = self.of.get_mut(row) {
            if *sum == 0.0 {
                self.touched.push(row);
            }
            *sum = joined(*sum, by);
        }
    }

    /// Adds to a row's number.
    pub(crate) fn add(&mut self, row: usize, by: f32) {
        self.join(row, by, |sum, by| sum + by);
    }

    /// Returns the sums and starts anew.
    pub(crate) fn drain(&mut self) -> impl Iterator<Item = (usize, f32)> {
        let of = &mut self.of;
        self.touched.drain(..).map(|row| (row, of.get_mut(row).map(std::mem::take).unwrap_or_default()))
    }
}
