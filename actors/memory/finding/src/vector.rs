//! Likeness of whole texts without a model: words, pairs of words and groups of three letters, each hashed to some places
//! of a vector and a sign for each. It brings together what is spelt nearly alike. A vector's signs are its code: two
//! codes are compared by counting the bits in which they differ.
//!
//! One place for each would be enough for vectors, and not for codes: most places of a short text's vector would be 0,
//! and the code nearest to any other would be that of the shortest text.

use crate::words::{Lexicon, Word, words};

/// Places of a vector.
const PLACES: usize = 384;
/// Words of 64 bits that hold one bit of each place.
const PARTS: usize = PLACES / 64;
/// Words of a text that count; what is behind them would drown in what is before.
const MOST_WORDS: usize = 512;

/// Places that a feature is spread over; a multiple of four.
const SPREAD: usize = 16;

/// What a feature is worth beside a word.
const OF_PAIR: f32 = 0.5;
const OF_LETTERS: f32 = 0.25;
const OF_COMMON: f32 = 0.1;

/// The vector of a text; of length 1, or 0 if there is no word in it.
#[derive(Clone, Debug, PartialEq)]
pub struct Vector {
    places: Box<[f32]>,
}

/// The signs of a vector.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Code([u64; PARTS]);

impl Vector {
    /// The vector of a text.
    #[must_use]
    pub fn of(text: &str, lexicon: &Lexicon) -> Self {
        let words = words(text);
        Self::of_words(&words, &lexicon.terms(&words), lexicon, |_| 1.0, 0.0)
    }

    /// The vector of words and their terms, each worth what `worth` says, and its kin `of_kin` of that as much as they
    /// are near.
    pub(crate) fn of_words(
        words: &[Word],
        terms: &[String],
        lexicon: &Lexicon,
        worth: impl Fn(&str) -> f32,
        of_kin: f32,
    ) -> Self {
        let mut vector = Self { places: vec![0.0; PLACES].into() };
        let mut before = "";
        for (word, term) in words.iter().zip(terms).take(MOST_WORDS) {
            let worth = worth(term);
            if lexicon.is_common(&word.plain) {
                vector.add(hash(&[term]), worth * OF_COMMON);
                continue;
            }
            vector.add(hash(&[term]), worth);
            if !before.is_empty() {
                vector.add(hash(&[before, " ", term]), worth * OF_PAIR);
            }
            vector.add_letters(&word.plain, worth * OF_LETTERS);
            if of_kin > 0.0 {
                for (kin, near) in lexicon.kin(term) {
                    vector.add(hash(&[kin]), worth * near * of_kin);
                }
            }
            before = term;
        }
        vector.scaled()
    }

    /// Adds each three letters of a word that follow each other, its edges being letters too.
    fn add_letters(&mut self, plain: &str, worth: f32) {
        let (mut one, mut two) = (None, '<');
        for three in plain.chars().chain(['>']) {
            if let Some(one) = one {
                // 21 bits hold any character.
                let letters = (u64::from(one) << 42) | (u64::from(two) << 21) | u64::from(three);
                self.add(mixed(letters), worth);
            }
            (one, two) = (Some(u32::from(two)), three);
        }
    }

    /// Adds a feature at the places that its hash says, with the signs that its hash says.
    fn add(&mut self, mut hash: u64, worth: f32) {
        for _ in 0..SPREAD / 4 {
            hash = mixed(hash);
            for quarter in [hash, hash >> 16, hash >> 32, hash >> 48] {
                let at = usize::try_from(((quarter & 0x7fff) * PLACES as u64) >> 15).unwrap_or_default();
                if let Some(place) = self.places.get_mut(at) {
                    *place += if quarter & 0x8000 == 0 { worth } else { -worth };
                }
            }
        }
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

    /// Its signs, as a row's. Where it is 0 the sign is that of the place's number being odd, which agrees with half of
    /// those of [`Self::asked`]: what a short text says nothing of makes it neither like a question nor unlike it.
    #[must_use]
    pub fn code(&self) -> Code {
        self.signs(|place| place & 1 == 1)
    }

    /// Its signs, as a question's.
    #[must_use]
    pub(crate) fn asked(&self) -> Code {
        self.signs(|place| place & 2 == 2)
    }

    fn signs(&self, of_nothing: impl Fn(usize) -> bool) -> Code {
        let mut code = Code::default();
        let sign = |(place, value): (usize, &f32)| *value > 0.0 || (*value == 0.0 && of_nothing(place));
        for (part, places) in code.0.iter_mut().zip(self.places.chunks_exact(64)) {
            let signs = places.iter().enumerate().rev();
            *part = signs.fold(0, |bits, place| (bits << 1) | u64::from(sign(place)));
        }
        code
    }
}

impl Code {
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

/// FNV-1a: the same on every machine and in every release, since codes may be kept.
fn hash(feature: &[&str]) -> u64 {
    let bytes = feature.iter().flat_map(|part| part.bytes());
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

/// The next of a row of numbers each of whose bits depends on every bit of the one before (SplitMix64).
const fn mixed(hash: u64) -> u64 {
    let next = hash.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let half = (next ^ (next >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let whole = (half ^ (half >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    whole ^ (whole >> 31)
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
        fn codes_tell_what_vectors_tell(one in "[a-z ]{0,60}", other in "[a-z ]{0,60}") {
            let lexicon = Lexicon::new();
            let (one, other) = (Vector::of(&one, &lexicon), Vector::of(&other, &lexicon));
            prop_assert_eq!(one.code().apart(&one.code()), 0);
            prop_assert_eq!(one.code().apart(&other.code()), other.code().apart(&one.code()));
            prop_assert!((-1.001..1.001).contains(&one.likeness(&other)));
        }
    }
}
