//! The content of a question: its terms, the times it names, and if a time, a number or a name would answer it.

use crate::cjk;
use crate::dates::{self, Day, Span};
use crate::languages::Language;
use crate::lexicon::{Lexicon, unspaced, words};
use crate::wants::Wants;
use crate::word::Word;
use std::collections::HashSet;

/// Terms of one question that are looked for; further ones are left out.
const MOST_TERMS: usize = 64;
/// Times of one question that are looked for: every row is gone through for each.
const MOST_TIMES: usize = 16;
/// Characters of a text by which it is said to fit.
const LOOKED_AT: usize = 8000;

/// A question, taken apart.
#[derive(Clone, Debug)]
pub struct Question {
    pub(crate) terms: Vec<String>,
    pub(crate) times: Vec<Span>,
    pub(crate) wants: Wants,
    /// No word of it says much.
    says_little: bool,
    /// It has words that say little beside those that say much.
    is_a_sentence: bool,
}

impl Question {
    /// Any text at all, asked at `now_ms`, unix ms.
    #[must_use]
    pub fn of(text: &str, now_ms: u64, lexicon: &Lexicon) -> Self {
        let words = words(text);
        let tongue = Language::of(&words);
        let little = |word: &&Word| match tongue {
            _ if word.plain.starts_with(unspaced) => cjk::says_little(&word.plain),
            None => lexicon.is_asking(&word.plain),
            Some(tongue) => tongue.says_little(&word.plain),
        };
        let mut terms = distinct(words.iter().filter(|word| !little(word)), lexicon);
        let says_little = terms.is_empty();
        let is_a_sentence = !says_little && words.iter().any(|word| little(&word));
        if says_little {
            terms = distinct(words.iter(), lexicon);
        }
        let now: Day = dates::day_of(now_ms);
        // A name in such characters may stand in a question of any language.
        let by_characters = if words.iter().any(|word| word.plain.starts_with(unspaced)) {
            cjk::wants(text)
        } else {
            Wants::Anything
        };
        let wants = match (by_characters, tongue) {
            (Wants::Anything, None) => wants(&words),
            (Wants::Anything, Some(tongue)) => tongue.wants(&words),
            (known, _) => known,
        };
        let mut times = dates::spans(&words, now);
        times.truncate(MOST_TIMES);
        Self { terms, times, wants, says_little, is_a_sentence }
    }

    /// Returns true if a text is about the question, and does not just hold a word of it: it needs one of a few words,
    /// two of more, three of many, each as itself or its kin. Nothing is about a question that says little.
    #[must_use]
    pub fn fits(&self, text: &str, lexicon: &Lexicon) -> bool {
        let least = match self.terms.len() {
            ..=3 => 1,
            4..=10 => 2,
            _ => 3,
        };
        let begun: String = text.chars().take(LOOKED_AT).collect();
        let held: HashSet<String> = words(&begun).iter().map(|word| lexicon.term(&word.plain)).collect();
        let holds = |term: &&String| {
            held.contains(*term) || lexicon.kin(term).iter().any(|(kin, _)| held.contains(kin))
        };
        !self.says_little && self.terms.iter().filter(holds).take(least).count() == least
    }

    /// Returns whether it is asked as one asks a person, and not by the words alone that a text must hold.
    #[must_use]
    pub const fn is_a_sentence(&self) -> bool {
        self.is_a_sentence
    }

    /// Returns whether there is nothing to look for.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.terms.is_empty()
    }
}

fn distinct<'a>(words: impl Iterator<Item = &'a Word>, lexicon: &Lexicon) -> Vec<String> {
    let mut terms: Vec<String> = Vec::new();
    for term in words.map(|word| lexicon.term(&word.plain)) {
        if terms.len() == MOST_TERMS {
            break;
        }
        if !terms.contains(&term) {
            terms.push(term);
        }
    }
    terms
}

