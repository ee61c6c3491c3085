//! The keys of `[gateway]`. It holds no logic.

use super::Key;
use crate::forms::{HOST_PORT_ANY, HOST_VALUE, ORIGIN};
use crate::kind::{Kind, Preset};
use manifest::Process::{Agentd, Gate, Gateway};

/// The keys.
pub(super) const KEYS: &[Key] = &[
    Key {
        path: "gateway.provider",
        kind: Kind::Word(&["http", "none"]),
        preset: Preset::Text("http"),
        seen_by: &[Agentd],
        means: "`http`: the API is served on the Unix socket `gateway.sock` beside the control socket. `none`: gateway \
                is not started, and there is no such socket.",
    },
    Key {
        path: "gateway.listen",
        kind: Kind::Text(&HOST_PORT_ANY),
        preset: Preset::Nothing,
        seen_by: &[Agentd, Gateway],
        means: "Where the API is served over TCP besides: `127.0.0.1:PORT` or `[::1]:PORT`. Everybody on this machine \
                can connect there, so every request but `/healthz` must carry a key of `agentctl key create`. An address \
                that other machines reach is refused, since gateway speaks no TLS: put a reverse proxy that does before \
                the Unix socket or this port.",
    },
    Key {
        path: "gateway.origins",
        kind: Kind::List { of: &Kind::Text(&ORIGIN), max: 64 },
        preset: Preset::List(&[]),
        seen_by: &[Gateway],
        means: "Origins that a page may come from to ask over TCP, exactly as browsers send them. A key may allow more \
                by `agentctl key create --origin`. Without either a page of no site can use the API.",
    },
    Key {
        path: "gateway.hosts",
        kind: Kind::List { of: &Kind::Text(&HOST_VALUE), max: 64 },
        preset: Preset::List(&[]),
        seen_by: &[Gateway],
        means: "What a request over TCP may say in `Host` besides `127.0.0.1:PORT`, `localhost:PORT` and `[::1]:PORT`, such \
                as the name that a reverse proxy passes on. Any other is refused: a page that has its own name point at \
                this machine says that name.",
    },
    Key {
        path: "gateway.max_body",
        kind: Kind::Number { min: 64 << 10, max: 16 << 20 },
        preset: Preset::Number(8 << 20),
        seen_by: &[Gateway],
        means: "Most bytes of a request's body; one that is larger is answered with 413.",
    },
    Key {
        path: "gateway.requests_per_minute",
        kind: Kind::Number { min: 1, max: 10_000_000 },
        preset: Preset::Number(600),
        seen_by: &[Gate, Gateway],
        means: "Requests that pass through to a model which one key, or one user without a key, may make in a minute; the \
                next is answered with 429 and when to try again.",
    },
    Key {
        path: "gateway.streams_per_key",
        kind: Kind::Number { min: 1, max: 256 },
        preset: Preset::Number(64),
        seen_by: &[Gate],
        means: "Answers that may be under way at once for one key, or for one user without a key.",
    },
];
