//! The reply to a sync, and the invitations in it. An event is parsed by itself: one that cannot be read spoils no other.

use crate::cursor::Position;
use channel::{Invitation, percent_encoded};
use ipc_proto::Text;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Milliseconds that the homeserver holds a sync for which there is nothing.
const HOLD_MS: u32 = 30_000;

/// The reply to a sync.
#[derive(Debug, Deserialize)]
pub(crate) struct Sync {
    /// The token to go on with.
    pub next_batch: String,
    /// The rooms with news.
    #[serde(default)]
    pub rooms: Rooms,
}

/// The rooms of a sync.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct Rooms {
    /// Those that the account is in.
    #[serde(default)]
    pub join: BTreeMap<String, Joined>,
    /// Those that it is invited to.
    #[serde(default)]
    pub invite: BTreeMap<String, Invited>,
    /// Those that it has left.
    #[serde(default)]
    pub leave: BTreeMap<String, IgnoredAny>,
}

/// A room that the account is in.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct Joined {
    /// Its newest events.
    #[serde(default)]
    pub timeline: Timeline,
    /// Its state before them.
    #[serde(default)]
    pub state: Events,
}

/// Events in the order in which they came.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct Events {
    /// The events, each as it came.
    #[serde(default)]
    pub events: Vec<Box<RawValue>>,
}

/// The newest events of a room.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct Timeline {
    /// The events, oldest first.
    #[serde(default)]
    pub events: Vec<Box<RawValue>>,
    /// True if there are older ones that are not in it.
    #[serde(default)]
    pub limited: bool,
    /// The token from which older ones are read.
    pub prev_batch: Option<String>,
}

/// A room that the account is invited to.
#[derive(Debug, Deserialize)]
pub(crate) struct Invited {
    /// Its state as the homeserver shows it to those who are invited.
    #[serde(default)]
    pub invite_state: Events,
}

#[derive(Deserialize)]
struct Stripped {
    #[serde(rename = "type")]
    kind: String,
    sender: String,
    #[serde(default)]
    state_key: Value,
    #[serde(default)]
    content: Value,
}

/// The type of an event.
#[derive(Deserialize)]
struct Typed {
    #[serde(rename = "type")]
    kind: String,
}

impl Joined {
    /// Returns true if one of its events has this type.
    pub(crate) fn has(&self, kind: &str) -> bool {
        let all = self.timeline.events.iter().chain(&self.state.events);
        all.filter_map(|raw| serde_json::from_str::<Typed>(raw.get()).ok()).any(|event| event.kind == kind)
    }
}

/// The path of a sync from this position on, of at most `limit` events a room. It is not held if `held` is false.
pub(crate) fn path(position: &Position, limit: u32, held: bool) -> String {
    let nothing = json!({ "types": [] });
    let filter = json!({
        "presence": nothing,
        "account_data": nothing,
        "room": {
            "ephemeral": nothing,
            "account_data": nothing,
            "state": { "types": ["m.room.encryption"] },
            "timeline": { "limit": limit, "types": ["m.room.message", "m.room.member", "m.room.encryption"] },
        },
    });
    let hold = if held { HOLD_MS } else { 0 };
    let since = match position.since.as_str() {
        "" => String::new(),
        since => format!("&since={}", percent_encoded(since)),
    };
    format!("/sync?timeout={hold}&filter={}{since}", percent_encoded(&filter.to_string()))
}

/// The invitation to a room; none if nobody can be said to have sent it. Part of the state is the word of the inviter's homeserver, which
/// could name somebody else beside the true sender.
pub(crate) fn invitation(room: &str, invited: &Invited, me: &str) -> Option<Invitation> {
    let read = |raw: &RawValue| serde_json::from_str::<Stripped>(raw.get()).ok();
    let own = |event: &Stripped| event.kind == "m.room.member" && event.state_key.as_str() == Some(me);
    let invites = |event: &Stripped| {
        event.content.get("membership").and_then(Value::as_str) == Some("invite") && event.sender != me
    };
    let mut sender = None;
    for event in invited.invite_state.events.iter().filter_map(|raw| read(raw)).filter(own) {
        if !invites(&event) || sender.as_ref().is_some_and(|sender| *sender != event.sender) {
            return None;
        }
        sender = Some(event.sender);
    }
    Some(Invitation { conversation: Text::new(room).ok()?, sender: Text::new(sender?).ok()? })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn member(sender: &str, user: &str, membership: &str) -> Value {
        json!({
            "type": "m.room.member", "sender": sender, "state_key": user, "content": { "membership": membership },
        })
    }

    fn invited(events: &[Value]) -> Option<String> {
        let raw = json!({ "invite_state": { "events": events } }).to_string();
        let invited: Invited = serde_json::from_str(&raw).unwrap();
        invitation("!room", &invited, "@bot:test").map(|it| it.sender.into_string())
    }

    #[test]
    fn an_invitation_names_its_sender() {
        let ann = [member("@ann:test", "@ann:test", "join"), member("@ann:test", "@bot:test", "invite")];
        assert_eq!(invited(&ann).as_deref(), Some("@ann:test"));
        assert_eq!(invited(&ann[..1]), None);
    }

    #[test]
    fn an_invitation_of_two_senders_is_nobodys() {
        let forged = [member("@ann:test", "@bot:test", "invite"), member("@eve:evil", "@bot:test", "invite")];
        assert_eq!(invited(&forged), None);
        let joined = [member("@ann:test", "@bot:test", "join"), member("@eve:evil", "@bot:test", "invite")];
        assert_eq!(invited(&joined), None);
    }

    #[test]
    fn one_event_that_is_too_deep_spoils_no_other() {
        let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
        let raw = format!(
            r#"{{"next_batch":"s","rooms":{{"join":{{"!r":{{"timeline":{{"events":[{{"type":"x","content":{deep}}},
            {{"type":"m.room.member"}}]}}}}}}}}}}"#
        );
        let sync: Sync = serde_json::from_slice(raw.as_bytes()).unwrap();
        assert!(sync.rooms.join["!r"].has("m.room.member"));
    }

    #[test]
    fn a_sync_fits_into_an_address() {
        let position = Position { since: "s".repeat(512), ..Position::default() };
        assert!(path(&position, 20, true).len() < 1600);
    }

    proptest! {
        #[test]
        fn any_bytes_at_all_are_a_sync_or_none(
            bytes in prop::collection::vec(any::<u8>(), 0..64), cut in 0_usize..400, with in "\\PC{0,3}",
        ) {
            let whole = json!({
                "next_batch": "s", "rooms": {
                    "join": { "!a": { "timeline": { "events": [member("@a:b", "@bot:test", "invite")], "limited": true } } },
                    "invite": { "!b": { "invite_state": { "events": [member("@a:b", "@bot:test", "invite")] } } },
                },
            }).to_string();
            let cut = whole.floor_char_boundary(cut.min(whole.len()));
            let spoilt = format!("{}{with}{}", &whole[..cut], &whole[cut..]);
            for raw in [&bytes[..], spoilt.as_bytes()] {
                let Ok(sync) = serde_json::from_slice::<Sync>(raw) else { continue };
                for joined in sync.rooms.join.values() {
                    joined.has("m.room.encryption");
                }
                for (room, invited) in &sync.rooms.invite {
                    invitation(room, invited, "@bot:test");
                }
            }
        }
    }
}
