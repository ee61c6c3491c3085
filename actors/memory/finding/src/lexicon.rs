//! Makes terms of text: folded to plain lower case, without irregular forms and endings, so that texts and questions
//! meet. It stores nothing of a text.

use crate::forms::FORMS;
use crate::kin::Kin;
use crate::languages::{ENGLISH, GERMAN};
use crate::spellings::Spellings;
use crate::word::Word;
use rust_stemmers::{Algorithm, Stemmer};
use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::sync::{Mutex, MutexGuard, PoisonError};
use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

/// Words of a question that are about the asking; a row has no need of them.
const ASKING: &[&str] = &[
    "into", "out", "up", "down", "over", "under", "more", "most", "some", "such", "than", "too", "very",
    "just", "also", "only", "own", "same", "during", "after", "before", "while", "because", "until", "again",
    "further", "once", "both", "each", "few", "other", "having", "doing", "kind", "type", "sort", "mention",
    "mentioned", "whose",
];

/// Returns true if a word in lower case says little, in English or German.
#[must_use]
pub fn says_little(word: &str) -> bool {
    let plain = fold(word);
    ENGLISH.contains(&plain.as_str()) || GERMAN.contains(&plain.as_str())
}

/// Characters of one term; longer ones are cut, since nobody asks for such a word.
const LONGEST: usize = 40;

/// The properties of words that are known before any text is seen.
pub struct Lexicon {
    stemmers: Stemmers,
    forms: HashMap<&'static str, &'static str>,
    /// Words that say little, by which rows are read.
    common: HashSet<&'static str>,
    /// Those of a question in English.
    asking: HashSet<&'static str>,
    kin: Kin,
    known: Mutex<Spellings>,
}

/// Stemmers of the languages that a word's own letters show. A word with other letters is of none of them. Greek has
/// none: that of the library panics at words such as "ισαισε", and a panic ends memory.
struct Stemmers {
    english: Stemmer,
    russian: Stemmer,
    arabic: Stemmer,
}

impl Stemmers {
    fn new() -> Self {
        Self {
            english: Stemmer::create(Algorithm::English),
            russian: Stemmer::create(Algorithm::Russian),
            arabic: Stemmer::create(Algorithm::Arabic),
        }
    }

    fn of(&self, word: &str) -> Option<&Stemmer> {
        match word.chars().next()? {
            _ if word.is_ascii() => Some(&self.english),
            '\u{400}'..='\u{4ff}' => Some(&self.russian),
            '\u{620}'..='\u{6d3}' => Some(&self.arabic),
            _ => None,
        }
    }
}

impl std::fmt::Debug for Lexicon {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Lexicon").field("forms", &self.forms.len()).finish_non_exhaustive()
    }
}

impl Default for Lexicon {
    fn default() -> Self {
        Self::new()
    }
}

impl Lexicon {
    /// Everything in it is part of the program.
    #[must_use]
    pub fn new() -> Self {
        let lines = FORMS.iter().map(|line| line.split(' '));
        let forms = lines.flat_map(|mut words| {
            let first = words.next().unwrap_or_default();
            words.map(move |word| (word, first))
        });
        let mut lexicon = Self {
            stemmers: Stemmers::new(),
            forms: forms.collect(),
            common: ENGLISH.iter().chain(GERMAN).chain(ASKING).copied().collect(),
            asking: ENGLISH.iter().chain(ASKING).copied().collect(),
            kin: Kin::default(),
            known: Mutex::default(),
        };
        lexicon.kin = Kin::of(|word| lexicon.term(word));
        lexicon
    }

    /// The term that a plain word stands for.
    pub(crate) fn term(&self, plain: &str) -> String {
        let base = self.forms.get(plain).copied().unwrap_or(plain);
        let stem = self.stemmers.of(base).map(|stemmer| stemmer.stem(base));
        // Some words are all ending, and have nothing else in common.
        stem.filter(|stem| !stem.is_empty()).map_or_else(|| base.to_owned(), Cow::into_owned)
    }

