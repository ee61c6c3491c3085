//! Messages of jobs: the scheduler submits them at their times, and nobody sits before their turns.

use crate::ids::{MessageId, SessionName, UserId};
use crate::label::Class;
use crate::scheduler::PROMPT;
use crate::{Name, Text};
use serde::{Deserialize, Serialize};

/// A message of a job on its way in.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fire {
    /// The owner of the job.
    pub user: UserId,
    /// The session; made if it is new.
    pub session: SessionName,
    /// The agent; a new session's default is `default`.
    pub agent: Option<Name>,
    /// The job and the time that it is due.
    pub key: Text<256>,
    /// The message.
    pub text: Text<PROMPT>,
    /// How its turn is to run.
    pub unattended: Unattended,
    /// The conversation that the answer is sent to.
    pub to: Option<Target>,
}

/// The terms of a turn that nobody sits before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unattended {
    /// A person is asked about a call and may answer later; otherwise such a call is refused.
    pub asks: bool,
    /// The most tokens, of requests and answers together, that it may use.
    pub tokens: u32,
    /// An agent wrote the message, having read things of this class, and a person approved it; none if a person wrote it.
    pub proposed: Option<Class>,
}

/// A conversation of a channel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Target {
    /// The account: a `[channel.NAME]`.
    pub account: Name,
    /// The id of a group or of a person there.
    pub id: Text<128>,
}

impl std::fmt::Display for Target {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}", self.account, self.id)
    }
}

/// The state of a message of a job.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fired {
    /// The message.
    pub message: MessageId,
    /// How it ended; none while it waits or its turn runs.
    pub end: Option<FireEnd>,
}

/// How a message of a job ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum FireEnd {
    /// It was answered.
    Answered,
    /// A person stopped it or took it back.
    Stopped,
    /// It was not answered, for this reason in the host's words.
    Failed(Text<256>),
}
