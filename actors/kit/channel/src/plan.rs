//! The messages of one answer.

use crate::facts::Facts;
use crate::parse::{Links, parse};
use crate::render::{Rendered, render};
use crate::rich::Style;
use crate::split::split;

/// The most messages of one answer; a longer one is its first part and a file.
pub const MAX_PARTS: usize = 12;

/// A file that is sent beside the text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attached {
    /// Its name.
    pub name: &'static str,
    /// Its bytes.
    pub bytes: Vec<u8>,
}

/// The messages of an answer, in their order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    /// The texts.
    pub parts: Vec<Rendered>,
    /// The whole answer, where the parts do not hold it.
    pub file: Option<Attached>,
}

/// Plans an answer for a platform. An answer of white space alone has no parts.
#[must_use]
pub fn plan(markdown: &str, facts: &Facts, links: Links<'_>) -> Plan {
    let short = |style: &Style| match style {
        Style::Link(address) => facts.unit.count(address) <= facts.text / 8,
        _ => true,
    };
    let rich = parse(markdown, links).retaining(short);
    let mut parts = split(&rich, facts, MAX_PARTS + 1);
    let file = (parts.len() > MAX_PARTS && facts.upload_mib > 0)
        .then(|| Attached { name: "answer.md", bytes: markdown.as_bytes().to_vec() });
    if file.is_some() {
        parts.truncate(1);
    }
    Plan { parts: parts.iter().map(|part| render(part, facts.dialect)).collect(), file }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::TELEGRAM;

    // Holds P11-14.
    #[test]
    fn an_answer_of_more_than_twelve_parts_is_one_part_and_a_file() {
        let markdown = "A sentence of some length. ".repeat(2000);
        let plan = plan(&markdown, &TELEGRAM, Links::Live);
        assert_eq!(plan.parts.len(), 1);
        assert_eq!(plan.file.map(|file| (file.name, file.bytes)), Some(("answer.md", markdown.into_bytes())));
    }

    #[test]
    fn an_answer_of_twelve_parts_has_no_file() {
        let markdown = "x".repeat(4096 * MAX_PARTS);
        let plan = plan(&markdown, &TELEGRAM, Links::Live);
        assert_eq!((plan.parts.len(), plan.file), (MAX_PARTS, None));
    }

    #[test]
    fn an_answer_without_text_has_no_parts() {
        assert!(plan(" \n\n \t", &TELEGRAM, Links::Live).parts.is_empty());
    }
}
