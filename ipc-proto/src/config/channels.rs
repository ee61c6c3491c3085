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
    /// The name of the secret that it signs in with; empty for a platform that has none.
    pub secret: String,
    /// The name of the secret by which it opens its connection, where the platform has a second one.
    pub app_secret: Option<String>,
    /// The name of the secret by which the platform tries the address of a hook.
    pub verify_secret: Option<String>,
    /// The platform's id of the account's number.
    pub number: Option<String>,
    /// The server, without a slash at its end; the platform's own if there is none.
    pub base_url: Option<String>,
    /// The servers of a mailbox.
    pub mail: Option<MailAccount>,
    /// How an answer is shown while it comes.
    pub streaming: Streaming,
    /// True if the agent is shown as typing.
    pub typing: bool,
}

/// The configuration of ingress.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ingress {
    /// The process that reads the hooks of each account, by the account's name.
    pub hooks: BTreeMap<String, String>,
}

/// A mailbox, and the servers that it is read from and sent by.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MailAccount {
    /// Its address: `ann@example.com`.
    pub address: String,
    /// The name that it signs in with.
    pub login: String,
    /// The server that it is read from.
    pub imap: MailServer,
    /// The server that it is sent by.
    pub smtp: MailServer,
    /// The `authserv-id` of the server whose results of DMARC are believed; without one, no sender is proven.
    pub authserv: Option<String>,
}

/// A server of a mailbox.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MailServer {
    /// `host:port`.
    pub at: String,
    /// True if TLS begins after `STARTTLS`, false if it begins at once.
    pub upgrade: bool,
}

/// An account as router sees it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ChannelRules {
    /// The platform.
    pub platform: Platform,
    /// The name of the secret that the account signs in with.
    pub secret: String,
    /// The hosts that the account reaches, `host:port`.
    pub hosts: Vec<String>,
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
    /// The secret whose current code of six digits an approval needs; none if it needs no code.
    pub approve_code: Option<String>,
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
    /// One message is edited, with the names of the tools that run.
    Progress,
    /// As a draft, where the platform has them; else as [`Self::Edit`].
    Draft,
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
