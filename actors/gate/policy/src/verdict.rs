//! What is asked and what is answered: a call, and the verdict on it.

use crate::Handling;
use ipc_proto::router::Why;
use ipc_proto::web::Rule;
use serde_json::{Map, Value};

/// A call of a tool.
#[derive(Clone, Copy, Debug)]
pub struct Call<'a> {
    /// The tool.
    pub tool: &'a str,
    /// Its arguments, as they will be given to it.
    pub args: &'a Map<String, Value>,
}

/// What becomes of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Decision {
    /// It may run.
    Allow,
    /// A person is asked.
    Ask,
    /// It may not, whatever a person says.
    Deny,
}

/// A decision, with all that follows from it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// The decision.
    pub decision: Decision,
    /// Why, in plain words for the model and the person; at most 512 bytes, without content.
    pub reason: String,
    /// What it rests on.
    pub why: Why,
    /// A grant for the session may be given with the approval.
    pub grantable: bool,
    /// Only the owner may approve.
    pub owner_only: bool,
    /// An approval lets data go to a sink that its label keeps it from.
    pub declassifies: bool,
    /// SHA-256 of the tool and its security-relevant arguments: what a grant covers.
    pub scope: [u8; 32],
    /// Where a fetch and its redirects may go; `None` for a tool that reaches no network.
    pub reach: Option<Rule>,
    /// The address that was judged, in its one normal form, for the canonical action and for the fetch.
    pub target: Option<String>,
    /// How it runs and what is put on the record of it.
    pub handling: Handling,
}
