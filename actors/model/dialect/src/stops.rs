//! Ends an answer at the texts that its request names, for providers that cannot. What could be the beginning of one is
//! held back, so that nothing of it is said. Linear in the text, whatever it is: each needle is searched for by the
//! method of Knuth, Morris and Pratt, whose state is also how much to hold back.

/// The search for several texts at once.
#[derive(Debug, Default)]
pub(crate) struct Stops {
    needles: Vec<Needle>,
    held: String,
}

/// One text, and how much of it the stream ends with.
#[derive(Debug)]
struct Needle {
    bytes: Vec<u8>,
    /// Of each beginning of the text: how much of the text it ends with, itself left out.
    falls_to: Vec<usize>,
    at: usize,
}

/// What may be said, and whether the answer ends there.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Passed {
    pub(crate) text: String,
    pub(crate) ends: bool,
}

impl Stops {
    /// For these texts; empty ones are none.
    pub(crate) fn new<'a>(texts: impl IntoIterator<Item = &'a str>) -> Self {
        let needles = texts.into_iter().filter(|text| !text.is_empty()).map(Needle::new).collect();
        Self { needles, held: String::new() }
    }

    /// Takes more of the answer.
    pub(crate) fn feed(&mut self, text: &str) -> Passed {
        let before = self.held.len();
        self.held.push_str(text);
        for (count, byte) in (1..).zip(text.bytes()) {
            // Each one has to see each byte, so all are asked.
            let hits = self.needles.iter_mut().filter_map(|needle| needle.step(byte));
            if let Some(length) = hits.max() {
                let text = self.held.get(..before + count - length).unwrap_or_default().to_owned();
                self.held.clear();
                return Passed { text, ends: true };
            }
        }
        let hold = self.needles.iter().map(|needle| needle.at).max().unwrap_or(0);
        let free = self.held.len().saturating_sub(hold);
        let rest = self.held.split_off(self.held.floor_char_boundary(free));
        Passed { text: std::mem::replace(&mut self.held, rest), ends: false }
    }

    /// What was held back of an answer that has ended by itself.
    pub(crate) fn rest(&mut self) -> String {
        std::mem::take(&mut self.held)
    }
}

impl Needle {
    fn new(text: &str) -> Self {
        let mut needle = Self { bytes: text.as_bytes().to_vec(), falls_to: vec![0], at: 0 };
        for byte in text.bytes().skip(1) {
            needle.advance(byte);
            needle.falls_to.push(needle.at);
        }
        needle.at = 0;
        needle
    }

    /// Takes a byte; the length of the text if that completes it.
    fn step(&mut self, byte: u8) -> Option<usize> {
        self.advance(byte);
        (self.at == self.bytes.len()).then_some(self.at)
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

    fn said(stops: &[&str], parts: &[&str]) -> (String, bool) {
        let mut stops = Stops::new(stops.iter().copied());
        let mut all = String::new();
        for part in parts {
            let passed = stops.feed(part);
            all.push_str(&passed.text);
            if passed.ends {
                return (all, true);
            }
        }
        (all + &stops.rest(), false)
    }

    #[test]
    fn an_answer_ends_before_the_first_text_that_is_complete() {
        for (stops, text, expected) in [
            (&["END"][..], "a END b", ("a ", true)),
            (&["END"], "a EN D", ("a EN D", false)),
            (&["aab"], "aaab", ("a", true)),
            (&["abab", "bab"], "xabab", ("x", true)),
            (&["", "é!"], "oé!", ("o", true)),
            (&[], "anything", ("anything", false)),
        ] {
            assert_eq!(said(stops, &[text]), (expected.0.to_owned(), expected.1), "{text}");
        }
    }

    #[test]
    fn the_beginning_of_one_is_held_back_until_it_is_none() {
        let mut stops = Stops::new(["STOP"]);
        assert_eq!(stops.feed("go ST"), Passed { text: "go ".to_owned(), ends: false });
        assert_eq!(stops.feed("ILL"), Passed { text: "STILL".to_owned(), ends: false });
        assert_eq!(stops.feed("ST"), Passed { text: String::new(), ends: false });
        assert_eq!(stops.rest(), "ST");
    }

    proptest! {
        #[test]
        fn the_same_is_said_however_the_text_is_cut_and_it_is_what_a_plain_search_says(
            text in "[ab\u{e9}]{0,30}", stop in "[ab\u{e9}]{1,4}", cut in 1usize..4,
        ) {
            let parts: Vec<&str> = crate::text::chunks(&text, cut).collect();
            let expected = match text.find(&stop) {
                Some(at) => (text[..at].to_owned(), true),
                None => (text.clone(), false),
            };
            prop_assert_eq!(said(&[&stop], &parts), expected.clone());
            prop_assert_eq!(said(&[&stop], &[&text]), expected);
        }
    }
}
