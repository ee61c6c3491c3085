//! The outcome of an effect.

use crate::turn::replay::UNKNOWN;
use ipc_proto::Fault;
use ipc_proto::label::Label;
use ipc_proto::scanner::Crossing;
use ipc_proto::tool::Outcome;

/// The outcome of an effect and its output.
#[derive(Debug)]
pub(crate) struct Effect {
    pub(crate) outcome: Outcome,
    pub(crate) output: String,
    /// The label of the data that was read, if there was any.
    pub(crate) label: Option<Label>,
    /// The boundary that the output crosses.
    pub(crate) crossing: Crossing,
    /// The stranger who wrote the output, if it was one: the output is wrapped then.
    pub(crate) source: Option<String>,
}

/// A failure in the host's own words.
pub(crate) fn failed(why: &str) -> Effect {
    Effect { outcome: Outcome::Error, ..done(format!("[ERROR] {why}"), None) }
}

/// An effect that may have happened. It is not repeated.
pub(crate) fn unknown() -> Effect {
    Effect { outcome: Outcome::Unknown, ..done(UNKNOWN.to_owned(), None) }
}

/// The outcome where a process went away. A read has failed. The outcome of a write is unknown.
pub(crate) fn disconnected(process: &str, fault: Fault, reads: bool) -> Effect {
    tracing::warn!(%fault, "{process} did not answer");
    if reads || fault == Fault::Unreachable {
        failed(&format!("{process} is not there, or went away"))
    } else {
        unknown()
    }
}

pub(crate) fn done(output: String, label: Option<Label>) -> Effect {
    let crossing = if label.is_some() { Crossing::MemoryRecall } else { Crossing::ToolOutput };
    Effect { outcome: Outcome::Success, output, label, crossing, source: None }
}
