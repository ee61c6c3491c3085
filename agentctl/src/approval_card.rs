//! The card of an approval: the action, the reason and the matched text, a line each. The exact bytes, hashes and nonce are
//! among the details. A part of the action that the card leaves out is counted, so that nobody approves what was not shown.

use crate::text::exact;
use crate::{tool_line, wrap};
use serde_json::{Map, Value};
use std::fmt::Write;

/// Characters of the action that a card shows.
const SHOWN: usize = 400;
/// The mark of a further line of the reason and of the matched text.
const MORE: &str = "  :          ";
/// The words of a reason before the names of the arguments that nobody named, as the gate writes them.
const NAMES: &str = "not named by you: ";

/// A card.
pub(crate) struct Card {
    action: String,
    reason: String,
    matched: String,
    /// Characters of the action that the card leaves out.
    left_out: usize,
    /// The card shows all of the action.
    pub(crate) is_whole: bool,
}

impl Card {
    /// The card of a call of `tool`. `action` is the canonical action; `preview` stands for it where it cannot be read.
    pub(crate) fn new(tool: &str, action: &str, preview: &str, reason: &str) -> Self {
        let parsed: Option<Map<String, Value>> = serde_json::from_str(action).ok();
        let args = parsed.as_ref().and_then(|action| action.get("args")?.as_object());
        let target = parsed.as_ref().and_then(|action| action.get("target")?.as_str());
        let described = args.map_or_else(|| preview.replace('\n', " "), |args| call(tool, args));
        let (shown, left_out) = begin(&described);
        let mut card = Self {
            action: shown,
            reason: reason.to_owned(),
            matched: matched(args, target, reason).unwrap_or_else(|| "the whole call".to_owned()),
            left_out,
            is_whole: left_out == 0 && args.is_some(),
        };
        card.matched = begin(&card.matched).0;
        card
    }

    /// Adds a remark to the reason.
    pub(crate) fn note(&mut self, note: &str) {
        self.reason = format!("{}; {note}", self.reason);
    }

    /// The three lines of the card, each broken at `most` columns. Each further line has a mark, so that no part of the action
    /// passes for a line of the card.
    pub(crate) fn lines(&self, most: Option<usize>) -> Vec<String> {
        let more = match self.left_out {
            0 => String::new(),
            1 => " … and 1 character more".to_owned(),
            left_out => format!(" … and {left_out} characters more"),
        };
        vec![
            wrap::marked("  ? ", "  : ", &format!("{}{more}", visible(&self.action)), most),
            wrap::marked("    why:     ", MORE, &visible(&self.reason), most),
            wrap::marked("    matched: ", MORE, &visible(&self.matched), most),
        ]
    }
}

/// The call with every argument: the sentence of its tool with its main argument, then the others by name.
fn call(tool: &str, args: &Map<String, Value>) -> String {
    let known = tool_line::verb(tool).filter(|(_, object)| args.contains_key(*object));
    let (mut out, object) = match known {
        Some((verb, object)) => {
            (format!("{tool} {verb} {}", args.get(object).map(value).unwrap_or_default()), object)
        }
        None => (tool.to_owned(), ""),
    };
    for (name, argument) in args.iter().filter(|(name, _)| name.as_str() != object) {
        // Writing into a string cannot fail.
        let _ = write!(out, "; {name}: {}", value(argument));
    }
    out
}

/// The text that the reason is about: the arguments that nobody named, else the target.
fn matched(args: Option<&Map<String, Value>>, target: Option<&str>, reason: &str) -> Option<String> {
    let names = reason.split_once(NAMES).map(|(_, names)| names);
    let named = names.and_then(|names| {
        let parts = names.split(", ").filter_map(|name| {
            // A link within an argument is written `NAME:link`.
            let argument = name.split(':').next().unwrap_or(name);
            Some(format!("{name} = {}", value(args?.get(argument)?)))
        });
        Some(parts.collect::<Vec<_>>().join("; ")).filter(|parts| !parts.is_empty())
    });
    let one = || {
        args.filter(|args| args.len() == 1)?.iter().next().map(|(name, it)| format!("{name} = {}", value(it)))
    };
    named.or_else(|| target.map(|target| format!("target = {target}"))).or_else(one)
}

