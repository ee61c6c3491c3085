//! Channels, pairings and deliveries as operators see them.

use super::outbound::{DeliveryId, DeliveryState};
use super::{Link, Platform, Trouble};
use crate::ids::MessageId;
use crate::role::UserRole;
use crate::{List, Name, Text};
use serde::{Deserialize, Serialize};

/// Symbols of a pairing code. A code has 8 of 32 symbols, without `0`, `O`, `1` and `I`.
pub const PAIRING_CODE: usize = 8;

/// A channel, listed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChannelInfo {
    /// Its name in the configuration.
    pub name: Name,
    /// Its platform.
    pub platform: Platform,
    /// True while an operator has paused it.
    pub paused: bool,
    /// The connection, as its process reported it last.
    pub link: Link,
    /// The reason for that, with the command that mends it; empty while all is well.
    pub reason: Text<256>,
    /// When a message was admitted last, unix ms; 0 if never.
    pub admitted_ms: u64,
    /// When a piece was sent last, unix ms; 0 if never.
    pub sent_ms: u64,
}

/// A channel in full.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChannelView {
    /// The channel.
    pub info: ChannelInfo,
    /// Admission to direct messages.
    pub dm: Name,
    /// Deliveries that are ready or under way.
    pub waiting: u32,
    /// Deliveries of unknown outcome.
    pub unknown: u32,
    /// Pairings that wait.
    pub pairings: u32,
    /// Payloads since router started that could not be read.
    pub malformed: u64,
    /// Messages since router started that were dropped, by reason.
    pub dropped: List<(Name, u64), 16>,
    /// The groups that are admitted by command.
    pub groups: List<GroupInfo, 64>,
    /// The trouble of the connection.
    pub trouble: Trouble,
    /// Seconds by which the platform's clock is before this machine's; none while no reply told.
    pub clock_s: Option<i32>,
    /// The name of the secret that the account signs in with.
    pub secret: Name,
    /// The hosts that it reaches, `host:port`.
    pub hosts: List<Text<253>, 8>,
    /// True if an approval in it needs a code of six digits.
    pub approve_code: bool,
}

/// Findings of one look at an account.
pub const FINDINGS: usize = 16;

/// A finding of a process that was asked to look at an account.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// The subject, such as `token` or `hook`.
    pub id: Name,
    /// False if it needs a person.
    pub well: bool,
    /// The finding in the host's words, with the command that mends it. Nothing that a sender or the platform wrote.
    pub said: Text<256>,
}

/// A group that is admitted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GroupInfo {
    /// The platform's stable id of it.
    pub group: Text<128>,
    /// Its rule.
    pub rule: GroupRule,
}

/// The rule of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GroupRule {
    /// True if any member may speak to the agent; else only paired people.
    pub members: bool,
    /// True if the account has to be mentioned.
    pub require_mention: bool,
}

/// A pairing, listed. Its code is stored hashed and shown nowhere.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PairingInfo {
    /// The channel.
    pub channel: Name,
    /// The identity that asks: `PLATFORM:NAME:ID`.
    pub identity: Text<256>,
    /// The display name, which anybody can choose.
    pub display: Text<128>,
    /// Its state.
    pub state: PairingState,
    /// When it was asked, unix ms.
    pub asked_ms: u64,
    /// When it ends, unix ms.
    pub until_ms: u64,
}

/// The state of a pairing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PairingState {
    /// It waits for a person.
    Pending,
    /// It was approved.
    Approved,
    /// It was refused.
    Refused,
    /// Its hour is over.
    Expired,
}

/// A code that links an identity to a user: sent as `/link CODE` from that identity within 10 min.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LinkCode {
    /// The code: 128 bits.
    pub code: Name,
    /// The user.
    pub user: Name,
    /// The role of that user.
    pub role: UserRole,
    /// When it ends, unix ms.
    pub until_ms: u64,
}

/// A delivery, listed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeliveryInfo {
    /// The delivery.
    pub id: DeliveryId,
    /// The channel.
    pub channel: Name,
    /// The message that it answers; none for the host's own notices.
    pub message: Option<MessageId>,
    /// Its state: that of its first piece that was not sent.
    pub state: DeliveryState,
    /// Pieces, and those of them that were sent.
    pub pieces: (u8, u8),
    /// The reason for a refusal.
    pub why: Text<128>,
    /// When it was made, unix ms.
    pub made_ms: u64,
}
