//! The belief in a provider's own count of tokens. The provider is paid by it, and writes its own bill: but text that
//! was plainly sent and received is at least so much, and an answer is held to the money set aside for it and a stated
//! part. Pure functions of counts.

use super::Worth;
use dialect::count::{Counter, TIMES};
use ipc_proto::model::{Claim, Usage};

/// Tokens that a provider may put before a question by itself, such as the rules for calling tools.
const AROUND: u32 = 1000;
/// The part of the bound asked for by which an answer may exceed it: one in this many.
const BEYOND: u32 = 4;

/// The most tokens that are believed to be read and written: four times the estimate of the request and a thousand,
/// with images by a vendor's own rule, and a quarter more than the bound of the output. This is set aside.
pub(super) const fn most(worth: Worth) -> (u32, u32) {
    let read = worth.input.saturating_mul(TIMES).saturating_add(AROUND).saturating_add(worth.beyond);
    (read, worth.output.saturating_add(worth.output / BEYOND))
}

/// The usage that is counted: the provider's own where it is plausible, or the nearest plausible one, with the claim.
///
/// At least a quarter of the request's estimate is read, and at least a quarter of the answer is written; neither is
/// over its [`most`], unless the provider plainly sent more than it was asked for.
pub(super) fn believed(usage: Usage, worth: Worth, came: Counter) -> Usage {
    let (read, written) = most(worth);
    let input = usage.input.min(read).max(worth.least);
    let output = usage.output.min(written).max(came.least());
    let cache_read = usage.cache_read.min(input);
    let cache_write = usage.cache_write.min(input - cache_read);
    let counted = Usage { input, output, cache_read, cache_write, ..usage };
    if counted == usage {
        return usage;
    }
    let Usage { input, output, cache_read, cache_write, .. } = usage;
    Usage { claimed: Some(Claim { input, output, cache_read, cache_write }), ..counted }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const WORTH: Worth = Worth { tariff: None, input: 100, least: 25, beyond: 0, output: 40 };

    fn came(words: &str) -> Counter {
        let mut came = Counter::default();
        came.add(words);
        came
    }

    fn usage(input: u32, output: u32) -> Usage {
        Usage { input, output, ..Usage::default() }
    }

    // Holds B-59.
    #[test]
    fn a_plausible_count_is_believed_and_others_are_bounded() {
        // 40 tokens by the estimate: 10 at least.
        let words = came(&"it may be so, and not ".repeat(8)[..160]);
        assert_eq!((words.tokens(), words.least()), (40, 10));
        for (said, counted) in [
            ((100, 40), None),
            ((25, 10), None),
            ((1400, 50), None),
            ((24, 10), Some((25, 10))),
            ((1, 1), Some((25, 10))),
            ((1401, 51), Some((1400, 50))),
            ((u32::MAX, u32::MAX), Some((1400, 50))),
        ] {
            let told = usage(said.0, said.1);
            let it = believed(told, WORTH, words);
            assert_eq!((it.input, it.output), counted.unwrap_or(said), "{said:?}");
            let claim = Claim { input: said.0, output: said.1, ..Claim::default() };
            assert_eq!(it.claimed, counted.map(|_| claim), "{said:?}");
        }
        let seen = Worth { beyond: 40_000, ..WORTH };
        assert_eq!(
            believed(usage(41_400, 10), seen, words).claimed,
            None,
            "an image is what its vendor's rule says"
        );
        assert_eq!(believed(usage(41_401, 10), seen, words).input, 41_400);
        // More than five times the bound came, and that is plain.
        let flood = came(&"it may be so, and not ".repeat(60));
        assert_eq!(believed(usage(100, 1), WORTH, flood).output, flood.least());
    }

    #[test]
    fn no_more_comes_from_a_cache_than_was_read() {
        let told = Usage { cache_read: 90, cache_write: 20, ..usage(100, 4) };
        let it = believed(told, WORTH, came("four tokens of it"));
        assert_eq!((it.cache_read, it.cache_write), (90, 10));
        let claim = Claim { input: 100, output: 4, cache_read: 90, cache_write: 20 };
        assert_eq!(it.claimed, Some(claim));
        let sound = Usage { cache_write: 10, ..told };
        assert_eq!(believed(sound, WORTH, came("four tokens of it")), sound);
    }

    proptest! {
        #[test]
        fn whatever_is_said_what_counts_lies_between_its_bounds(
            (input, output, cache_read, cache_write) in any::<(u32, u32, u32, u32)>(),
            (asked, most) in (0_u32..1_000_000, 0_u32..100_000), words in ".{0,200}",
        ) {
            let worth = Worth { tariff: None, input: asked, least: asked / 4, beyond: 0, output: most };
            let told = Usage { input, output, cache_read, cache_write, ..Usage::default() };
            let it = believed(told, worth, came(&words));
            prop_assert!((asked / 4..=asked * 4 + 1000).contains(&it.input));
            let least = came(&words).least();
            prop_assert!((least..=least.max(most + most / 4)).contains(&it.output));
            prop_assert!(it.cache_read.checked_add(it.cache_write).is_some_and(|cached| cached <= it.input));
            let believed_whole = Usage { claimed: None, ..it } == told;
            prop_assert_eq!(it.claimed.is_none(), believed_whole);
            prop_assert_eq!(believed(it, worth, came(&words)), it, "what is counted can be");
        }
    }
}
