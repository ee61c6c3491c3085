//! Acts of people and of Telegram itself, besides messages: a group that becomes another chat, a webhook, a rival; and drafts.

use super::{Reply, Shared, Telegram, refusal, well};
use serde_json::{Value, json};

impl Telegram {
    /// A person has a group become a supergroup: both chats are told so, and the old one takes no message any more.
    pub fn migrate(&self, person: i64, from: i64, to: i64) {
        self.shared.state().moved.push((from, to));
        self.message(json!({ "id": from, "type": "group" }), person, json!({ "migrate_to_chat_id": to }));
        self.message(
            json!({ "id": to, "type": "supergroup" }),
            person,
            json!({ "migrate_from_chat_id": from }),
        );
    }

    /// Sets a webhook, or deletes it.
    pub fn set_hook(&self, hook: bool) {
        self.shared.state().hook = hook;
        self.shared.changed.notify_all();
    }

    /// Another program polls once with the same token.
    pub fn poll_as_a_rival(&self) {
        self.shared.state().poll += 1;
        self.shared.changed.notify_all();
    }

    /// The drafts so far: the chat, the number and the text of each.
    #[must_use]
    pub fn drafts(&self) -> Vec<(i64, i64, String)> {
        self.shared.state().drafts.clone()
    }
}

/// A draft: in a private chat alone, and its number is not 0.
pub(super) fn draft(shared: &Shared, parameters: &Value) -> Reply {
    let (chat, number) = (parameters["chat_id"].as_i64(), parameters["draft_id"].as_i64());
    let (Some(chat @ 1..), Some(number @ 1..)) = (chat, number) else {
        return refusal(400, "Bad Request: TEXTDRAFT_PEER_INVALID");
    };
    let text = parameters["text"].as_str().unwrap_or_default();
    if text.encode_utf16().count() > 4096 {
        return refusal(400, "Bad Request: message is too long");
    }
    shared.state().drafts.push((chat, number, text.to_owned()));
    well(json!(true))
}
