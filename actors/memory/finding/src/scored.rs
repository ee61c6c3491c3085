//! A row found by words, with its score and the reasons. Data.

/// A row that was found by words, and why.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scored {
    /// Its place in the store.
    pub n: i64,
    /// Its score in all.
    pub score: f32,
    /// The score of its own terms.
    pub own: f32,
    /// The score that the turns around it and its session lend it.
    pub around: f32,
    /// It is of whom the question names.
    pub named: bool,
    /// It speaks of a time that the question names, or is of about that time.
    pub dated: bool,
    /// It holds the kind of answer asked for.
    pub answers: bool,
}
