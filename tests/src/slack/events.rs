//! People: they write, change a text, type the app's command and press buttons.

use super::messages::{SentMessage, Stored, kind, merged};
use super::{BOT, State, TEAM, socket};
use serde_json::{Value, json};

/// A person writes a message with these fields.
pub(super) fn write(state: &mut State, channel: &str, person: &str, fields: &Value) -> String {
    let ts = state.fresh_ts();
    let plain = json!({
        "type": "message", "user": person, "ts": ts, "client_msg_id": format!("client-{ts}"), "team": TEAM,
    });
    let document = merged(&plain, fields);
    let thread = fields["thread_ts"].as_str().map(str::to_owned);
    let stored = Stored {
        channel: channel.to_owned(),
        ts: ts.clone(),
        thread,
        document: document.clone(),
        arguments: Value::Null,
        edits: 0,
    };
    state.messages.push(stored);
    let place = json!({ "channel": channel, "channel_type": kind(channel), "event_ts": ts });
    socket::event(state, &merged(&document, &place));
    let names = document["text"].as_str().is_some_and(|text| text.contains(&format!("<@{BOT}>")));
    if names && !channel.starts_with('D') {
        let mention = json!({ "type": "app_mention", "channel": channel, "event_ts": ts });
        socket::event(state, &merged(&document, &mention));
    }
    ts
}

/// A person changes the text of a message.
pub(super) fn change(state: &mut State, channel: &str, ts: &str, text: &str) {
    let is = |one: &&mut Stored| one.channel == channel && one.ts == ts;
    let Some(message) = state.messages.iter_mut().find(is) else { return };
    message.document["text"] = json!(text);
    message.document["edited"] = json!({ "user": message.document["user"], "ts": ts });
    let changed = message.document.clone();
    let event_ts = state.fresh_ts();
    socket::event(
        state,
        &json!({
            "type": "message", "subtype": "message_changed", "hidden": true, "channel": channel,
            "channel_type": kind(channel), "ts": event_ts, "event_ts": event_ts, "message": changed,
        }),
    );
}

/// A person types the app's command.
pub(super) fn command(state: &mut State, channel: &str, person: &str, text: &str) {
    let trigger = format!("{}.17.trigger", state.fresh_number());
    let payload = json!({
        "command": "/cordon", "text": text, "user_id": person, "user_name": "person", "channel_id": channel,
        "team_id": TEAM, "trigger_id": trigger, "api_app_id": "A17",
    });
    socket::enqueue(state, "slash_commands", &payload);
}

/// A person presses a button of a message.
pub(super) fn press(state: &mut State, port: u16, person: &str, message: &SentMessage, value: &str) {
    let number = state.fresh_number();
    let payload = json!({
        "type": "block_actions", "team": { "id": TEAM }, "api_app_id": "A17", "trigger_id": format!("{number}.1"),
        "user": { "id": person, "name": "person", "team_id": TEAM },
        "container": { "type": "message", "message_ts": message.ts, "channel_id": message.channel, "is_ephemeral": false },
        "channel": { "id": message.channel },
        "message": { "type": "message", "user": BOT, "ts": message.ts, "thread_ts": message.thread },
        "response_url": format!("http://127.0.0.1:{port}/actions/{TEAM}/{number}/token"),
        "actions": [{ "type": "button", "action_id": "cordon-0", "block_id": "b", "value": value }],
    });
    socket::enqueue(state, "interactive", &payload);
}
