//! The keys of `[web]` and `[web.search]`. It holds no logic.

use super::Key;
use crate::forms::{HOST_GLOB, PRIVATE_HOST, SEARCH_URL, SECRET};
use crate::kind::{Kind, Preset};
use manifest::Process::{Agentd, Credproxy, Dialer, Gate, Web};

/// The most entries of a list of hosts: as many as one rule of a fetch carries.
const HOSTS: usize = 64;

/// The keys.
pub(super) const KEYS: &[Key] = &[
    Key {
        path: "web.provider",
        kind: Kind::Word(&["dialer", "none"]),
        preset: Preset::Text("dialer"),
        seen_by: &[Agentd],
        means: "`dialer`: the public web, over connections that dialer makes. `none`: the web process is not started, \
                and no agent has `web_*` tools; the same holds if `credproxy.provider` is `none`.",
    },
    Key {
        path: "web.mode",
        kind: Kind::Word(&["allowlist", "blocklist", "unrestricted"]),
        preset: Preset::Nothing,
        seen_by: &[Gate],
        means: "The public hosts that may be fetched from. `allowlist`: those of `allow`. `blocklist`: all but those of \
                `block`. `unrestricted`: all. The default depends on the agent's profile: `paranoid` has an allowlist, \
                `standard` a blocklist, `power-user` no restriction. Hosts of `block` are refused in every mode.",
    },
    Key {
        path: "web.allow",
        kind: Kind::List { of: &Kind::Text(&HOST_GLOB), max: HOSTS },
        preset: Preset::List(&[]),
        seen_by: &[Gate],
        means: "Hosts that may be fetched from.",
    },
    Key {
        path: "web.block",
        kind: Kind::List { of: &Kind::Text(&HOST_GLOB), max: HOSTS },
        preset: Preset::List(&[]),
        seen_by: &[Gate],
        means: "Hosts that are never fetched from.",
    },
    Key {
        path: "web.private_hosts",
        kind: Kind::List { of: &Kind::Text(&PRIVATE_HOST), max: HOSTS },
        preset: Preset::List(&[]),
        seen_by: &[Dialer, Web, Gate],
        means: "Hosts of this machine, of a network that it is attached to or of a private network that may be fetched from \
                although they are not public. `mode`, `allow` and `block` apply to them as well.",
    },
    Key {
        path: "web.search.provider",
        kind: Kind::Word(&["none", "brave", "tavily", "searxng"]),
        preset: Preset::Text("none"),
        seen_by: &[Web],
        means: "The search provider. `brave` and `tavily` need a key; `searxng` is a server of your own or of somebody \
                you trust, and needs none. `none`: `web_search` answers that there is no provider.",
    },
    Key {
        path: "web.search.base_url",
        kind: Kind::Text(&SEARCH_URL),
        preset: Preset::Nothing,
        seen_by: &[Web, Dialer],
        means: "The address of a `searxng` server, for which it is required; or an address that replaces the one of \
                `brave` or `tavily`. Dialer gets only the host and port.",
    },
    Key {
        path: "web.search.secret",
        kind: Kind::Text(&SECRET),
        preset: Preset::Nothing,
        seen_by: &[Web, Credproxy],
        means: "The name of the secret that holds the key of `brave` or `tavily`. It is the only secret that credproxy \
                uses for the web process.",
    },
];
