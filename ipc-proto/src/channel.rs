//! Channels: the accounts of messaging platforms by which people reach the host. Router stores what comes in and what goes out, and
//! serves the process of each platform for the accounts of that platform alone.

mod files;
mod inbound;
mod outbound;
mod view;

use crate::{List, Name, Text};
pub use files::{
    CAPTION, FILE_BYTES, FILE_PIECE, FILES, FilePart, InboxFile, MESSAGE_BYTES, SENT_BYTES, clean_name,
    inbox_path,
};
pub use inbound::{
    Admitted, Attachment, BATCH, Batch, CURSOR, Conversation, ConversationKind, DropReason, INBOUND_TEXT,
    Inbound, InboundPart, Missed, PartKind, Press, PressAnswer, Sender,
};
use manifest::Process;
pub use outbound::{
    ANSWER_TEXT, Answer, Body, Button, Claim, DeliveryId, DeliveryState, Due, HOLDING, LiveTurn, Outcome,
    PIECES, Piece, PieceId, Work, WorkBatch,
};
use serde::{Deserialize, Serialize};
pub use view::{
    ChannelInfo, ChannelView, DeliveryInfo, FINDINGS, Finding, GroupInfo, GroupRule, LinkCode, PAIRING_CODE,
    PairingInfo, PairingState,
};

/// Accounts of all platforms together.
pub const ACCOUNTS: usize = 32;

/// A messaging platform.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Platform {
    /// Telegram, by its Bot API.
    Telegram,
    /// Discord.
    Discord,
    /// Slack, by Socket Mode.
    Slack,
    /// Matrix.
    Matrix,
    /// E-mail, by IMAP and SMTP.
    Email,
    /// WhatsApp, by the Cloud API.
    Whatsapp,
    /// Signal, by the daemon of signal-cli.
    Signal,
    /// A webhook.
    Webhook,
}

impl Platform {
    /// Every platform.
    pub const ALL: [Self; 8] = [
        Self::Telegram,
        Self::Discord,
        Self::Slack,
        Self::Matrix,
        Self::Email,
        Self::Whatsapp,
        Self::Signal,
        Self::Webhook,
    ];

    /// Its name, as the configuration, channels and identities write it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Telegram => "telegram",
            Self::Discord => "discord",
            Self::Slack => "slack",
            Self::Matrix => "matrix",
            Self::Email => "email",
            Self::Whatsapp => "whatsapp",
            Self::Signal => "signal",
            Self::Webhook => "webhook",
        }
    }

    /// The platform of this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|platform| platform.name() == name)
    }

    /// The process that serves all accounts of this platform.
    #[must_use]
    pub const fn process(self) -> Process {
        match self {
            Self::Telegram => Process::Telegram,
            Self::Discord => Process::Discord,
            Self::Slack => Process::Slack,
            Self::Matrix => Process::Matrix,
            Self::Email => Process::Email,
            Self::Signal => Process::Signal,
            Self::Whatsapp => Process::Whatsapp,
            Self::Webhook => Process::Webhook,
        }
    }

    /// Returns true if a piece that is sent twice under its id is there once: the platform takes ids of its clients.
    #[must_use]
    pub const fn sends_once(self) -> bool {
        matches!(self, Self::Matrix)
    }

    /// The mark before a chat command, as help and questions show it. Clients of Matrix take `/` for themselves.
    #[must_use]
    pub const fn command_mark(self) -> char {
        if matches!(self, Self::Matrix) { '!' } else { '/' }
    }

    /// Returns true if an owner's own direct messages here count as typed by the owner. E-mail and hooks never do.
    #[must_use]
    pub const fn proves_sender(self) -> bool {
        matches!(self, Self::Telegram | Self::Discord | Self::Slack | Self::Matrix | Self::Signal)
    }

    /// Returns true if messages here can have buttons.
    #[must_use]
    pub const fn has_buttons(self) -> bool {
        matches!(self, Self::Telegram | Self::Discord | Self::Slack | Self::Whatsapp)
    }

    /// The name of the secret by which people of an account prove that they answer an approval themselves.
    #[must_use]
    pub fn code_secret(self, account: &str) -> Name {
        Name::clip(&format!("{}-{account}-totp", self.name()))
    }

    /// Returns true if a piece that may have been sent can be looked for here.
    #[must_use]
    pub const fn finds_sent(self) -> bool {
        matches!(self, Self::Discord | Self::Slack | Self::Matrix | Self::Email | Self::Webhook)
    }

    /// Returns true if a message is edited by its id here, so that an edit which may have been made can be made again.
    #[must_use]
    pub const fn repeats_edits(self) -> bool {
        matches!(self, Self::Telegram)
    }

    /// The name of an account's channel: `telegram:NAME`.
    #[must_use]
    pub fn channel(self, account: &str) -> Name {
        Name::clip(&format!("{}:{account}", self.name()))
    }

    /// The identity of a person on an account: `telegram:NAME:ID`; `None` if it is over its bound.
    #[must_use]
    pub fn identity(self, account: &str, sender: &str) -> Option<Text<256>> {
        Text::new(format!("{}:{account}:{sender}", self.name())).ok()
    }
}

