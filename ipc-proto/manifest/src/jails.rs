//! The rows of the jails. A runner reaches the gate alone, over its one socket.

use crate::process::Process::{AgentRunner, BrowserRunner, McpRunner, NetRunner, Runner};
use crate::row::{Limits, NOTHING, Network, Row};
use crate::syscalls::{
    BASE, CHILDREN, CODE, DESCRIPTORS, LINKS, LOOPBACK, OLDER, PAIRS, SELF, SIGNALS, TERMINAL, TIMES, TREE,
};

/// The jail of a turn.
pub(crate) const RUNNER: Row = Row {
    process: Runner,
    does: "one agent turn in a throw-away jail",
    user: "cordon-runner",
    syscalls: &[
        &BASE, &LINKS, &CODE, &CHILDREN, &SIGNALS, &DESCRIPTORS, &TREE, &TIMES, &SELF, &PAIRS, &OLDER,
    ],
    limits: Limits { memory_mib: 512, files: 1024, processes: 128, file_mib: 512 },
    ..NOTHING
};

/// The jail of a person's program or an engine.
pub(crate) const AGENT: Row = Row {
    process: AgentRunner,
    does: "a person's own program that asks models, in a throw-away jail with a loopback that ends in its one socket",
    user: "cordon-agent",
    network: Network::Loopback,
    syscalls: &[
        &BASE, &LINKS, &CODE, &CHILDREN, &SIGNALS, &DESCRIPTORS, &TREE, &TIMES, &SELF, &PAIRS, &OLDER,
        &LOOPBACK, &TERMINAL,
    ],
    limits: Limits { memory_mib: 4096, files: 4096, processes: 512, file_mib: 1024 },
    ..NOTHING
};

/// The jail of a turn with a way out.
pub(crate) const NET: Row = Row {
    process: NetRunner,
    does: "one agent turn in a throw-away jail with a loopback, by which its commands reach the way out",
    user: "cordon-net",
    network: Network::Loopback,
    syscalls: &[
        &BASE, &LINKS, &CODE, &CHILDREN, &SIGNALS, &DESCRIPTORS, &TREE, &TIMES, &SELF, &PAIRS, &OLDER,
        &LOOPBACK,
    ],
    limits: Limits { memory_mib: 512, files: 1024, processes: 128, file_mib: 512 },
    ..NOTHING
};

/// The jail of a server.
pub(crate) const MCP: Row = Row {
    process: McpRunner,
    does: "a server of the Model Context Protocol, in a jail with a loopback that ends in its one socket",
    user: "cordon-mcp",
    network: Network::Loopback,
    syscalls: &[
        &BASE, &LINKS, &CODE, &CHILDREN, &SIGNALS, &DESCRIPTORS, &TREE, &TIMES, &SELF, &PAIRS, &OLDER,
        &LOOPBACK,
    ],
    limits: Limits { memory_mib: 512, files: 1024, processes: 128, file_mib: 512 },
    ..NOTHING
};

/// The jail of a browser.
pub(crate) const BROWSER: Row = Row {
    process: BrowserRunner,
    does: "the browser of a session, in a jail with a loopback that ends in its one socket",
    user: "cordon-browser",
    network: Network::Loopback,
    syscalls: &[
        &BASE, &LINKS, &CODE, &CHILDREN, &SIGNALS, &DESCRIPTORS, &TREE, &TIMES, &SELF, &PAIRS, &OLDER,
        &LOOPBACK,
    ],
    limits: Limits { memory_mib: 1024, files: 1024, processes: 256, file_mib: 512 },
    ..NOTHING
};
