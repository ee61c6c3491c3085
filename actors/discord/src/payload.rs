//! Payloads of the gateway. Pure: hostile text is read or refused, and an event that cannot be read is counted.

use crate::wire::{Id, Interaction, Message};
use serde::Deserialize;
use serde_json::Value;

/// A payload that came.
#[derive(Debug)]
pub(crate) enum Payload {
    /// The first one: the time between two heartbeats, in ms.
    Hello { interval_ms: u64 },
    /// An event, by its number in the session.
    Dispatch { seq: u64, event: Event },
    /// A heartbeat is wanted now.
    Beat,
    /// A heartbeat arrived.
    Acknowledged,
    /// The bot is to connect anew and resume.
    Reconnect,
    /// The session is over, or may be tried once more.
    Invalid { resumable: bool },
    /// One that has no use here.
    Other,
}

/// An event.
#[derive(Debug)]
pub(crate) enum Event {
    /// A session has begun.
    Ready(Ready),
    /// A session goes on: all that was missed has come.
    Resumed,
    /// A message, or a change of one.
    Message { message: Box<Message>, edit: bool },
    /// An interaction.
    Press(Box<Interaction>),
    /// One that has no use here.
    Other,
    /// One that cannot be read.
    Malformed,
}

/// The beginning of a session.
#[derive(Debug, Deserialize)]
pub(crate) struct Ready {
    pub session_id: String,
    pub resume_gateway_url: String,
}

#[derive(Deserialize)]
struct Raw {
    op: u64,
    #[serde(default)]
    d: Value,
    s: Option<u64>,
    t: Option<String>,
}

/// Reads a payload; `None` if it is none.
pub(crate) fn read(bytes: &[u8]) -> Option<Payload> {
    let Raw { op, d, s, t } = serde_json::from_slice(bytes).ok()?;
    Some(match op {
        0 => Payload::Dispatch { seq: s?, event: event(t.as_deref().unwrap_or_default(), d) },
        1 => Payload::Beat,
        7 => Payload::Reconnect,
        9 => Payload::Invalid { resumable: d.as_bool().unwrap_or(false) },
        10 => Payload::Hello { interval_ms: d.get("heartbeat_interval")?.as_u64()? },
        11 => Payload::Acknowledged,
        _ => Payload::Other,
    })
}

fn event(name: &str, data: Value) -> Event {
    let read = match name {
        "READY" => Ready::deserialize(data).map(Event::Ready),
        "RESUMED" => Ok(Event::Resumed),
        "MESSAGE_CREATE" => Message::deserialize(data).map(|message| of(message, false)),
        "MESSAGE_UPDATE" => Message::deserialize(data).map(|message| of(message, true)),
        "INTERACTION_CREATE" => Interaction::deserialize(data).map(|press| Event::Press(Box::new(press))),
        _ => Ok(Event::Other),
    };
    read.unwrap_or(Event::Malformed)
}

fn of(message: Message, edit: bool) -> Event {
    Event::Message { message: Box::new(message), edit }
}

/// The bot itself, as the REST API tells it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Me {
    /// Its id.
    pub id: u64,
    /// True if it may read the text of messages that do not name it.
    pub reads: bool,
}

/// Bits of an application's flags, one of which allows it to read the text of messages.
const READS: u64 = 1 << 18 | 1 << 19;

/// Reads the bot's user and its application. Flags that are not told are taken to allow everything.
pub(crate) fn me(user: &Value, application: Option<&Value>) -> Option<Me> {
    let id = Id::deserialize(user.get("id")?).ok()?.0;
    let flags = application.and_then(|application| application.get("flags")).and_then(Value::as_u64);
    Some(Me { id, reads: flags.is_none_or(|flags| flags & READS != 0) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn payload(value: &Value) -> Option<Payload> {
        read(value.to_string().as_bytes())
    }

    #[test]
    fn payloads_are_told_apart_by_their_number() {
        let hello =
            json!({ "op": 10, "d": { "heartbeat_interval": 41_250, "_trace": [] }, "s": null, "t": null });
        assert!(matches!(payload(&hello), Some(Payload::Hello { interval_ms: 41_250 })));
        assert!(matches!(
            payload(&json!({ "op": 9, "d": true })),
            Some(Payload::Invalid { resumable: true })
        ));
        assert!(matches!(payload(&json!({ "op": 9 })), Some(Payload::Invalid { resumable: false })));
        assert!(matches!(payload(&json!({ "op": 7, "d": null })), Some(Payload::Reconnect)));
        assert!(matches!(payload(&json!({ "op": 1, "d": null })), Some(Payload::Beat)));
        assert!(matches!(payload(&json!({ "op": 11 })), Some(Payload::Acknowledged)));
        assert!(matches!(payload(&json!({ "op": 99 })), Some(Payload::Other)));
        assert!(payload(&json!({ "op": 0, "t": "READY", "d": {} })).is_none(), "an event has a number");
        assert!(payload(&json!([])).is_none());
    }

    #[test]
    fn an_event_that_cannot_be_read_keeps_its_number() {
        let odd = json!({ "op": 0, "t": "MESSAGE_CREATE", "s": 4, "d": { "id": 4 } });
        assert!(matches!(payload(&odd), Some(Payload::Dispatch { seq: 4, event: Event::Malformed })));
        let new = json!({ "op": 0, "t": "SOMETHING_NEW", "s": 5, "d": [1] });
        assert!(matches!(payload(&new), Some(Payload::Dispatch { seq: 5, event: Event::Other })));
    }

    #[test]
    fn a_bot_without_the_flag_reads_no_text_of_others() {
        let user = json!({ "id": "42", "username": "cordon" });
        let reads = |flags: u64| me(&user, Some(&json!({ "flags": flags }))).map(|me| me.reads);
        assert_eq!((reads(1 << 19), reads(1 << 18), reads(1 << 12)), (Some(true), Some(true), Some(false)));
        assert_eq!(me(&user, None), Some(Me { id: 42, reads: true }));
        assert_eq!(me(&json!({ "id": 42 }), None), None);
    }
}
