//! `[channel.NAME]`: an account of a messaging platform, as its platform's process and router are handed it.

use crate::channel::Platform;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The configuration of a platform's process.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Channels {
    /// The accounts of its platform, by name.
    pub accounts: BTreeMap<String, ChannelAccount>,
}

/// An account as its platform's process sees it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ChannelAccount {
    /// The name of the secret that it signs in with.
    pub secret: String,
    /// The server, without a slash at its end; the platform's own if there is none.
    pub base_url: Option<String>,
    /// How an answer is shown while it comes.
    pub streaming: Streaming,
    /// True if the agent is shown as typing.
    pub typing: bool,
}

/// An account as router sees it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ChannelRules {
    /// The platform.
    pub platform: Platform,
    /// The agent that answers.
    pub agent: String,
    /// Admission to direct messages.
    pub dm: DmPolicy,
    /// Senders that are admitted to direct messages, by the platform's stable ids.
    pub allow: Vec<String>,
    /// Groups that are admitted, by the platform's stable ids; none if empty.
    pub groups: Vec<String>,
    /// True if any member of a group may speak to the agent.
    pub members: bool,
    /// True if the account has to be mentioned in a group.
    pub require_mention: bool,
    /// True if the sessions of a person's direct messages are one over all channels.
    pub shared_session: bool,
    /// True if an owner's own direct messages count as typed by the owner.
    pub trust_user: bool,
    /// The approvals that a person answers in their own direct messages.
    pub approve: ChannelApprovals,
    /// Messages of all guests of the account in one day; the rest is dropped.
    pub guest_messages: u32,
}

/// The approvals that a person answers in their own direct messages of an account.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ChannelApprovals {
    /// None.
    #[default]
    Off,
    /// Those of their own turns. What declassifies, or is the owner's alone, can be denied.
    Own,
    /// Those of their own turns, all of them.
    All,
}

/// How an answer is shown while it comes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Streaming {
    /// It is sent once, at the end.
    Off,
    /// One message is edited.
    #[default]
    Edit,
}

/// Admission to direct messages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DmPolicy {
    /// Identities of owners.
    #[default]
    OwnerOnly,
    /// Identities of users; anybody else gets a pairing code.
    Pairing,
    /// Identities of users, and the ids of `allow`.
    Allowlist,
    /// Everybody.
    Open,
    /// Nobody.
    Disabled,
}

impl DmPolicy {
    /// Its name in the configuration.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::OwnerOnly => "owner_only",
            Self::Pairing => "pairing",
            Self::Allowlist => "allowlist",
            Self::Open => "open",
            Self::Disabled => "disabled",
        }
    }
}
