//! The keys of `[gateway]` that decide if and where it listens. It holds no logic.

use super::Key;
use crate::forms::{HOST_PORT_ANY, HOST_VALUE};
use crate::kind::{Kind, Preset};
use manifest::Process::{Agentd, Gateway};

/// The keys.
pub(super) const KEYS: &[Key] = &[
    Key {
        path: "gateway.provider",
        kind: Kind::Word(&["http", "none"]),
        preset: Preset::Text("http"),
        seen_by: &[Agentd],
        means: "`http`: the API is served on the Unix socket `gateway.sock` beside the control socket. `none`: gateway \
                is not started, and that socket does not exist.",
    },
    Key {
        path: "gateway.listen",
        kind: Kind::Text(&HOST_PORT_ANY),
        preset: Preset::Nothing,
        seen_by: &[Agentd, Gateway],
        means: "The TCP address at which the API is served as well: `127.0.0.1:PORT` or `[::1]:PORT`. Every user of \
                this machine can connect there, so every request but `/healthz` must carry a key of `agentctl key \
                create`. An address that other machines reach is refused, since gateway has no TLS: put a reverse proxy \
                with TLS in front of the Unix socket or this port.",
    },
    Key {
        path: "gateway.hosts",
        kind: Kind::List { of: &Kind::Text(&HOST_VALUE), max: 64 },
        preset: Preset::List(&[]),
        seen_by: &[Gateway],
        means: "The values of `Host` that requests over TCP may have besides `127.0.0.1:PORT`, `localhost:PORT` and \
                `[::1]:PORT`, such as the name that a reverse proxy passes on. Any other is refused: a web page whose \
                domain name was pointed at this machine would send that name.",
    },
];
