//! The kind of answer that a question asks for.

/// The kind of answer that a question asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wants {
    /// A time.
    Time,
    /// A number.
    Number,
    /// A person or a place.
    Name,
    /// Nothing that shows.
    Anything,
}
