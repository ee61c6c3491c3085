//! Labels: trust, class and sources of a piece of content. They join upward and never fall by themselves.

use crate::{List, Name};
use serde::{Deserialize, Serialize};

/// How far the origin of content is trusted; greater is less trusted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Trust {
    /// The host's own words.
    System,
    /// The owner of the session.
    User,
    /// Somebody known.
    Verified,
    /// Anything else.
    #[default]
    Untrusted,
}

/// How far content may travel; greater is more confidential.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Class {
    /// Anybody may see it.
    Public,
    /// The host's own.
    #[default]
    Internal,
    /// Personal data.
    Sensitive,
    /// Keys and passwords.
    Secret,
}

/// Most sources a label names; further ones are summed up as `…`.
pub const SOURCES: usize = 16;

/// The origin of content.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Label {
    /// The least trusted origin.
    pub trust: Trust,
    /// The most confidential class.
    pub class: Class,
    /// Where it came from, sorted.
    pub sources: List<Name, SOURCES>,
}

impl Label {
    /// A label with one source; a source name over its bound is cut.
    #[must_use]
    pub fn of(trust: Trust, class: Class, source: &str) -> Self {
        Self { trust, class, sources: List::clip([Name::clip(source)]) }
    }

    /// The label of the host's own words: the least of all labels.
    #[must_use]
    pub fn bottom() -> Self {
        Self { trust: Trust::System, class: Class::Public, sources: List::default() }
    }

    /// The label of content computed from both: the lowest trust, the highest class, all sources.
    #[must_use]
    pub fn join(&self, other: &Self) -> Self {
        let mut sources: Vec<Name> = self.sources.iter().chain(&other.sources).cloned().collect();
        sources.sort();
        sources.dedup();
        let more = Name::clip("…");
        if sources.len() > SOURCES || sources.contains(&more) {
            sources.retain(|name| *name != more);
            sources.truncate(SOURCES - 1);
            sources.push(more);
        }
        Self {
            trust: self.trust.max(other.trust),
            class: self.class.max(other.class),
            sources: List::clip(sources),
        }
    }

    /// Returns whether everything this label says is already in `other`.
    #[must_use]
    pub fn within(&self, other: &Self) -> bool {
        self.join(other) == *other
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn label() -> impl Strategy<Value = Label> {
        let trust = prop::sample::select(vec![Trust::System, Trust::User, Trust::Verified, Trust::Untrusted]);
        let class =
            prop::sample::select(vec![Class::Public, Class::Internal, Class::Sensitive, Class::Secret]);
        (trust, class, prop::collection::vec("[a-e]", 0..4)).prop_map(|(trust, class, sources)| {
            sources
                .iter()
                .fold(Label { trust, class, ..Label::bottom() }, |l, s| l.join(&Label::of(trust, class, s)))
        })
    }

    proptest! {
        // Holds P5-01.
        #[test]
        fn joins_are_a_semilattice(a in label(), b in label(), c in label()) {
            prop_assert_eq!(a.join(&a), a.clone());
            prop_assert_eq!(a.join(&b), b.join(&a));
            prop_assert_eq!(a.join(&b).join(&c), a.join(&b.join(&c)));
            prop_assert!(a.within(&a.join(&b)));
            prop_assert_eq!(a.join(&Label::bottom()), a);
        }
    }

    // Holds P5-01.
    #[test]
    fn more_sources_than_fit_are_summed_up_and_stay_so() {
        let many = (0..40).fold(Label::bottom(), |l, n| {
            l.join(&Label::of(Trust::User, Class::Public, &format!("s{n:02}")))
        });
        assert_eq!(many.sources.len(), SOURCES);
        assert_eq!(many.sources.last().map(|n| n.as_str()), Some("…"));
        assert_eq!(many.join(&many), many);
    }
}
