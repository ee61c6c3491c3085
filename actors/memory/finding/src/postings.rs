//! The rows that hold a term and the number of times, in little more than a byte each: the distance to the row before,
//! seven bits a byte, and the number only where it is above one. Rows come in order. A row that left stays until the
//! rows are numbered anew; readers pass over it.

use crate::like::Sketch;
use std::collections::HashMap;

/// Rows that can be told apart: a distance and one bit must fit 32 bits.
pub(crate) const MOST_ROWS: usize = 1 << 28;
/// Stands for a row that left, where rows get new numbers.
pub(crate) const LEFT: u32 = u32::MAX;
/// Bytes that a term takes beside its rows: its name, its place in the table, its list.
const OF_TERM: usize = 112;
/// The highest number of times that is recorded exactly.
const OFTEN: u8 = 15;

/// Rows by term.
#[derive(Debug, Default)]
pub(crate) struct Postings {
    /// The number and the sketch of each term.
    numbers: HashMap<Box<str>, (u32, Sketch)>,
    lists: Vec<Packed>,
    /// Numbers of terms that no row holds any more.
    free: Vec<u32>,
    bytes: usize,
}

/// The rows of one term.
#[derive(Debug, Default)]
struct Packed {
    bytes: Vec<u8>,
    last: u32,
    /// How many of them have not left.
    held: u32,
}

impl Postings {
    /// Adds a row that is behind every row so far; gives the term's number.
    pub(crate) fn add(&mut self, term: &str, row: u32, often: usize) -> u32 {
        let number = self.number_of(term).unwrap_or_else(|| self.number(term));
        if let Some(list) = self.lists.get_mut(number as usize) {
            let before = list.bytes.len();
            list.push(row, u8::try_from(often).unwrap_or(OFTEN).min(OFTEN));
            list.held += 1;
            self.bytes += list.bytes.len() - before;
        }
        number
    }

    fn number(&mut self, term: &str) -> u32 {
        let number = self.free.pop().unwrap_or_else(|| {
            self.lists.push(Packed::default());
            u32::try_from(self.lists.len() - 1).unwrap_or(u32::MAX)
        });
        self.numbers.insert(term.into(), (number, Sketch::of(term)));
        number
    }

    /// Tells of a row of a term that it left; a term that no row holds is forgotten. Gives the term's number.
    pub(crate) fn left(&mut self, term: &str) -> Option<u32> {
        let number = self.number_of(term)?;
        let list = self.lists.get_mut(number as usize)?;
        list.held = list.held.saturating_sub(1);
        if list.held == 0 {
            self.bytes -= list.bytes.len();
            *list = Packed::default();
            self.numbers.remove(term);
            self.free.push(number);
        }
        Some(number)
    }

    /// The number of a term that a row holds.
    pub(crate) fn number_of(&self, term: &str) -> Option<u32> {
        self.numbers.get(term).map(|(number, _)| *number)
    }

    /// How many rows hold a term.
    pub(crate) fn rows(&self, term: &str) -> usize {
        self.list(term).map_or(0, |list| list.held as usize)
    }

    /// Every term that a row holds with its sketch, in no order.
    pub(crate) fn terms(&self) -> impl Iterator<Item = (&str, Sketch)> {
        self.numbers.iter().map(|(term, (_, sketch))| (term.as_ref(), *sketch))
    }

    /// Every row that holds a term, and how often; those that left are among them.
    pub(crate) fn of(&self, term: &str) -> Rows<'_> {
        self.list(term).map_or(Rows { bytes: [].iter(), row: 0 }, Packed::rows)
    }

    fn list(&self, term: &str) -> Option<&Packed> {
        self.lists.get(self.number_of(term)? as usize)
    }

    /// Gives every row the number that `numbers` has in its place, and drops those that it says have left.
    pub(crate) fn renumber(&mut self, numbers: &[u32]) {
        self.bytes = 0;
        for list in &mut self.lists {
            let mut anew = Packed { held: list.held, ..Packed::default() };
            for (row, often) in list.rows() {
                if let Some(row) = numbers.get(row).filter(|row| **row != LEFT) {
                    anew.push(*row, often);
                }
            }
            anew.bytes.shrink_to_fit();
            self.bytes += anew.bytes.len();
            *list = anew;
        }
    }

    /// Bytes that it takes, near enough.
    pub(crate) fn weight(&self) -> usize {
        self.bytes + self.numbers.len() * OF_TERM
    }
}

