//! Approvals: one person's yes to one action, bound to its exact bytes, kept by router, claimed once.

use crate::ids::{ApprovalId, CallId, SessionId, SessionName, TurnId};
use crate::label::Label;
use crate::tool::ARGS_BOUND;
use crate::{List, Name, Text};
use serde::{Deserialize, Serialize};

/// Approvals that may wait at once, in all; one more is refused, and so is the call.
pub const PENDING: usize = 256;
/// The share of these for one user who is no owner.
pub const PENDING_PER_USER: usize = 64;
/// The share of these that is left to owners.
pub const PENDING_OF_OWNERS: usize = 32;
/// Approvals that may wait at once in one session.
pub const PENDING_PER_SESSION: usize = 32;
/// Grants of one session.
pub const GRANTS: usize = 64;
/// A yes that came at the last moment can still be used for this long, ms; else it ends when the question does.
pub const USE_MS: u64 = 30_000;
/// Bytes of the canonical action.
pub const ACTION_BOUND: usize = ARGS_BOUND + 16 * 1024;

/// Bytes of the values of a form.
pub const FORM: usize = 16 * 1024;
/// The name that a server's question has among tools: a person fills its form in, and no agent can call it.
pub const SERVER_ASKS: &str = "mcp_ask";

/// A question to a person.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Question {
    /// Its id, chosen by the gate.
    pub id: ApprovalId,
    /// The call.
    pub call: CallId,
    /// The tool.
    pub tool: Name,
    /// The canonical action, JSON with sorted keys: tool, every argument, target, label, version of the policy, nonce
    /// and time of expiry. These bytes are what is approved, and what the person is shown.
    pub action: Text<ACTION_BOUND>,
    /// SHA-256 of `action`.
    pub hash: [u8; 32],
    /// SHA-256 of the tool and its security-relevant arguments: what a grant for the session would cover.
    pub scope: [u8; 32],
    /// A description by the tool of the effect that the call would have; nothing was executed.
    pub preview: Text<4096>,
    /// Why it is asked.
    pub reason: Text<512>,
    /// The policies that ask.
    pub policies: List<Name, 16>,
    /// The label that held.
    pub label: Label,
    /// It lets data go to a sink that its label keeps it from: a declassification of this value to this sink.
    pub declassifies: bool,
    /// A grant for the session may be given.
    pub grantable: bool,
    /// Only the owner may answer.
    pub owner_only: bool,
    /// When it ends by itself, unix ms; then it is denied.
    pub expires_ms: u64,
}

/// The state of an approval.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// Nobody has answered.
    Pending,
    /// Answered yes, not used yet.
    Approved,
    /// Answered no.
    Denied,
    /// Nobody answered in time: denied.
    Expired,
    /// Answered yes and used; it cannot be used again.
    Claimed,
    /// Its turn ended before it was answered, or before the answer was used.
    Void,
}

impl std::fmt::Display for State {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Pending => "pending",
            Self::Approved => "approved",
            Self::Denied => "denied",
            Self::Expired => "expired",
            Self::Claimed => "claimed",
            Self::Void => "void",
        })
    }
}

/// An approval, listed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApprovalInfo {
    /// Its id.
    pub id: ApprovalId,
    /// The approval's state.
    pub state: State,
    /// The turn.
    pub turn: TurnId,
    /// The session's name.
    pub session: SessionName,
    /// The owner of the session.
    pub user: Name,
    /// The tool.
    pub tool: Name,
    /// SHA-256 of the action.
    pub hash: [u8; 32],
    /// Why it is asked.
    pub reason: Text<512>,
    /// When it was asked, unix ms.
    pub asked_ms: u64,
    /// When it ends by itself, unix ms.
    pub expires_ms: u64,
    /// The user that answered.
    pub answered_by: Option<Name>,
}

/// An approval in full.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApprovalView {
    /// The listed part.
    pub info: ApprovalInfo,
    /// The question, the canonical action in it.
    pub question: Box<Question>,
}

/// A person's answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Reply {
    /// Yes, this once.
    Once,
    /// Yes, and for the rest of the session whenever tool and relevant arguments are the same.
    Session,
    /// No.
    Deny,
}

/// A grant that holds in a session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Grant {
    /// The approval it was given with.
    pub id: ApprovalId,
    /// The session.
    pub session: SessionId,
    /// The tool.
    pub tool: Name,
    /// SHA-256 of the tool and its security-relevant arguments.
    pub scope: [u8; 32],
    /// The user that gave it.
    pub given_by: Name,
    /// When, unix ms.
    pub given_ms: u64,
}
