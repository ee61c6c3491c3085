//! Which rows hold a term and how often: four bytes each, in the order of the rows. A row's place fits 28 bits.

use std::collections::HashMap;

/// Bits that say how often.
const OFTEN_BITS: u32 = 4;
/// Places that can be told apart.
pub(crate) const MOST_ROWS: usize = 1 << (u32::BITS - OFTEN_BITS);

/// What a term weighs beside its rows, in four bytes.
const OF_TERM: usize = 32;

/// Rows by term.
#[derive(Debug, Default)]
pub(crate) struct Postings {
    of: HashMap<Box<str>, Vec<u32>>,
    held: usize,
}

impl Postings {
    /// Adds a row that is behind every row so far.
    pub(crate) fn add(&mut self, term: &str, row: u32, often: usize) {
        let packed = (row << OFTEN_BITS) | u32::try_from(often.min(15)).unwrap_or(15);
        match self.of.get_mut(term) {
            Some(rows) => {
                if rows.len() == rows.capacity() {
                    rows.reserve_exact(rows.len() / 4 + 1);
                }
                rows.push(packed);
            }
            None => drop(self.of.insert(term.into(), vec![packed])),
        }
        self.held += 1;
    }

    /// Takes a row out; a term that no row holds is forgotten.
    pub(crate) fn remove(&mut self, term: &str, row: u32) {
        let Some(rows) = self.of.get_mut(term) else { return };
        if let Ok(at) = rows.binary_search_by_key(&row, |packed| packed >> OFTEN_BITS) {
            rows.remove(at);
            self.held -= 1;
        }
        if rows.is_empty() {
            self.of.remove(term);
        }
    }

    /// How many rows hold a term.
    pub(crate) fn rows(&self, term: &str) -> usize {
        self.of.get(term).map_or(0, Vec::len)
    }

    /// Every row that holds a term, and how often.
    pub(crate) fn of(&self, term: &str) -> impl Iterator<Item = (usize, f32)> {
        let packed = self.of.get(term).map_or(&[][..], Vec::as_slice);
        let often = |packed: u32| f32::from(u8::try_from(packed & 15).unwrap_or(15));
        packed.iter().map(move |packed| ((packed >> OFTEN_BITS) as usize, often(*packed)))
    }

    /// Whether a row holds a term.
    pub(crate) fn has(&self, term: &str, row: u32) -> bool {
        self.of
            .get(term)
            .is_some_and(|rows| rows.binary_search_by_key(&row, |packed| packed >> OFTEN_BITS).is_ok())
    }

    /// In four bytes: one for each pair of a term and a row, and what a term takes in the table and its own memory.
    pub(crate) fn weight(&self) -> usize {
        self.held + self.of.len() * OF_TERM
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_added_is_there_until_it_is_removed() {
        let mut postings = Postings::default();
        for (row, often) in [(0, 1), (3, 99), (7, 2)] {
            postings.add("cat", row, often);
        }
        assert_eq!(postings.of("cat").collect::<Vec<_>>(), [(0, 1.0), (3, 15.0), (7, 2.0)]);
        postings.remove("cat", 3);
        postings.remove("cat", 4);
        assert_eq!((postings.rows("cat"), postings.weight()), (2, 2 + OF_TERM));
        postings.remove("cat", 0);
        postings.remove("cat", 7);
        assert_eq!((postings.of.len(), postings.weight()), (0, 0));
    }
}