    /// The cache of recent words' properties; held by one row or question at a time.
    pub(crate) fn known(&self) -> MutexGuard<'_, Spellings> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns whether a plain word is about the asking, or says little.
    pub(crate) fn is_common(&self, plain: &str) -> bool {
        self.common.contains(plain)
    }

    /// Returns whether a plain word of a question in English is about the asking, or says little: "war" and "hat" are words of
    /// their own there.
    pub(crate) fn is_asking(&self, plain: &str) -> bool {
        self.asking.contains(plain)
    }

    /// Terms of nearly the same meaning as `term`, with their nearness.
    pub(crate) fn kin(&self, term: &str) -> &[(String, f32)] {
        self.kin.of_term(term)
    }
}

/// The words of a text, in order. Scripts that are written without blanks give pairs of characters.
pub(crate) fn words(text: &str) -> Vec<Word> {
    let mut words = Vec::new();
    let mut told = 0;
    for at in pieces(text) {
        let between = text.get(told..at.start).unwrap_or_default();
        let opens = told == 0 || between.contains(['.', '!', '?', '\n', ':']);
        told = at.end;
        let piece = text.get(at).unwrap_or_default();
        let mut characters = piece.chars();
        let capital = characters.next().is_some_and(char::is_uppercase) && characters.next().is_some();
        push(&mut words, piece, capital && !opens);
    }
    words
}

/// Where each run of letters and figures is, with the apostrophes inside it.
pub(crate) fn pieces(text: &str) -> impl Iterator<Item = Range<usize>> {
    let mut from = None;
    let ends = text.char_indices().chain(std::iter::once((text.len(), ' ')));
    ends.filter_map(move |(at, c)| {
        if belongs(c) {
            from.get_or_insert(at);
            return None;
        }
        let (start, run) = from.take().and_then(|from| Some((from, text.get(from..at)?)))?;
        let inner = run.trim_start_matches(is_apostrophe);
        let start = start + run.len() - inner.len();
        let length = inner.trim_end_matches(is_apostrophe).len();
        (length > 0).then_some(start..start + length)
    })
}

fn push(words: &mut Vec<Word>, piece: &str, named: bool) {
    let (head, tail) = piece.split_once(is_apostrophe).unwrap_or((piece, ""));
    // "won't" is no form of "win".
    let plain = if matches!(tail, "t" | "T") { "not".to_owned() } else { fold(head) };
    if plain.chars().any(unspaced) {
        let characters: Vec<char> = plain.chars().collect();
        let pairs = characters.windows(2).map(|pair| pair.iter().collect::<String>());
        let single = (characters.len() == 1).then(|| plain.clone());
        words.extend(pairs.chain(single).map(|plain| Word { plain, named: false }));
    } else if !plain.is_empty() {
        words.push(Word { plain, named });
    }
    // Both halves of "c'est" are words; only one of "Anna's" is.
    if tail.chars().count() > 2 {
        words.push(Word { plain: fold(&tail.replace(is_apostrophe, "")), named: false });
    }
}

/// Lower case without marks, up to a bound.
pub(crate) fn fold(word: &str) -> String {
    if word.is_ascii() {
        return word.get(..LONGEST).unwrap_or(word).to_ascii_lowercase();
    }
    // The marks of kana make another letter of it, and so does the bow of й: they are put back.
    let mut before = ' ';
    let kept = |c: &char| {
        let before = std::mem::replace(&mut before, *c);
        let makes_another = matches!((before, c), (_, '\u{3099}' | '\u{309a}') | ('и' | 'И', '\u{306}'));
        makes_another || !is_combining_mark(*c)
    };
    let folded = word.nfkd().filter(kept).nfc().flat_map(char::to_lowercase).flat_map(spelt_out);
    folded.filter(|c| c.is_alphanumeric()).take(LONGEST).collect()
}