/// The kind of answer that the first words ask for.
fn wants(words: &[Word]) -> Wants {
    let mut plain = words.iter().map(|word| word.plain.as_str());
    let first = plain.next().unwrap_or_default();
    let of_time = ["date", "day", "month", "year", "time", "season"];
    let of_number = ["many", "much", "long", "old", "often", "tall", "far", "high", "big", "large"];
    match first {
        "when" => Wants::Time,
        "what" | "which" if plain.clone().take(3).any(|word| of_time.contains(&word)) => Wants::Time,
        "how" if plain.next().is_some_and(|word| of_number.contains(&word)) => Wants::Number,
        "who" | "where" | "whose" | "whom" => Wants::Name,
        _ => Wants::Anything,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn question(text: &str) -> Question {
        Question::of(text, 0, &Lexicon::new())
    }

    #[test]
    fn common_words_are_looked_for_only_if_there_are_no_others() {
        assert_eq!(question("What did Anna's children buy?").terms, ["anna", "child", "buy"]);
        assert_eq!(question("what is it").terms, ["what", "be", "it"]);
        assert!(question(" \0 \"'-- ").is_empty());
    }

    // Holds B-133, B-134.
    #[test]
    fn a_term_is_looked_for_once_and_there_are_at_most_so_many() {
        assert_eq!(question("cat Cats CAT").terms, ["cat"]);
        let many: Vec<String> = (0..1000).map(|n| format!("w{n}")).collect();
        assert_eq!(question(&many.join(" ")).terms.len(), MOST_TERMS);
        let years: Vec<String> = (1900..2000).map(|year| year.to_string()).collect();
        assert_eq!(question(&years.join(" in ")).times.len(), MOST_TIMES);
    }

    // Holds P5-32.
    #[test]
    fn a_text_fits_by_its_words_and_a_vague_question_fits_none() {
        let lexicon = Lexicon::new();
        let long = "tell me again about the ferry, its timetable, the pier, the captain, the crew, the cargo, the fares, \
                    the tickets, the queue and the weather";
        for (asked, text, fits) in [
            ("when does the harbour open?", "The harbour light is red.", true),
            ("short", "a short note", true),
            ("short", "what is shorter than all else is long", false),
            ("xyzzy plugh quite unrelated words", "words of a plain note", false),
            ("xyzzy plugh quite unrelated words", "quite a few words", true),
            (long, "the captain likes tea", false),
            (long, "the captain of the ferry", false),
            (long, "the captain of the ferry sells tickets", true),
            ("what is it", "what it is", false),
            ("", "anything", false),
        ] {
            assert_eq!(Question::of(asked, 0, &lexicon).fits(text, &lexicon), fits, "{asked}: {text}");
        }
        // The subject of a text counts, and so its beginning.
        for (before, fits) in [(LOOKED_AT - 8, true), (LOOKED_AT, false)] {
            let text = format!("{}harbour", " ".repeat(before));
            assert_eq!(question("harbour").fits(&text, &lexicon), fits, "after {before} characters");
        }
    }

    // Holds P3-30.
    #[test]
    fn small_words_are_those_of_the_language_that_is_asked_in() {
        for (text, terms) in [
            ("Which hat did she wear in the war?", vec!["hat", "wear", "war"]),
            ("Wo war der Hut, den sie hat?", vec!["hut"]),
            ("¿Cuándo se lanza la app?", vec!["lanza", "app"]),
            ("Quand est-ce que le bateau part ?", vec!["bateau", "part"]),
            ("die hard", vec!["die", "hard"]),
            ("Сколько щенков было у неё?", vec!["щенк"]),
            ("鍵はどこですか", vec!["鍵は"]),
            ("谁的猫", vec!["谁的", "的猫"]),
        ] {
            assert_eq!(question(text).terms, terms, "{text}");
        }
    }

    // Holds P3-31.
    #[test]
    fn little_words_are_ignored_in_sentences_alone() {
        for (text, is_a_sentence) in [
            ("What did the vet say?", true),
            ("Где собака?", true),
            ("猫の名前は何ですか", true),
            ("vet bill", false),
            ("vet", false),
            ("what is it", false),
            ("", false),
        ] {
            assert_eq!(question(text).is_a_sentence(), is_a_sentence, "{text}");
        }
    }

    #[test]
    fn the_first_words_say_what_would_answer() {
        for (text, wanted) in [
            ("When did she move?", Wants::Time),
            ("What month was it?", Wants::Time),
            ("How many cups did she sell?", Wants::Number),
            ("How did she meet him?", Wants::Anything),
            ("Who baked it?", Wants::Name),
            ("blue mugs", Wants::Anything),
            ("Seit wann wohnt sie dort?", Wants::Time),
            ("Wie viele Tassen hat sie verkauft?", Wants::Number),
            ("¿Quién lo hizo?", Wants::Name),
            ("Où est la clé ?", Wants::Name),
            ("Когда она уехала?", Wants::Time),
            ("Сколько щенков родилось?", Wants::Number),
            ("У кого она живёт?", Wants::Name),
            ("他什么时候结婚？", Wants::Time),
            ("When did 王伟 arrive?", Wants::Time),
            ("猫は何匹いますか", Wants::Number),
            ("鍵はどこですか", Wants::Name),
            ("猫が好き", Wants::Anything),
        ] {
            assert_eq!(question(text).wants, wanted, "{text}");
        }
    }
}
