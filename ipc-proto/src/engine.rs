//! Engines: programs that answer an agent's messages in place of the host's own loop, each in a jail of its own. Everything
//! that comes from one is untrusted; nothing here holds a key or names a place outside of a jail.

use crate::{Blob, List, Name, Text};
use serde::{Deserialize, Serialize};

/// The needs of a program besides the addresses of the model API.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Profile {
    /// Nothing.
    Plain,
    /// `codex`.
    Codex,
    /// `claude`.
    ClaudeCode,
    /// `opencode`.
    Opencode,
}

/// Bytes of what is kept of an engine's own memory of one session, compressed.
pub const STATE: usize = 1 << 20;
/// Stands in an engine's arguments where its own name of the session goes.
pub const TOKEN: &str = "{token}";
/// An engine's own name of a session. It is used in the session that it came from and in no other.
pub type Token = Text<128>;

/// How a program is run as an engine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Engine {
    /// Its name.
    pub name: Name,
    /// Program and arguments; what it is to answer comes to its standard input.
    pub command: List<Text<1024>, 32>,
    /// Arguments behind those by which it goes on with a session of its own, [`TOKEN`] in one of them.
    pub resume: List<Text<1024>, 8>,
    /// The format of its output.
    pub format: Format,
    /// In what form it is asked, and so whether it takes in words on its way.
    pub input: Input,
    /// Its needs besides the addresses of the model API.
    pub profile: Profile,
    /// Files and folders beneath its home that hold what it knows of a session.
    pub keeps: List<Text<256>, 8>,
    /// Seconds without a word of it after which it is ended.
    pub idle_seconds: u32,
}

/// In what form a program says what it does, a line for each event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Format {
    /// As `codex exec --json`.
    Codex,
    /// As `claude -p --output-format stream-json --verbose`.
    ClaudeCode,
    /// As `opencode run --format json`.
    Opencode,
    /// Every line is text of the answer.
    Text,
}

/// In what form a program is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Input {
    /// By a text, to its end.
    Text,
    /// By lines of JSON, as `claude -p --input-format stream-json --replay-user-messages`: more may follow while it works,
    /// and it says what it has taken in.
    StreamJson,
}

/// The stored state of an engine's session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SavedState {
    /// Its own name of it.
    pub token: Token,
    /// The files that it needs, packed by the runner; nobody else looks into them.
    pub state: Blob<STATE>,
    /// Messages at the end of the history that it has not seen.
    pub missed: u32,
}

/// The engine's work, as a runner receives it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Work {
    /// How it is run.
    pub engine: Engine,
    /// The state to continue from, if the engine ran in this session before.
    pub kept: Option<SavedState>,
    /// How many of the messages are history.
    pub history: u32,
    /// The one after these is what is remembered, and the person's comes behind it.
    pub recalled: bool,
}

/// An event of an engine, as its program reports it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum EngineEvent {
    /// A program was started for the turn; what one before it said does not stand.
    Started,
    /// Text of the answer.
    Text(Text<16384>),
    /// It uses a tool of its own.
    ToolStart {
        /// Counts its tools from 0.
        number: u32,
        /// Its name of the tool.
        tool: Name,
        /// The tool's arguments.
        args: Text<4096>,
    },
    /// How far that is.
    ToolProgress {
        /// The tool call's number.
        number: u32,
        /// A short line.
        line: Text<256>,
    },
    /// That came to an end.
    ToolEnd {
        /// The tool call's number.
        number: u32,
        /// It failed.
        failed: bool,
        /// The beginning of what came of it.
        output: Text<16384>,
    },
    /// It has answered.
    Completed {
        /// The whole answer, where it says it once more.
        text: Text<65536>,
    },
    /// It says that something went wrong.
    Error(Text<2048>),
}
