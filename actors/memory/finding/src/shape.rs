//! The features of one word in a vector: its term and its groups of three letters, each hashed to some places with a
//! sign for each.

/// Places of a vector.
pub(crate) const PLACES: usize = 384;
/// Places that a feature is spread over; a multiple of four.
pub(crate) const SPREAD: usize = 16;

/// The worth of a feature, in twentieths of a word.
pub(crate) const OF_WORD: i8 = 20;
pub(crate) const OF_PAIR: i8 = 10;
pub(crate) const OF_LETTERS: i8 = 5;
pub(crate) const OF_COMMON: i8 = 2;

/// The share of one word in the vector of a text, in twentieths.
#[derive(Debug)]
pub(crate) struct Shape(pub(crate) Box<[i8; PLACES]>);

impl Shape {
    /// The features of a word: its term and each group of three letters; a common word counts little.
    pub(crate) fn of(plain: &str, term: &str, common: bool) -> Self {
        let mut shape = Self(Box::new([0; PLACES]));
        if common {
            shape.add(hash(&[term]), OF_COMMON);
        } else {
            shape.add(hash(&[term]), OF_WORD);
            letters(plain, |three| shape.add(three, OF_LETTERS));
        }
        shape
    }

    fn add(&mut self, hash: u64, worth: i8) {
        places(hash, |at, plus| {
            if let Some(place) = self.0.get_mut(at) {
                *place = place.saturating_add(if plus { worth } else { -worth });
            }
        });
    }
}

/// Each three letters of a word that follow each other, its edges being letters too, as a hash.
pub(crate) fn letters(plain: &str, mut each: impl FnMut(u64)) {
    let (mut one, mut two) = (None, '<');
    for three in plain.chars().chain(['>']) {
        if let Some(one) = one {
            // 21 bits hold any character.
            each(mixed((u64::from(one) << 42) | (u64::from(two) << 21) | u64::from(three)));
        }
        (one, two) = (Some(u32::from(two)), three);
    }
}

/// The places of a feature by its hash, and whether it adds there or takes away.
pub(crate) fn places(mut hash: u64, mut each: impl FnMut(usize, bool)) {
    for _ in 0..SPREAD / 4 {
        hash = mixed(hash);
        for quarter in [hash, hash >> 16, hash >> 32, hash >> 48] {
            let at = usize::try_from(((quarter & 0x7fff) * PLACES as u64) >> 15).unwrap_or_default();
            each(at, quarter & 0x8000 == 0);
        }
    }
}

/// FNV-1a: the same on every machine and in every release, since codes may be kept.
pub(crate) fn hash(feature: &[&str]) -> u64 {
    let bytes = feature.iter().flat_map(|part| part.bytes());
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

/// The next of a row of numbers each of whose bits depends on every bit of the one before (SplitMix64).
pub(crate) const fn mixed(hash: u64) -> u64 {
    let next = hash.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let half = (next ^ (next >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let whole = (half ^ (half >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    whole ^ (whole >> 31)
}
