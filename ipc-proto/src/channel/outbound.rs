//! Answers on their way out: deliveries, the pieces they are sent in, and how each came out.

use super::files::SENT_BYTES;
use super::inbound::Conversation;
use crate::ids::TurnId;
use crate::{Blob, List, Text};
use serde::{Deserialize, Serialize};
use std::fmt;

/// Bytes of the text of one delivery.
pub const ANSWER_TEXT: usize = 512 * 1024;
/// Pieces of one delivery.
pub const PIECES: usize = 32;

/// Pieces that a process may hold without an outcome, of one account.
pub const HOLDING: usize = 32;

/// A delivery: one answer on its way to one conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct DeliveryId(pub u64);

impl fmt::Display for DeliveryId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// A piece of a delivery: what one request to the platform sends. A platform that takes an idempotency key is given this one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct PieceId {
    /// The delivery.
    pub delivery: DeliveryId,
    /// Its place in the plan, from 0.
    pub number: u8,
}

/// The state of a delivery or of a piece.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DeliveryState {
    /// It waits to be sent.
    Ready,
    /// Its process took it to send it; durable before it did.
    Sending,
    /// The platform has it.
    Sent,
    /// The platform refused it for good.
    Refused,
    /// It may have arrived. It is never sent again by itself.
    Unknown,
    /// It was not sent within 24 h.
    Expired,
}

impl DeliveryState {
    /// Every state.
    pub const ALL: [Self; 6] =
        [Self::Ready, Self::Sending, Self::Sent, Self::Refused, Self::Unknown, Self::Expired];

    /// Its name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ready => "ready",
            Self::Sending => "sending",
            Self::Sent => "sent",
            Self::Refused => "refused",
            Self::Unknown => "unknown",
            Self::Expired => "expired",
        }
    }

    /// Returns true if nothing more happens to it by itself.
    #[must_use]
    pub const fn is_final(self) -> bool {
        matches!(self, Self::Sent | Self::Refused | Self::Unknown | Self::Expired)
    }
}

/// Work for the process of a platform.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Work {
    /// An answer that has no plan yet.
    Plan(Answer),
    /// A piece to send once its conversation and the platform may be written to: it is taken then.
    Send(Due),
    /// A look at the account, whose findings are given back under this number.
    Check(u64),
    /// A piece that an earlier life of the process took and may have sent: it is looked for, and sent where it is not there. Only
    /// of a platform that can be read, or an edit that can be made again.
    Find(Claim),
}

/// Work of one account.
pub type WorkBatch = List<Work, 16>;

/// An answer as the turn gave it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answer {
    /// The delivery.
    pub delivery: DeliveryId,
    /// The conversation it goes to.
    pub conversation: Conversation,
    /// The turn that it answers; none for the host's own notices.
    pub turn: Option<TurnId>,
    /// Its text, Markdown.
    pub text: Text<ANSWER_TEXT>,
    /// True if links that are not in the person's own message are to be shown as code: the session has read untrusted content.
    pub plain_links: bool,
}

/// A planned piece. Its bytes are the platform's own: router does not read them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Piece {
    /// The content.
    pub body: Body,
    /// Markup beside the text in the platform's own form, such as Telegram's entities; empty where the text holds it.
    pub markup: Text<65536>,
}

/// The content of a piece.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Body {
    /// Text.
    Text(Text<65536>),
    /// A file.
    File {
        /// Its name.
        name: Text<255>,
        /// Its bytes.
        bytes: Blob<SENT_BYTES>,
    },
}

/// A button below a piece. Router makes every one: no text of a model can.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Button {
    /// Its caption.
    pub caption: Text<64>,
    /// The nonce that a press gives back.
    pub nonce: [u8; 16],
}

/// A piece whose turn it is. It is not `sending` before its process takes it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Due {
    /// The piece.
    pub piece: PieceId,
    /// The conversation it goes to.
    pub conversation: Conversation,
    /// The platform's id of the message that it answers.
    pub reply_to: Option<Text<128>>,
}

/// A piece that is to be sent now.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Claim {
    /// The piece.
    pub piece: PieceId,
    /// The conversation it goes to.
    pub conversation: Conversation,
    /// The platform's id of the message that it answers.
    pub reply_to: Option<Text<128>>,
    /// The platform's id of the account's message that it replaces: the preview of a streamed answer.
    pub edits: Option<Text<128>>,
    /// The content.
    pub content: Piece,
    /// Buttons below it.
    pub buttons: List<Button, 8>,
    /// How often it was given out before: more than 0 only after [`Outcome::Unsent`].
    pub attempt: u32,
}

/// How a piece came out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Outcome {
    /// The platform has it, under this id.
    Sent {
        /// The platform's id of the message.
        id: Text<128>,
    },
    /// The platform refused it.
    Refused {
        /// The reason in the host's words; nothing that a sender wrote.
        why: Text<128>,
        /// False if it may be sent again later.
        finally: bool,
    },
    /// It never left this machine, or the platform said to wait.
    Unsent {
        /// Milliseconds after which to try again.
        after_ms: u32,
    },
    /// It may have arrived.
    Unknown,
}

/// A turn of an account that is under way, for previews and typing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LiveTurn {
    /// The turn.
    pub turn: TurnId,
    /// The conversation that waits for it.
    pub conversation: Conversation,
    /// The platform's id of the message that it answers.
    pub reply_to: Option<Text<128>>,
    /// The platform's id of its preview, if one was sent.
    pub preview: Option<Text<128>>,
}
