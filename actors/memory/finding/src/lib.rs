//! Which rows of a memory answer a question, and why. Pure: it is given texts and gives back places. It opens nothing,
//! asks nobody, and every step is linear in what it is given, so that no text and no question makes it slow.
//!
//! One [`Index`] holds one scope: word counts of one owner must not move the ranking of another.

mod around;
mod best;
mod calendar;
mod dates;
mod east;
mod forms;
mod fuse;
mod index;
mod kin;
mod known;
mod like;
mod meaning;
mod near;
mod postings;
mod question;
mod rank;
mod row;
mod snippet;
mod sums;
#[cfg(test)]
mod tests;
mod tongues;
mod vector;
mod words;

pub use dates::{civil, date_in};
pub use fuse::{Ranked, fused, varied, weighted};
pub use index::{Index, Turn};
pub use meaning::Signs;
pub use question::Question;
pub use rank::{Limits, Scored};
pub use snippet::snippet;
pub use vector::{Code, Vector};
pub use words::{Lexicon, says_little};
