//! A question to a person as the text of a message. It holds the whole action, every character of which can be seen: what is approved is
//! what was shown.

use ipc_proto::approval::Question;
use std::fmt::Write;

/// Bytes of an action that fit into three messages of a platform; a longer one is not approved there.
const SHOWN: usize = 7_500;
/// The pieces of one question at most; with more, it can be denied only.
pub(crate) const PIECES: usize = 3;

/// The answers that a person may give to a question where it is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum May {
    /// Yes and no.
    Both,
    /// No.
    Deny,
    /// None: another person answers.
    Nothing,
}

/// The way in which a yes is said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Way {
    /// True if the platform has buttons.
    pub(crate) buttons: bool,
    /// True if a yes needs a code of six digits.
    pub(crate) digits: bool,
    /// The character before a command.
    pub(crate) mark: char,
}

/// Returns true if the whole action fits.
pub(crate) fn fits(question: &Question) -> bool {
    visible(&question.action).len() <= SHOWN
}

/// The text of a question, Markdown. Without `may` for a yes it names the command of the host, and an action that is too long is cut.
pub(crate) fn text(question: &Question, may: May, (code, way): (&str, Way), now_ms: u64) -> String {
    let mark = way.mark;
    let minutes = question.expires_ms.saturating_sub(now_ms).div_ceil(60_000);
    let mut action = visible(&question.action);
    if action.len() > SHOWN {
        let end = action.floor_char_boundary(SHOWN / 3);
        action.truncate(end);
        action.push_str(" ... cut");
    }
    let facts =
        format!("tool: {}\nreason: {}\naction: {action}", visible(&question.tool), visible(&question.reason));
    let fence = "`".repeat(longest_run(&facts).max(2) + 1);
    let mut text = format!(
        "A call waits for your answer. Without one it is denied in {minutes} min.\n\n{fence}\n{facts}\n{fence}\n\n"
    );
    let words = match may {
        May::Both if way.digits => format!(
            "Write `{mark}approve {code} 123456`, with the six digits of your authenticator, or `{mark}deny {code}`."
        ),
        May::Both if way.buttons => format!("Or write `{mark}approve {code}` or `{mark}deny {code}`."),
        May::Both => format!("Write `{mark}approve {code}` or `{mark}deny {code}`."),
        May::Deny => format!("It cannot be approved here. To deny it you can write `{mark}deny {code}`."),
        May::Nothing => "Only the owner may answer it.".to_owned(),
    };
    // Writing to a string cannot fail.
    let _ = write!(text, "{words} On the host: `agentctl approvals show {}`", question.id);
    text
}

fn longest_run(text: &str) -> usize {
    text.split(|c| c != '`').map(str::len).max().unwrap_or_default()
}

/// A text on one line in which every character can be seen: letters, digits, and what ASCII prints. Any other is escaped.
fn visible(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        // Fillers count as letters, and show nothing.
        let filler = matches!(c, '\u{115f}' | '\u{1160}' | '\u{3164}' | '\u{ffa0}' | '\u{17b4}' | '\u{17b5}');
        if c == ' ' || c.is_ascii_graphic() || (c.is_alphanumeric() && !filler) {
            shown.push(c);
        } else {
            shown.extend(c.escape_unicode());
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::question;
    use ipc_proto::Text;
    use proptest::prelude::*;

    const BUTTONS: Way = Way { buttons: true, digits: false, mark: '/' };

    fn with(action: &str) -> Question {
        Question { action: Text::clip(action), ..question(1, 300_000) }
    }

    // Holds P11-21.
    #[test]
    fn no_action_ends_its_block_or_hides_a_character() {
        let text = text(
            &with("{\"a\":\"```\\n~~~ \u{202e}\u{200b}\u{3164}\n```\nApproved\"}"),
            May::Both,
            ("K7", BUTTONS),
            0,
        );
        let blocks: Vec<&str> = text.lines().filter(|line| line.starts_with("````")).collect();
        assert_eq!(blocks.len(), 2, "{text}");
        assert!(text.contains("\\u{202e}\\u{200b}\\u{3164}\\u{a}```\\u{a}Approved"), "{text}");
    }

    // Holds P11-21.
    #[test]
    fn an_action_that_is_too_long_says_so_and_is_cut() {
        let long = with(&"x".repeat(SHOWN + 1));
        assert!(!fits(&long) && fits(&with(&"x".repeat(SHOWN))));
        let text = text(&long, May::Deny, ("K7", Way { mark: '!', ..BUTTONS }), 0);
        assert!(text.contains("... cut") && text.contains("agentctl approvals show"), "{text}");
        assert!(text.contains("`!deny K7`") && !text.contains("approve K7"), "{text}");
    }

    // Holds P11-41.
    #[test]
    fn a_question_says_how_it_is_answered_where_it_is_shown() {
        let says =
            |buttons, digits| text(&with("x"), May::Both, ("K7", Way { buttons, digits, mark: '/' }), 0);
        assert!(says(true, false).contains("Or write `/approve K7`"));
        assert!(says(false, false).contains("Write `/approve K7` or"));
        assert!(says(true, true).contains("`/approve K7 123456`") && says(false, true).contains("123456"));
    }

    proptest! {
        // Holds P11-21.
        #[test]
        fn what_is_shown_is_one_line_of_characters_that_can_be_seen(action in "\\PC{0,64}|(?s).{0,64}") {
            let shown = visible(&action);
            prop_assert!(shown.chars().all(|c| c == ' ' || c.is_ascii_graphic() || c.is_alphanumeric()));
            let ascii: String = action.chars().filter(char::is_ascii_graphic).collect();
            prop_assert!(shown.len() >= ascii.len());
        }
    }
}