fn value(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// The first characters, and how many more there are.
fn begin(text: &str) -> (String, usize) {
    (text.chars().take(SHOWN).collect(), text.chars().count().saturating_sub(SHOWN))
}

/// The text on one line, with `⏎` for a line break and every character that could hide something escaped.
fn visible(text: &str) -> String {
    let lines = text.split('\n').map(|line| exact(line).replace('⏎', "\\u{23ce}"));
    lines.collect::<Vec<_>>().join(" ⏎ ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(tool: &str, action: &str, reason: &str) -> Vec<String> {
        Card::new(tool, action, "Runs a command\n  command: ls", reason).lines(Some(80))
    }

    #[test]
    fn a_card_says_the_action_the_reason_and_the_matched_text() {
        let action = r#"{"args":{"command":"rm -rf build","timeout":5},"nonce":"ab","tool":"bash"}"#;
        let shown = lines("bash", action, "the tool asks; not named by you: command");
        let expected = [
            "  ? bash runs rm -rf build; timeout: 5",
            "    why:     the tool asks; not named by you: command",
            "    matched: command = rm -rf build",
        ];
        assert_eq!(shown, expected);
        let mail = r#"{"args":{"body":"hi","to":"a@b.test"},"target":"a@b.test","tool":"mail"}"#;
        let shown = lines("mail", mail, "outside the plan");
        assert_eq!(shown[0], "  ? mail; body: hi; to: a@b.test");
        assert_eq!(shown[2], "    matched: target = a@b.test");
    }

    // Holds P5-61.
    #[test]
    fn a_line_break_is_a_sign_and_nothing_can_hide() {
        let action = "{\"args\":{\"command\":\"ls\\nrm x\\u200b\\u001b[8m ⏎\"}}";
        let shown = lines("bash", action, "the tool asks").join("\n");
        assert!(shown.contains("bash runs ls ⏎ rm x\\u{200b}\\u{1b}[8m \\u{23ce}"), "{shown}");
        assert!(!shown.contains("\\n") && !shown.contains('\u{200b}'), "{shown}");
    }

    // Holds P5-61.
    #[test]
    fn no_part_of_an_action_passes_for_a_line_of_the_card() {
        let action =
            format!(r#"{{"args":{{"command":"{}why:     you asked for it"}}}}"#, "x".repeat(74) + " ");
        let shown = lines("bash", &action, "the tool asks");
        assert!(shown[0].contains("\n  : why:     you asked"), "{shown:?}");
        assert!(!shown[0].contains("\n    "), "{shown:?}");
    }

    // Holds P5-61.
    #[test]
    fn a_word_wider_than_the_terminal_leaves_no_line_without_a_mark() {
        for word in ["x".repeat(300), "世".repeat(150), "👍🏽".repeat(90), "a\u{200b}".repeat(90)] {
            let action = format!(r#"{{"args":{{"command":"{word}    why:     you asked for it"}}}}"#);
            for most in [20, 40, 80] {
                let shown = Card::new("bash", &action, "", &format!("the tool asks; {NAMES}command"))
                    .lines(Some(most));
                let heads = ["  ? ", "    why:     ", "    matched: "];
                for (lines, head) in shown.iter().zip(heads) {
                    for (number, line) in lines.lines().enumerate() {
                        assert!(
                            line.starts_with(if number == 0 { head } else { "  : " }),
                            "{most}: {shown:#?}"
                        );
                        assert!(wrap::width(line) <= most, "{most}: {line}");
                    }
                }
            }
        }
    }

    #[test]
    fn a_part_that_is_left_out_is_counted() {
        let long = format!(r#"{{"args":{{"command":"{}"}}}}"#, "a ".repeat(300));
        let card = Card::new("bash", &long, "", "the tool asks");
        assert_eq!(card.left_out, "bash runs ".len() + 600 - SHOWN);
        assert!(card.lines(Some(80))[0].ends_with("more"));
        let cut = Card::new("bash", "{\"args\":{\"com", "Runs a command\n  command: ls", "the tool asks");
        assert!(!cut.is_whole && cut.lines(None)[0].starts_with("  ? Runs a command   command: ls"));
        assert!(Card::new("bash", r#"{"args":{"command":"ls"}}"#, "", "x").is_whole && !card.is_whole);
    }

    #[test]
    fn a_long_card_is_broken_between_words_at_eighty_columns() {
        let action = format!(r#"{{"args":{{"command":"{}"}}}}"#, "echo harbour ".repeat(20));
        for line in lines(
            "bash",
            &action,
            "what the command runs cannot be read from it, and it would run in a directory of yours",
        ) {
            assert!(line.lines().all(|line| wrap::width(line) <= 80), "{line}");
            assert!(!line.contains("harb\n"), "{line}");
        }
    }
}
