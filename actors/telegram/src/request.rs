//! The parameters of requests to the Bot API. Text goes with entities and without a parse mode, and no link has a preview.

use channel::{Entity, EntityKind, Rendered, nonce_text};
use ipc_proto::Text;
use ipc_proto::channel::{Body, Button, Claim, Conversation, ConversationKind, Piece};
use serde_json::{Map, Value, json};

/// A topic's id that is not sent: the general one.
const GENERAL: &str = "1";

/// A rendered text as a piece: its entities are JSON.
pub(crate) fn piece(rendered: Rendered) -> Piece {
    let (text, entities) = match rendered {
        Rendered::Entities { text, entities } => (text, entities),
        Rendered::Text(text) | Rendered::Html { text, .. } => (text, Vec::new()),
    };
    let entities: Vec<Value> = entities.iter().map(entity).collect();
    // Entities that are too long together are left out: the text stays.
    let markup = Text::new(Value::Array(entities).to_string()).unwrap_or_else(|_| Text::clip("[]"));
    Piece { body: Body::Text(Text::clip(&text)), markup }
}

fn entity(entity: &Entity) -> Value {
    let Entity { offset, length, kind } = entity;
    let named = |name: &str| json!({ "type": name, "offset": offset, "length": length });
    match kind {
        EntityKind::Bold => named("bold"),
        EntityKind::Italic => named("italic"),
        EntityKind::Strike => named("strikethrough"),
        EntityKind::Code => named("code"),
        EntityKind::Quote => named("blockquote"),
        EntityKind::Pre(language) if language.is_empty() => named("pre"),
        EntityKind::Pre(language) => {
            json!({ "type": "pre", "offset": offset, "length": length, "language": language })
        }
        EntityKind::Link(url) => {
            json!({ "type": "text_link", "offset": offset, "length": length, "url": url })
        }
    }
}

fn number(id: &str) -> Value {
    id.parse::<i64>().map_or_else(|_| json!(id), Value::from)
}

/// The chat, and the topic where there is one.
fn target(conversation: &Conversation) -> Map<String, Value> {
    let mut parameters = Map::new();
    parameters.insert("chat_id".into(), number(&conversation.id));
    if let Some(thread) = conversation.thread.as_ref().filter(|thread| thread.as_str() != GENERAL) {
        parameters.insert("message_thread_id".into(), number(thread));
    }
    parameters
}

fn with_text(parameters: &mut Map<String, Value>, text: &str, markup: &str) {
    parameters.insert("text".into(), json!(text));
    parameters.insert("entities".into(), serde_json::from_str(markup).unwrap_or_else(|_| json!([])));
    parameters.insert("link_preview_options".into(), json!({ "is_disabled": true }));
}

fn with_buttons(parameters: &mut Map<String, Value>, buttons: &[Button]) {
    if buttons.is_empty() {
        return;
    }
    let button =
        |button: &Button| json!({ "text": button.caption, "callback_data": nonce_text(button.nonce) });
    let rows: Vec<Value> = buttons.iter().map(|one| json!([button(one)])).collect();
    parameters.insert("reply_markup".into(), json!({ "inline_keyboard": rows }));
}

/// `sendMessage` of a text. In a group it answers the message that it is for.
pub(crate) fn send(claim: &Claim, text: &str) -> Value {
    let mut parameters = target(&claim.conversation);
    with_text(&mut parameters, text, &claim.content.markup);
    with_buttons(&mut parameters, &claim.buttons);
    if let Some(message) = claim.reply_to.as_ref()
        && claim.conversation.kind == ConversationKind::Group
        && claim.piece.number == 0
    {
        let reply = json!({ "message_id": number(message), "allow_sending_without_reply": true });
        parameters.insert("reply_parameters".into(), reply);
    }
    Value::Object(parameters)
}

/// `editMessageText` of a piece.
pub(crate) fn edit(claim: &Claim, message: &str, text: &str) -> Value {
    let mut parameters = Map::new();
    parameters.insert("chat_id".into(), number(&claim.conversation.id));
    parameters.insert("message_id".into(), number(message));
    with_text(&mut parameters, text, &claim.content.markup);
    with_buttons(&mut parameters, &claim.buttons);
    Value::Object(parameters)
}

