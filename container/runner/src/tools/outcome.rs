//! The outcome of a call. Plain data; output is for the model, metadata for the record and the person, and neither must
//! carry more than the call's own result.

use super::fault::ToolFault;
use super::snapshot::Snapshot;
use serde::Serialize;
use serde_json::{Map, Value};

/// The outcome of a successful call.
#[derive(Debug, Serialize)]
pub struct Outcome {
    /// True if it succeeded. A command that ends with a status other than 0 did not.
    pub ok: bool,
    /// The text for the model, cut with a visible marker where it was too long.
    pub output: String,
    /// If not ok: [`ToolFault::code`], or `exit_status`, `timed_out` or `aborted` of a command.
    pub error: Option<&'static str>,
    /// Facts about the call, without content: sizes, counts, `truncated`, the exit code.
    pub metadata: Map<String, Value>,
    /// The state of the one file that `write` or `edit` was to change.
    pub state: Option<StateChange>,
    /// How long it took, ms.
    pub duration_ms: u32,
}

/// A file before and after a call.
#[derive(Debug, Serialize)]
pub struct StateChange {
    /// Before.
    pub before: Snapshot,
    /// After.
    pub after: Snapshot,
}

impl Outcome {
    pub(super) fn done(output: String) -> Self {
        Self { ok: true, output, error: None, metadata: Map::new(), state: None, duration_ms: 0 }
    }

    pub(super) fn failed(fault: &ToolFault) -> Self {
        let mut outcome = Self::done(fault.to_string());
        outcome.ok = false;
        outcome.error = Some(fault.code());
        outcome
    }

    pub(super) fn with(mut self, key: &str, value: impl Into<Value>) -> Self {
        self.metadata.insert(key.to_owned(), value.into());
        self
    }
}
