//! The codes of an embedder's vectors: one bit a number, for every row that has such a vector, in one array. They are a
//! first pass over all rows; the caller, which has the vectors, compares those of the nearest. Pure.

/// The signs of a vector.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signs(Box<[u64]>);

impl Signs {
    /// The signs of these numbers.
    #[must_use]
    pub fn of(values: &[f32]) -> Self {
        let bits = |part: &[f32]| {
            part.iter().rev().fold(0, |bits, value| (bits << 1) | u64::from(value.is_sign_positive()))
        };
        Self(values.chunks(64).map(bits).collect())
    }

    /// How many there may be.
    pub(crate) const fn bits(&self) -> usize {
        self.0.len() * 64
    }

    /// As they are kept.
    #[must_use]
    pub fn bytes(&self) -> Vec<u8> {
        self.0.iter().flat_map(|part| part.to_le_bytes()).collect()
    }

    /// As [`Self::bytes`] made them.
    #[must_use]
    pub fn from_bytes(bytes: &[u8]) -> Self {
        Self(bytes.as_chunks().0.iter().map(|part| u64::from_le_bytes(*part)).collect())
    }
}

/// The codes of an index's rows, in the order of its rows; all of one length, that of the first.
#[derive(Debug, Default)]
pub(crate) struct Meant {
    parts: usize,
    codes: Vec<u64>,
    /// True for each row that has one.
    has: Vec<bool>,
}

impl Meant {
    /// Keeps that of a row; one of another length is none.
    pub(crate) fn put(&mut self, row: usize, signs: &Signs) {
        if self.parts == 0 {
            self.parts = signs.0.len();
        }
        if self.parts == 0 || signs.0.len() != self.parts {
            return;
        }
        if self.has.len() <= row {
            let more = row + 1 - self.has.len();
            if self.has.capacity() < row + 1 {
                // By an eighth, as the rows themselves.
                self.has.reserve_exact(more + row / 8);
                self.codes.reserve_exact((more + row / 8) * self.parts);
            }
            self.has.resize(row + 1, false);
            self.codes.resize((row + 1) * self.parts, 0);
        }
        let code = self.codes.chunks_exact_mut(self.parts).nth(row);
        if let Some((code, has)) = code.zip(self.has.get_mut(row)) {
            code.copy_from_slice(&signs.0);
            *has = true;
        }
    }

    /// Each row that has a code, and in how many bits it differs from this one.
    pub(crate) fn apart<'a>(&'a self, signs: &'a Signs) -> impl Iterator<Item = (usize, u32)> {
        // No row has signs of another length.
        let has = if signs.0.len() == self.parts { self.has.as_slice() } else { &[] };
        let apart =
            |code: &[u64]| code.iter().zip(&signs.0).map(|(one, other)| (one ^ other).count_ones()).sum();
        let codes = self.codes.chunks_exact(self.parts.max(1)).zip(has).enumerate();
        codes.filter(|(_, (_, has))| **has).map(move |(row, (code, _))| (row, apart(code)))
    }

    /// Lets go of the codes of rows that `stays` does not say stay.
    pub(crate) fn retain(&mut self, stays: impl Fn(usize) -> bool) {
        let parts = self.parts.max(1);
        let mut at = 0..;
        self.codes.retain(|_| at.next().is_some_and(|at| stays(at / parts)));
        let mut at = 0..;
        self.has.retain(|_| at.next().is_some_and(&stays));
        self.codes.shrink_to_fit();
        self.has.shrink_to_fit();
    }

    /// Bytes that it takes.
    pub(crate) fn weight(&self) -> usize {
        self.has.len() + self.codes.len() * size_of::<u64>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signs_are_kept_as_they_were() {
        let values: Vec<f32> = (0..384_i16).map(|n| f32::from(n * 37 % 101 - 50)).collect();
        let signs = Signs::of(&values);
        assert_eq!(Signs::from_bytes(&signs.bytes()), signs);
        assert_eq!(signs.bytes().len(), 48);
    }

    #[test]
    fn rows_without_a_code_and_codes_of_another_length_are_passed_over() {
        let mut meant = Meant::default();
        meant.put(2, &Signs::of(&[1.0, -1.0]));
        meant.put(0, &Signs::of(&[1.0, 1.0]));
        meant.put(1, &Signs::of(&[1.0; 65]));
        let asked = Signs::of(&[1.0, 1.0]);
        assert_eq!(meant.apart(&asked).collect::<Vec<_>>(), [(0, 0), (2, 1)]);
        assert_eq!(meant.apart(&Signs::of(&[1.0; 65])).count(), 0);
        meant.retain(|row| row > 0);
        assert_eq!(meant.apart(&asked).collect::<Vec<_>>(), [(1, 1)]);
    }
}
