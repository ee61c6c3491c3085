//! Makes a full-text expression of any text. Pure; no word of the text may reach the index unquoted, so that no text is
//! an error and none can name a column or an operator.

use finding::says_little;

/// Words of one query that are looked for; further ones are left out.
const MOST_WORDS: usize = 64;

/// The words that a query looks for.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Query {
    words: Vec<String>,
}

impl Query {
    /// The distinct words of a text, the common ones only if there are no others.
    pub(crate) fn of(text: &str) -> Self {
        let mut words: Vec<String> = Vec::new();
        let mut common: Vec<String> = Vec::new();
        for word in text.split(separates).filter(|word| !word.is_empty()) {
            let word = word.to_lowercase();
            let list = if says_little(&word) { &mut common } else { &mut words };
            if list.len() < MOST_WORDS && !list.contains(&word) {
                list.push(word);
            }
        }
        Self { words: if words.is_empty() { common } else { words } }
    }

    /// Every distinct word of a text: a removal by words takes only rows that have all of them.
    pub(crate) fn whole(text: &str) -> Self {
        let mut words: Vec<String> = Vec::new();
        for word in text.split(separates).filter(|word| !word.is_empty()) {
            let word = word.to_lowercase();
            if !words.contains(&word) {
                words.push(word);
            }
        }
        Self { words }
    }

    /// The words, in lower case.
    pub(crate) fn words(&self) -> &[String] {
        &self.words
    }

    /// Rows with all of the words.
    pub(crate) fn all(&self) -> String {
        let quoted: Vec<String> = self.words.iter().map(|word| quoted(word)).collect();
        quoted.join(" AND ")
    }

    /// Returns whether there is nothing to look for.
    pub(crate) const fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    /// Rows with any of the words.
    pub(crate) fn any(&self) -> String {
        let quoted: Vec<String> = self.words.iter().map(|word| quoted(word)).collect();
        quoted.join(" OR ")
    }

    /// Rows with a word that begins as any of these does; nothing if none is long enough to say anything.
    pub(crate) fn beginning(&self) -> Option<String> {
        let telling = |word: &&String| word.chars().count() > 1 || !word.is_ascii();
        // The index keeps "photosynthesi" of photosynthesis and would look for "photosi" of "photosy".
        let beginning = |word: &String| format!("{} *", quoted(word.strip_suffix('y').unwrap_or(word)));
        let quoted: Vec<String> = self.words.iter().filter(telling).map(beginning).collect();
        (!quoted.is_empty()).then(|| quoted.join(" OR "))
    }
}

/// Words hold no quote, because it separates; doubling it costs nothing and does not lean on that.
fn quoted(word: &str) -> String {
    format!("\"{}\"", word.replace('"', "\"\""))
}

/// Returns true if a character ends a word: white space, controls (a NUL would end the whole expression), and
/// punctuation of ASCII, of the general block and of CJK. At other characters the index's own tokenizer splits, and
/// matches the parts as a phrase.
fn separates(c: char) -> bool {
    let punctuation = matches!(c, '\u{2000}'..='\u{206f}' | '\u{3000}'..='\u{303f}');
    c.is_whitespace() || c.is_control() || punctuation || (c.is_ascii() && !c.is_ascii_alphanumeric())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn words(text: &str) -> Vec<String> {
        Query::of(text).words
    }

    #[test]
    fn common_words_are_left_out_when_others_remain() {
        assert_eq!(words("What is the name of Anna's cat?"), ["name", "anna", "cat"]);
        assert_eq!(words("wie heißt die Katze"), ["heißt", "katze"]);
        assert_eq!(words("what is it"), ["what", "is", "it"]);
    }

    #[test]
    fn operators_columns_and_quotes_are_words_like_others() {
        assert_eq!(words("content:x NEAR(\"a b\", 2) -y* ^z"), ["content", "x", "near", "b", "2", "y", "z"]);
        assert_eq!(Query::of("AND OR NOT").any(), "\"and\" OR \"or\" OR \"not\"");
    }

    // Holds B-132.
    #[test]
    fn a_word_is_looked_for_once_and_there_are_at_most_so_many() {
        assert_eq!(words("cat Cat CAT"), ["cat"]);
        let many: Vec<String> = (0..1000).map(|n| format!("w{n}")).collect();
        assert_eq!(words(&many.join(" ")).len(), MOST_WORDS);
    }

    #[test]
    fn no_words_are_no_query_and_one_letter_is_no_beginning() {
        assert!(Query::of(" \0 \"'-- ").is_empty());
        assert_eq!(Query::of("x").beginning(), None);
        assert_eq!(Query::of("x rem").beginning().as_deref(), Some("\"rem\" *"));
        assert_eq!(Query::of("猫").beginning().as_deref(), Some("\"猫\" *"));
    }

    proptest! {
        #[test]
        fn no_word_holds_what_could_end_its_quotes(text in any::<String>()) {
            prop_assert!(words(&text).iter().all(|word| !word.contains(['"', '\0'])));
        }
    }
}
