//! Finds and ranks the rows of a memory that answer a question. Pure: it takes texts and returns places, opens nothing and
//! calls nobody. Every step is linear in its input, so that no text and no question makes it slow.
//!
//! One [`Index`] holds one scope: word counts of one owner must not move the ranking of another.

mod best;
mod calendar;
mod cjk;
mod dates;
mod forms;
mod fuse;
mod index;
mod kin;
mod languages;
mod lexicon;
mod like;
mod meaning;
mod near;
mod postings;
mod question;
mod rank;
mod row;
mod scored;
mod sessions;
mod shape;
mod snippet;
mod spellings;
mod sums;
#[cfg(test)]
mod tests;
mod vector;
mod wants;
mod word;

pub use dates::{civil, date_in};
pub use fuse::{Ranked, fused, varied, weighted};
pub use index::{Index, Turn};
pub use lexicon::{Lexicon, says_little};
pub use meaning::Signs;
pub use question::Question;
pub use rank::Limits;
pub use scored::Scored;
pub use snippet::snippet;
pub use vector::{Code, Vector};
