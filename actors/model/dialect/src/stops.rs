//! The texts that a request names for its answer to end at. Where its provider cannot end it, it is ended here: text
//! that may be the beginning of one is held back, so that nothing of it is given. Linear in the text: each is searched
//! for by the method of Knuth, Morris and Pratt, whose state is also the length to hold back.

/// Texts at which an answer ends, and the search for those that its provider does not get.
#[derive(Clone, Debug, Default)]
pub struct Stops {
    texts: Vec<String>,
    patterns: Vec<Pattern>,
    held: String,
}

/// One text, and how much of it the stream ends with.
#[derive(Clone, Debug)]
struct Pattern {
    /// The index of the text.
    index: u8,
    bytes: Vec<u8>,
    /// For each beginning of the text: how much of the text it ends with, itself left out.
    falls_to: Vec<usize>,
    at: usize,
}

/// The text that may be given, and the index of the text at which the answer ends there.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Scanned {
    pub(crate) text: String,
    pub(crate) ends: Option<u8>,
}

/// The part of a whole answer that may be given, and the index of the text at which it ends there.
#[must_use]
pub fn until<'t, 's>(text: &'t str, stops: impl IntoIterator<Item = &'s str>) -> (&'t str, Option<u8>) {
    let scanned = Stops::searched(stops).feed(text);
    let said = scanned.ends.and_then(|_| text.get(..scanned.text.len()));
    (said.unwrap_or(text), scanned.ends)
}

impl Stops {
    /// Texts at which the provider ends its answer by itself.
    pub(crate) fn known<'a>(texts: impl IntoIterator<Item = &'a str>) -> Self {
        Self { texts: texts.into_iter().map(str::to_owned).collect(), ..Self::default() }
    }

    /// Texts that are searched for; empty ones are not.
    #[must_use]
    pub fn searched<'a>(texts: impl IntoIterator<Item = &'a str>) -> Self {
        let stops = Self::known(texts);
        let texts = (0..).zip(&stops.texts).filter(|(_, text)| !text.is_empty());
        let patterns = texts.map(|(index, text)| Pattern::new(index, text)).collect();
        Self { patterns, ..stops }
    }

    /// The index of this text.
    pub(crate) fn which(&self, text: &str) -> Option<u8> {
        (0..).zip(&self.texts).find(|(_, known)| known.as_str() == text).map(|(index, _)| index)
    }

    /// Takes more of the answer.
    pub(crate) fn feed(&mut self, text: &str) -> Scanned {
        let before = self.held.len();
        self.held.push_str(text);
        for (count, byte) in (1..).zip(text.bytes()) {
            // Each one has to see each byte, so all are asked.
            let hits = self.patterns.iter_mut().filter_map(|pattern| pattern.step(byte));
            // The hit that began first wins.
            if let Some((length, index)) = hits.max() {
                let text = self.held.get(..before + count - length).unwrap_or_default().to_owned();
                self.held.clear();
                return Scanned { text, ends: Some(index) };
            }
        }
        let hold = self.patterns.iter().map(|pattern| pattern.at).max().unwrap_or(0);
        let free = self.held.len().saturating_sub(hold);
        let rest = self.held.split_off(self.held.floor_char_boundary(free));
        Scanned { text: std::mem::replace(&mut self.held, rest), ends: None }
    }

    /// The text held back of an answer that has ended by itself.
    pub(crate) fn rest(&mut self) -> String {
        std::mem::take(&mut self.held)
    }
}

impl Pattern {
    fn new(index: u8, text: &str) -> Self {
        let mut pattern = Self { index, bytes: text.as_bytes().to_vec(), falls_to: vec![0], at: 0 };
        for byte in text.bytes().skip(1) {
            pattern.advance(byte);
            pattern.falls_to.push(pattern.at);
        }
        pattern.at = 0;
        pattern
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
            let scanned = stops.feed(part);
            all.push_str(&scanned.text);
            if scanned.ends.is_some() {
                return (all, scanned.ends);
            }
        }
        (all + &stops.rest(), None)
    }

    #[test]
    fn an_answer_ends_before_the_first_complete_stop_text() {
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
        assert_eq!(stops.feed("go ST"), Scanned { text: "go ".to_owned(), ends: None });
        assert_eq!(stops.feed("ILL"), Scanned { text: "STILL".to_owned(), ends: None });
        assert_eq!(stops.feed("ST"), Scanned { text: String::new(), ends: None });
        assert_eq!(stops.rest(), "ST");
    }

    #[test]
    fn what_a_provider_ends_at_by_itself_is_known_and_not_searched_for() {
        let mut stops = Stops::known(["END", "STOP", "STOP"]);
        assert_eq!(stops.feed("a STOP b"), Scanned { text: "a STOP b".to_owned(), ends: None });
        assert_eq!([stops.which("STOP"), stops.which("stop"), stops.which("")], [Some(1), None, None]);
    }

    proptest! {
        #[test]
        fn stops_are_found_however_the_text_is_cut(
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
