//! Similarity of whole texts without a model: words, pairs of words and groups of three letters, each hashed to some
//! places of a vector and a sign for each. It unites similar spellings. A vector's signs are its code: two codes are
//! compared by counting the bits in which they differ.
//!
//! One place for each would be enough for vectors, and not for codes: most places of a short text's vector would be 0,
//! and the code nearest to any other would be that of the shortest text.

use crate::lexicon::{Lexicon, words};
use crate::shape::{OF_COMMON, OF_LETTERS, OF_PAIR, OF_WORD, PLACES, hash, letters, places};
use crate::spellings::Spelling;

/// Words of 64 bits that hold one bit of each place.
const PARTS: usize = PLACES / 64;
/// Words of a text that count; later ones would drown in the earlier.
const MOST_WORDS: usize = 512;

/// The vector of a text; of length 1, or 0 if there is no word in it.
#[derive(Clone, Debug, PartialEq)]
pub struct Vector {
    places: Box<[f32]>,
}

/// The signs of a vector.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Code([u64; PARTS]);

/// The sum of a text's features, in twentieths: whole numbers, so that it is the same in any order of addition.
struct Sums(Box<[i32; PLACES]>);

impl Sums {
    /// The vector of the first words of a text.
    fn of(words: &[&Spelling]) -> Self {
        let mut sums = Self(Box::new([0; PLACES]));
        let mut before = "";
        for word in words.iter().take(MOST_WORDS) {
            sums.0.iter_mut().zip(word.shape.0.iter()).for_each(|(sum, part)| *sum += i32::from(*part));
            if word.common {
                continue;
            }
            if !before.is_empty() {
                sums.add_pair(before, &word.term);
            }
            before = &word.term;
        }
        sums
    }

    fn add_pair(&mut self, before: &str, term: &str) {
        places(hash(&[before, " ", term]), |at, plus| {
            if let Some(place) = self.0.get_mut(at) {
                *place += i32::from(if plus { OF_PAIR } else { -OF_PAIR });
            }
        });
    }
}

impl Vector {
    /// The vector of a text.
    #[must_use]
    pub fn of(text: &str, lexicon: &Lexicon) -> Self {
        let words = words(text);
        let mut known = lexicon.known();
        let sums = Sums::of(&known.of(words.get(..MOST_WORDS).unwrap_or(&words), lexicon));
        Self { places: sums.0.iter().map(|sum| *sum as f32).collect() }.scaled()
    }

    /// The vector of a question: each word counts by the `worth` of its term, and its kin by their nearness besides.
    pub(crate) fn of_question(question: &str, lexicon: &Lexicon, worth: impl Fn(&str) -> f32) -> Self {
        let mut vector = Self { places: vec![0.0; PLACES].into() };
        let mut before = String::new();
        for word in words(question).iter().take(MOST_WORDS) {
            let term = lexicon.term(&word.plain);
            // In twentieths as well, though a vector's length says nothing in the end.
            let worth = worth(&term);
            if lexicon.is_common(&word.plain) {
                vector.add(hash(&[&term]), worth * f32::from(OF_COMMON));
                continue;
            }
            vector.add(hash(&[&term]), worth * f32::from(OF_WORD));
            if !before.is_empty() {
                vector.add(hash(&[&before, " ", &term]), worth * f32::from(OF_PAIR));
            }
            letters(&word.plain, |three| vector.add(three, worth * f32::from(OF_LETTERS)));
            for (kin, near) in lexicon.kin(&term) {
                vector.add(hash(&[kin]), worth * near * f32::from(OF_WORD));
            }
            before = term;
        }
        vector.scaled()
    }

    /// Adds a feature at the places that its hash says, with the signs that its hash says.
    fn add(&mut self, hash: u64, worth: f32) {
        places(hash, |at, plus| {
            if let Some(place) = self.places.get_mut(at) {
                *place += if plus { worth } else { -worth };
            }
        });
    }

    fn scaled(mut self) -> Self {
        let length = self.likeness(&self).sqrt();
        if length > 0.0 {
            self.places.iter_mut().for_each(|place| *place /= length);
        }
        self
    }

    /// From -1 to 1: the cosine of the angle between two vectors.
    #[must_use]
    pub fn likeness(&self, other: &Self) -> f32 {
        self.places.iter().zip(&other.places).map(|(one, other)| one * other).sum()
    }

    /// Its signs, as a question's. Where it is 0 the sign is that of the second bit of the place's number.
    #[must_use]
    pub(crate) fn asked(&self) -> Code {
        let mut code = Code::default();
        let sign = |(place, value): (usize, &f32)| *value > 0.0 || (*value == 0.0 && place & 2 == 2);
        for (part, places) in code.0.iter_mut().zip(self.places.chunks_exact(64)) {
            let signs = places.iter().enumerate().rev();
            *part = signs.fold(0, |bits, place| (bits << 1) | u64::from(sign(place)));
        }
        code
    }
}

impl Code {
    /// The signs of the vector of a row's words. Where that is 0 the sign is that of the place's number being odd, which
    /// agrees with half of those of [`Vector::asked`]: what a short text says nothing of makes it neither like a question
    /// nor unlike it.
    pub(crate) fn of(words: &[&Spelling]) -> Self {
        let sums = Sums::of(words);
        let mut code = Self::default();
        for (part, sums) in code.0.iter_mut().zip(sums.0.chunks_exact(64)) {
            let signs = sums.iter().enumerate().rev();
            *part = signs
                .fold(0, |bits, (place, sum)| (bits << 1) | u64::from(*sum > -i32::from(place & 1 == 1)));
        }
        code
    }

    /// Bits in which two codes differ.
    #[must_use]
    pub fn apart(&self, other: &Self) -> u32 {
        self.0.iter().zip(&other.0).map(|(one, other)| (one ^ other).count_ones()).sum()
    }

    /// From 0 to 1: how alike two codes are; two of unlike texts differ in half of their bits.
    #[must_use]
    pub fn likeness(&self, other: &Self) -> f32 {
        let half = PLACES as f32 / 2.0;
        (1.0 - self.apart(other) as f32 / half).max(0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn likeness(one: &str, other: &str) -> f32 {
        let lexicon = Lexicon::new();
        Vector::of(one, &lexicon).likeness(&Vector::of(other, &lexicon))
    }

    #[test]
    fn what_is_spelt_nearly_alike_is_more_alike_than_what_is_not() {
        let right = "photosynthesis in green plants";
        assert!(likeness(right, "photosyntesis of plants") > 0.4);
        assert!(likeness(right, "the ferry leaves at noon") < 0.2);
        assert!((likeness(right, right) - 1.0).abs() < 1e-5);
        assert!(likeness("", right).abs() < 1e-5);
    }

    proptest! {
        #[test]
        fn a_code_has_the_signs_of_its_vector(text in "[a-z ]{0,60}") {
            let lexicon = Lexicon::new();
            let (vector, words) = (Vector::of(&text, &lexicon), words(&text));
            let code = Code::of(&lexicon.known().of(&words, &lexicon));
            let nothing = vector.places.iter().filter(|place| **place == 0.0).count();
            prop_assert!(code.apart(&vector.asked()) as usize <= nothing);
            prop_assert!((-1.001..1.001).contains(&vector.likeness(&vector)));
        }
    }
}
