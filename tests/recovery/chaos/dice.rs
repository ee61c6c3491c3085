//! Chance, as the seed has it: SplitMix64 (Steele, Lea and Flood, 2014), of which every thread gets a stream.

/// A stream of chance.
#[derive(Clone, Debug)]
pub(crate) struct Dice(u64);

impl Dice {
    /// The stream of this seed.
    pub(crate) const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Another stream, which goes its own way.
    pub(crate) fn fork(&mut self) -> Self {
        Self(self.next())
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// From 0 up to and without `bound`; 0 if that is 0.
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.next().checked_rem(bound).unwrap_or(0)
    }

    /// From `low` up to and without `high`.
    pub(crate) fn between(&mut self, low: u64, high: u64) -> u64 {
        low + self.below(high.saturating_sub(low))
    }

    /// One of them, if there is one.
    pub(crate) fn one<'a, T>(&mut self, of: &'a [T]) -> Option<&'a T> {
        let at = self.below(u64::try_from(of.len()).unwrap_or(u64::MAX));
        of.get(usize::try_from(at).ok()?)
    }

    /// One of them by weight; the first if all weigh nothing.
    pub(crate) fn weighed<T: Copy>(&mut self, of: &[(u32, T)]) -> Option<T> {
        let all = of.iter().map(|(weight, _)| u64::from(*weight)).sum();
        let mut left = self.below(all);
        for (weight, it) in of {
            let weight = u64::from(*weight);
            if left < weight {
                return Some(*it);
            }
            left -= weight;
        }
        of.first().map(|(_, it)| *it)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_has_one_stream_and_another_seed_another() {
        let stream = |seed| {
            let mut dice = Dice::new(seed);
            (0..8).map(|_| dice.below(1000)).collect::<Vec<_>>()
        };
        assert_eq!(stream(7), stream(7));
        assert_ne!(stream(7), stream(8));
        // The first number of the published algorithm for the seed 0.
        assert_eq!(Dice::new(0).next(), 0xe220_a839_7b1d_cdaf);
    }

    #[test]
    fn what_weighs_nothing_never_falls_and_all_else_does() {
        let mut dice = Dice::new(1);
        let fallen: Vec<char> =
            (0..500).filter_map(|_| dice.weighed(&[(1, 'a'), (0, 'b'), (3, 'c')])).collect();
        assert!(fallen.contains(&'a') && fallen.contains(&'c') && !fallen.contains(&'b'));
        assert_eq!((dice.one::<u8>(&[]), dice.below(0)), (None, 0));
    }
}
