//! The methods that read: channels, and their messages newest first, page by page.

use super::messages::{Stored, is_member};
use super::web::Reply;
use super::{State, refusal};
use serde_json::{Value, json};
use std::collections::BTreeSet;

fn number(arguments: &Value, key: &str, otherwise: usize) -> usize {
    let value = &arguments[key];
    let text = value.as_str().and_then(|text| text.parse().ok());
    text.or_else(|| usize::try_from(value.as_u64()?).ok()).unwrap_or(otherwise)
}

/// A page of these messages; metadata is shown to those alone who ask for it.
fn page(messages: &[Value], arguments: &Value) -> Reply {
    let limit = number(arguments, "limit", 100);
    if !(1..=999).contains(&limit) {
        return refusal("invalid_limit");
    }
    let from = match arguments["cursor"].as_str() {
        None | Some("") => 0,
        Some(cursor) => match cursor.strip_prefix("next:").and_then(|at| at.parse().ok()) {
            Some(at) => at,
            None => return refusal("invalid_cursor"),
        },
    };
    let asks = &arguments["include_all_metadata"];
    let all = *asks == true || *asks == 1 || *asks == "1";
    let shown = messages.iter().skip(from).take(limit).cloned().map(|mut message| {
        if let Some(message) = message.as_object_mut().filter(|_| !all) {
            message.remove("metadata");
        }
        message
    });
    let shown: Vec<Value> = shown.collect();
    let next = from + shown.len();
    let more = next < messages.len();
    let cursor = if more { format!("next:{next}") } else { String::new() };
    Reply::of(json!({
        "ok": true, "messages": shown, "has_more": more, "response_metadata": { "next_cursor": cursor },
    }))
}

fn newer(message: &Stored, oldest: &str) -> bool {
    // Times of one length are in the order of their texts.
    oldest.is_empty() || message.ts.as_str() > oldest
}

/// `conversations.history`: no replies, but those that were sent to the channel as well.
pub(super) fn history(state: &State, arguments: &Value) -> Reply {
    let channel = arguments["channel"].as_str().unwrap_or_default();
    if !is_member(channel) {
        return refusal("not_in_channel");
    }
    let oldest = arguments["oldest"].as_str().unwrap_or_default();
    let replies = |root: &Stored| {
        state
            .messages
            .iter()
            .filter(|one| one.channel == channel && one.thread.as_ref() == Some(&root.ts))
            .count()
    };
    let here = state.messages.iter().rev().filter(|one| one.channel == channel && one.thread.is_none());
    let shown = here.filter(|one| newer(one, oldest)).map(|one| {
        let (mut document, replies) = (one.document.clone(), replies(one));
        if replies > 0 {
            document["reply_count"] = json!(replies);
            document["thread_ts"] = json!(one.ts);
        }
        document
    });
    page(&shown.collect::<Vec<_>>(), arguments)
}

/// `conversations.replies`: the first message of the thread, and those after `oldest`, oldest first.
pub(super) fn replies(state: &State, arguments: &Value) -> Reply {
    let (channel, root) = (arguments["channel"].as_str().unwrap_or_default(), arguments["ts"].as_str());
    let oldest = arguments["oldest"].as_str().unwrap_or_default();
    let is_root = |one: &&Stored| one.channel == channel && Some(one.ts.as_str()) == root;
    let Some(first) = state.messages.iter().find(is_root) else { return refusal("thread_not_found") };
    let below = state.messages.iter().filter(|one| one.channel == channel && one.thread.as_deref() == root);
    let below = below.filter(|one| newer(one, oldest));
    let shown: Vec<Value> = [first].into_iter().chain(below).map(|one| one.document.clone()).collect();
    page(&shown, arguments)
}

/// `users.conversations`.
pub(super) fn conversations(state: &State) -> Reply {
    let ids: BTreeSet<&String> = state.messages.iter().map(|one| &one.channel).collect();
    let channels: Vec<Value> =
        ids.into_iter().map(|id| json!({ "id": id, "is_im": id.starts_with('D') })).collect();
    Reply::of(json!({ "ok": true, "channels": channels, "response_metadata": { "next_cursor": "" } }))
}
