//! A word of a text or a question.

/// A word of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Word {
    /// In lower case, without accents, possessive or contraction.
    pub(crate) plain: String,
    /// True if it began with a capital in the middle of a sentence, as names do.
    pub(crate) named: bool,
}
