//! The position of a bot at Discord: its session, the last event of it that router has accepted, and the last message of each
//! conversation, from which messages are fetched that no session brings any more. Pure.

use ipc_proto::Text;
use ipc_proto::channel::CURSOR;
use serde::{Deserialize, Serialize};

/// Conversations of each kind that are remembered; beyond that the ones that were silent for longest are forgotten.
const KEPT: usize = 20;
/// Bytes of a session's id and address together.
const SESSION: usize = 1024;

/// A position.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Cursor {
    /// The bot's id: another bot's position is none.
    bot: u64,
    /// The session, if there is one.
    session: Option<Session>,
    /// The last message of each conversation.
    last: Vec<Last>,
}

/// A session of the gateway.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Session {
    /// Its id.
    pub id: String,
    /// The address at which it is resumed.
    pub url: String,
    /// The number of the last event that was accepted.
    pub seq: u64,
}

/// The place of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Scene {
    /// Direct messages.
    #[serde(rename = "d")]
    Direct,
    /// A channel of a server.
    #[serde(rename = "g")]
    Channel,
    /// A thread of this channel.
    #[serde(rename = "t")]
    Thread(u64),
}

/// The last message of a conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Last {
    /// The channel or thread.
    #[serde(rename = "c")]
    pub channel: u64,
    /// The message.
    #[serde(rename = "m")]
    pub message: u64,
    /// The channel's kind.
    #[serde(rename = "s")]
    pub scene: Scene,
    /// True while messages after it have to be fetched.
    #[serde(rename = "o", default)]
    pub owed: bool,
}

impl Cursor {
    /// Reads the position of this bot. One that cannot be read, or is another bot's, is none.
    pub(crate) fn read(text: Option<&str>, bot: u64) -> Self {
        let read = text.and_then(|text| serde_json::from_str::<Self>(text).ok());
        read.filter(|cursor| cursor.bot == bot).unwrap_or(Self { bot, ..Self::default() })
    }

    /// Writes it. Conversations that have no room are left out, the oldest first.
    pub(crate) fn write(&self) -> Text<CURSOR> {
        let mut cursor = self.clone();
        loop {
            // A map with no text but numbers and a short session is always written.
            let text = serde_json::to_string(&cursor).unwrap_or_default();
            match Text::new(text) {
                Ok(text) => return text,
                Err(_) if cursor.last.is_empty() => return Text::default(),
                Err(_) => cursor.forget(|_| true),
            }
        }
    }

    /// The session.
    pub(crate) const fn session(&self) -> Option<&Session> {
        self.session.as_ref()
    }

    /// The number of the last event that was accepted; 0 without a session.
    pub(crate) fn seq(&self) -> u64 {
        self.session.as_ref().map_or(0, |session| session.seq)
    }

    /// Goes over to a new session: messages that came between the two have to be fetched.
    pub(crate) fn begin(&mut self, session: Session) {
        self.last.iter_mut().for_each(|last| last.owed = true);
        let short = session.id.len() + session.url.len() <= SESSION;
        self.session = short.then_some(session);
    }

    /// Notes that every event up to this one was taken.
    pub(crate) fn advance(&mut self, seq: u64) {
        if let Some(session) = &mut self.session {
            session.seq = session.seq.max(seq);
        }
    }

    /// Notes a message of a conversation. While messages before it have to be fetched, fetching alone moves the position.
    pub(crate) fn note(&mut self, channel: u64, message: u64, scene: Scene) {
        match self.last.iter_mut().find(|last| last.channel == channel) {
            Some(last) if last.owed => {}
            Some(last) => last.message = last.message.max(message),
            None => {
                self.last.push(Last { channel, message, scene, owed: false });
                let alike = |last: &Last| (last.scene == Scene::Direct) == (scene == Scene::Direct);
                if self.last.iter().filter(|last| alike(last)).count() > KEPT {
                    self.forget(alike);
                }
            }
        }
    }

    /// The next conversation of which messages have to be fetched.
    pub(crate) fn owed(&self) -> Option<Last> {
        self.last.iter().find(|last| last.owed).copied()
    }

    /// Notes what was fetched of a conversation: up to this message, and whether there is more.
    pub(crate) fn fetched(&mut self, channel: u64, message: Option<u64>, more: bool) {
        if let Some(last) = self.last.iter_mut().find(|last| last.channel == channel) {
            last.message = last.message.max(message.unwrap_or_default());
            last.owed = more;
        }
    }

    /// Forgets the conversation of these that was silent for longest.
    fn forget(&mut self, of: impl Fn(&Last) -> bool) {
        let oldest = self.last.iter().filter(|last| of(last)).min_by_key(|last| last.message);
        if let Some(Last { channel, .. }) = oldest.copied() {
            self.last.retain(|last| last.channel != channel);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn session(seq: u64) -> Session {
        Session { id: "s".repeat(32), url: "wss://gateway-us-east1-b.discord.gg".to_owned(), seq }
    }

    // Holds P11-30.
    #[test]
    fn the_position_of_another_bot_is_none() {
        let mut cursor = Cursor::read(None, 7);
        cursor.begin(session(3));
        cursor.note(1, 2, Scene::Direct);
        let text = cursor.write();
        assert_eq!(Cursor::read(Some(&text), 7), cursor);
        assert_eq!(Cursor::read(Some(&text), 8), Cursor { bot: 8, ..Cursor::default() });
        assert_eq!(Cursor::read(Some("{"), 7).session(), None);
    }

    // Holds P11-31.
    #[test]
    fn a_new_session_owes_what_came_after_the_last_messages() {
        let mut cursor = Cursor::read(None, 7);
        cursor.begin(session(3));
        cursor.note(1, 10, Scene::Direct);
        cursor.note(2, 11, Scene::Thread(9));
        assert_eq!(cursor.owed(), None);
        cursor.begin(session(1));
        cursor.note(1, 99, Scene::Direct);
        assert_eq!(cursor.owed().map(|last| (last.channel, last.message)), Some((1, 10)));
        cursor.fetched(1, Some(50), true);
        assert_eq!(cursor.owed().map(|last| last.message), Some(50));
        cursor.fetched(1, Some(60), false);
        assert_eq!(cursor.owed().map(|last| last.scene), Some(Scene::Thread(9)));
        cursor.fetched(2, None, false);
        assert_eq!((cursor.owed(), cursor.last[1].message), (None, 11));
    }

    #[test]
    fn an_event_that_was_taken_is_never_before_an_earlier_one() {
        let mut cursor = Cursor::read(None, 7);
        cursor.advance(5);
        assert_eq!(cursor.seq(), 0);
        cursor.begin(session(1));
        cursor.advance(5);
        cursor.advance(4);
        assert_eq!(cursor.seq(), 5);
        cursor.begin(Session { url: "x".repeat(SESSION), ..session(1) });
        assert_eq!(cursor.session(), None);
    }

    proptest! {
        #[test]
        fn a_position_is_written_within_its_bound_and_read_back(
            notes in prop::collection::vec((any::<u64>(), any::<u64>(), any::<Option<u64>>()), 0..200),
            text in "\\PC{0,64}",
        ) {
            let mut cursor = Cursor::read(Some(&text), 7);
            cursor.begin(Session { id: text, ..session(9) });
            for (channel, message, parent) in notes {
                cursor.note(channel, message, parent.map_or(Scene::Direct, Scene::Thread));
            }
            let read = Cursor::read(Some(&cursor.write()), 7);
            prop_assert_eq!(read.session(), cursor.session());
            prop_assert!(read.last.len() <= cursor.last.len() && cursor.last.len() <= 2 * KEPT);
        }
    }
}