/// `sendMessage`, or `editMessageText` of this message, for a preview.
pub(crate) fn preview(conversation: &Conversation, piece: &Piece, edits: Option<&str>) -> Option<Value> {
    let Body::Text(text) = &piece.body else { return None };
    let mut parameters = match edits {
        None => target(conversation),
        Some(message) => {
            let mut parameters = Map::new();
            parameters.insert("chat_id".into(), number(&conversation.id));
            parameters.insert("message_id".into(), number(message));
            parameters
        }
    };
    if edits.is_none() {
        parameters.insert("disable_notification".into(), json!(true));
    }
    with_text(&mut parameters, text, &piece.markup);
    Some(Value::Object(parameters))
}

/// `sendMessageDraft`: the beginning of an answer, in a direct conversation.
pub(crate) fn draft(conversation: &Conversation, number: u32, piece: &Piece) -> Option<Value> {
    let Body::Text(text) = &piece.body else { return None };
    let mut parameters = target(conversation);
    parameters.insert("draft_id".into(), json!(number));
    parameters.insert("text".into(), json!(text));
    parameters.insert("entities".into(), serde_json::from_str(&piece.markup).unwrap_or_else(|_| json!([])));
    Some(Value::Object(parameters))
}

/// `sendChatAction`: typing.
pub(crate) fn typing(conversation: &Conversation) -> Value {
    let mut parameters = target(conversation);
    parameters.insert("action".into(), json!("typing"));
    Value::Object(parameters)
}

/// The fields of `sendDocument` besides the file.
pub(crate) fn document(conversation: &Conversation) -> Vec<(&'static str, String)> {
    let mut fields = vec![("chat_id", conversation.id.to_string())];
    if let Some(thread) = conversation.thread.as_ref().filter(|thread| thread.as_str() != GENERAL) {
        fields.push(("message_thread_id", thread.to_string()));
    }
    fields
}

/// The same parameters for the chat that the group has become.
pub(crate) fn moved(mut parameters: Value, chat: i64) -> Value {
    if let Some(parameters) = parameters.as_object_mut() {
        parameters.insert("chat_id".into(), json!(chat));
        parameters.remove("message_thread_id");
        parameters.remove("reply_parameters");
    }
    parameters
}

#[cfg(test)]
mod tests {
    use super::*;
    use channel::{Links, TELEGRAM, nonce_of, plan};
    use ipc_proto::List;
    use ipc_proto::channel::{DeliveryId, PieceId};

    fn claim(kind: ConversationKind, thread: Option<&str>) -> Claim {
        let rendered = plan("**hi** [x](https://a.example/)", &TELEGRAM, Links::Live).parts.remove(0);
        Claim {
            piece: PieceId { delivery: DeliveryId(1), number: 0 },
            conversation: Conversation { id: Text::clip("-100"), thread: thread.map(Text::clip), kind },
            reply_to: Some(Text::clip("5")),
            edits: None,
            content: piece(rendered),
            buttons: List::clip([Button { caption: Text::clip("Allow"), nonce: [0xab; 16] }]),
            attempt: 0,
        }
    }

    // Holds P11-15.
    #[test]
    fn a_text_goes_with_entities_and_without_a_preview() {
        let sent = send(&claim(ConversationKind::Group, Some("9")), "hi x");
        assert_eq!(sent["chat_id"], -100);
        assert_eq!(sent["message_thread_id"], 9);
        assert_eq!(sent["entities"][0], json!({ "type": "bold", "offset": 0, "length": 2 }));
        assert_eq!(sent["entities"][1]["url"], "https://a.example/");
        assert_eq!(sent["link_preview_options"]["is_disabled"], true);
        assert_eq!(sent["reply_parameters"]["message_id"], 5);
        assert!(sent.get("parse_mode").is_none());
    }

    #[test]
    fn the_general_topic_goes_without_its_id() {
        let sent = send(&claim(ConversationKind::Group, Some("1")), "hi x");
        assert!(sent.get("message_thread_id").is_none());
    }

    #[test]
    fn a_button_carries_its_nonce_and_nothing_else() {
        let sent = send(&claim(ConversationKind::Direct, None), "hi x");
        let data = sent["reply_markup"]["inline_keyboard"][0][0]["callback_data"].as_str().unwrap();
        assert_eq!(nonce_of(data), Some([0xab; 16]));
        assert_eq!(nonce_of("ab"), None);
        assert_eq!(nonce_of(&"é".repeat(16)), None);
    }
}
