//! The arguments of requests that send. Nothing of a text is read as a name or a link that is not marked so, and no link is
//! unfurled. Pure.

use crate::blocks::blocks;
use crate::mrkdwn::escaped;
use ipc_proto::channel::{Body, Button, Claim, Conversation, Piece, PieceId, PressAnswer};
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

/// The type of the metadata by which a piece is found again.
const EVENT: &str = "cordon_piece";

/// `chat.postMessage` of a text.
pub(crate) fn post(claim: &Claim, text: &str) -> Value {
    let mut arguments = place(&claim.conversation);
    with_text(&mut arguments, text, &claim.buttons);
    arguments.insert("metadata".into(), metadata(claim.piece, text));
    Value::Object(arguments)
}

/// `chat.update` of a text.
pub(crate) fn update(claim: &Claim, ts: &str, text: &str) -> Value {
    let mut arguments = place(&claim.conversation);
    arguments.remove("thread_ts");
    arguments.insert("ts".into(), json!(ts));
    with_text(&mut arguments, text, &claim.buttons);
    arguments.insert("metadata".into(), metadata(claim.piece, text));
    Value::Object(arguments)
}

/// `chat.postMessage`, or `chat.update` of this message, for a preview.
pub(crate) fn preview(conversation: &Conversation, piece: &Piece, edits: Option<&str>) -> Option<Value> {
    let Body::Text(text) = &piece.body else { return None };
    let mut arguments = place(conversation);
    if let Some(ts) = edits {
        arguments.remove("thread_ts");
        arguments.insert("ts".into(), json!(ts));
    }
    with_text(&mut arguments, text, &[]);
    Some(Value::Object(arguments))
}

/// `files.completeUploadExternal`.
pub(crate) fn share(conversation: &Conversation, file: &str, name: &str) -> Value {
    let mut arguments = place(conversation);
    if let Some(channel) = arguments.remove("channel") {
        arguments.insert("channel_id".into(), channel);
    }
    arguments.insert("files".into(), json!([{ "id": file, "title": name }]));
    Value::Object(arguments)
}

/// The answer to a press, which only the person who pressed sees.
pub(crate) fn answer(answer: &PressAnswer) -> Value {
    json!({ "response_type": "ephemeral", "replace_original": false, "text": escaped(&answer.text) })
}

fn place(conversation: &Conversation) -> Map<String, Value> {
    let mut arguments = Map::new();
    arguments.insert("channel".into(), json!(conversation.id));
    if let Some(thread) = &conversation.thread {
        arguments.insert("thread_ts".into(), json!(thread));
    }
    arguments
}

fn with_text(arguments: &mut Map<String, Value>, text: &str, buttons: &[Button]) {
    arguments.insert("text".into(), json!(text));
    arguments.insert("parse".into(), json!("none"));
    arguments.insert("link_names".into(), json!(false));
    arguments.insert("unfurl_links".into(), json!(false));
    arguments.insert("unfurl_media".into(), json!(false));
    if !buttons.is_empty() {
        arguments.insert("blocks".into(), blocks(text, buttons));
    }
}

/// The metadata of a piece. The text is part of it: another host of this workspace counts its pieces from 0 as well.
pub(crate) fn metadata(piece: PieceId, text: &str) -> Value {
    let digest: String = Sha256::digest(text).iter().take(8).map(|byte| format!("{byte:02x}")).collect();
    let payload = json!({ "piece": format!("{}-{}", piece.delivery, piece.number), "text": digest });
    json!({ "event_type": EVENT, "event_payload": payload })
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use channel::{Links, SLACK, plan};
    use ipc_proto::channel::{ConversationKind, DeliveryId};
    use ipc_proto::{List, Text};

    /// A piece for a thread of a channel.
    pub(crate) fn claim(markdown: &str) -> Claim {
        let rendered = plan(markdown, &SLACK, Links::Live).parts.remove(0);
        let thread = Some(Text::clip("1700000000.000100"));
        Claim {
            piece: PieceId { delivery: DeliveryId(17), number: 0 },
            conversation: Conversation { id: Text::clip("C1"), thread, kind: ConversationKind::Group },
            reply_to: None,
            edits: None,
            content: rendered.into(),
            buttons: List::default(),
            attempt: 0,
        }
    }

    fn text(claim: &Claim) -> &str {
        match &claim.content.body {
            Body::Text(text) => text,
            Body::File { .. } => panic!("a text"),
        }
    }

    // Holds P11-71.
    #[test]
    fn a_text_goes_escaped_into_its_thread_and_nothing_is_unfurled() {
        let claim = claim("**hi** <!channel> & [x](https://a.example/)");
        let sent = post(&claim, text(&claim));
        assert_eq!(sent["text"], "*hi* &lt;!channel&gt; &amp; <https://a.example/|x>");
        assert_eq!((&sent["channel"], &sent["thread_ts"]), (&json!("C1"), &json!("1700000000.000100")));
        for key in ["unfurl_links", "unfurl_media", "link_names"] {
            assert_eq!(sent[key], false, "{key}");
        }
        assert_eq!(sent["parse"], "none");
        assert_eq!(sent["metadata"]["event_payload"]["piece"], "17-0");
    }

    #[test]
    fn an_edit_names_its_message_and_keeps_the_trace_of_the_piece() {
        let claim = claim("hi");
        let sent = update(&claim, "1700000001.000100", "hi");
        assert_eq!(sent["ts"], "1700000001.000100");
        assert_eq!(sent["metadata"], post(&claim, "hi")["metadata"]);
        assert!(sent.get("thread_ts").is_none());
        let shown = preview(&claim.conversation, &claim.content, None).unwrap();
        assert!(shown.get("metadata").is_none() && shown["thread_ts"] == "1700000000.000100");
    }

    #[test]
    fn the_same_number_with_another_text_is_another_piece() {
        let piece = PieceId { delivery: DeliveryId(1), number: 0 };
        assert_ne!(metadata(piece, "one"), metadata(piece, "two"));
    }
}
