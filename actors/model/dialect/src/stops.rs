//! The texts that a request names for its answer to end at. Where its provider cannot, the answer is ended here: what could
//! be the beginning of one is held back, so that nothing of it is said. Linear in the text, whatever it is: each needle is
//! searched for by the method of Knuth, Morris and Pratt, whose state is also how much to hold back.

/// Texts at which an answer ends, and the search for those that its provider is not told of.
#[derive(Clone, Debug, Default)]
pub struct Stops {
    texts: Vec<String>,
    needles: Vec<Needle>,
    held: String,
}

/// One text, and how much of it the stream ends with.
#[derive(Clone, Debug)]
struct Needle {
    /// Which of the texts.
    index: u8,
    bytes: Vec<u8>,
    /// Of each beginning of the text: how much of the text it ends with, itself left out.
    falls_to: Vec<usize>,
    at: usize,
}

/// What may be said, and at which of the texts the answer ends there.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Passed {
    pub(crate) text: String,
    pub(crate) ends: Option<u8>,
}

/// What may be said of an answer that is whole, and at which of the texts it ends there.
#[must_use]
pub fn until<'t, 's>(text: &'t str, stops: impl IntoIterator<Item = &'s str>) -> (&'t str, Option<u8>) {
    let passed = Stops::searched(stops).feed(text);
    let said = passed.ends.and_then(|_| text.get(..passed.text.len()));
    (said.unwrap_or(text), passed.ends)
}

impl Stops {
    /// Texts that the provider ends its answer at by itself.
    pub(crate) fn known<'a>(texts: impl IntoIterator<Item = &'a str>) -> Self {
        Self { texts: texts.into_iter().map(str::to_owned).collect(), ..Self::default() }
    }

    /// Texts that are searched for; empty ones are not.
    #[must_use]
    pub fn searched<'a>(texts: impl IntoIterator<Item = &'a str>) -> Self {
        let stops = Self::known(texts);
        let texts = (0..).zip(&stops.texts).filter(|(_, text)| !text.is_empty());
        let needles = texts.map(|(index, text)| Needle::new(index, text)).collect();
        Self { needles, ..stops }
    }

    /// Which of them this text is.
    pub(crate) fn which(&self, text: &str) -> Option<u8> {
        (0..).zip(&self.texts).find(|(_, known)| known.as_str() == text).map(|(index, _)| index)
    }

    /// Takes more of the answer.
    pub(crate) fn feed(&mut self, text: &str) -> Passed {
        let before = self.held.len();
        self.held.push_str(text);
        for (count, byte) in (1..).zip(text.bytes()) {
            // Each one has to see each byte, so all are asked.
            let hits = self.needles.iter_mut().filter_map(|needle| needle.step(byte));
            // Of several that end here, the one that began first.
            if let Some((length, index)) = hits.max() {
                let text = self.held.get(..before + count - length).unwrap_or_default().to_owned();
                self.held.clear();
                return Passed { text, ends: Some(index) };
            }
        }
        let hold = self.needles.iter().map(|needle| needle.at).max().unwrap_or(0);
        let free = self.held.len().saturating_sub(hold);
        let rest = self.held.split_off(self.held.floor_char_boundary(free));
        Passed { text: std::mem::replace(&mut self.held, rest), ends: None }
    }

    /// What was held back of an answer that has ended by itself.
    pub(crate) fn rest(&mut self) -> String {
        std::mem::take(&mut self.held)
    }
}

impl Needle {
    fn new(index: u8, text: &str) -> Self {
        let mut needle = Self { index, bytes: text.as_bytes().to_vec(), falls_to: vec![0], at: 0 };
        for byte in text.bytes().skip(1) {
            needle.advance(byte);
            needle.falls_to.push(needle.at);
        }
        needle.at = 0;
        needle
    }

    /// Takes a byte; the length of the text, and which it is, if that completes it.
    fn step(&mut self, byte: u8) -> Option<(usize, u8)> {
        self.advance(byte);
        (self.at == self.bytes.len()).then_some((self.at, self.index))
    }

    fn advance(&mut self, byte: u8) {
        while self.at > 0 && self.bytes.get(self.at) != Some(&byte) {
            self.at = self.falls_to.get(self.at - 1).copied().unwrap_or(0);
        }
        if self.bytes.get(self.at) == Some(&byte) {
            self.at += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn said(stops: &[&str], parts: &[&str]) -> (String, Option<u8>) {
        let mut stops = Stops::searched(stops.iter().copied());
        let mut all = String::new();
        for part in parts {
            let passed = stops.feed(part);
            all.push_str(&passed.text);
            if passed.ends.is_some() {
                return (all, passed.ends);
            }
        }
        (all + &stops.rest(), None)
    }

    #[test]
    fn an_answer_ends_before_the_first_text_that_is_complete_and_it_is_known_which() {
        for (stops, text, expected) in [
            (&["END"][..], "a END b", ("a ", Some(0))),
            (&["END"], "a EN D", ("a EN D", None)),
            (&["aab"], "aaab", ("a", Some(0))),
            (&["bab", "abab"], "xabab", ("x", Some(1))),
            (&["x", "b"], "abx", ("a", Some(1))),
            (&["", "é!"], "oé!", ("o", Some(1))),
            (&[], "anything", ("anything", None)),
        ] {
            assert_eq!(said(stops, &[text]), (expected.0.to_owned(), expected.1), "{text}");
            assert_eq!(until(text, stops.iter().copied()), expected, "{text}");
        }
    }

    #[test]
    fn the_beginning_of_one_is_held_back_until_it_is_none() {
        let mut stops = Stops::searched(["STOP"]);
        assert_eq!(stops.feed("go ST"), Passed { text: "go ".to_owned(), ends: None });
        assert_eq!(stops.feed("ILL"), Passed { text: "STILL".to_owned(), ends: None });
        assert_eq!(stops.feed("ST"), Passed { text: String::new(), ends: None });
        assert_eq!(stops.rest(), "ST");
    }

    #[test]
    fn what_a_provider_ends_at_by_itself_is_known_and_not_searched_for() {
        let mut stops = Stops::known(["END", "STOP", "STOP"]);
        assert_eq!(stops.feed("a STOP b"), Passed { text: "a STOP b".to_owned(), ends: None });
        assert_eq!([stops.which("STOP"), stops.which("stop"), stops.which("")], [Some(1), None, None]);
    }

    proptest! {
        #[test]
        fn the_same_is_said_however_the_text_is_cut_and_it_is_what_a_plain_search_says(
            text in "[ab\u{e9}]{0,30}", stop in "[ab\u{e9}]{1,4}", cut in 1usize..4,
        ) {
            let parts: Vec<&str> = crate::text::chunks(&text, cut).collect();
            let expected = match text.find(&stop) {
                Some(at) => (text[..at].to_owned(), Some(0)),
                None => (text.clone(), None),
            };
            prop_assert_eq!(said(&[&stop], &parts), expected.clone());
            prop_assert_eq!(said(&[&stop], &[&text]), expected);
        }
    }
}
