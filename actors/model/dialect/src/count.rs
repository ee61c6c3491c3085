//! How many tokens a text is, estimated. Each provider cuts text in its own way and few say how, so no figure made here
//! is exact: it serves to reserve money, to tell whether a conversation can fit, and where a provider does not count.

use ipc_proto::model::Request;

/// Tokens of an image: about what the larger providers take for one as large as they look at.
const IMAGE: u32 = 1600;

/// How many times too many, or too few, an estimate may be: no tokenizer in use is further from it for words, code or
/// numbers of any script.
pub const TIMES: u32 = 4;

/// An estimate of the tokens of a text.
#[must_use]
pub fn text(text: &str) -> u32 {
    tokens(quarters(text))
}

/// An estimate of the tokens that a request has, its tools and images included.
#[must_use]
pub fn request(request: &Request) -> u32 {
    measure(request).0
}

/// The same, and the fewest that a provider can count: it may look at an image from afar, and leave out what was thought
/// in former answers.
#[must_use]
pub fn measure(request: &Request) -> (u32, u32) {
    let mut plain = Counter::default();
    for message in &request.messages {
        plain.add(&message.text);
        for call in &message.calls {
            plain.add(&call.tool);
            plain.add(&call.args);
        }
    }
    for tool in request.tools.iter() {
        plain.add(&tool.name);
        plain.add(&tool.description);
        plain.add(&tool.schema);
    }
    let thoughts = request.messages.iter().flat_map(|message| &message.thoughts);
    let thought: u64 = thoughts.map(|thought| quarters(&thought.text) + quarters(&thought.seal)).sum();
    let images = u32::try_from(request.images.len()).unwrap_or(u32::MAX).saturating_mul(IMAGE);
    (tokens(plain.quarters + thought).saturating_add(images), plain.least())
}

/// A text that is counted as it comes.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counter {
    quarters: u64,
    /// The same, without characters that only repeat the one before: of a run of these a token can be very long.
    varied: u64,
    last: Option<char>,
}

impl Counter {
    /// More of it.
    pub fn add(&mut self, text: &str) {
        for c in text.chars() {
            let weight = weight(c);
            self.quarters += weight;
            if self.last.replace(c) != Some(c) {
                self.varied += weight;
            }
        }
    }

    /// An estimate of its tokens.
    #[must_use]
    pub fn tokens(&self) -> u32 {
        tokens(self.quarters)
    }

    /// The fewest tokens that anybody can count of it.
    #[must_use]
    pub fn least(&self) -> u32 {
        u32::try_from(self.varied / 4).unwrap_or(u32::MAX) / TIMES
    }
}

/// Quarters of a token in a text.
fn quarters(text: &str) -> u64 {
    text.chars().map(weight).sum()
}

/// Four letters of English are a token, two of most other scripts, and a character of those that write words with one or
/// two.
const fn weight(c: char) -> u64 {
    match c {
        '\0'..='\u{7f}' => 1,
        '\u{80}'..='\u{2fff}' => 2,
        _ => 4,
    }
}

fn tokens(quarters: u64) -> u32 {
    u32::try_from(quarters.div_ceil(4)).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn four_letters_of_english_two_of_cyrillic_and_one_character_of_chinese_are_a_token() {
        for (words, count) in
            [("", 0), ("a", 1), ("abcd", 1), ("abcde", 2), ("где", 2), ("你好", 2), ("ab😀", 2)]
        {
            assert_eq!(text(words), count, "{words}");
        }
    }

    #[test]
    fn the_fewest_tokens_of_a_text_are_a_quarter_of_its_estimate_and_a_run_of_one_character_is_none() {
        let counted = |parts: &[&str]| {
            let mut counter = Counter::default();
            parts.iter().for_each(|part| counter.add(part));
            (counter.tokens(), counter.least())
        };
        let words = "now and then it rains in town as";
        assert_eq!(counted(&[words]), (8, 2));
        let letters: Vec<&str> = words.split_inclusive(|_| true).collect();
        assert_eq!(counted(&letters), counted(&[words]), "however it is cut");
        assert_eq!(counted(&[&" ".repeat(4000)]), (1000, 0));
        assert_eq!(counted(&[]), (0, 0));
    }
}
