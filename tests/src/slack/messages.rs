//! The messages of every channel, and those methods by which the bot writes.

use super::web::Reply;
use super::{BOT, BOT_ID, State, TEAM, limits, refusal, socket};
use serde_json::{Value, json};

/// A message of a channel.
#[derive(Clone)]
pub(super) struct Stored {
    /// Its channel.
    pub channel: String,
    /// Its time.
    pub ts: String,
    /// The first message of its thread, if it is a reply.
    pub thread: Option<String>,
    /// The message as its channel shows it.
    pub document: Value,
    /// The arguments that the bot sent or edited it with last; null for a message of a person.
    pub arguments: Value,
    /// The number of its edits.
    pub edits: u32,
}

/// A message of the bot.
#[derive(Debug, Clone)]
pub struct SentMessage {
    /// Its time, which is its id.
    pub ts: String,
    /// Its channel.
    pub channel: String,
    /// The first message of its thread.
    pub thread: Option<String>,
    /// The arguments that it was sent or edited with last.
    pub arguments: Value,
    /// The number of its edits.
    pub edits: u32,
}

impl SentMessage {
    /// Its text.
    #[must_use]
    pub fn text(&self) -> &str {
        self.arguments["text"].as_str().unwrap_or_default()
    }

    /// The value of the button with this caption.
    #[must_use]
    pub fn button(&self, caption: &str) -> Option<String> {
        let blocks = self.arguments["blocks"].as_array()?;
        let mut all = blocks.iter().filter_map(|block| block["elements"].as_array()).flatten();
        let found = all.find(|button| button["text"]["text"] == caption)?;
        found["value"].as_str().map(str::to_owned)
    }
}

/// The messages of the bot in a channel.
pub(super) fn sent(state: &State, channel: &str) -> Vec<SentMessage> {
    let of_bot = |one: &&Stored| one.channel == channel && one.arguments.is_object();
    let sent = |one: &Stored| SentMessage {
        ts: one.ts.clone(),
        channel: one.channel.clone(),
        thread: one.thread.clone(),
        arguments: one.arguments.clone(),
        edits: one.edits,
    };
    state.messages.iter().filter(of_bot).map(sent).collect()
}

/// The channels that the bot is in: direct ones, and those of which the name says nothing else.
pub(super) fn is_member(channel: &str) -> bool {
    channel.len() > 1 && channel.starts_with(['C', 'D', 'G']) && !channel.contains("OUTSIDE")
}

/// `chat.postMessage`.
pub(super) fn post(state: &mut State, arguments: &Value) -> Reply {
    let Some(channel) = arguments["channel"].as_str().map(str::to_owned) else {
        return refusal("channel_not_found");
    };
    if !is_member(&channel) {
        return refusal("not_in_channel");
    }
    if let Err(word) = limits::message(arguments) {
        return refusal(word);
    }
    let thread = arguments["thread_ts"].as_str().map(str::to_owned);
    let is_there = |ts: &String| state.messages.iter().any(|one| one.channel == channel && one.ts == *ts);
    if thread.as_ref().is_some_and(|ts| !is_there(ts)) {
        return refusal("thread_not_found");
    }
    if let Err(seconds) = state.rates.post(&channel) {
        return limits::too_many(seconds);
    }
    let ts = state.fresh_ts();
    let document = document(arguments, &ts, thread.as_deref());
    let event = json!({ "channel": channel, "channel_type": kind(&channel), "event_ts": ts });
    let stored = Stored {
        channel: channel.clone(),
        ts: ts.clone(),
        thread,
        document: document.clone(),
        arguments: arguments.clone(),
        edits: 0,
    };
    state.messages.push(stored);
    // An app hears of its own messages as well.
    socket::event(state, &merged(&document, &event));
    Reply::of(json!({ "ok": true, "channel": channel, "ts": ts, "message": document }))
}

/// `chat.update`.
pub(super) fn update(state: &mut State, arguments: &Value) -> Reply {
    if let Err(word) = limits::message(arguments) {
        return refusal(word);
    }
    let (channel, ts) = (arguments["channel"].as_str(), arguments["ts"].as_str());
    let is = |one: &Stored| Some(one.channel.as_str()) == channel && Some(one.ts.as_str()) == ts;
    match state.messages.iter().find(|one| is(one)) {
        None => return refusal("message_not_found"),
        Some(message) if message.arguments.is_null() => return refusal("cant_update_message"),
        Some(_) => {}
    }
    if let Err(seconds) = state.rates.update() {
        return limits::too_many(seconds);
    }
    let Some(message) = state.messages.iter_mut().find(|one| is(one)) else {
        return refusal("message_not_found");
    };
    message.document = document(arguments, &message.ts, message.thread.as_deref());
    message.arguments = arguments.clone();
    message.edits += 1;
    let (channel, changed) = (message.channel.clone(), message.document.clone());
    let event_ts = state.fresh_ts();
    socket::event(
        state,
        &json!({
            "type": "message", "subtype": "message_changed", "hidden": true, "channel": channel,
            "channel_type": kind(&channel), "ts": event_ts, "event_ts": event_ts, "message": changed,
        }),
    );
    Reply::of(
        json!({ "ok": true, "channel": channel, "ts": ts, "text": arguments["text"], "message": changed }),
    )
}

fn document(arguments: &Value, ts: &str, thread: Option<&str>) -> Value {
    let mut document = json!({
        "type": "message", "user": BOT, "bot_id": BOT_ID, "app_id": "A17", "team": TEAM, "ts": ts,
        "text": arguments["text"], "bot_profile": { "id": BOT_ID, "name": "cordon" },
    });
    for (key, value) in [
        ("thread_ts", json!(thread)),
        ("metadata", arguments["metadata"].clone()),
        ("blocks", arguments["blocks"].clone()),
    ] {
        if !value.is_null() {
            document[key] = value;
        }
    }
    document
}

/// One document with the fields of another.
pub(super) fn merged(document: &Value, fields: &Value) -> Value {
    let mut all = document.as_object().cloned().unwrap_or_default();
    all.extend(fields.as_object().cloned().unwrap_or_default());
    Value::Object(all)
}

/// The kind of a channel, as events name it.
pub(super) fn kind(channel: &str) -> &'static str {
    match channel.chars().next() {
        Some('D') => "im",
        Some('G') => "mpim",
        _ => "channel",
    }
}
