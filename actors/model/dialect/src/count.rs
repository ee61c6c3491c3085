//! How many tokens a text is, estimated. Each provider cuts text in its own way and few say how, so no figure made here
//! is exact: it serves to reserve money, to tell whether a conversation can fit, and where a provider does not count.

use ipc_proto::model::Request;

/// Tokens of an image: about what the larger providers take for one as large as they look at.
const IMAGE: u32 = 1600;

/// An estimate of the tokens of a text.
#[must_use]
pub fn text(text: &str) -> u32 {
    tokens(quarters(text))
}

/// An estimate of the tokens that a request has, its tools and images included.
#[must_use]
pub fn request(request: &Request) -> u32 {
    let said: u64 = request.messages.iter().map(|message| quarters(&message.text)).sum();
    let thoughts = request.messages.iter().flat_map(|message| &message.thoughts);
    let thought: u64 = thoughts.map(|thought| quarters(&thought.text) + quarters(&thought.seal)).sum();
    let calls = request.messages.iter().flat_map(|message| &message.calls);
    let called: u64 = calls.map(|call| quarters(&call.tool) + quarters(&call.args)).sum();
    let tools = request.tools.iter();
    let told = tools.map(|tool| quarters(&tool.name) + quarters(&tool.description) + quarters(&tool.schema));
    let images = u32::try_from(request.images.len()).unwrap_or(u32::MAX).saturating_mul(IMAGE);
    tokens(said + thought + called + told.sum::<u64>()).saturating_add(images)
}

/// Quarters of a token: four letters of English are one, two of most other scripts, and a character of those that write
/// words with one or two.
fn quarters(text: &str) -> u64 {
    let weight = |c: char| match c {
        '\0'..='\u{7f}' => 1,
        '\u{80}'..='\u{2fff}' => 2,
        _ => 4,
    };
    text.chars().map(weight).sum()
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
}