impl Packed {
    fn push(&mut self, row: u32, often: u8) {
        if self.bytes.capacity() - self.bytes.len() < 6 {
            // By a quarter, not to double: most of the room reserved ahead would never be used.
            self.bytes.reserve_exact(self.bytes.len() / 4 + 6);
        }
        let mut rest = (row.wrapping_sub(self.last) << 1) | u32::from(often > 1);
        self.last = row;
        while rest > 0x7f {
            self.bytes.push(low(rest) | 0x80);
            rest >>= 7;
        }
        self.bytes.push(low(rest));
        if often > 1 {
            self.bytes.push(often);
        }
    }

    fn rows(&self) -> Rows<'_> {
        Rows { bytes: self.bytes.iter(), row: 0 }
    }
}

/// The seven lowest bits.
const fn low(value: u32) -> u8 {
    value.to_le_bytes()[0] & 0x7f
}

/// Rows of a term, and how often each holds it.
#[derive(Debug)]
pub(crate) struct Rows<'a> {
    bytes: std::slice::Iter<'a, u8>,
    row: u32,
}

impl Iterator for Rows<'_> {
    type Item = (usize, u8);

    #[inline]
    fn next(&mut self) -> Option<(usize, u8)> {
        let mut byte = *self.bytes.next()?;
        let mut value = u32::from(byte & 0x7f);
        let mut shift = 7;
        while byte & 0x80 != 0 {
            byte = *self.bytes.next()?;
            value |= u32::from(byte & 0x7f) << shift;
            shift += 7;
        }
        self.row += value >> 1;
        let often = if value & 1 == 0 { 1 } else { *self.bytes.next()? };
        Some((self.row as usize, often))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_term_is_known_until_the_last_of_its_rows_has_left() {
        let mut postings = Postings::default();
        let number = postings.add("cat", 0, 1);
        postings.add("cat", 3, 99);
        assert_eq!(postings.of("cat").collect::<Vec<_>>(), [(0, 1), (3, 15)]);
        assert_eq!((postings.left("cat"), postings.left("dog")), (Some(number), None));
        assert_eq!(postings.rows("cat"), 1);
        postings.left("cat");
        assert_eq!((postings.number_of("cat"), postings.weight()), (None, 0));
        assert_eq!(postings.add("dog", 9, 2), number);
        assert_eq!(postings.of("dog").collect::<Vec<_>>(), [(9, 2)]);
    }

    proptest! {
        #[test]
        fn rows_are_read_as_they_were_added_also_under_new_numbers(
            steps in prop::collection::vec((1..100_000_u32, 1..40_usize, any::<bool>()), 1..200),
        ) {
            let (mut postings, mut row, mut numbers) = (Postings::default(), 0, Vec::new());
            let (mut added, mut kept) = (Vec::new(), Vec::new());
            for (step, often, left) in steps {
                row += step;
                postings.add("cat", row, often);
                let often = u8::try_from(often.min(15)).unwrap();
                added.push((row as usize, often));
                numbers.resize(row as usize, LEFT);
                numbers.push(if left { LEFT } else { u32::try_from(kept.len()).unwrap() });
                if !left {
                    kept.push((kept.len(), often));
                }
            }
            prop_assert_eq!(postings.of("cat").collect::<Vec<_>>(), added);
            postings.renumber(&numbers);
            prop_assert_eq!(postings.of("cat").collect::<Vec<_>>(), kept);
        }
    }
}
