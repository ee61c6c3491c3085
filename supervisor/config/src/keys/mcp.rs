//! The keys of `[mcp.NAME]`. It holds no logic.

use super::Key;
use crate::forms::{ALLOWED, LONG_WORD, MCP_PACKAGE, NAME, PRIVATE_HOST, SERVICE_URL, TOOL};
use crate::kind::{Kind, Preset};
use ipc_proto::egress::OPAQUE;
use manifest::Process::{Credproxy, Dialer, Gate};

/// The keys.
pub(super) const KEYS: &[Key] = &[
    Key {
        path: "mcp.NAME.command",
        kind: Kind::List { of: &Kind::Text(&LONG_WORD), max: 64 },
        preset: Preset::List(&[]),
        seen_by: &[Gate],
        means: "A server that is a program: its words, or with `package` the arguments of the package's program. It runs in a jail \
                of its own and speaks over its standard streams.",
    },
    Key {
        path: "mcp.NAME.url",
        kind: Kind::Text(&SERVICE_URL),
        preset: Preset::Nothing,
        seen_by: &[Gate, Dialer],
        means: "A server elsewhere, which speaks over HTTP. Its requests go to this address alone.",
    },
    Key {
        path: "mcp.NAME.service",
        kind: Kind::Text(&NAME),
        preset: Preset::Nothing,
        seen_by: &[Gate],
        means: "With `url`: the `[service.NAME]` of the same host whose secret goes into each request. The server's jail \
                never holds the secret.",
    },
    Key {
        path: "mcp.NAME.token_url",
        kind: Kind::Text(&SERVICE_URL),
        preset: Preset::Nothing,
        seen_by: &[Gate, Credproxy, Dialer],
        means: "With `url`: the address that gives tokens for the server out. `agentctl mcp login` writes it. From then on the server's \
                requests carry the token of that login, which goes to the server's own host alone.",
    },
    Key {
        path: "mcp.NAME.package",
        kind: Kind::Text(&MCP_PACKAGE),
        preset: Preset::Nothing,
        seen_by: &[Gate],
        means: "A server that is a package of Python's or Node's registry, of one version. It is installed in a jail, without scripts, \
                and is read-only at `/server` from then on; its files are compared before each start.",
    },
    Key {
        path: "mcp.NAME.network",
        kind: Kind::List { of: &Kind::Text(&ALLOWED), max: 64 },
        preset: Preset::List(&[]),
        seen_by: &[Gate],
        means: "The hosts that the server's jail may reach; without one it has no network. What is on no list is refused \
                and asks nobody.",
    },
    Key {
        path: "mcp.NAME.opaque",
        kind: Kind::List { of: &Kind::Text(&PRIVATE_HOST), max: OPAQUE },
        preset: Preset::List(&[]),
        seen_by: &[Gate],
        means: "The hosts that the server's jail may reach by TLS that passes through undecrypted.",
    },
    Key {
        path: "mcp.NAME.scope",
        kind: Kind::Word(&["session", "user", "host"]),
        preset: Preset::Text("session"),
        seen_by: &[Gate],
        means: "Those that share one running server: the turns of a session, the sessions of a user, or everybody. What \
                anybody has told it counts as read by all of them.",
    },
    Key {
        path: "mcp.NAME.agents",
        kind: Kind::List { of: &Kind::Text(&NAME), max: 32 },
        preset: Preset::List(&[]),
        seen_by: &[Gate],
        means: "The agents that may use the server.",
    },
    Key {
        path: "mcp.NAME.tools",
        kind: Kind::List { of: &Kind::Text(&TOOL), max: 256 },
        preset: Preset::List(&[]),
        seen_by: &[Gate],
        means: "The tools that they may use, by the server's own names; all that were approved if none is named.",
    },
    Key {
        path: "mcp.NAME.workspace",
        kind: Kind::Flag,
        preset: Preset::Flag(false),
        seen_by: &[Gate],
        means: "True if the server is shown the session's workspace at `/workspace`, to read and to write.",
    },
    Key {
        path: "mcp.NAME.seconds",
        kind: Kind::Number { min: 1, max: 600 },
        preset: Preset::Number(60),
        seen_by: &[Gate],
        means: "Seconds that one call may take.",
    },
];
