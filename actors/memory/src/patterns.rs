//! The owner's patterns for text that is never stored. Pure, and of time linear in the text whatever the pattern.

use regex::{Captures, Regex, RegexBuilder};

/// The text in the place of a match.
const INSTEAD: &str = "[REDACTED]";
/// Bytes that one compiled pattern may take. The configuration was checked against less.
const SIZE: usize = 4 << 20;

/// The owner's patterns.
#[derive(Clone, Debug, Default)]
pub(crate) struct Patterns(Vec<Regex>);

impl Patterns {
    /// Compiles them.
    pub(crate) fn of(patterns: &[String]) -> Result<Self, regex::Error> {
        let compiled = patterns.iter().map(|pattern| RegexBuilder::new(pattern).size_limit(SIZE).build());
        Ok(Self(compiled.collect::<Result<_, _>>()?))
    }

    /// Returns whether there are none.
    pub(crate) const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The text without the matches.
    pub(crate) fn cut_out(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for pattern in &self.0 {
            // A pattern may match between two letters, where there is nothing to cut out.
            let instead =
                |found: &Captures<'_>| found.get(0).filter(|it| !it.is_empty()).map_or("", |_| INSTEAD);
            if let std::borrow::Cow::Owned(cut) = pattern.replace_all(&text, instead) {
                text = cut;
            }
        }
        text
    }
}
