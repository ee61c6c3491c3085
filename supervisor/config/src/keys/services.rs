//! The keys of `[provider.NAME]`, `[credproxy]`, `[memory]` and `[router]`. It holds no logic.

use super::Key;
use crate::forms::{BASE_URL, HOST_PORT, LOOPBACK, SECRET};
use crate::kind::{Kind, Preset};
use manifest::Process::{Agentd, Credproxy, Dialer, Memory, Model, Router};
use manifest::settings;

/// The keys.
pub(super) const KEYS: &[Key] = &[
    Key {
        path: "provider.NAME.kind",
        kind: Kind::Word(&["openai", "none"]),
        preset: Preset::Text("openai"),
        seen_by: &[],
        means: "`openai`: an OpenAI-compatible server. `none`: as if this provider were not written here.",
    },
    Key {
        path: "provider.NAME.base_url",
        kind: Kind::Text(&BASE_URL),
        preset: Preset::Nothing,
        seen_by: &[Model, Dialer],
        means: "Where the server is; required unless the kind is `none`. Dialer hears the host and port alone.",
    },
    Key {
        path: "provider.NAME.secret",
        kind: Kind::Text(&SECRET),
        preset: Preset::Nothing,
        seen_by: &[Model],
        means: "The name of the secret that holds the key; left out for a server without keys. The secret itself \
                never stands in this file.",
    },
    Key {
        path: "provider.NAME.models.MODEL.context",
        kind: Kind::Number { min: 1024, max: 10_000_000 },
        preset: Preset::Number(128_000),
        seen_by: &[Model],
        means: "Tokens the model can take in. A table for each model that may be used, even if it is empty.",
    },
    Key {
        path: "provider.NAME.models.MODEL.output",
        kind: Kind::Number { min: 256, max: 200_000 },
        preset: Preset::Number(4096),
        seen_by: &[Model],
        means: "Tokens the model can give out.",
    },
    Key {
        path: "credproxy.provider",
        kind: Kind::Word(&["vault", "none"]),
        preset: Preset::Text("vault"),
        seen_by: &[Agentd],
        means: "`vault`: secrets are kept sealed, with a key file. `none`: neither credproxy nor dialer is started, so \
                nothing of the host has a network; only the offline and scripted models are left.",
    },
    Key {
        path: "credproxy.plain_http",
        kind: Kind::List { of: &Kind::Text(&LOOPBACK), max: 64 },
        preset: Preset::List(&[]),
        seen_by: &[Credproxy, Dialer],
        means: "Servers on this machine that may be asked over plain HTTP.",
    },
    Key {
        path: "credproxy.hosts",
        kind: Kind::List { of: &Kind::Text(&HOST_PORT), max: 64 },
        preset: Preset::List(&[]),
        seen_by: &[Dialer],
        means: "Hosts that credproxy may reach besides the providers'.",
    },
    Key {
        path: "memory.provider",
        kind: Kind::Word(&["sqlite", "none"]),
        preset: Preset::Text("sqlite"),
        seen_by: &[Agentd],
        means: "`sqlite`: one database. `none`: the memory process is not started, and no agent has `memory_*` tools.",
    },
    Key {
        path: "memory.max_rows",
        kind: Kind::Number { min: 1, max: 10_000_000 },
        preset: Preset::Number(100_000),
        seen_by: &[Memory],
        means: "Most rows that one user may have; the next write is refused.",
    },
    Key {
        path: "router.queue_per_session",
        kind: Kind::Number { min: 1, max: 1024 },
        preset: Preset::Number(32),
        seen_by: &[Router],
        means: "Messages that may wait in one session; the next is refused before it is accepted.",
    },
    Key {
        path: "router.queue_total",
        kind: Kind::Number { min: 1, max: 65_536 },
        preset: Preset::Number(4096),
        seen_by: &[Router],
        means: "Messages that may wait in all; at least `queue_per_session`.",
    },
    Key {
        path: "router.turns_at_once",
        kind: Kind::Number { min: 1, max: settings::MAX_SLOTS as u32 },
        preset: Preset::Number(8),
        seen_by: &[Router],
        means: "Turns that may run at once; at most `host.runner_slots`.",
    },
];
