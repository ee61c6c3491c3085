//! The other rows of the sessions in which something was found. It reads the index and ranks nothing: rows nearer to a
//! found one come first.

use crate::index::Index;
use crate::rank::{Limits, allows};
use crate::row::StoredRow;
use std::collections::HashSet;

impl Index {
    /// Further rows of the sessions of these rows, up to a bound: those of the first row's session before those of the
    /// next, and nearer ones before farther ones.
    #[must_use]
    pub fn around(&self, found: &[i64], limits: &Limits<'_>) -> Vec<i64> {
        let known: HashSet<i64> = found.iter().copied().collect();
        let (mut around, mut sessions) = (Vec::new(), HashSet::new());
        for at in found.iter().filter_map(|n| self.place(*n)) {
            let session = self.rows.get(at).and_then(StoredRow::session);
            if session.is_none_or(|session| !sessions.insert(session)) {
                continue;
            }
            let (mut ahead, mut back) = (Some(at), Some(at));
            while around.len() < limits.most && (ahead.is_some() || back.is_some()) {
                (ahead, back) = (self.next(ahead, StoredRow::after), self.next(back, StoredRow::before));
                let both = [ahead, back].into_iter().flatten().filter_map(|at| self.rows.get(at));
                around.extend(
                    both.filter(|row| allows(row, limits) && !known.contains(&row.n)).map(|row| row.n),
                );
            }
        }
        around.truncate(limits.most);
        around
    }

    fn next(&self, at: Option<usize>, to: fn(&StoredRow) -> Option<u32>) -> Option<usize> {
        self.rows.get(at?).and_then(to).map(|at| at as usize)
    }
}