/// Letters that are no marked form of another, as who has no key for them writes them; a NUL is none.
fn spelt_out(c: char) -> [char; 2] {
    match c {
        'ß' => ['s', 's'],
        'æ' => ['a', 'e'],
        'œ' => ['o', 'e'],
        'þ' => ['t', 'h'],
        'ø' => ['o', '\0'],
        'ł' => ['l', '\0'],
        'ı' => ['i', '\0'],
        'ς' => ['σ', '\0'],
        'đ' | 'ð' => ['d', '\0'],
        c => [c, '\0'],
    }
}

fn belongs(c: char) -> bool {
    match c {
        'a'..='z' | 'A'..='Z' | '0'..='9' => true,
        _ if c.is_ascii() => is_apostrophe(c),
        _ => c.is_alphanumeric() || is_apostrophe(c) || is_combining_mark(c),
    }
}

const fn is_apostrophe(c: char) -> bool {
    matches!(c, '\'' | '\u{2019}')
}

/// Han, kana and Thai: a run of them is a sentence, not a word.
pub(crate) const fn unspaced(c: char) -> bool {
    matches!(c, '\u{0e00}'..='\u{0e7f}' | '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{9fff}' | '\u{f900}'..='\u{faff}'
        | '\u{20000}'..='\u{3ffff}')
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn plain(text: &str) -> Vec<String> {
        words(text).into_iter().map(|word| word.plain).collect()
    }

    // Holds P3-30.
    #[test]
    fn what_was_said_and_what_is_asked_meet_in_one_term() {
        let lexicon = Lexicon::new();
        let terms =
            |text| -> Vec<String> { words(text).iter().map(|word| lexicon.term(&word.plain)).collect() };
        for (said, asked) in [
            ("went", "go"),
            ("bought", "buying"),
            ("children", "kid"),
            ("Mum's", "mother"),
            ("CAFÉ", "cafes"),
            ("remembering", "remember"),
            ("gardens", "garden"),
            ("pictures", "photograph"),
            ("собаки", "собаку"),
            ("красный", "красные"),
            ("ΟΔΥΣΣΕΥΣ", "οδυσσευς"),
        ] {
            assert_eq!(terms(said), terms(asked), "{said} {asked}");
        }
        assert_ne!(terms("won't"), terms("win"));
        assert_ne!(terms("ـ"), terms("ون"), "what is all ending is itself");
    }

    #[test]
    fn no_word_is_too_odd_for_a_term() {
        let lexicon = Lexicon::new();
        for word in ["ισαισε", "ισαισατε", "ικο", "ـ", "ыыы", "ь", "ами", "الل", "ing", "s"]
        {
            assert!(!lexicon.term(word).is_empty(), "{word}");
        }
    }

    #[test]
    fn possessives_contractions_and_marks_are_taken_off() {
        assert_eq!(plain("Anna’s dog doesn't e\u{301}at"), ["anna", "dog", "not", "eat"]);
        assert_eq!(plain("it's 'quoted' c'est"), ["it", "quoted", "c", "est"]);
        assert_eq!(plain("Мой ёж"), ["мой", "еж"]);
        assert_eq!(plain("STRAẞE Yılmaz Ærø"), ["strasse", "yilmaz", "aero"]);
        assert_eq!(plain("e-mail x_y 07:40"), ["e", "mail", "x", "y", "07", "40"]);
    }

    #[test]
    fn a_script_without_blanks_gives_pairs() {
        assert_eq!(plain("猫が好き x"), ["猫が", "が好", "好き", "x"]);
        assert_eq!(plain("猫"), ["猫"]);
    }

    #[test]
    fn a_capital_in_the_middle_of_a_sentence_is_a_name() {
        let named: Vec<String> = words("Yesterday I met Anna. She lives in Rome, near Tom!")
            .into_iter()
            .filter(|word| word.named)
            .map(|word| word.plain)
            .collect();
        assert_eq!(named, ["anna", "rome", "tom"]);
    }

    proptest! {
        #[test]
        fn any_text_gives_terms_that_are_short_and_not_empty(text in any::<String>()) {
            let lexicon = Lexicon::new();
            for word in words(&text) {
                prop_assert!(!word.plain.is_empty());
                prop_assert!(lexicon.term(&word.plain).chars().count() <= LONGEST);
            }
        }
    }
}
