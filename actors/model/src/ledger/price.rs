//! The price of tokens. Whole numbers only: a price is in millionths of a US dollar a million tokens, and so is what it
//! makes; nothing is rounded but the sum, and that up.

use ipc_proto::config::{Prices, ProviderModel};
use ipc_proto::model::{Claim, Usage};

/// Tokens that a price is for.
const TOKENS: u128 = 1_000_000;
/// The most that one answer can cost, a billion dollars: no sum of such grows out of its column.
const MOST: u64 = 1_000_000_000_000_000;

/// The tariff of a model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tariff {
    prices: Prices,
    /// The prices of requests that read more than this many tokens.
    long: Option<(u32, Prices)>,
}

impl Tariff {
    /// The tariff of a model; none if it is unknown.
    pub(crate) fn of(model: &ProviderModel) -> Option<Self> {
        model.prices.map(|prices| Self { prices, long: model.long })
    }

    const fn at(self, input: u32) -> Prices {
        match self.long {
            Some((over, prices)) if input > over => prices,
            _ => self.prices,
        }
    }
}

impl From<Prices> for Tariff {
    fn from(prices: Prices) -> Self {
        Self { prices, long: None }
    }
}

/// The cost of these tokens, in millionths of a US dollar.
pub(crate) fn cost(tariff: Tariff, usage: Usage) -> u64 {
    sum(tariff.at(usage.input), usage)
}

/// The cost of these tokens if the provider's claim is true.
pub(crate) fn claimed(tariff: Tariff, claim: Claim) -> u64 {
    let Claim { input, output, cache_read, cache_write } = claim;
    cost(tariff, Usage { input, output, cache_read, cache_write, ..Usage::default() })
}

fn sum(prices: Prices, usage: Usage) -> u64 {
    let of = |tokens: u32, price: u64| u128::from(tokens) * u128::from(price);
    let plain = usage.input.saturating_sub(usage.cache_read).saturating_sub(usage.cache_write);
    let sum = of(plain, prices.input)
        + of(usage.cache_read, prices.cache_read)
        + of(usage.cache_write, prices.cache_write)
        + of(usage.output, prices.output);
    u64::try_from(sum.div_ceil(TOKENS)).map_or(MOST, |micros| micros.min(MOST))
}

/// The amount to set aside before this many tokens are read, and at most this many written: they may all be put into
/// the provider's cache, where that costs more.
pub(crate) fn most(tariff: Tariff, input: u32, output: u32) -> u64 {
    let prices = tariff.at(input);
    let dearest = Prices { input: prices.input.max(prices.cache_write), ..prices };
    sum(dearest, Usage { input, output, ..Usage::default() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const PRICES: Prices =
        Prices { input: 3_000_000, output: 15_000_000, cache_read: 300_000, cache_write: 3_750_000 };

    #[test]
    fn tokens_of_each_kind_have_their_own_price_and_the_sum_is_rounded_up() {
        let usage = |input, output, cache_read, cache_write| Usage {
            input,
            output,
            cache_read,
            cache_write,
            ..Usage::default()
        };
        for (used, micros) in [
            (usage(0, 0, 0, 0), 0),
            (usage(1, 0, 0, 0), 3),
            (usage(1000, 100, 0, 0), 4500),
            (usage(1000, 0, 1000, 0), 300),
            (usage(1000, 0, 0, 1000), 3750),
            (usage(1000, 0, 400, 400), 600 + 120 + 1500),
            (usage(1, 0, 1, 0), 1),
        ] {
            assert_eq!(cost(PRICES.into(), used), micros, "{used:?}");
        }
        let dear = Prices { input: u64::MAX, output: u64::MAX, cache_read: u64::MAX, cache_write: u64::MAX };
        assert_eq!(cost(dear.into(), usage(u32::MAX, u32::MAX, 0, 0)), MOST);
        assert_eq!(cost(Tariff::default(), usage(9, 9, 9, 9)), 0);
    }

    #[test]
    fn a_long_request_has_the_price_of_long_ones_for_all_of_its_tokens() {
        let double = Prices { input: 6_000_000, output: 30_000_000, ..PRICES };
        let tariff = Tariff { prices: PRICES, long: Some((1000, double)) };
        let of = |input| cost(tariff, Usage { input, output: 1, ..Usage::default() });
        assert_eq!((of(1000), of(1001)), (3015, 6036));
        assert_eq!(most(tariff, 1001, 1), 6036);
    }

    proptest! {
        #[test]
        fn what_is_set_aside_covers_what_is_used(input: u32, output: u32, read in 0..=100_u64, write in 0..=100_u64) {
            let part = |share: u64| u32::try_from(u64::from(input) * share / 200).unwrap();
            let usage = Usage { input, output, cache_read: part(read), cache_write: part(write), ..Usage::default() };
            prop_assert!(cost(PRICES.into(), usage) <= most(PRICES.into(), input, output));
        }
    }
}
