//! The best of many scored rows, while all are gone through. Pure.

use crate::rank::Scored;
use std::cmp::Ordering;

/// The best rows so far. Few are held at any moment: a common word finds every row.
pub(crate) struct Best {
    most: usize,
    held: Vec<Scored>,
    /// The score of the last of the best when they were last counted: what is below it is not among them.
    floor: f32,
}

impl Best {
    /// So many at most.
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
