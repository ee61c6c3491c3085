//! Estimates of the tokens of a text. Each provider cuts text in its own way and few say how, so no figure made here is
//! exact: it serves to reserve money, to see if a conversation can fit, and where a provider does not count.

use ipc_proto::model::{IMAGE_TOKENS, Request};

/// The most that one image is by the documented rule of its vendor, where that is more than [`TIMES`] the usual: by what the
/// names of its models have in them.
///
/// OpenAI counts 2833 tokens an image and 5667 for each of its tiles of 512 by 512 with this model alone, of an image made to fit
/// 2048 by 2048 with a shorter side of 768: eight tiles at most. Qwen's models count a token for 28 by 28 or 32 by 32, and
/// 16,384 of them at most.
const LARGE: [(&str, u32); 2] = [("gpt-4o-mini", 2833 + 8 * 5667), ("qwen", 16_384)];

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
    measure(request).tokens
}

/// How many tokens a request has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Measure {
    /// The estimate.
    pub tokens: u32,
    /// The fewest that a provider can count: it may scale an image down, and leave out the thoughts of former answers.
    pub least: u32,
    /// The most that its images may come to beyond [`TIMES`] the estimate, by a rule of the model's vendor.
    pub beyond: u32,
}

/// Measures a request to `request.model`.
#[must_use]
pub fn measure(request: &Request) -> Measure {
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
    let images = u32::try_from(request.images.len()).unwrap_or(u32::MAX);
    Measure {
        tokens: tokens(plain.quarters + thought).saturating_add(images.saturating_mul(IMAGE_TOKENS)),
        least: plain.least(),
        beyond: images.saturating_mul(beyond(&request.model)),
    }
}

/// The most that an image may be to this model beyond [`TIMES`] the usual.
fn beyond(model: &str) -> u32 {
    let model = model.to_ascii_lowercase();
    let rule = LARGE.iter().find(|(part, _)| model.contains(part));
    rule.map_or(0, |(_, most)| most.saturating_sub(IMAGE_TOKENS * TIMES))
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

    /// The fewest tokens that any tokenizer can count.
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
    fn a_token_is_four_latin_two_cyrillic_or_one_chinese_letter() {
        for (words, count) in
            [("", 0), ("a", 1), ("abcd", 1), ("abcde", 2), ("где", 2), ("你好", 2), ("ab😀", 2)]
        {
            assert_eq!(text(words), count, "{words}");
        }
    }

    // Holds B-59.
    #[test]
    fn an_image_counts_at_most_the_rule_of_its_vendor() {
        for (model, most) in [
            ("openai/gpt-4o-mini", 48_169),
            ("corp/gpt-4o-mini-2024-07-18", 48_169),
            ("ollama/Qwen2.5-VL:7b", 16_384),
            ("openai/gpt-4o", 4 * IMAGE_TOKENS),
            ("anthropic/claude-sonnet", 4 * IMAGE_TOKENS),
        ] {
            assert_eq!(TIMES * IMAGE_TOKENS + beyond(model), most, "{model}");
        }
    }

    #[test]
    fn the_least_count_is_a_quarter_and_runs_count_nothing() {
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
