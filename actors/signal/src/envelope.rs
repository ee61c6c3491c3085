//! The envelopes of signal-cli. An identity is the sender's service id (a UUID), never a phone number. Fields that are not known are
//! skipped.

use ipc_proto::channel::{
    Attachment, Conversation, ConversationKind, Inbound, InboundPart, PartKind, Sender, clean_name,
};
use ipc_proto::{List, Text};
use serde::Deserialize;

#[derive(Deserialize)]
struct Event {
    envelope: Option<Envelope>,
    params: Option<Params>,
}

#[derive(Deserialize)]
struct Params {
    envelope: Envelope,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Envelope {
    source_uuid: Option<String>,
    #[serde(default)]
    source_name: Option<String>,
    #[serde(default)]
    timestamp: u64,
    data_message: Option<Message>,
    edit_message: Option<Edit>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Edit {
    data_message: Message,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Message {
    message: Option<String>,
    group_info: Option<Group>,
    quote: Option<Quote>,
    #[serde(default)]
    mentions: Vec<Mention>,
    #[serde(default)]
    attachments: Vec<File>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Group {
    group_id: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Quote {
    id: u64,
    author_uuid: Option<String>,
    text: Option<String>,
}

#[derive(Deserialize)]
struct Mention {
    uuid: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct File {
    #[serde(default)]
    content_type: String,
    filename: Option<String>,
    #[serde(default)]
    size: u64,
    id: Option<String>,
}

/// The content of an event.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Read {
    /// A message, and the ids of its files.
    Message(Box<Inbound>, Vec<String>),
    /// A receipt, a sign of typing, or another event without a message.
    Nothing,
    /// It could not be read.
    Malformed,
}

/// Reads the data of an event. `own` is the account's own service id, where it is known.
pub(crate) fn read(data: &[u8], own: Option<&str>) -> Read {
    let Ok(event) = serde_json::from_slice::<Event>(data) else { return Read::Malformed };
    let Some(envelope) = event.envelope.or(event.params.map(|params| params.envelope)) else {
        return Read::Nothing;
    };
    let (message, edit) = match (&envelope.data_message, &envelope.edit_message) {
        (Some(message), _) => (message, false),
        (None, Some(edit)) => (&edit.data_message, true),
        (None, None) => return Read::Nothing,
    };
    if message.message.is_none() && message.attachments.is_empty() {
        return Read::Nothing;
    }
    let ids = message.attachments.iter().map(|file| file.id.clone().unwrap_or_default()).collect();
    match inbound(&envelope, message, own, edit) {
        Some(inbound) => Read::Message(Box::new(inbound), ids),
        None => Read::Malformed,
    }
}

fn inbound(envelope: &Envelope, message: &Message, own: Option<&str>, edit: bool) -> Option<Inbound> {
    let sender = envelope.source_uuid.as_deref().filter(|id| is_id(id))?;
    let (id, kind) = match &message.group_info {
        Some(group) => (Text::new(group.group_id.as_str()).ok()?, ConversationKind::Group),
        None => (Text::new(sender).ok()?, ConversationKind::Direct),
    };
    let is_own = |id: &Option<String>| own.is_some() && id.as_deref() == own;
    let quotes_own = message.quote.as_ref().is_some_and(|quote| is_own(&quote.author_uuid));
    let named = message.mentions.iter().any(|mention| is_own(&mention.uuid));
    let at = envelope.timestamp.to_string();
    Some(Inbound {
        key: Text::new(format!("{sender}:{at}")).ok()?,
        conversation: Conversation { id, thread: None, kind },
        sender: Sender {
            id: Text::new(sender).ok()?,
            name: Text::clip(envelope.source_name.as_deref().unwrap_or_default()),
            bot: false,
            itself: own == Some(sender),
        },
        parts: parts(message),
        attachments: List::clip(message.attachments.iter().map(attachment)),
        message: Text::new(format!("{at}:{sender}")).ok()?,
        reply_to: message.quote.as_ref().map(|quote| Text::clip(&quote.id.to_string())),
        sent_ms: envelope.timestamp,
        edit,
        mentions: kind == ConversationKind::Direct || quotes_own || named,
        moved_from: None,
    })
}

/// A service id: letters, digits, `-` and, for a phone number's, `:`.
fn is_id(id: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-:".contains(&byte);
    (8..=64).contains(&id.len()) && id.bytes().all(plain)
}

fn parts(message: &Message) -> List<InboundPart, 8> {
    let quoted = message.quote.as_ref().and_then(|quote| quote.text.as_deref());
    let quoted = quoted.map(|text| InboundPart { kind: PartKind::Quote, text: Text::clip(text) });
    let kind = if message.attachments.is_empty() { PartKind::Own } else { PartKind::Caption };
    let own = message.message.as_deref().map(|text| InboundPart { kind, text: Text::clip(text) });
    List::clip(quoted.into_iter().chain(own))
}

fn attachment(file: &File) -> Attachment {
    Attachment {
        digest: None,
        name: file.filename.as_deref().map(clean_name),
        media_type: Text::clip(&file.content_type),
        size: file.size,
        missed: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    const ANN: &str = "7ccae375-cd51-4c82-8b1e-7be3280aa485";
    const OWN: &str = "11111111-cd51-4c82-8b1e-7be3280aa485";

    fn message(data: &Value) -> Inbound {
        let envelope =
            json!({ "sourceUuid": ANN, "sourceName": "Ann", "timestamp": 17, "dataMessage": data });
        match read(json!({ "envelope": envelope }).to_string().as_bytes(), Some(OWN)) {
            Read::Message(inbound, _) => *inbound,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_direct_message_is_its_senders_own_words() {
        let read = message(&json!({ "message": "hello", "more": {} }));
        assert_eq!((read.key.as_str(), read.conversation.id.as_str()), (&*format!("{ANN}:17"), ANN));
        assert_eq!(read.parts[0].kind, PartKind::Own);
        assert!(read.mentions && !read.edit);
    }

    #[test]
    fn a_group_speaks_to_the_account_by_a_mention_or_a_quote() {
        let group = json!({ "message": "hello", "groupInfo": { "groupId": "g=" } });
        assert!(!message(&group).mentions);
        let mut named = group.clone();
        named["mentions"] = json!([{ "uuid": OWN, "start": 0, "length": 1 }]);
        assert!(message(&named).mentions);
        let mut quoting = group;
        quoting["quote"] = json!({ "id": 3, "authorUuid": OWN, "text": "I said" });
        let read = message(&quoting);
        assert!(read.mentions);
        assert_eq!(read.parts[0].kind, PartKind::Quote);
    }

    #[test]
    fn what_is_no_message_brings_none() {
        for event in [json!({}), json!({ "envelope": { "sourceUuid": ANN, "typingMessage": {} } })] {
            assert_eq!(read(event.to_string().as_bytes(), None), Read::Nothing);
        }
        let forged =
            json!({ "envelope": { "source": "+46", "timestamp": 1, "dataMessage": { "message": "x" } } });
        assert_eq!(
            read(forged.to_string().as_bytes(), None),
            Read::Malformed,
            "a phone number is no identity"
        );
        assert_eq!(read(b"{", None), Read::Malformed);
    }

    proptest::proptest! {
        #[test]
        fn no_bytes_stop_the_reader(bytes in proptest::collection::vec(proptest::num::u8::ANY, 0..200), text in "\\PC{0,80}") {
            let _ = read(&bytes, None);
            let event = json!({ "envelope": { "sourceUuid": text, "dataMessage": { "message": text } } });
            let _ = read(event.to_string().as_bytes(), None);
        }
    }
}
