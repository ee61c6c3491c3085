//! Tools as the model, the gate and the runner see them: a specification, a call, an outcome.

use crate::ids::CallId;
use crate::{List, Name, Text};
use serde::{Deserialize, Serialize};

/// Bytes of a call's arguments, JSON.
pub const ARGS_BOUND: usize = 512 * 1024;
/// Bytes of the arguments of all calls of one answer.
pub const ALL_ARGS_BOUND: usize = 4 * ARGS_BOUND;
/// Bytes of a tool's output that reach the model; more is cut with a visible marker.
pub const OUTPUT_BOUND: usize = 1024 * 1024;
/// Tools in one list.
pub const TOOLS: usize = 64;

/// A tool a model is told of.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolSpec {
    /// Its name.
    pub name: Name,
    /// A description for the model. Descriptions of coding agents that come by the API take several pages.
    pub description: Text<32768>,
    /// JSON Schema of its arguments.
    pub schema: Text<65536>,
    /// True if it runs inside the jail; the gate runs the others.
    pub in_jail: bool,
}

/// A call that a model asked for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolCall {
    /// The host's id of it.
    pub id: CallId,
    /// The tool.
    pub tool: Name,
    /// Its arguments, a whole JSON object.
    pub args: Text<ARGS_BOUND>,
}

/// How a call came out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Outcome {
    /// It did what was asked.
    Success,
    /// It failed, or its arguments were not valid.
    Error,
    /// The gate refused it.
    Blocked,
    /// It was released, and the runner died before its result was recorded. It is not run again.
    Unknown,
}

/// The result of a call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolResult {
    /// The call.
    pub call: CallId,
    /// How it came out.
    pub outcome: Outcome,
    /// The output that the model receives.
    pub output: Text<OUTPUT_BOUND>,
    /// How long it took, ms.
    pub duration_ms: u32,
    /// State of the files it touched, before and after: JSON, for the record and for verification.
    pub snapshot: Option<Text<2048>>,
}

/// A list of tools.
pub type ToolList = List<ToolSpec, TOOLS>;
