//! The words of a question that are worth looking for, and how well a line fits them. Endings are cut by a short
//! list of English ones, always from the end, so that a word's stem is a prefix that grep can look for.

/// Words of one question that are looked for.
pub(super) const MOST: usize = 10;
/// Strength of a word that only begins like the one looked for.
const BEGINS_LIKE: f64 = 0.4;
/// Characters of a stem from which on a word that begins like it counts.
const LONG: usize = 4;
/// Words of a text in which two that follow each other in the question count as standing together.
const BESIDE: usize = 2;
/// Bytes of a pattern; the tool takes 1000.
const PATTERN: usize = 950;

/// How well a text fits a question.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Fit {
    /// For each word: 1 if it is there in any form, less if only something is that begins like it.
    pub(super) each: [f64; MOST],
    /// For each word but the last: whether it and the next one stand together.
    pub(super) beside: [bool; MOST],
    /// For each word: how often it is there.
    pub(super) times: [u16; MOST],
}

impl Fit {
    /// Returns whether any word is there.
    pub(super) fn any(&self) -> bool {
        self.each.iter().any(|strength| *strength > 0.0)
    }

    /// How well both texts together fit.
    pub(super) fn with(mut self, other: &Self) -> Self {
        self.each.iter_mut().zip(other.each).for_each(|(own, other)| *own = own.max(other));
        self.beside.iter_mut().zip(other.beside).for_each(|(own, other)| *own |= other);
        self.times.iter_mut().zip(other.times).for_each(|(own, other)| *own = own.saturating_add(other));
        self
    }
}

/// The words of a question.
#[derive(Debug)]
pub(super) struct Keywords(Vec<Word>);

#[derive(Debug)]
struct Word {
    text: String,
    stem: String,
}

impl Keywords {
    /// The words of a question that mean something; of very many, the longest.
    pub(super) fn of(question: &str) -> Self {
        let mut keywords: Vec<Word> = Vec::new();
        for text in tokens(&question.to_lowercase()) {
            let stem = stem(text).to_owned();
            let known = keywords.iter().any(|word| word.stem == stem);
            if text.chars().count() > 1 && !STOP.split(' ').any(|word| word == text) && !known {
                keywords.push(Word { text: text.to_owned(), stem });
            }
        }
        while keywords.len() > MOST
            && let Some((shortest, _)) = keywords.iter().enumerate().min_by_key(|(_, word)| word.text.len())
        {
            keywords.remove(shortest);
        }
        Self(keywords)
    }

    /// How many there are.
    pub(super) const fn len(&self) -> usize {
        self.0.len()
    }

    /// The words as they were written.
    pub(super) fn texts(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|word| word.text.as_str())
    }

    /// How well this text fits.
    pub(super) fn fit(&self, text: &str) -> Fit {
        let mut fit = Fit::default();
        let mut seen: [Option<usize>; MOST] = [None; MOST];
        for (at, token) in tokens(&text.to_lowercase()).enumerate() {
            let slots = fit.each.iter_mut().zip(&mut fit.times).zip(&mut seen);
            for (word, ((strength, times), seen)) in self.0.iter().zip(slots) {
                let this = word.strength(token);
                if this > 0.0 {
                    *strength = strength.max(this);
                    *times = times.saturating_add(1);
                    *seen = Some(at);
                }
            }
            let near = |slot: Option<&Option<usize>>| {
                slot.copied().flatten().is_some_and(|then| at - then <= BESIDE)
            };
            for (index, together) in fit.beside.iter_mut().enumerate() {
                *together |= near(seen.get(index)) && near(seen.get(index + 1));
            }
        }
        fit
    }

    /// A pattern for one word, by its place in the question.
    pub(super) fn one(&self) -> impl Iterator<Item = String> {
        self.0.iter().map(Word::pattern)
    }

    /// A pattern that fits every line with one of the words.
    pub(super) fn any(&self) -> String {
        join(self.0.iter().map(Word::pattern))
    }

    /// A pattern that fits lines with two of them, for at least two words: the longest first, as many as may be.
    pub(super) fn pairs(&self) -> Option<String> {
        let mut keywords: Vec<&Word> = self.0.iter().collect();
        keywords.sort_by_key(|word| std::cmp::Reverse(word.stem.len()));
        let pair = |(a, b): (&&Word, &&Word)| {
            [(a, b), (b, a)].map(|(a, b)| format!("{}.*{}", a.pattern(), b.pattern()))
        };
        let pairs = (1..keywords.len())
            .flat_map(|second| keywords.iter().take(second).zip(std::iter::repeat(second)));
        let pairs = pairs.filter_map(|(first, second)| Some((first, keywords.get(second)?))).flat_map(pair);
        let pattern = join(pairs);
        (!pattern.is_empty()).then_some(pattern)
    }
}

impl Word {
    fn strength(&self, token: &str) -> f64 {
        if token == self.text || stem(token) == self.stem {
            1.0
        } else if self.stem.len() >= LONG && token.starts_with(&self.stem) {
            BEGINS_LIKE
        } else {
            0.0
        }
    }

    /// The word boundary is the ASCII one: the Unicode one makes the search many times slower.
    fn pattern(&self) -> String {
        let boundary = if self.stem.is_ascii() { r"(?-u:\b)" } else { "" };
        format!("{boundary}{}", self.stem)
    }
}

/// Alternatives, as many as the bound of a pattern allows.
fn join(alternatives: impl Iterator<Item = String>) -> String {
    let mut pattern = String::new();
    for alternative in alternatives {
        if pattern.len() + alternative.len() + 1 > PATTERN {
            break;
        }
        if !pattern.is_empty() {
            pattern.push('|');
        }
        pattern.push_str(&alternative);
    }
    pattern
}

