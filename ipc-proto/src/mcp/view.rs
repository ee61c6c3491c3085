//! Servers and their tools for the owner to look at, and what is approved of them.

use super::{NoLogin, Offer, SERVER_TOOLS, TOOL_NAME, Tool, Trouble};
use crate::{List, Name, Text};
use serde::{Deserialize, Serialize};

/// The state of a server's tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PinState {
    /// It is offered, and nobody has approved it.
    New,
    /// It was approved as it is.
    Approved,
    /// It was approved, and is another now: no agent has it.
    Changed,
    /// It was approved, and is not offered any more.
    Gone,
}

impl PinState {
    /// Its word.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::New => "new",
            Self::Approved => "approved",
            Self::Changed => "changed",
            Self::Gone => "gone",
        }
    }
}

/// A tool for the owner to look at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolView {
    /// The tool as it is offered; as it was approved where it is gone.
    pub tool: Tool,
    /// Its state.
    pub state: PinState,
    /// SHA-256 of all that the server says of it, by which it is approved.
    pub hash: [u8; 32],
    /// As it was approved, where it has changed.
    pub before: Option<Tool>,
    /// The scanner takes what it says for orders to a model.
    pub suspect: bool,
}

/// A server for the owner to look at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServerInfo {
    /// Its name in the configuration.
    pub name: Name,
    /// How it is reached: a package, a command, or an address.
    pub way: Text<512>,
    /// A package that is not installed.
    pub missing: bool,
    /// Jails of it that run.
    pub running: u16,
    /// Tools that agents can have.
    pub approved: u16,
    /// Tools that the owner has not looked at, or that have changed since.
    pub waiting: u16,
    /// The agents that may use it.
    pub agents: List<Name, 32>,
}

/// A server with all that it offered last.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServerView {
    /// The server.
    pub info: ServerInfo,
    /// Its offer without the tools.
    pub offer: Offer,
    /// Its tools.
    pub tools: List<ToolView, SERVER_TOOLS>,
}

/// A tool that is approved, by its name and the hash of what was looked at.
pub type Approving = (Text<TOOL_NAME>, [u8; 32]);

/// Why the gate did nothing with a server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
pub enum McpError {
    /// No server of this name; there are these.
    #[error("the configuration has no server of this name; it has: {0}")]
    NoServer(Text<1024>),
    /// It is of no use.
    #[error("the server {server} is not there: {trouble}")]
    Trouble {
        /// The server.
        server: Name,
        /// Why.
        trouble: Trouble,
    },
    /// Nobody can log in at it.
    #[error("nobody can log in at the server {server}: {why}")]
    Login {
        /// The server.
        server: Name,
        /// Why.
        why: NoLogin,
    },
    /// The server's bridge did not answer.
    #[error("the server did not answer; try again")]
    NoAnswer,
    /// A change could not be recorded or written.
    #[error("it could not be written; look at `agentctl status` and `agentctl doctor`, nothing has changed")]
    NotDurable,
}
