//! The share of a session's context that came from elsewhere.

/// Characters that count as one token: the seed's estimate, the same for every model.
const CHARS_PER_TOKEN: u64 = 4;

/// The share of untrusted tokens in a context.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Taint {
    tainted: u64,
    total: u64,
}

impl Taint {
    /// Counts a text that entered the context.
    pub fn add(&mut self, text: &str, tainted: bool) {
        let chars = u64::try_from(text.chars().count()).unwrap_or(u64::MAX);
        self.add_tokens(chars.div_ceil(CHARS_PER_TOKEN), tainted);
    }

    /// Counts content that is no text.
    pub fn add_tokens(&mut self, tokens: u64, tainted: bool) {
        self.total = self.total.saturating_add(tokens);
        if tainted {
            self.tainted = self.tainted.saturating_add(tokens);
        }
    }

    /// Untrusted tokens in a thousand, rounded up so that a share just over a threshold is never shown as on it; an
    /// empty context has none.
    #[must_use]
    pub fn thousandths(&self) -> u16 {
        let share = (u128::from(self.tainted) * 1000).div_ceil(u128::from(self.total.max(1)));
        u16::try_from(share.min(1000)).unwrap_or(1000)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_share_is_of_tokens_and_an_empty_context_has_none() {
        let mut taint = Taint::default();
        assert_eq!(taint.thousandths(), 0);
        taint.add("abcde", false);
        assert_eq!(taint.thousandths(), 0);
        taint.add("abcdefgh", true);
        assert_eq!(taint.thousandths(), 500, "five characters are two tokens, and so are eight");
        taint.add("", true);
        assert_eq!(taint.thousandths(), 500);
    }

    // Holds P5-43.
    #[test]
    fn a_share_just_over_a_threshold_is_not_rounded_onto_it() {
        let mut taint = Taint::default();
        taint.add(&"a".repeat(4 * 300_001), true);
        taint.add(&"a".repeat(4 * 699_999), false);
        assert_eq!(taint.thousandths(), 301);
    }

    #[test]
    fn a_wholly_untrusted_context_is_a_thousand_thousandths() {
        let mut taint = Taint::default();
        taint.add("x", true);
        assert_eq!(taint.thousandths(), 1000);
    }
}
