//! The messages of a webhook: a JSON document with its sender's own ids. Fields that are not known are skipped.

use ipc_proto::channel::{Conversation, ConversationKind, Inbound, InboundPart, PartKind, Sender};
use ipc_proto::{List, Text};
use serde::Deserialize;

#[derive(Deserialize)]
struct Message {
    conversation: String,
    sender: From,
    text: String,
    #[serde(default)]
    group: bool,
    #[serde(default)]
    mentions: bool,
    #[serde(default)]
    forwarded: bool,
}

#[derive(Deserialize)]
struct From {
    id: String,
    #[serde(default)]
    name: String,
    #[serde(default)]
    bot: bool,
}

/// Reads the message of the hook of this id and time (unix s); none if it is no message, or an id or the text is over its bound.
pub(crate) fn read(id: &str, at: u64, body: &[u8]) -> Option<Inbound> {
    let message: Message = serde_json::from_slice(body).ok()?;
    let plain = |id: &str| !id.is_empty() && !id.chars().any(|c| c.is_control() || c.is_whitespace());
    if !plain(&message.conversation) || !plain(&message.sender.id) {
        return None;
    }
    let kind = if message.forwarded { PartKind::Forward } else { PartKind::Own };
    Some(Inbound {
        key: Text::new(id).ok()?,
        conversation: Conversation {
            id: Text::new(message.conversation).ok()?,
            thread: None,
            kind: if message.group { ConversationKind::Group } else { ConversationKind::Direct },
        },
        sender: Sender {
            id: Text::new(message.sender.id).ok()?,
            name: Text::clip(&message.sender.name),
            bot: message.sender.bot,
            itself: false,
        },
        parts: List::clip([InboundPart { kind, text: Text::new(message.text).ok()? }]),
        attachments: List::default(),
        message: Text::new(id).ok()?,
        reply_to: None,
        sent_ms: at.saturating_mul(1000),
        edit: false,
        mentions: message.mentions || !message.group,
        moved_from: None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_read_with_its_senders_ids() {
        let body = br#"{"conversation":"c1","sender":{"id":"u1","name":"Ann"},"text":"hello","more":1}"#;
        let read = read("msg_1", 7, body).unwrap();
        assert_eq!((read.key.as_str(), read.sender.id.as_str(), read.sent_ms), ("msg_1", "u1", 7000));
        assert_eq!(read.conversation.kind, ConversationKind::Direct);
        assert_eq!(read.parts.first().map(|part| part.text.as_str()), Some("hello"));
    }

    #[test]
    fn a_document_without_conversation_sender_or_text_is_no_message() {
        for body in [
            "",
            "[]",
            "{}",
            r#"{"conversation":"c","text":"x"}"#,
            r#"{"conversation":"","sender":{"id":"u"},"text":"x"}"#,
            r#"{"conversation":"c","sender":{"id":"a b"},"text":"x"}"#,
        ] {
            assert!(read("1", 0, body.as_bytes()).is_none(), "{body}");
        }
        let long = format!(r#"{{"conversation":"c","sender":{{"id":"u"}},"text":"{}"}}"#, "x".repeat(70_000));
        assert!(read("1", 0, long.as_bytes()).is_none());
    }

    proptest::proptest! {
        #[test]
        fn no_bytes_stop_the_reader(body in proptest::collection::vec(proptest::num::u8::ANY, 0..200)) {
            let _ = read("id", u64::MAX, &body);
        }
    }
}
