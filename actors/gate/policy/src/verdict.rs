//! The question and the answer: a call, and the verdict on it.

use crate::Handling;
use ipc_proto::router::Why;
use ipc_proto::web::Rule;
use serde_json::{Map, Value};

/// A call of a tool.
#[derive(Clone, Copy, Debug)]
pub struct Call<'a> {
    /// The tool.
    pub tool: &'a str,
    /// Its arguments, as it gets them.
    pub args: &'a Map<String, Value>,
}

/// The decision on a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Decision {
    /// It may run.
    Allow,
    /// A person is asked.
    Ask,
    /// It is denied, and no person can permit it.
    Deny,
}

/// A decision with its consequences.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// The decision.
    pub decision: Decision,
    /// The reason in plain words for the model and the person; at most 512 bytes, without content.
    pub reason: String,
    /// The facts and policies that it rests on.
    pub why: Why,
    /// A grant for the session may be given with the approval.
    pub grantable: bool,
    /// Only the owner may approve.
    pub owner_only: bool,
    /// An approval lets data go to a sink that its label keeps it from.
    pub declassifies: bool,
    /// Its effect cannot be taken back, moves money or destroys, or nobody can tell.
    pub irreversible: bool,
    /// SHA-256 of the tool and its security-relevant arguments: what a grant covers.
    pub scope: [u8; 32],
    /// Where a fetch and its redirects may go; `None` for a tool that reaches no network.
    pub reach: Option<Rule>,
    /// The address that was judged, in its one normal form, for the canonical action and for the fetch.
    pub target: Option<String>,
    /// The bounds of its execution, and its record.
    pub handling: Handling,
}
