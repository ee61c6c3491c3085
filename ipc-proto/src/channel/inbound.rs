//! Messages and button presses on their way in.

use crate::ids::{MessageId, TurnId};
use crate::{List, Text};
use serde::{Deserialize, Serialize};

/// Messages of one batch.
pub const BATCH: usize = 64;
/// Bytes of a platform's cursor.
pub const CURSOR: usize = 4096;
/// Bytes of one part of an inbound message.
pub const INBOUND_TEXT: usize = 64 * 1024;

/// Messages of one account, and the cursor after them. Both become durable in one commit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Batch {
    /// The messages, oldest first.
    pub messages: List<Inbound, BATCH>,
    /// The platform's position after these messages.
    pub cursor: Text<CURSOR>,
}

/// A conversation of an account.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Conversation {
    /// The platform's stable id of it.
    pub id: Text<128>,
    /// The thread or topic in it.
    pub thread: Option<Text<128>>,
    /// Direct messages, or a group.
    pub kind: ConversationKind,
}

/// A kind of conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ConversationKind {
    /// One person and the account.
    Direct,
    /// Several people, a channel or a room.
    Group,
}

/// The sender of a message, or the person who pressed a button.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sender {
    /// The platform's stable id: never a user name. Empty for a sender whom the platform does not prove.
    pub id: Text<128>,
    /// The display name; anybody can choose any.
    pub name: Text<128>,
    /// True for a bot.
    pub bot: bool,
    /// True for the account itself.
    pub itself: bool,
}

/// A message of a platform.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Inbound {
    /// The key of the message: one message for one key of an account, forever.
    pub key: Text<256>,
    /// The conversation.
    pub conversation: Conversation,
    /// The sender.
    pub sender: Sender,
    /// Its text, in order.
    pub parts: List<InboundPart, 8>,
    /// Its attachments.
    pub attachments: List<Attachment, 8>,
    /// The platform's id of it, to reply to.
    pub message: Text<128>,
    /// The platform's id of the message it answers.
    pub reply_to: Option<Text<128>>,
    /// When it was sent, unix ms, by the platform's clock.
    pub sent_ms: u64,
    /// True if it changes an earlier message: it never starts a turn.
    pub edit: bool,
    /// True if it names the account, or answers a message of the account.
    pub mentions: bool,
    /// The conversation that this one replaces: session and admission move with it.
    pub moved_from: Option<Text<128>>,
}

/// A part of an inbound message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct InboundPart {
    /// The origin of its text.
    pub kind: PartKind,
    /// The text.
    pub text: Text<INBOUND_TEXT>,
}

/// The origin of a part's text. Only [`PartKind::Own`] and [`PartKind::Caption`] are the sender's own text; every other part is untrusted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PartKind {
    /// The sender typed it.
    Own,
    /// The sender typed it below an attachment.
    Caption,
    /// Somebody else's message, passed on.
    Forward,
    /// A quoted message.
    Quote,
    /// A contact card.
    Contact,
    /// A transcript of speech.
    Transcript,
    /// The subject of an e-mail.
    Subject,
    /// The display name of a member of a group.
    Member,
    /// The name, type and size of an attachment that is not shown.
    Attachment,
}

impl PartKind {
    /// Returns true for the sender's own text.
    #[must_use]
    pub const fn is_own(self) -> bool {
        matches!(self, Self::Own | Self::Caption)
    }

    /// Its name, as labels and the model see it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Own => "own",
            Self::Caption => "caption",
            Self::Forward => "forward",
            Self::Quote => "quote",
            Self::Contact => "contact",
            Self::Transcript => "transcript",
            Self::Subject => "subject",
            Self::Member => "member",
            Self::Attachment => "attachment",
        }
    }
}

/// A file that came with a message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attachment {
    /// SHA-256 of its bytes, which router holds for the account; none if they were not fetched.
    pub digest: Option<[u8; 32]>,
    /// Its cleaned name.
    pub name: Option<Text<255>>,
    /// Its media type: by its first bytes if it was fetched, else the sender's word.
    pub media_type: Text<128>,
    /// Its size, bytes.
    pub size: u64,
    /// The reason for which it was not fetched, if that was tried.
    pub missed: Option<Missed>,
}

/// A reason for which a file was not fetched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Missed {
    /// It is over [`super::FILE_BYTES`], or over the bound of its platform.
    TooLarge,
    /// With it the message is over [`super::MESSAGE_BYTES`].
    TooMuch,
    /// The host keeps no more files now.
    NoRoom,
    /// The platform does not give it out.
    Gone,
}

impl Missed {
    /// The reason in words, about a file.
    #[must_use]
    pub const fn phrase(self) -> &'static str {
        match self {
            Self::TooLarge => "it is over 20 MiB, or more than the platform gives out",
            Self::TooMuch => "the files of one message are over 50 MiB together",
            Self::NoRoom => "the host has no room for more files now; send it again later",
            Self::Gone => "the platform did not give it out; send it again",
        }
    }
}

/// The fate of one message of a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Admitted {
    /// It is a message of the queue, durable.
    Accepted {
        /// The message.
        message: MessageId,
        /// Its turn.
        turn: TurnId,
    },
    /// It was accepted before.
    Repeated {
        /// The message.
        message: MessageId,
        /// Its turn.
        turn: TurnId,
    },
    /// It was a command, and its reply is in the outbox.
    Command,
    /// A pairing was asked for. The text was not kept.
    Pairing,
    /// It was dropped.
    Dropped(DropReason),
}

/// The reason for which a message was dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DropReason {
    /// Direct messages or groups are disabled.
    Disabled,
    /// The sender is not admitted.
    NotAdmitted,
    /// The group is not on the list.
    NotListed,
    /// The account was not mentioned in the group.
    NotMentioned,
    /// The sender is a bot, or the account itself.
    Bot,
    /// The platform does not prove the sender.
    Unproven,
    /// It changes an earlier message.
    Edit,
    /// The sender sent too many.
    TooMany,
    /// The conversation is paused: it went back and forth too fast for people.
    Loop,
    /// It has no text and no image, or is over a bound.
    Empty,
    /// Too much waits already; the sender was answered so once.
    Busy,
}

impl DropReason {
    /// Its name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Disabled => "disabled",
            Self::NotAdmitted => "not_admitted",
            Self::NotListed => "not_listed",
            Self::NotMentioned => "not_mentioned",
            Self::Bot => "bot",
            Self::Unproven => "unproven",
            Self::Edit => "edit",
            Self::TooMany => "too_many",
            Self::Loop => "loop",
            Self::Empty => "empty",
            Self::Busy => "busy",
        }
    }
}

/// A press of a button of one of the account's messages.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Press {
    /// The conversation of the message with the button.
    pub conversation: Conversation,
    /// The platform's id of that message.
    pub message: Text<128>,
    /// The person who pressed, which need not be the one who was asked.
    pub sender: Sender,
    /// The nonce of the button.
    pub nonce: [u8; 16],
}

/// The answer to a press.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PressAnswer {
    /// True if the press had its effect.
    pub done: bool,
    /// A line for the person who pressed.
    pub text: Text<200>,
}
