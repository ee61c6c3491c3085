//! A bounded cache of words with the results of stemming and hashing them, which cost more than all other work on a row.
//! A language has few frequent words, so most are found here.

use crate::lexicon::Lexicon;
use crate::shape::Shape;
use crate::word::Word;
use std::collections::HashMap;

/// Words that are kept, half a kilobyte each.
const MOST: usize = 8192;

/// The cache.
#[derive(Debug, Default)]
pub(crate) struct Spellings {
    of: HashMap<Box<str>, Spelling>,
}

/// The results for a plain word.
#[derive(Debug)]
pub(crate) struct Spelling {
    /// Its term.
    pub(crate) term: Box<str>,
    /// It says little about a subject.
    pub(crate) common: bool,
    /// Its share in a vector.
    pub(crate) shape: Shape,
}

impl Spellings {
    /// The results for each of these words.
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
