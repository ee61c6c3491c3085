//! Blocks of a message with buttons. Its text goes into sections, since Slack shows no other text of such a message. Pure.

use ipc_proto::channel::Button;
use serde_json::{Value, json};

/// Characters of one section.
const SECTION: usize = 3000;
/// The mark of a block of code.
const FENCE: &str = "```";

/// The text and the buttons below it.
pub(crate) fn blocks(text: &str, buttons: &[Button]) -> Value {
    let section = |text: String| json!({ "type": "section", "text": { "type": "mrkdwn", "text": text, "verbatim": true } });
    let button = |(at, button): (usize, &Button)| {
        json!({
            "type": "button",
            "action_id": format!("cordon-{at}"),
            "text": { "type": "plain_text", "text": button.caption },
            "value": hex(button.nonce),
        })
    };
    let elements: Vec<Value> = buttons.iter().enumerate().map(button).collect();
    let actions = json!({ "type": "actions", "elements": elements });
    sections(text).into_iter().map(section).chain([actions]).collect()
}

fn hex(nonce: [u8; 16]) -> String {
    nonce.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The text in parts of the length of a section, cut between lines where that is possible; code that is cut goes on as code.
fn sections(text: &str) -> Vec<String> {
    let (mut parts, mut part, mut code) = (Vec::new(), String::new(), false);
    let room = SECTION - 2 * (FENCE.len() + 1);
    for line in text.split_inclusive('\n') {
        let mut rest = line;
        while !rest.is_empty() {
            let used = part.chars().count();
            let fits = used + rest.chars().count() <= room;
            if !fits && used > FENCE.len() + 1 {
                parts.push(closed(std::mem::take(&mut part), code));
                part.push_str(if code { "```\n" } else { "" });
                continue;
            }
            let end = rest.char_indices().nth(room - used).map_or(rest.len(), |(at, _)| at);
            let (now, later) = rest.split_at_checked(end).unwrap_or((rest, ""));
            code ^= now.matches(FENCE).count() % 2 == 1;
            part.push_str(now);
            rest = later;
        }
    }
    if !part.is_empty() {
        parts.push(closed(part, code));
    }
    parts
}

fn closed(mut part: String, code: bool) -> String {
    if code {
        part.push_str("\n```");
    }
    part
}

#[cfg(test)]
mod tests {
    use super::*;
    use ipc_proto::Text;
    use proptest::prelude::*;

    // Holds P11-20.
    #[test]
    fn a_button_carries_its_nonce_and_nothing_else() {
        let button = Button { caption: Text::clip("Deny"), nonce: [0xab; 16] };
        let blocks = blocks("what?", &[button]);
        assert_eq!(blocks[0]["text"]["text"], "what?");
        let element = &blocks[1]["elements"][0];
        assert_eq!((&element["value"], &element["text"]["text"]), (&json!("ab".repeat(16)), &json!("Deny")));
    }

    #[test]
    fn code_that_is_cut_goes_on_as_code() {
        let text = format!("see:\n```\n{}```\nend", "a line of code\n".repeat(250));
        let parts = sections(&text);
        assert_eq!(parts.len(), 2);
        assert!(parts.iter().all(|part| part.matches(FENCE).count() == 2), "{parts:?}");
    }

    proptest! {
        #[test]
        fn sections_are_within_their_bound_and_hold_the_whole_text(
            lines in prop::collection::vec("[a-zé&; ]{0,900}|```|x{2900,3200}", 0..8),
        ) {
            let text = lines.join("\n");
            let parts = sections(&text);
            prop_assert!(parts.iter().all(|part| part.chars().count() <= SECTION && !part.is_empty()));
            let letters = |text: &str| text.chars().filter(|c| c.is_alphabetic()).collect::<String>();
            prop_assert_eq!(letters(&parts.concat()), letters(&text));
        }
    }
}
