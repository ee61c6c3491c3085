//! The messages of a webhook: a JSON document with its sender's own ids. Fields that are not known are skipped.

use ipc_proto::channel::{
    Attachment, Conversation, ConversationKind, Inbound, InboundPart, PartKind, Sender, clean_name,
};
use ipc_proto::{List, Text};
use serde::Deserialize;

#[derive(Deserialize)]
struct Message {
    conversation: String,
    sender: From,
    text: String,
    #[serde(default)]
    files: Vec<File>,
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

#[derive(Deserialize)]
struct File {
    #[serde(default)]
    name: String,
    #[serde(default)]
    media_type: String,
    /// Base64.
    data: String,
}

/// Reads the message of the hook of this id and time (unix s), and its files in base64; none if it is no message, or an id or the text is over its bound.
pub(crate) fn read(id: &str, at: u64, body: &[u8]) -> Option<(Inbound, Vec<String>)> {
    let message: Message = serde_json::from_slice(body).ok()?;
    let plain = |id: &str| !id.is_empty() && !id.chars().any(|c| c.is_control() || c.is_whitespace());
    if !plain(&message.conversation) || !plain(&message.sender.id) {
        return None;
    }
    let kind = match (message.forwarded, message.files.is_empty()) {
        (true, _) => PartKind::Forward,
        (false, true) => PartKind::Own,
        (false, false) => PartKind::Caption,
    };
    let attachments = List::clip(message.files.iter().map(attachment));
    let files = message.files.into_iter().map(|file| file.data).collect();
    let inbound = Inbound {
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
        attachments,
        message: Text::new(id).ok()?,
        reply_to: None,
        sent_ms: at.saturating_mul(1000),
        edit: false,
        mentions: message.mentions || !message.group,
        moved_from: None,
    };
    Some((inbound, files))
}

/// A file as it is named, before it is read.
fn attachment(file: &File) -> Attachment {
    Attachment {
        digest: None,
        name: (!file.name.is_empty()).then(|| clean_name(&file.name)),
        media_type: Text::clip(&file.media_type),
        size: u64::try_from(file.data.len() / 4 * 3).unwrap_or(u64::MAX),
        missed: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_read_with_its_senders_ids() {
        let body = br#"{"conversation":"c1","sender":{"id":"u1","name":"Ann"},"text":"hello","more":1}"#;
        let (read, _) = read("msg_1", 7, body).unwrap();
        assert_eq!((read.key.as_str(), read.sender.id.as_str(), read.sent_ms), ("msg_1", "u1", 7000));
        assert_eq!(read.conversation.kind, ConversationKind::Direct);
        assert_eq!(read.parts.first().map(|part| part.text.as_str()), Some("hello"));
    }

    #[test]
    fn a_file_of_a_message_is_named_and_its_data_kept_for_later() {
        let body = br#"{"conversation":"c","sender":{"id":"u"},"text":"","files":[{"name":"../a.txt","data":"aGkh"}]}"#;
        let (read, files) = read("1", 0, body).unwrap();
        let attachment = read.attachments.first().unwrap();
        assert_eq!((attachment.name.as_deref(), attachment.size), (Some("a.txt"), 3));
        assert_eq!(files, ["aGkh"]);
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
