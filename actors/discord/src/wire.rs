//! The objects of Discord's API that are read, as far as they are read. Fields that are not known are skipped.

use serde::de::{Error, IgnoredAny};
use serde::{Deserialize, Deserializer};

/// The first millisecond of Discord's clock, unix ms.
const EPOCH_MS: u64 = 1_420_070_400_000;

/// The time at which an object was made, by its id, unix ms.
pub(crate) const fn made_ms(id: u64) -> u64 {
    (id >> 22).saturating_add(EPOCH_MS)
}

/// The least id of an object that is made at this time, unix ms.
pub(crate) const fn id_at(ms: u64) -> u64 {
    ms.saturating_sub(EPOCH_MS) << 22
}

/// An id of Discord's: a number, written as text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Id(pub u64);

impl<'de> Deserialize<'de> for Id {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = String::deserialize(from)?;
        text.parse().map(Self).map_err(|_| D::Error::custom("an id that is no number"))
    }
}

/// A person or a bot.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct User {
    pub id: Id,
    #[serde(default)]
    pub username: String,
    pub global_name: Option<String>,
    #[serde(default)]
    pub bot: bool,
}

/// A member of a server.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Member {
    pub nick: Option<String>,
    pub user: Option<User>,
}

/// A message.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Message {
    pub id: Id,
    pub channel_id: Id,
    pub guild_id: Option<Id>,
    pub channel_type: Option<u64>,
    pub author: Option<User>,
    pub member: Option<Member>,
    #[serde(default)]
    pub content: String,
    #[serde(default, rename = "type")]
    pub kind: u64,
    pub nonce: Option<Nonce>,
    pub webhook_id: Option<IgnoredAny>,
    #[serde(default)]
    pub mentions: Vec<User>,
    #[serde(default)]
    pub attachments: Vec<File>,
    pub message_reference: Option<Reference>,
    pub referenced_message: Option<Box<Message>>,
    #[serde(default)]
    pub message_snapshots: Vec<Snapshot>,
}

/// A mark by which a bot knows its own message again. Other clients use numbers.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub(crate) enum Nonce {
    Text(String),
    Other(IgnoredAny),
}

/// A file of a message.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct File {
    #[serde(default)]
    pub filename: String,
    pub content_type: Option<String>,
    #[serde(default)]
    pub size: u64,
    #[serde(default)]
    pub url: String,
}

/// The message that another answers or passes on.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Reference {
    #[serde(default, rename = "type")]
    pub kind: u64,
    pub message_id: Option<Id>,
}

/// A message that was passed on.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Snapshot {
    pub message: Passed,
}

/// The part of a message that is passed on with it.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Passed {
    #[serde(default)]
    pub content: String,
    #[serde(default)]
    pub attachments: Vec<File>,
}

/// An interaction. Presses of buttons alone are used.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Interaction {
    pub id: Id,
    pub application_id: Id,
    #[serde(rename = "type")]
    pub kind: u64,
    #[serde(default)]
    pub token: String,
    pub data: Option<Data>,
    pub guild_id: Option<Id>,
    pub channel_id: Option<Id>,
    pub channel: Option<Channel>,
    pub member: Option<Member>,
    pub user: Option<User>,
    pub message: Option<Pushed>,
}

/// The data of an interaction.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Data {
    #[serde(default)]
    pub custom_id: String,
}

/// The message with the button; nothing of it but its id is used.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Pushed {
    pub id: Id,
}

/// A channel.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Channel {
    #[serde(rename = "type")]
    pub kind: Option<u64>,
    pub parent_id: Option<Id>,
}

/// Kinds of channels that are threads.
pub(crate) const THREADS: std::ops::RangeInclusive<u64> = 10..=12;
