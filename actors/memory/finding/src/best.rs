//! Selects the best of many scored rows in one pass. Pure.

use crate::scored::Scored;
use std::cmp::Ordering;

/// The best rows so far. Few are held at any moment: a common word finds every row.
pub(crate) struct Best {
    most: usize,
    held: Vec<Scored>,
    /// The score of the last of the best at the last count: rows with a lower one are not among them.
    floor: f32,
}

impl Best {
    /// A list of the best, of this length at most.
    pub(crate) const fn of(most: usize) -> Self {
        Self { most, held: Vec::new(), floor: 0.0 }
    }

    /// Returns whether a row of this score could be among them.
    pub(crate) fn may_hold(&self, score: f32) -> bool {
        score >= self.floor
    }

    pub(crate) fn extend(&mut self, scored: Option<Scored>) {
        self.held.extend(scored);
        if self.held.len() >= 2 * self.most + 256 {
            self.held.select_nth_unstable_by(self.most, order);
            self.held.truncate(self.most);
            self.floor = self.held.iter().map(|scored| scored.score).fold(f32::MAX, f32::min);
        }
    }

    /// Best first; of equals the newest.
    pub(crate) fn sorted(mut self) -> Vec<Scored> {
        self.held.sort_unstable_by(order);
        self.held.truncate(self.most);
        self.held
    }
}

fn order(one: &Scored, other: &Scored) -> Ordering {
    other.score.total_cmp(&one.score).then(other.n.cmp(&one.n))
}
