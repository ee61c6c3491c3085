//! Reasons for which the router refuses.

use super::delegation::DEPTH;
use super::submission::STEERING_BOUND;
use super::user_name::USER_NAME;
use super::view::MessageState;
use crate::approval::{self};
use crate::content::{IMAGES_BOUND, TEXT_BOUND};
use crate::{Name, Text};
use serde::{Deserialize, Serialize};

/// Why the router refused.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
pub enum RouterError {
    /// No such turn, or it has ended.
    #[error("no such turn: it has ended, or is another user's; `agentctl message list` shows your messages")]
    NoTurn,
    /// No such session of this user; the user's latest session names are listed.
    #[error("no such session; name one that there is, or begin one by `agentctl chat`: {}", among(.0))]
    NoSession(Text<512>),
    /// The session has ended.
    #[error("this session has ended; use another name")]
    SessionOver,
    /// No such message.
    #[error("no such message of yours; `agentctl message list` shows them")]
    NoMessage,
    /// No such user, or this uid is nobody's.
    #[error(
        "no such user; `agentctl user list` names the users, and an owner adds one with `agentctl user add NAME \
         --uid UID`"
    )]
    NoUser,
    /// No such agent; the valid names are listed.
    #[error("no such agent; name one of: {0}")]
    NoAgent(Text<512>),
    /// No such workspace.
    #[error("no such workspace of yours; `agentctl workspace list` shows them")]
    NoWorkspace,
    /// An old session keeps its own agent or workspace.
    #[error(
        "this session already has another agent or workspace; use another session name, or leave both out"
    )]
    Taken,
    /// The message has no part, or is over a bound.
    #[error(
        "the message is empty, or over its bound of {TEXT_BOUND} bytes of text and {IMAGES_BOUND} of images; send \
         it in parts"
    )]
    BadMessage,
    /// It shows images to this agent, which sees none; nothing was accepted.
    #[error(
        "agent {0} takes no images, and nothing was accepted: an engine answers for it, or a model without vision \
         (`agentctl model list` shows which have it)"
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
        "this engine cannot be steered: {0} takes in nothing before it has answered; send it as a message, which is \
         answered next"
    )]
    NotSteered(Name),
    /// A user of this name exists, or is configured.
    #[error("a user of this name exists or is configured; use another name (`agentctl user list`)")]
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
    /// As many tasks are under way as a turn, or the host, may have.
    #[error("{most} tasks are under way already, as many as there may be; collect one first")]
    TooManyTasks {
        /// How many that is.
        most: u32,
    },
    /// The turn works on a task that was handed on as often as one may be.
    #[error("a task is handed on at most {DEPTH} times; do this one here")]
    TooDeep,
    /// Less is free on the disk than is kept; nothing was accepted.
    #[error(
        "disk: {free_mib} MiB free, {kept_mib} are kept; nothing was accepted; make room, and it goes on by itself"
    )]
    NoRoom {
        /// MiB that are free.
        free_mib: u32,
        /// MiB that are kept (`host.disk_reserve`).
        kept_mib: u32,
    },
    /// It, or its place on the record, could not be made durable; nothing was accepted or done.
    #[error(
        "the queue or the record cannot be written (disk full or failing, or audit away); nothing was accepted; \
         `agentctl status` says why"
    )]
    NotDurable,
    /// The turn answers no message of a platform, so no file can be sent to it.
    #[error(
        "this turn answers no message of a messenger, so there is nobody to send a file to; name its path instead"
    )]
    NotByChannel,
    /// The step's number is neither the next one nor that of the same step.
    #[error("the step does not follow the stored ones; wait, the turn is tried again by itself")]
    BadStep,
    /// A session that has not ended works in it.
    #[error(
        "a session that has not ended works in this workspace; end it first: `agentctl session end NAME`"
    )]
    InUse,
    /// The name is not of the form [`USER_NAME`], a uid or identity is somebody else's or reserved, or there are 256 users.
    #[error(
        "no such user can be: the name is not {}, or a uid or identity is another user's; give others (`agentctl \
         user list`)",
        USER_NAME
    )]
    BadUser,
    /// No such approval, or not this person's to see.
    #[error("no such approval; `agentctl approvals list` shows those that wait")]
    NoApproval,
    /// It is not waiting any more.
    #[error("this approval is {0} already; nothing was changed; ask the agent again for another question")]
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
    #[error(
        "only an owner may answer this one; ask one of them (`agentctl approvals list` shows it to owners)"
    )]
    OwnerOnly,
    /// This one is given once only.
    #[error("this action is approved each time; approve it once, without a grant for the session")]
    NotGrantable,
    /// A call was to be released that no person approved.
    #[error("the call has no approval that can be claimed; ask the agent again")]
    NotApproved,
    /// No such call, or not this person's to see.
    #[error("no such call; `agentctl message show ID` lists the calls of a message")]
    NoCall,
    /// It has begun, or is over.
    #[error(
        "this message is {} already and cannot be taken back; end its turn: `agentctl stop --session NAME`",
        .0.name()
    )]
    TooLate(MessageState),
    /// No key of this host, or it was revoked or has ended; or this uid is nobody's.
    #[error(
        "the key is not one of this host, was revoked or has ended; make another: `agentctl key create NAME`"
    )]
    NoKey,
    /// The key's scope does not reach this.
    #[error("this key may not use this; use one of: {0}")]
    NotInScope(Text<512>),
    /// A key of this name or value is in use, or was.
    #[error(
        "a key of this name is in use; use another name, or revoke it: `agentctl key revoke NAME` (`agentctl key \
         list` shows your keys)"
    )]
    KeyExists,
    /// There are as many keys as there may be: of this user, or of all but owners, or in all.
    #[error("{keys} keys are in use, as many as there may be; revoke one: `agentctl key revoke NAME`")]
    TooManyKeys {
        /// How many.
        keys: u32,
    },
    /// It is no dead letter.
    #[error(
        "this message is {}: only what failed or is quarantined can be put into the queue again; send its text as a \
         new message",
        .0.name()
    )]
    NotDead(MessageState),
    /// The key's name is not printable or is kept for who has no key, or it would have ended before it was made.
    #[error(
        "no such key can be; give a name of 1 to 48 letters, digits, `-`, `_`, `.` and `@` and not `peer`, and an end \
         later than now"
    )]
    BadKey,
    /// A job's answers cannot be sent to this conversation: there is none, or it is not the user's own.
    #[error(
        "the answers of a job cannot be sent to {0}: the account must admit that conversation, and only an owner names one that is not \
         their own; `agentctl channel list` shows the accounts, and a message of yours to one makes the conversation known"
    )]
    NoTarget(Text<256>),
    /// The client's name of its message already stands for another message.
    #[error("this Idempotency-Key was used with another message; send this one with another key")]
    KeyReused,
}

/// The names that there are, or that there are none.
fn among(names: &str) -> &str {
    if names.is_empty() { "there is none yet" } else { names }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_that_is_missing_is_named_among_those_that_there_are() {
        let said = |names: &str| RouterError::NoSession(Text::clip(names)).to_string();
        assert_eq!(
            said("a, b"),
            "no such session; name one that there is, or begin one by `agentctl chat`: a, b"
        );
        assert!(said("").ends_with(": there is none yet"));
    }
}
