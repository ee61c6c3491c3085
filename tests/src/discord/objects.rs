//! Objects as Discord describes them.

use super::{BOT, gateway};
use serde_json::{Value, json};

/// An event as a session without the intent for texts sees it.
pub(super) fn readable(event: &Value, intents: u64) -> Value {
    let mut event = event.clone();
    let names = |user: &Value| user["id"].as_str() == Some(&*BOT.to_string());
    let own =
        names(&event["author"]) || event["mentions"].as_array().is_some_and(|all| all.iter().any(names));
    if intents & gateway::TEXT == 0 && event.get("guild_id").is_some() && !own {
        event["content"] = json!("");
        event["attachments"] = json!([]);
    }
    event
}

/// A person.
pub(super) fn user(id: u64) -> Value {
    json!({ "id": id.to_string(), "username": format!("person{id}"), "discriminator": "0", "avatar": null })
}

/// The bot.
pub(super) fn bot() -> Value {
    json!({ "id": BOT.to_string(), "username": "cordon", "discriminator": "0001", "avatar": null, "bot": true })
}

/// A message without a text, as Discord describes one.
pub(super) fn blank(id: u64, channel: u64, person: u64) -> Value {
    json!({
        "id": id.to_string(), "channel_id": channel.to_string(), "type": 0, "content": "",
        "author": if person == BOT { bot() } else { user(person) },
        "timestamp": "2026-11-01T00:00:00.000000+00:00", "edited_timestamp": null, "tts": false,
        "mention_everyone": false, "mentions": [], "mention_roles": [], "attachments": [], "embeds": [],
        "pinned": false, "flags": 0, "components": [],
    })
}

/// The press of a button of a direct message.
pub(super) fn interaction(id: u64, (person, token): (u64, &str), message: Value, data: &str) -> Value {
    let channel = message["channel_id"].clone();
    json!({
        "id": id.to_string(), "application_id": BOT.to_string(), "type": 3, "token": token, "version": 1,
        "data": { "component_type": 2, "custom_id": data }, "channel_id": channel, "user": user(person),
        "channel": { "id": channel, "type": 1, "last_message_id": null, "recipients": [user(person)] },
        "message": message, "locale": "en-GB", "app_permissions": "0", "entitlements": [], "context": 1,
        "authorizing_integration_owners": {}, "attachment_size_limit": 10_485_760,
    })
}