/// Runs of letters, digits and `_`: none of them means anything in a pattern.
fn tokens(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|token| !token.is_empty())
}

/// Endings, and how many bytes must stand before one for it to be cut. The longest come first.
const ENDINGS: &[(&str, usize)] = &[
    ("ations", 4),
    ("ation", 4),
    ("ings", 3),
    ("ment", 4),
    ("ing", 3),
    ("ies", 3),
    ("ied", 3),
    ("ed", 3),
    ("es", 3),
    ("ly", 4),
    ("s", 3),
];

/// A word without its ending: always a prefix of the word.
fn stem(word: &str) -> &str {
    let keeps_s = ["ss", "us", "is"].iter().any(|ending| word.ends_with(ending));
    if !word.bytes().all(|byte| byte.is_ascii_lowercase()) || keeps_s {
        return word;
    }
    let cut = ENDINGS.iter().find_map(|(ending, least)| {
        word.strip_suffix(ending).filter(|stem| stem.len() >= *least).map(|stem| (*ending, stem))
    });
    let stem = match cut {
        Some(("ing" | "ings" | "ed", stem)) => undoubled(stem),
        Some((_, stem)) => stem,
        None => word,
    };
    // `cache` and `caches`, `deny` and `denies` share the part before.
    stem.strip_suffix(['e', 'y']).filter(|stem| stem.len() >= 3).unwrap_or(stem)
}

/// `runn` of `running` is `run`; `kill` and `pass` stay.
fn undoubled(stem: &str) -> &str {
    match stem.as_bytes() {
        [.., a, b] if a == b && stem.len() > 3 && !b"aeioulsz".contains(b) => {
            stem.get(..stem.len() - 1).unwrap_or(stem)
        }
        _ => stem,
    }
}

/// Words that say nothing about the subject.
const STOP: &str = "\
about after all also am an and any are aren as at be because been before being between both but by \
can cannot could couldn describe did didn do does doesn doing don done during each every explain few \
find for from get gets give gives had happen happens has hasn have haven having he hello her here \
hers hey hi him his how if in into is isn it its just know let like list ll long make makes many may \
me mean means might mine more most much must my need needs no nor not of off ok on once one ones \
only or other our ours out over own please quote re same say says search shall she should shouldn \
show shows so some something such tell than thank thanks that the their theirs them then there these \
they thing things this those through to too under until up us use used uses using ve very want was \
wasn we were weren what when where whether which while who whom whose why will with within without \
won work works would wouldn yes yet you your yours";

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use regex::RegexBuilder;

    #[test]
    fn the_forms_of_a_word_have_one_stem() {
        for forms in [
            &["restart", "restarts", "restarted", "restarting"][..],
            &["memory", "memories"],
            &["process", "processes", "processed"],
            &["run", "runs", "running"],
            &["policy", "policies"],
            &["deny", "denies", "denied", "denying"],
            &["write", "writes", "writing"],
            &["cache", "caches", "cached"],
            &["configure", "configured", "configuration", "configurations"],
            &["kill", "kills", "killed", "killing"],
        ] {
            let stems: Vec<&str> = forms.iter().map(|form| stem(form)).collect();
            assert!(stems.iter().all(|stem| *stem == stems[0]), "{forms:?} {stems:?}");
        }
        assert_eq!(
            ["status", "access", "bus", "07", "größe"].map(stem),
            ["status", "access", "bus", "07", "größe"]
        );
    }

    #[test]
    fn words_that_say_nothing_are_dropped() {
        let keywords = Keywords::of("What does the router do when it is restarted, and why?");
        assert_eq!(keywords.texts().collect::<Vec<_>>(), ["router", "restarted"]);
        assert_eq!(Keywords::of("Hello, who are you?").len(), 0);
    }

    #[test]
    fn a_form_of_the_word_counts_more_than_what_begins_like_it() {
        let keywords = Keywords::of("configuration keys");
        assert_eq!(keywords.fit("every configured key").each[..2], [1.0, 1.0]);
        assert_eq!(keywords.fit("configurability").each[..2], [BEGINS_LIKE, 0.0]);
        assert_eq!(keywords.fit("keyboard").each[..2], [0.0, 0.0]);
    }

    #[test]
    fn adjacent_words_of_the_question_are_seen_together() {
        let keywords = Keywords::of("tool calls per turn");
        assert_eq!(keywords.fit("50 calls of a tool").beside[..3], [false, false, false]);
        assert_eq!(keywords.fit("50 tool calls/turn").beside[..4], [true, false, false, false]);
        assert!(keywords.fit("a call to tools").beside[0]);
    }

    proptest! {
        #[test]
        fn a_line_with_a_word_of_the_question_fits_the_pattern(question in "([a-z]{1,12}(ing|ed|s|es|y)? ?){1,14}", pick: prop::sample::Index) {
            let keywords = Keywords::of(&question);
            prop_assert!(keywords.len() <= MOST);
            prop_assume!(keywords.len() > 0);
            let any = RegexBuilder::new(&keywords.any()).case_insensitive(true).build().unwrap();
            let texts: Vec<&str> = keywords.texts().collect();
            let line = format!("X {} y", pick.get(&texts).to_uppercase());
            prop_assert!(any.is_match(&line));
            prop_assert!(keywords.fit(&line).any());
            if let Some(pairs) = keywords.pairs() {
                prop_assert!(pairs.len() <= PATTERN);
                RegexBuilder::new(&pairs).case_insensitive(true).build().unwrap();
            }
        }

        #[test]
        fn any_question_makes_a_pattern_that_compiles(question in "\\PC{0,200}") {
            let keywords = Keywords::of(&question);
            RegexBuilder::new(&keywords.any()).build().unwrap();
        }
    }
}
