//! The first pass of a search by meaning: over the codes of all rows, to the few whose vectors the caller then
//! compares.

use crate::index::Index;
use crate::meaning::Signs;
use crate::rank::{Limits, allows};
use crate::vector::{Code, Vector};

/// The nearest rows seen so far. A row behind as many nearer ones cannot be among them: most rows are left out by
/// counting alone.
struct Nearest {
    /// How many rows are how far apart, up to the bound.
    counts: Vec<usize>,
    bound: usize,
    within: usize,
    most: usize,
    held: Vec<(u32, i64)>,
}

impl Nearest {
    /// An index of codes with this number of bits.
    fn new(bits: usize, most: usize) -> Self {
        Self { counts: vec![0; bits + 1], bound: bits, within: 0, most, held: Vec::new() }
    }

    const fn may_hold(&self, apart: u32) -> bool {
        apart as usize <= self.bound
    }

    /// Takes a row in, and draws the bound nearer while enough rows are within a nearer one.
    fn take(&mut self, apart: u32, n: i64) {
        self.held.push((apart, -n));
        if let Some(count) = self.counts.get_mut(apart as usize) {
            *count += 1;
            self.within += 1;
        }
        while let Some(outmost) = self.counts.get(self.bound).copied()
            && self.bound > 0
            && self.within - outmost >= self.most
        {
            self.within -= outmost;
            self.bound -= 1;
        }
    }

    /// Nearest first; of equals the newest.
    fn sorted(mut self) -> Vec<i64> {
        if self.held.len() > self.most {
            self.held.select_nth_unstable(self.most);
            self.held.truncate(self.most);
        }
        self.held.sort_unstable();
        self.held.into_iter().map(|(_, n)| -n).collect()
    }
}

impl Index {
    /// The rows whose codes are nearest to a vector's, nearest first; of equals the newest. The first pass of a search
    /// by meaning: the caller compares the vectors of these.
    #[must_use]
    pub fn by_code(&self, vector: &Vector, limits: &Limits<'_>) -> Vec<i64> {
        let code = vector.asked();
        let mut nearest = Nearest::new(8 * size_of::<Code>(), limits.most);
        for (row, other) in self.rows.iter().zip(&self.codes) {
            let apart = code.apart(other);
            if nearest.may_hold(apart) && allows(row, limits) {
                nearest.take(apart, row.n);
            }
        }
        nearest.sorted()
    }

    /// The same by the embedder's vectors of the question and of the rows; rows without one are left out.
    #[must_use]
    pub fn by_meaning(&self, signs: &Signs, limits: &Limits<'_>) -> Vec<i64> {
        let mut nearest = Nearest::new(signs.bits(), limits.most);
        for (at, apart) in self.meant.apart(signs) {
            if nearest.may_hold(apart)
                && let Some(row) = self.rows.get(at).filter(|row| allows(row, limits))
            {
                nearest.take(apart, row.n);
            }
        }
        nearest.sorted()
    }
}
