//! The roles of people.

use serde::{Deserialize, Serialize};

/// The role of a user, which says what they may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum UserRole {
    /// Talk to agents.
    Guest,
    /// The same, with sessions, memory and workspaces of their own.
    User,
    /// Everything.
    Owner,
}

impl UserRole {
    /// Its word in files, commands and records.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Guest => "guest",
            Self::User => "user",
            Self::Owner => "owner",
        }
    }
}
