//! The bodies of requests to the REST API. Nobody is notified by a mention in an answer, and no link has a preview. Pure.

use channel::nonce_text;
use ipc_proto::channel::{Body, Button, Claim, Conversation, ConversationKind, PieceId};
use serde_json::{Map, Value, json};

/// The flag of a message whose links have no preview.
pub(crate) const SUPPRESS_EMBEDS: u64 = 1 << 2;
/// The flag of a message that its reader alone sees.
const EPHEMERAL: u64 = 1 << 6;
/// Buttons of one row.
const ROW: usize = 5;

/// The channel or thread that a conversation is written to.
pub(crate) fn target(conversation: &Conversation) -> &str {
    conversation.thread.as_ref().unwrap_or(&conversation.id)
}

/// The mark by which Discord knows a piece again, of at most 25 characters.
pub(crate) fn mark(piece: PieceId) -> String {
    format!("{}-{}", piece.delivery.0, piece.number)
}

/// The parts of every message.
fn message(text: Option<&str>, mark: &str) -> Map<String, Value> {
    let mut body = Map::new();
    if let Some(text) = text {
        body.insert("content".into(), json!(text));
    }
    body.insert("nonce".into(), json!(mark));
    body.insert("enforce_nonce".into(), json!(true));
    body.insert("allowed_mentions".into(), json!({ "parse": [], "replied_user": false }));
    body.insert("flags".into(), json!(SUPPRESS_EMBEDS));
    body
}

/// A message of a piece. In a channel its first one answers the message that it is for.
pub(crate) fn send(claim: &Claim) -> Value {
    let text = match &claim.content.body {
        Body::Text(text) => Some(text.as_str()),
        Body::File { .. } => None,
    };
    let mut body = message(text, &mark(claim.piece));
    if let Some(answered) =
        claim.reply_to.as_ref().filter(|_| claim.conversation.kind == ConversationKind::Group)
    {
        let reference = json!({ "message_id": answered, "fail_if_not_exists": false });
        body.insert("message_reference".into(), reference);
    }
    if let Body::File { name, .. } = &claim.content.body {
        body.insert("attachments".into(), json!([{ "id": 0, "filename": name }]));
    }
    with_buttons(&mut body, &claim.buttons);
    Value::Object(body)
}

/// A message that shows the beginning of an answer.
pub(crate) fn preview(text: &str, mark: &str) -> Value {
    Value::Object(message(Some(text), mark))
}

/// The change of a message to this text.
pub(crate) fn edit(text: &str, buttons: &[Button]) -> Value {
    let mut body = message(Some(text), "");
    body.remove("nonce");
    body.remove("enforce_nonce");
    with_buttons(&mut body, buttons);
    Value::Object(body)
}

fn with_buttons(body: &mut Map<String, Value>, buttons: &[Button]) {
    if buttons.is_empty() {
        return;
    }
    let button = |button: &Button| json!({ "type": 2, "style": 2, "label": button.caption, "custom_id": nonce_text(button.nonce) });
    let row = |row: &[Button]| json!({ "type": 1, "components": row.iter().map(button).collect::<Vec<_>>() });
    let rows: Vec<Value> = buttons.chunks(ROW).map(row).collect();
    body.insert("components".into(), Value::Array(rows));
}

/// The first answer to a press: that it was noticed.
pub(crate) fn noticed() -> Value {
    json!({ "type": 6 })
}

/// A line that only the one who pressed sees.
pub(crate) fn aside(text: &str) -> Value {
    json!({ "content": text, "flags": EPHEMERAL | SUPPRESS_EMBEDS, "allowed_mentions": { "parse": [] } })
}

#[cfg(test)]
mod tests {
    use super::*;
    use channel::{DISCORD, Links, nonce_of, plan};
    use ipc_proto::channel::DeliveryId;
    use ipc_proto::{List, Text};

    fn claim(kind: ConversationKind, thread: Option<&str>) -> Claim {
        let rendered = plan("**hi** @everyone <@5>", &DISCORD, Links::Live).parts.remove(0);
        Claim {
            piece: PieceId { delivery: DeliveryId(u64::MAX), number: 255 },
            conversation: Conversation { id: Text::clip("100"), thread: thread.map(Text::clip), kind },
            reply_to: Some(Text::clip("5")),
            edits: None,
            content: rendered.into(),
            buttons: List::clip([Button { caption: Text::clip("Allow"), nonce: [0xab; 16] }]),
            attempt: 0,
        }
    }

    // Holds P11-32.
    #[test]
    fn a_message_notifies_nobody_and_has_no_preview() {
        let claim = claim(ConversationKind::Group, Some("9"));
        let sent = send(&claim);
        assert_eq!(target(&claim.conversation), "9");
        assert_eq!(sent["allowed_mentions"]["parse"], json!([]));
        assert_eq!(sent["flags"], 4);
        assert_eq!(sent["message_reference"]["message_id"], "5");
        for body in [edit("x", &[]), preview("x", "m"), aside("x")] {
            assert_eq!(body["allowed_mentions"]["parse"], json!([]), "{body}");
            assert_eq!(body["flags"].as_u64().unwrap() & SUPPRESS_EMBEDS, SUPPRESS_EMBEDS, "{body}");
        }
        assert!(send(&self::claim(ConversationKind::Direct, None)).get("message_reference").is_none());
    }

    #[test]
    fn a_mark_has_at_most_25_characters_and_is_enforced() {
        let sent = send(&claim(ConversationKind::Direct, None));
        assert_eq!(sent["nonce"], "18446744073709551615-255");
        assert_eq!(sent["enforce_nonce"], true);
        assert!(edit("x", &[]).get("nonce").is_none(), "an edit takes none");
    }

    // Holds P11-20.
    #[test]
    fn a_button_carries_its_nonce_and_nothing_else() {
        let sent = send(&claim(ConversationKind::Direct, None));
        let data = sent["components"][0]["components"][0]["custom_id"].as_str().unwrap();
        assert_eq!(nonce_of(data), Some([0xab; 16]));
    }
}
