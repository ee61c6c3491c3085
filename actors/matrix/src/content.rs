//! The contents of messages that are sent. Each mentions nobody, so that no answer can call somebody.

use ipc_proto::Text;
use ipc_proto::channel::{Body, Claim, Conversation, ConversationKind};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

/// Bytes of the text that a client without edits shows.
const EDITED: usize = 1024;
/// The message to an encrypted room.
const ENCRYPTED: &str = "This room is encrypted, and I cannot read encrypted messages. Invite me to a room without encryption: a room \
    that is encrypted stays so.";

/// A text with its HTML.
pub(crate) fn text(text: &str, html: &str) -> Value {
    let content = json!({ "msgtype": "m.text", "body": text, "m.mentions": {} });
    if html.is_empty() || html == text {
        return content;
    }
    let content = with(content, "format", json!("org.matrix.custom.html"));
    with(content, "formatted_body", json!(html))
}

/// The same content with this field.
fn with(mut content: Value, key: &str, value: Value) -> Value {
    if let Some(fields) = content.as_object_mut() {
        fields.insert(key.to_owned(), value);
    }
    content
}

/// A file at this address of the homeserver.
pub(crate) fn file(name: &str, kind: &str, size: usize, address: &str) -> Value {
    let shown = if kind.starts_with("image/") { "m.image" } else { "m.file" };
    json!({
        "msgtype": shown, "body": name, "filename": name, "url": address, "info": { "mimetype": kind, "size": size },
        "m.mentions": {},
    })
}

/// The notice to an encrypted room.
pub(crate) fn encrypted() -> Value {
    json!({ "msgtype": "m.notice", "body": ENCRYPTED, "m.mentions": {} })
}

/// The same content in the place of an earlier message. Clients without edits show its beginning: whole, it would be twice in one
/// event.
pub(crate) fn edit(content: Value, message: &str) -> Value {
    let body = content.get("body").and_then(Value::as_str).unwrap_or_default();
    let shown: Text<EDITED> = Text::clip(body);
    json!({
        "msgtype": "m.text", "body": format!("* {shown}"), "m.mentions": {}, "m.new_content": content,
        "m.relates_to": { "rel_type": "m.replace", "event_id": message },
    })
}

/// Puts a content into its thread. In a group the first piece answers the message that it is for.
pub(crate) fn related(content: Value, claim: &Claim) -> Value {
    let first = claim.reply_to.as_deref().filter(|_| claim.piece.number == 0);
    let in_group = claim.conversation.kind == ConversationKind::Group;
    let relation = match &claim.conversation.thread {
        Some(root) => Some(threaded(root, first)),
        None => first.filter(|_| in_group).map(|message| json!({ "m.in_reply_to": { "event_id": message } })),
    };
    match relation {
        Some(relation) => with(content, "m.relates_to", relation),
        None => content,
    }
}

/// The same in a thread.
pub(crate) fn in_thread(content: Value, root: &str) -> Value {
    with(content, "m.relates_to", threaded(root, None))
}

/// The place in a thread. Clients without threads show a reply.
fn threaded(root: &str, message: Option<&str>) -> Value {
    json!({
        "rel_type": "m.thread", "event_id": root, "is_falling_back": true,
        "m.in_reply_to": { "event_id": message.unwrap_or(root) },
    })
}

/// The transaction id of a piece: the same for every try of it. It holds a digest of the content, since a host that was set back, or made
/// anew, gives its numbers out again.
pub(crate) fn transaction(claim: &Claim) -> String {
    let Claim { piece, conversation, reply_to, content, .. } = claim;
    let body: &[u8] = match &content.body {
        Body::Text(text) => text.as_bytes(),
        Body::File { bytes, .. } => bytes,
    };
    let reply_to = reply_to.as_deref().unwrap_or_default();
    let digest = digest(conversation, &[reply_to.as_bytes(), body, content.markup.as_bytes()]);
    format!("cordon-{}-{}-{digest}", piece.delivery, piece.number)
}

/// A digest of a conversation and of what goes there.
pub(crate) fn digest(conversation: &Conversation, parts: &[&[u8]]) -> String {
    let mut digest = Sha256::new();
    let thread = conversation.thread.as_deref().unwrap_or_default();
    for part in [conversation.id.as_bytes(), thread.as_bytes()].iter().chain(parts) {
        digest.update(u64::try_from(part.len()).unwrap_or(u64::MAX).to_le_bytes());
        digest.update(part);
    }
    digest.finalize().iter().take(12).map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use channel::{Links, MATRIX, plan};
    use ipc_proto::List;
    use ipc_proto::channel::{DeliveryId, PieceId};

    fn claim(markdown: &str, kind: ConversationKind, thread: Option<&str>) -> Claim {
        let rendered = plan(markdown, &MATRIX, Links::AsCode { except: &[] }).parts.remove(0);
        Claim {
            piece: PieceId { delivery: DeliveryId(7), number: 0 },
            conversation: Conversation { id: Text::clip("!room"), thread: thread.map(Text::clip), kind },
            reply_to: Some(Text::clip("$asked")),
            edits: None,
            content: rendered.into(),
            buttons: List::default(),
            attempt: 0,
        }
    }

    fn content(claim: &Claim) -> Value {
        let Body::Text(body) = &claim.content.body else { panic!("text") };
        related(text(body, &claim.content.markup), claim)
    }

    #[test]
    fn a_text_goes_with_html_and_mentions_nobody() {
        let sent = content(&claim("**hi** @room <b>", ConversationKind::Direct, None));
        assert_eq!(sent["body"], "hi @room <b>");
        assert_eq!(sent["formatted_body"], "<strong>hi</strong> @room &lt;b&gt;");
        assert_eq!((&sent["m.mentions"], sent.get("m.relates_to")), (&json!({}), None));
        let plain = content(&claim("hi", ConversationKind::Direct, None));
        assert!(plain.get("format").is_none());
    }

    #[test]
    fn an_answer_in_a_group_is_a_reply_and_one_in_a_thread_stays_there() {
        let group = content(&claim("hi", ConversationKind::Group, None));
        assert_eq!(group["m.relates_to"], json!({ "m.in_reply_to": { "event_id": "$asked" } }));
        let thread = content(&claim("hi", ConversationKind::Direct, Some("$root")));
        assert_eq!(thread["m.relates_to"]["event_id"], "$root");
        assert_eq!(thread["m.relates_to"]["m.in_reply_to"]["event_id"], "$asked");
    }

    #[test]
    fn a_transaction_is_one_for_every_try_and_another_for_another_content() {
        let first = claim("hi", ConversationKind::Direct, None);
        let mut again = first.clone();
        again.attempt = 3;
        again.edits = Some(Text::clip("$preview"));
        assert_eq!(transaction(&first), transaction(&again));
        assert_ne!(transaction(&first), transaction(&claim("ho", ConversationKind::Direct, None)));
        again.piece.number = 1;
        assert_ne!(transaction(&first), transaction(&again));
    }

    #[test]
    fn an_edit_holds_its_text_once() {
        let long = "x".repeat(40_000);
        let edited = edit(text(&long, ""), "$old");
        assert_eq!(edited["m.relates_to"], json!({ "rel_type": "m.replace", "event_id": "$old" }));
        assert_eq!(edited["m.new_content"]["body"], long);
        assert!(edited.to_string().len() < 42_000);
    }
}