/// The connection of an account to its platform, as its process reports it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Health {
    /// The state of the connection.
    pub state: Link,
    /// The reason in the host's words, with the command that mends it; empty while all is well. Nothing that a sender wrote.
    pub reason: Text<256>,
    /// The platform's id of the account itself, once it is known.
    pub own_id: Option<Text<128>>,
    /// Payloads since the last report that could not be read.
    pub malformed: u32,
    /// The trouble that the reason tells of.
    pub trouble: Trouble,
    /// Seconds by which the platform's clock is before this machine's; none while no reply told.
    pub clock_s: Option<i32>,
}

/// A trouble of an account with a command that mends it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Trouble {
    /// None, or one that the process did not name.
    #[default]
    None,
    /// The platform refuses the account's token.
    Token,
    /// The platform cannot be reached.
    Network,
    /// Another program receives with the same token.
    Rival,
    /// A hook is set, so that nothing can be polled.
    Hook,
    /// The secret is missing, revoked, locked away, or not bound to the platform's host.
    Secret,
}

impl Trouble {
    /// Its name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Token => "token",
            Self::Network => "network",
            Self::Rival => "rival",
            Self::Hook => "hook",
            Self::Secret => "secret",
        }
    }
}

/// A state of an account's connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Link {
    /// It was not tried yet, or is tried just now.
    #[default]
    Connecting,
    /// Messages come and go.
    Up,
    /// The platform cannot be reached; it is tried again by itself.
    Down,
    /// The platform refuses the account: a person has to act.
    Refused,
}

impl Link {
    /// Its name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Connecting => "connecting",
            Self::Up => "up",
            Self::Down => "down",
            Self::Refused => "refused",
        }
    }
}

/// A report of a process on one account.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Report {
    /// The connection.
    pub health: Health,
    /// Peers whose presence changed.
    pub presence: List<Presence, 16>,
}

/// The presence of a peer. It is shown to operators and decides nothing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Presence {
    /// The platform's stable id of the peer.
    pub sender: Text<128>,
    /// True while the peer is online.
    pub online: bool,
}

/// An account as its process finds it before each poll.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Opened {
    /// The cursor of the last batch that was accepted; none before the first.
    pub cursor: Option<Text<CURSOR>>,
    /// True while an operator has paused the account: nothing is received and nothing is sent.
    pub paused: bool,
    /// True once the process has reported its connection to router as it runs now: a router that starts again has no report.
    pub reported: bool,
}

/// The reason for which router refuses a channel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
pub enum ChannelError {
    /// No account of this name, or another platform's.
    #[error("no such channel; `agentctl channel list` names them")]
    NoChannel,
    /// The account is paused.
    #[error("the channel is paused; `agentctl channel resume NAME` resumes it")]
    Paused,
    /// It could not be made durable; nothing was accepted or changed.
    #[error("the queue or the record cannot be written; nothing was changed; `agentctl status` says why")]
    NotDurable,
    /// Too many messages wait; the batch is sent again later.
    #[error("busy; try again in {retry_s} s")]
    Busy {
        /// Seconds after which to try again.
        retry_s: u32,
    },
    /// No such turn of this account.
    #[error("no such turn; send another message")]
    NoTurn,
    /// No such delivery or piece of this account, or it is in another state.
    #[error("no such delivery, or it is in another state; `agentctl channel list` leads to them")]
    NoDelivery,
    /// A plan has no piece, or is not the one that is stored.
    #[error("the plan is empty, or differs from the stored one; send that one")]
    BadPlan,
    /// A part of a file does not follow the one before it, or the file is over its bound.
    #[error(
        "the parts of a file do not follow each other, or it is over 20 MiB; send it again from its beginning, or in parts"
    )]
    BadFile,
    /// The spool of files is full.
    #[error("the files of messages take up all their room; try again once messages were answered")]
    NoSpace,
    /// No such pairing, or it was used, refused or has expired.
    #[error(
        "no such pairing code: it was used, refused or has expired; ask for another by a message to the channel"
    )]
    NoPairing,
    /// No such user.
    #[error("no such user; `agentctl user list` names the users")]
    NoUser,
    /// The identity is malformed, somebody else's, or the user has 16 already.
    #[error(
        "an identity is PLATFORM:ACCOUNT:ID of one user, and a user has 16 at most; change users of the \
         configuration there"
    )]
    BadIdentity,
    /// The conversation is not one that the account admits.
    #[error(
        "this conversation is not admitted: give the id of a group that `agentctl channel group list` has, or of a person \
         who is a user here and has written to the channel"
    )]
    NotAdmitted,
    /// The platform's process did not answer in time.
    #[error("the channel's process did not answer; `agentctl channel show NAME` says how it is")]
    NoAnswer,
    /// No message of this id, or nothing of it is unknown or refused.
    #[error(
        "nothing of this message can be sent again: no delivery of it is unknown, refused or expired; send a new \
         message"
    )]
    NothingToResend,
}
