//! `[mcp.NAME]`: servers of the Model Context Protocol.

use super::Allowed;
use crate::egress::Origin;
use crate::mcp::Package;
use serde::{Deserialize, Serialize};

/// `[mcp.NAME]`: a server whose tools agents may use.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct McpServer {
    /// How it is reached.
    pub start: McpStart,
    /// The hosts that its jail may reach.
    pub network: Vec<Allowed>,
    /// The places that it may reach undecrypted, as HOST:PORT.
    pub opaque: Vec<String>,
    /// Those that share one running server.
    pub scope: McpScope,
    /// The agents that may use it.
    pub agents: Vec<String>,
    /// The tools that they may use; all that are approved if empty.
    pub tools: Vec<String>,
    /// It is shown the workspace of the session.
    pub workspace: bool,
    /// Seconds that one call may take.
    pub seconds: u16,
}

/// How a server is reached.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum McpStart {
    /// A program and its arguments.
    Command(Vec<String>),
    /// An installed package.
    Package {
        /// The package.
        package: Package,
        /// The arguments of its program.
        arguments: Vec<String>,
    },
    /// An address elsewhere.
    Url {
        /// The place.
        origin: Origin,
        /// The path there.
        path: String,
        /// The service whose secret its requests carry.
        service: Option<String>,
        /// The address that gives tokens for it out, where its requests carry those of a login.
        token_url: Option<String>,
    },
}

/// Those that share one running server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum McpScope {
    /// The turns of one session.
    #[default]
    Session,
    /// The sessions of one user.
    User,
    /// All.
    Host,
}
