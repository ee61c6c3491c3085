//! Reasons for which the router refuses.

use super::submission::STEERING_BOUND;
use super::user_name::USER_NAME;
use super::view::MessageState;
use crate::api::KEYS;
use crate::approval::{self};
use crate::content::{IMAGES_BOUND, TEXT_BOUND};
use crate::{Name, Text};
use serde::{Deserialize, Serialize};

/// Why the router refused.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
pub enum RouterError {
    /// No such turn, or it has ended.
    #[error("no such turn")]
    NoTurn,
    /// No such session of this user; the user's latest session names are listed.
    #[error("no such session; there are: {0}")]
    NoSession(Text<512>),
    /// The session has ended.
    #[error("this session has ended; use another name")]
    SessionOver,
    /// No such message.
    #[error("no such message")]
    NoMessage,
    /// No such user, or this uid is nobody's.
    #[error("no such user")]
    NoUser,
    /// No such agent; the valid names are listed.
    #[error("no such agent; there are: {0}")]
    NoAgent(Text<512>),
    /// No such workspace.
    #[error("no such workspace")]
    NoWorkspace,
    /// An old session keeps its own agent or workspace.
    #[error("this session already has another agent or workspace")]
    Taken,
    /// The message has no part, or is over a bound.
    #[error(
        "the message is empty, or over its bound of {TEXT_BOUND} bytes of text and {IMAGES_BOUND} of images"
    )]
    BadMessage,
    /// It shows images to this agent, which sees none; nothing was accepted.
    #[error(
        "agent {0} takes no images, and nothing was accepted: an engine answers for it, or a model without vision (`agentctl model list` shows which have it)"
    )]
    NoVision(Name),
    /// Nothing answers in this session, so nothing can be said into it.
    #[error("no turn of a conversation is under way in this session; send it as a message")]
    NotUnderWay,
    /// Words for a turn are none, or over their bound.
    #[error("what is said into a turn is text of 1 to {STEERING_BOUND} bytes; send it as a message")]
    BadWords,
    /// The engine that answers takes nothing in on its way.
    #[error(
        "this engine cannot be steered: {0} takes in nothing before it has answered; send it as a message, which is answered next"
    )]
    NotSteered(Name),
    /// A user of this name exists, or is configured.
    #[error("a user of this name exists or is configured")]
    UserExists,
    /// Too many messages wait; nothing was accepted.
    #[error("busy: {waiting} messages wait; try again in {retry_s} s")]
    Busy {
        /// Messages waiting.
        waiting: u32,
        /// Seconds after which to try again.
        retry_s: u32,
    },
    /// This user has as many programs and engines under way as one may.
    #[error(
        "{most} programs and engines of yours run or wait already, as many as one may have; end one first"
    )]
    TooManyRuns {
        /// How many that is.
        most: u32,
    },
    /// Less is free on the disk than is kept; nothing was accepted.
    #[error("disk: {free_mib} MiB free, {kept_mib} are kept; nothing was accepted")]
    NoRoom {
        /// MiB that are free.
        free_mib: u32,
        /// MiB that are kept (`host.disk_reserve`).
        kept_mib: u32,
    },
    /// It, or its place on the record, could not be made durable; nothing was accepted or done.
    #[error(
        "the queue or the record cannot be written (disk full or failing, or audit away); nothing was accepted"
    )]
    NotDurable,
    /// The step's number is neither the next one nor that of the same step.
    #[error("the step does not follow the ones that are kept")]
    BadStep,
    /// A session that has not ended works in it.
    #[error("a session that has not ended works in this workspace")]
    InUse,
    /// The name is not of the form [`USER_NAME`], a uid or identity is somebody else's or reserved, or there are 256 users.
    #[error("no such user can be: the name is not {}, or a uid or identity is somebody else's", USER_NAME)]
    BadUser,
    /// No such approval, or not this person's to see.
    #[error("no such approval")]
    NoApproval,
    /// It is not waiting any more.
    #[error("this approval is {0} already; nothing was changed")]
    NotPending(approval::State),
    /// The answer names another action than the one that is asked.
    #[error("the hash is not that of the action; show it again and answer what it shows now")]
    WrongHash,
    /// Too many approvals wait.
    #[error("{waiting} approvals wait already; answer or let them expire first")]
    TooManyApprovals {
        /// How many.
        waiting: u32,
    },
    /// Only the owner may answer this one.
    #[error("only the owner may answer this one")]
    OwnerOnly,
    /// This one is given once only.
    #[error("this action is approved each time; no grant for the session can be given")]
    NotGrantable,
    /// A call was to be released that no person approved.
    #[error("the call has no approval that can be claimed")]
    NotApproved,
    /// No such call, or not this person's to see.
    #[error("no such call")]
    NoCall,
    /// It has begun, or is over.
    #[error("this message is {} already and cannot be taken back; cancel its turn to end it", .0.name())]
    TooLate(MessageState),
    /// No key of this host, or it was revoked or has ended; or this uid is nobody's.
    #[error("the key is not one of this host, was revoked or has ended")]
    NoKey,
    /// The key's scope does not reach this.
    #[error("this key may not use this; it may use: {0}")]
    NotInScope(Text<512>),
    /// A key of this name is in use, or there are as many as there may be.
    #[error("a key of this name is in use, or there are {KEYS} keys already")]
    KeyExists,
    /// It is no dead letter.
    #[error("this message is {}: only what failed or is quarantined can be put into the queue again", .0.name())]
    NotDead(MessageState),
    /// The key's name is not printable or is kept for who has no key, or it would have ended before it was made.
    #[error(
        "no such key can be: its name is 1 to 48 letters, digits, `-`, `_`, `.` and `@` and not `peer`, and it ends later than now"
    )]
    BadKey,
    /// The client's name of its message already stands for another message.
    #[error("this Idempotency-Key was used with another message")]
    KeyReused,
}
