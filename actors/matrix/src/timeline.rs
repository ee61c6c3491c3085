//! The new events of a room: those of a sync, and where that left some out, those before them, read back page by page.

use crate::api::Api;
use crate::cursor::Position;
use crate::event::Event;
use crate::reply::{Failure, Kind};
use crate::sync::Timeline;
use channel::percent_encoded;
use serde::Deserialize;
use serde_json::json;
use serde_json::value::RawValue;

/// Pages that are read back of one room, and events of a page. Older ones are left out, as the log says.
const PAGES: (usize, u32) = (20, 50);

#[derive(Deserialize)]
struct Page {
    #[serde(default)]
    chunk: Vec<Box<RawValue>>,
    end: Option<String>,
}

/// Events of a room, as they are gathered: the newest first.
#[derive(Default)]
pub(crate) struct News {
    events: Vec<Event>,
    /// Events that could not be read.
    pub malformed: u32,
    over: bool,
}

impl News {
    /// Adds an older one, unless what is new is over.
    fn add(&mut self, raw: &RawValue, position: &Position, me: &str) {
        let Some(event) = Event::read(raw).filter(|_| !self.over) else {
            self.malformed = self.malformed.saturating_add(u32::from(!self.over));
            return;
        };
        self.over = is_before(&event, position, me);
        if !self.over {
            self.events.push(event);
        }
    }

    /// The events, oldest first.
    pub(crate) fn into_events(self) -> impl Iterator<Item = Event> {
        self.events.into_iter().rev()
    }

    /// Returns true if somebody else has sent a message.
    pub(crate) fn has_message(&self, me: &str) -> bool {
        self.events.iter().any(|event| event.kind == "m.room.message" && event.sender != me)
    }
}

/// Returns true if this event, and all before it, are none of the account's business: they came before its invitation, before it joined
/// without one, or before the time from which on this device looks for messages.
fn is_before(event: &Event, position: &Position, me: &str) -> bool {
    match event.membership_of(me) {
        Some("invite") => return true,
        Some("join") if !matches!(event.membership_before(), Some("join" | "invite")) => return true,
        _ => {}
    }
    position.since.is_empty() && event.sent_ms() < position.after_ms
}

/// The new events of a room. The first sync of all gives none.
///
/// # Errors
/// They cannot be read back now.
pub(crate) async fn news(
    api: &Api,
    (position, me): (&Position, &str),
    room: &str,
    timeline: &Timeline,
) -> Result<News, Failure> {
    let mut news = News::default();
    if position.since.is_empty() && position.after_ms == 0 {
        return Ok(news);
    }
    timeline.events.iter().rev().for_each(|raw| news.add(raw, position, me));
    let mut from = timeline.prev_batch.clone().filter(|_| timeline.limited);
    for _ in 0..PAGES.0 {
        let Some(token) = from.take().filter(|_| !news.over) else { return Ok(news) };
        let page: Page = match api.get(&path(room, &token, &position.since)).await {
            Ok(page) => page,
            Err(failure) if failure.is(Kind::Forbidden) => return Ok(news),
            Err(failure) => return Err(failure),
        };
        page.chunk.iter().for_each(|raw| news.add(raw, position, me));
        from = page.end.filter(|end| *end != token);
    }
    tracing::warn!(account = %api.account(), "a room has more new messages than are read back; the oldest are left out");
    Ok(news)
}

fn path(room: &str, from: &str, to: &str) -> String {
    let filter = json!({ "types": ["m.room.message", "m.room.member"] }).to_string();
    let to = if to.is_empty() { String::new() } else { format!("&to={}", percent_encoded(to)) };
    let (room, from, filter) = (percent_encoded(room), percent_encoded(from), percent_encoded(&filter));
    format!("/rooms/{room}/messages?dir=b&limit={}&from={from}{to}&filter={filter}", PAGES.1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    const ME: &str = "@bot:test";

    fn raw(id: &str, ts: u64, membership: Option<(&str, Option<&str>)>) -> Box<RawValue> {
        let mut event = json!({
            "event_id": id, "type": "m.room.message", "sender": "@ann:test", "origin_server_ts": ts, "content": {},
        });
        if let Some((now, before)) = membership {
            event["type"] = json!("m.room.member");
            event["state_key"] = json!(ME);
            event["content"] = json!({ "membership": now });
            event["unsigned"] =
                before.map_or(Value::Null, |it| json!({ "prev_content": { "membership": it } }));
        }
        RawValue::from_string(event.to_string()).unwrap()
    }

    fn gathered(position: &Position, newest_first: &[Box<RawValue>]) -> Vec<String> {
        let mut news = News::default();
        newest_first.iter().for_each(|raw| news.add(raw, position, ME));
        news.into_events().map(|event| event.event_id).collect()
    }

    #[test]
    fn messages_behind_the_invitation_are_new_and_those_before_it_are_not() {
        let position = Position { since: "s1".to_owned(), ..Position::default() };
        let all = [
            raw("$4", 4, None),
            raw("$joined", 3, Some(("join", Some("invite")))),
            raw("$2", 2, None),
            raw("$invited", 1, Some(("invite", None))),
            raw("$0", 0, None),
        ];
        assert_eq!(gathered(&position, &all), ["$2", "$joined", "$4"]);
        let renamed =
            [raw("$2", 2, None), raw("$named", 1, Some(("join", Some("join")))), raw("$0", 0, None)];
        assert_eq!(gathered(&position, &renamed).len(), 3);
        let walked_in = [raw("$2", 2, None), raw("$in", 1, Some(("join", None))), raw("$0", 0, None)];
        assert_eq!(gathered(&position, &walked_in), ["$2"]);
    }

    #[test]
    fn a_new_device_takes_messages_since_the_last_sync_of_the_other() {
        let position = Position { after_ms: 10, ..Position::default() };
        let all = [raw("$12", 12, None), raw("$10", 10, None), raw("$9", 9, None), raw("$11", 11, None)];
        assert_eq!(gathered(&position, &all), ["$10", "$12"]);
    }
}
