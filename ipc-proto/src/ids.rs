//! Identifiers: UUID v4, one type per kind, so that one cannot stand for another. Platform ids are opaque text. On the
//! wire an id is its 16 bytes, which go there as one number: byte by byte took a tenth of an append to the record.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;
use std::str::FromStr;

/// A text that is no id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("an id has 36 characters, such as 381a9f5a-c0c3-4b30-82a0-1a2770d56326; the lists show each")]
pub struct BadId;

macro_rules! id {
    ($($(#[$doc:meta])* $name:ident),+ $(,)?) => { $(
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name([u8; 16]);

        impl $name {
            /// A new random one.
            #[must_use]
            pub fn random() -> Self {
                Self(uuid::Uuid::new_v4().into_bytes())
            }

            /// The id with these bytes.
            #[must_use]
            pub const fn from_bytes(bytes: [u8; 16]) -> Self {
                Self(bytes)
            }

            /// Its bytes.
            #[must_use]
            pub const fn bytes(self) -> [u8; 16] {
                self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                uuid::Uuid::from_bytes(self.0).fmt(f)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(self, f)
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                if serializer.is_human_readable() {
                    self.0.serialize(serializer)
                } else {
                    serializer.serialize_u128(u128::from_le_bytes(self.0))
                }
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                if deserializer.is_human_readable() {
                    <[u8; 16]>::deserialize(deserializer).map(Self)
                } else {
                    u128::deserialize(deserializer).map(|id| Self(id.to_le_bytes()))
                }
            }
        }

        impl FromStr for $name {
            type Err = BadId;
            fn from_str(text: &str) -> Result<Self, BadId> {
                uuid::Uuid::parse_str(text).map(|id| Self(id.into_bytes())).map_err(|_| BadId)
            }
        }
    )+ };
}

id! {
    /// A user of the host.
    UserId,
    /// A conversation of one user with one agent.
    SessionId,
    /// A message that was accepted.
    MessageId,
    /// One attempt series of answering one message.
    TurnId,
    /// One tool call of a turn.
    CallId,
    /// A folder that runners of a session work in.
    WorkspaceId,
    /// A row of the memory store.
    MemoryId,
    /// A question to a person.
    ApprovalId,
    /// A key of the API.
    KeyId,
    /// A piece of background work.
    JobId,
}

/// The name of a session, as its user chose it.
pub type SessionName = crate::Text<128>;
