//! The objects of the Bot API, whole enough for a client that checks them.

use super::{BOT, BOT_NAME, SentMessage, now_s};
use serde_json::{Value, json};

/// The bot.
pub(super) fn bot() -> Value {
    json!({ "id": BOT, "is_bot": true, "first_name": "Cordon", "username": BOT_NAME })
}

/// A person.
pub(super) fn person(id: i64) -> Value {
    json!({ "id": id, "is_bot": false, "first_name": "Person" })
}

/// A message of the bot, as it was sent or edited last.
pub(super) fn message(message: &SentMessage) -> Value {
    let kind = if message.chat < 0 { "supergroup" } else { "private" };
    let mut shown = json!({
        "message_id": message.id, "date": now_s(), "from": bot(), "chat": { "id": message.chat, "type": kind },
    });
    let same = ["text", "entities", "caption", "reply_markup", "message_thread_id"];
    for key in same {
        if let Some(value) = message.parameters.get(key) {
            shown[key] = value.clone();
        }
    }
    if message.parameters.get("message_thread_id").is_some() {
        shown["is_topic_message"] = json!(true);
    }
    let id = format!("sent-{}", message.id);
    let file = |file: &Value| json!({ "file_id": id, "file_unique_id": id, "file_size": file["bytes"] });
    if let Some(document) = message.parameters.get("document") {
        shown["document"] = file(document);
        shown["document"]["file_name"] = document["name"].clone();
    }
    if let Some(photo) = message.parameters.get("photo") {
        let mut size = file(photo);
        (size["width"], size["height"]) = (json!(1), json!(1));
        shown["photo"] = json!([size]);
    }
    shown
}
