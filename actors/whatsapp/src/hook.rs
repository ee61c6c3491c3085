//! The hooks of the Cloud API: messages, presses of buttons, and statuses of what was sent. Fields that are not known are skipped.

use channel::{FileAt, Pressed, nonce_of};
use ipc_proto::channel::{
    Attachment, BATCH, Conversation, ConversationKind, Inbound, InboundPart, PartKind, Press, Sender,
    clean_name,
};
use ipc_proto::{List, Text};
use serde::Deserialize;
use serde_json::Value;

/// The contents of one hook.
#[derive(Debug, Default)]
pub(crate) struct News {
    /// Messages, oldest first.
    pub messages: Vec<Inbound>,
    /// The ids of the messages' files.
    pub files: Vec<FileAt>,
    /// Presses of buttons.
    pub presses: Vec<Pressed>,
    /// The message ids of pieces that the platform has, by the tag they were sent with.
    pub sent: Vec<(String, String)>,
    /// Parts that could not be read.
    pub malformed: u32,
}

#[derive(Deserialize)]
struct Body {
    #[serde(default)]
    entry: Vec<Entry>,
}

#[derive(Deserialize)]
struct Entry {
    #[serde(default)]
    changes: Vec<Change>,
}

#[derive(Deserialize)]
struct Change {
    value: Changed,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Changed {
    metadata: Metadata,
    contacts: Vec<Contact>,
    messages: Vec<Value>,
    statuses: Vec<Value>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Metadata {
    phone_number_id: String,
}

#[derive(Deserialize)]
struct Contact {
    wa_id: String,
    #[serde(default)]
    profile: Profile,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Profile {
    name: String,
}

#[derive(Deserialize)]
struct Message {
    from: String,
    id: String,
    #[serde(default)]
    timestamp: String,
    #[serde(rename = "type", default)]
    kind: String,
    text: Option<TextBody>,
    interactive: Option<Interactive>,
    context: Option<Context>,
    #[serde(flatten)]
    rest: serde_json::Map<String, Value>,
}

#[derive(Deserialize)]
struct TextBody {
    body: String,
}

#[derive(Deserialize)]
struct Interactive {
    button_reply: Option<ButtonReply>,
}

#[derive(Deserialize)]
struct ButtonReply {
    id: String,
}

#[derive(Deserialize)]
struct Context {
    id: Option<String>,
    #[serde(default)]
    forwarded: bool,
}

#[derive(Deserialize)]
struct File {
    #[serde(default)]
    id: String,
    #[serde(default)]
    mime_type: String,
    filename: Option<String>,
}

#[derive(Deserialize)]
struct Status {
    id: String,
    biz_opaque_callback_data: Option<String>,
}

/// Reads a hook for the number of this id; none if it is no JSON of the platform's.
pub(crate) fn read(number: &str, body: &[u8]) -> Option<News> {
    let body: Body = serde_json::from_slice(body).ok()?;
    let mut news = News::default();
    for changed in body.entry.into_iter().flat_map(|entry| entry.changes).map(|change| change.value) {
        if changed.metadata.phone_number_id != number {
            continue;
        }
        for status in &changed.statuses {
            match Status::deserialize(status) {
                Ok(Status { id, biz_opaque_callback_data: Some(tag) }) => news.sent.push((tag, id)),
                Ok(_) => {}
                Err(_) => news.malformed += 1,
            }
        }
        for message in &changed.messages {
            if take(&mut news, message, &changed.contacts).is_none() {
                news.malformed += 1;
            }
        }
    }
    (news.messages.len() <= BATCH).then_some(news)
}

/// Adds one message or press; none if it cannot be read.
fn take(news: &mut News, message: &Value, contacts: &[Contact]) -> Option<()> {
    let message = Message::deserialize(message).ok()?;
    let sender = sender(&message.from, contacts)?;
    let conversation =
        Conversation { id: Text::new(&*message.from).ok()?, thread: None, kind: ConversationKind::Direct };
    if let Some(reply) = message.interactive.as_ref().and_then(|one| one.button_reply.as_ref()) {
        let asked = message.context.as_ref().and_then(|context| context.id.as_deref())?;
        let press =
            Press { conversation, message: Text::new(asked).ok()?, sender, nonce: nonce_of(&reply.id)? };
        news.presses.push(Pressed { press, id: message.from });
        return Some(());
    }
    let file = content(&message).1.filter(|file| !file.id.is_empty());
    let source = file.map(|file| FileAt { message: news.messages.len(), attachment: 0, source: file.id });
    news.messages.push(inbound(&message, sender, conversation)?);
    news.files.extend(source);
    Some(())
}

fn sender(id: &str, contacts: &[Contact]) -> Option<Sender> {
    let name =
        contacts.iter().find(|contact| contact.wa_id == id).map_or("", |contact| &contact.profile.name);
    let plain = !id.is_empty() && id.bytes().all(|byte| byte.is_ascii_graphic());
    plain.then_some(())?;
    Some(Sender { id: Text::new(id).ok()?, name: Text::clip(name), bot: false, itself: false })
}

fn inbound(message: &Message, sender: Sender, conversation: Conversation) -> Option<Inbound> {
    let forwarded = message.context.as_ref().is_some_and(|context| context.forwarded);
    let (text, file) = content(message);
    let kind = match (forwarded, &file) {
        (true, _) => PartKind::Forward,
        (false, Some(_)) => PartKind::Caption,
        (false, None) => PartKind::Own,
    };
    let parts = text.map(|text| InboundPart { kind, text: Text::clip(text) });
    Some(Inbound {
        key: Text::new(&*message.id).ok()?,
        conversation,
        sender,
        parts: List::clip(parts),
        attachments: List::clip(file.as_ref().map(attachment)),
        message: Text::new(&*message.id).ok()?,
        reply_to: message.context.as_ref().and_then(|context| Text::new(context.id.as_deref()?).ok()),
        sent_ms: message.timestamp.parse::<u64>().unwrap_or_default().saturating_mul(1000),
        edit: false,
        mentions: true,
        moved_from: None,
    })
}

/// The text of a message, and its file, which stands under the name of its type.
fn content(message: &Message) -> (Option<&str>, Option<File>) {
    if let Some(words) = &message.text {
        return (Some(&words.body), None);
    }
    let Some(value) = message.rest.get(&message.kind) else { return (None, None) };
    let Ok(file) = File::deserialize(value) else { return (None, None) };
    (value.get("caption").and_then(Value::as_str), Some(file))
}

/// A file as it is named, before it is fetched. A hook says no size.
fn attachment(file: &File) -> Attachment {
    Attachment {
        digest: None,
        name: file.filename.as_deref().map(clean_name),
        media_type: Text::clip(&file.mime_type),
        size: 0,
        missed: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn body(message: &Value) -> Vec<u8> {
        let contacts = json!([{ "wa_id": "4670", "profile": { "name": "Ann" } }]);
        let value = json!({ "metadata": { "phone_number_id": "7" }, "contacts": contacts, "messages": [message], "new": {} });
        json!({ "entry": [{ "changes": [{ "field": "messages", "value": value }] }] })
            .to_string()
            .into_bytes()
    }

    fn one(message: &Value) -> News {
        read("7", &body(message)).unwrap()
    }

    #[test]
    fn a_text_a_picture_and_a_forward_are_told_apart() {
        let text = json!({ "from": "4670", "id": "w1", "timestamp": "5", "type": "text", "text": { "body": "hello" } });
        let news = one(&text);
        assert_eq!((news.messages[0].sender.name.as_str(), news.messages[0].sent_ms), ("Ann", 5000));
        assert_eq!(news.messages[0].parts[0].kind, PartKind::Own);
        let image = json!({ "from": "4670", "id": "w2", "type": "image",
            "image": { "id": "8", "mime_type": "image/png", "caption": "look" } });
        let news = one(&image);
        assert_eq!(news.files, [FileAt { message: 0, attachment: 0, source: "8".to_owned() }]);
        assert_eq!(news.messages[0].parts[0].kind, PartKind::Caption);
        assert_eq!(news.messages[0].attachments[0].media_type.as_str(), "image/png");
        let mut passed = text;
        passed["context"] = json!({ "forwarded": true });
        assert_eq!(one(&passed).messages[0].parts[0].kind, PartKind::Forward);
    }

    #[test]
    fn a_press_carries_its_nonce_and_the_message_of_the_button() {
        let press = json!({ "from": "4670", "id": "w3", "type": "interactive", "context": { "id": "asked" },
            "interactive": { "button_reply": { "id": "00".repeat(16), "title": "Yes" } } });
        let news = one(&press);
        assert_eq!((news.presses[0].press.nonce, news.presses[0].press.message.as_str()), ([0; 16], "asked"));
        let mut other = press;
        other["interactive"]["button_reply"]["id"] = json!("yes");
        assert_eq!((one(&other).presses.len(), one(&other).malformed), (0, 1));
    }

    #[test]
    fn a_hook_for_another_number_brings_nothing() {
        let text = json!({ "from": "4670", "id": "w1", "type": "text", "text": { "body": "hello" } });
        assert!(read("8", &body(&text)).unwrap().messages.is_empty());
        assert!(read("7", b"{").is_none());
    }

    proptest::proptest! {
        #[test]
        fn no_bytes_stop_the_reader(bytes in proptest::collection::vec(proptest::num::u8::ANY, 0..200), text in "\\PC{0,40}") {
            let _ = read("7", &bytes);
            let _ = read("7", &body(&json!({ "from": text, "id": text, "type": text, "timestamp": text })));
        }
    }
}
