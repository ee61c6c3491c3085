//! Words that were met lately, each with what is reckoned from it: a language has few words that are said often, and taking
//! a word's ending off and spreading its letters costs more than all else that is done with a row. Bounded.

use crate::vector::Shape;
use crate::words::{Lexicon, Word};
use std::collections::HashMap;

/// Words that are kept; with half a kilobyte each.
const MOST: usize = 8192;

/// Words and what is known of each.
#[derive(Debug, Default)]
pub(crate) struct Known {
    of: HashMap<Box<str>, Spelling>,
}

/// What is known of a plain word.
#[derive(Debug)]
pub(crate) struct Spelling {
    /// The term that it stands for.
    pub(crate) term: Box<str>,
    /// It is about the asking, or says little.
    pub(crate) common: bool,
    /// What it brings to a vector.
    pub(crate) shape: Shape,
}

impl Known {
    /// What is known of each of these words.
    pub(crate) fn of<'a>(&'a mut self, words: &[Word], lexicon: &Lexicon) -> Vec<&'a Spelling> {
        if self.of.len() > MOST {
            self.of.clear();
        }
        for word in words {
            if !self.of.contains_key(word.plain.as_str()) {
                self.of.insert(word.plain.as_str().into(), Spelling::of(&word.plain, lexicon));
            }
        }
        words.iter().filter_map(|word| self.of.get(word.plain.as_str())).collect()
    }
}

impl Spelling {
    fn of(plain: &str, lexicon: &Lexicon) -> Self {
        let (term, common) = (lexicon.term(plain), lexicon.is_common(plain));
        let shape = Shape::of(plain, &term, common);
        Self { term: term.into(), common, shape }
    }
}
