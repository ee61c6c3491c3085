//! Fuses two rankings, and varies one. Pure arithmetic on places and scores.

use std::collections::HashMap;

/// A row's place in the store, and its score; a list of them is best first.
pub type Ranked = (i64, f32);

/// The number added to a rank before its reciprocal is taken, so that first places do not decide alone.
const RANK_BASE: f32 = 60.0;

/// Shares of both scores where they are weighted.
const OF_MEANING: f32 = 0.7;
const OF_WORDS: f32 = 0.3;
/// Weighted scores below this are left out.
const LEAST: f32 = 0.1;

/// The part of a choice that goes by score; the rest goes by being unlike the rows chosen so far.
const BY_SCORE: f32 = 0.7;

/// By reciprocal rank: 1 / (60 + rank), summed over the lists.
#[must_use]
pub fn fused(lists: &[&[Ranked]]) -> Vec<Ranked> {
    let mut sums: HashMap<i64, f32> = HashMap::new();
    for list in lists {
        for (rank, (n, _)) in (1_u16..).zip(*list) {
            *sums.entry(*n).or_default() += 1.0 / (RANK_BASE + f32::from(rank));
        }
    }
    sorted(sums)
}

/// By scores, each list's scaled to 0 to 1 first: 0.7 of meaning and 0.3 of words; a sum below 0.1 is left out.
#[must_use]
pub fn weighted(meaning: &[Ranked], words: &[Ranked]) -> Vec<Ranked> {
    let mut sums: HashMap<i64, f32> = HashMap::new();
    for (list, share) in [(meaning, OF_MEANING), (words, OF_WORDS)] {
        let most = list.iter().map(|(_, score)| *score).fold(f32::MIN, f32::max);
        let least = list.iter().map(|(_, score)| *score).fold(f32::MAX, f32::min);
        for (n, score) in list {
            let part = if most > least { (score - least) / (most - least) } else { 1.0 };
            *sums.entry(*n).or_default() += share * part;
        }
    }
    let mut ranked = sorted(sums);
    ranked.retain(|(_, score)| *score >= LEAST);
    ranked
}

/// The best `most` of a list, each chosen for its score and for being unlike those before it (maximal marginal
/// relevance). `alike` says from 0 to 1 how alike two rows are.
#[must_use]
pub fn varied(mut list: Vec<Ranked>, most: usize, alike: impl Fn(i64, i64) -> f32) -> Vec<Ranked> {
    let top = list.first().map_or(1.0, |(_, score)| score.max(f32::MIN_POSITIVE));
    let mut repeats: Vec<f32> = vec![0.0; list.len()];
    let mut chosen: Vec<Ranked> = Vec::new();
    while chosen.len() < most && !list.is_empty() {
        let worth = |(score, repeat): (f32, f32)| BY_SCORE * score / top - (1.0 - BY_SCORE) * repeat;
        let worths = list.iter().zip(&repeats).map(|((_, score), repeat)| worth((*score, *repeat)));
        // The first of equals, which is the better by score.
        let best = worths.enumerate().fold((0, f32::MIN), |best, it| if it.1 > best.1 { it } else { best }).0;
        let next = list.remove(best);
        repeats.remove(best);
        for ((n, _), repeat) in list.iter().zip(&mut repeats) {
            *repeat = repeat.max(alike(*n, next.0));
        }
        chosen.push(next);
    }
    chosen
}

/// Best first; of equals the newest.
fn sorted(sums: HashMap<i64, f32>) -> Vec<Ranked> {
    let mut ranked: Vec<Ranked> = sums.into_iter().collect();
    ranked.sort_unstable_by(|one, other| other.1.total_cmp(&one.1).then(other.0.cmp(&one.0)));
    ranked
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order(ranked: &[Ranked]) -> Vec<i64> {
        ranked.iter().map(|(n, _)| *n).collect()
    }

    #[test]
    fn a_row_that_both_rankings_have_comes_before_the_first_of_one() {
        let (one, other) = ([(1, 9.0), (2, 8.0), (3, 7.0)], [(4, 0.9), (3, 0.8)]);
        let fused = fused(&[&one, &other]);
        assert_eq!(order(&fused), [3, 4, 1, 2]);
        assert!((fused[0].1 - (1.0 / 63.0 + 1.0 / 62.0)).abs() < 1e-6);
    }

    #[test]
    fn meaning_weighs_seven_tenths_and_words_three() {
        let weighted = weighted(&[(1, 0.9), (2, 0.5)], &[(2, 30.0), (3, 10.0)]);
        assert_eq!(order(&weighted), [1, 2]);
        assert!((weighted[0].1 - 0.7).abs() < 1e-6 && (weighted[1].1 - 0.3).abs() < 1e-6);
    }

    #[test]
    fn a_repeat_is_put_behind_what_says_something_else() {
        let list = vec![(1, 10.0), (2, 9.9), (3, 8.0)];
        let alike = |one: i64, other: i64| f32::from(u8::from(one.min(other) == 1 && one.max(other) == 2));
        assert_eq!(order(&varied(list.clone(), 3, alike)), [1, 3, 2]);
        assert_eq!(order(&varied(list, 2, |_, _| 0.0)), [1, 2]);
    }
}
