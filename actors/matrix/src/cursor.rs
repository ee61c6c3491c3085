//! The position of an account in its homeserver's stream.

use ipc_proto::Text;
use ipc_proto::channel::CURSOR;
use serde::{Deserialize, Serialize};

/// The difference of two machines' clocks that loses no message, ms. A message that comes twice by it is one by its key.
const SLACK_MS: u64 = 300_000;

/// The account itself, by `whoami`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(crate) struct Me {
    /// The user's id.
    pub user_id: String,
    /// The device that the access token is of.
    #[serde(default)]
    pub device_id: String,
}

/// A position, bound to the user and the device: a token of another is not used with it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Position {
    /// The user's id.
    pub user: String,
    /// The device's id.
    pub device: String,
    /// `next_batch` of the last sync; empty before the first.
    pub since: String,
    /// Messages behind `since` that were accepted already, as long as this process runs.
    pub accepted: usize,
    /// The time since which messages are taken that came before the first sync of this device, unix ms; none if 0.
    pub after_ms: u64,
}

impl Position {
    /// The position that a cursor holds. That of another user is none. That of another device of the same user says from when on
    /// messages may be missing.
    pub(crate) fn read(cursor: Option<&str>, me: &Me) -> Self {
        let stored = cursor.and_then(|cursor| serde_json::from_str::<Self>(cursor).ok());
        let fresh = Self { user: me.user_id.clone(), device: me.device_id.clone(), ..Self::default() };
        match stored.filter(|stored| stored.user == me.user_id) {
            Some(stored) if stored.device == me.device_id => stored,
            Some(stored) => Self { after_ms: stored.after_ms, ..fresh },
            None => fresh,
        }
    }

    /// The cursor; none if the homeserver's token is too long for one.
    pub(crate) fn cursor(&self) -> Option<Text<CURSOR>> {
        Text::new(serde_json::to_string(self).ok()?).ok()
    }

    /// The same with so many messages more accepted.
    pub(crate) fn plus(&self, messages: usize) -> Self {
        Self { accepted: self.accepted.saturating_add(messages), ..self.clone() }
    }

    /// The same with none of the messages behind it accepted.
    pub(crate) fn unread(&self) -> Self {
        Self { accepted: 0, ..self.clone() }
    }

    /// The position after a sync that was asked for at `now_ms`.
    pub(crate) fn next(&self, next_batch: &str, now_ms: u64) -> Self {
        let after_ms = now_ms.saturating_sub(SLACK_MS);
        Self { since: next_batch.to_owned(), accepted: 0, after_ms, ..self.clone() }
    }

    /// The position without a token, for a homeserver that does not know it any more.
    pub(crate) fn without_token(&self) -> Self {
        Self { since: String::new(), ..self.unread() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn me(device: &str) -> Me {
        Me { user_id: "@bot:test".to_owned(), device_id: device.to_owned() }
    }

    #[test]
    fn the_token_of_another_device_or_user_is_not_used() {
        let cursor = Position::read(None, &me("A")).next("s1", 1_000_000).cursor().unwrap();
        assert_eq!(Position::read(Some(&cursor), &me("A")).since, "s1");
        let other = Position::read(Some(&cursor), &me("B"));
        assert_eq!((other.since.as_str(), other.after_ms), ("", 700_000));
        let user = Me { user_id: "@eve:test".to_owned(), ..me("A") };
        assert_eq!(Position::read(Some(&cursor), &user).after_ms, 0);
        assert_eq!(Position::read(Some("not a cursor"), &me("A")).since, "");
    }
}
