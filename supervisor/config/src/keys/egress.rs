//! The keys of `[agent.NAME.network]` and `[egress]`. It holds no logic.

use super::Key;
use crate::forms::{ALLOWED, PATH, PRIVATE_HOST};
use crate::kind::{Kind, Preset};
use ipc_proto::egress::OPAQUE;
use manifest::Process::{Dialer, Egress, Gate, Router};

/// The registries that an agent's list can name by a word.
const PACKAGES: &[&str] = &["pypi", "npm", "crates", "debian"];

/// The keys.
pub(super) const KEYS: &[Key] = &[
    Key {
        path: "agent.NAME.network.mode",
        kind: Kind::Word(&["none", "proxy"]),
        preset: Preset::Text("none"),
        seen_by: &[Router, Gate],
        means: "The network of the agent's jails: those of its commands, of an engine and of `agentctl run`. `none`: no \
                connection leaves. `proxy`: programs reach hosts by HTTP and HTTPS through a proxy in the jail; each host asks a person first, unless a list \
                here names it. Their sessions and workspaces are untrusted from then on.",
    },
    Key {
        path: "agent.NAME.network.allow",
        kind: Kind::List { of: &Kind::Text(&ALLOWED), max: 64 },
        preset: Preset::List(&[]),
        seen_by: &[Router, Gate],
        means: "Hosts that need no question. `read` is for GET and HEAD without a body, `send` for every method. Data that \
                its label keeps from leaving asks all the same.",
    },
    Key {
        path: "agent.NAME.network.packages",
        kind: Kind::List { of: &Kind::Word(PACKAGES), max: PACKAGES.len() },
        preset: Preset::List(&[]),
        seen_by: &[Router, Gate],
        means: "Registries of packages that may be read from without a question, by requests without a query. \
                Uploads to them ask.",
    },
    Key {
        path: "agent.NAME.network.opaque",
        kind: Kind::List { of: &Kind::Text(&PRIVATE_HOST), max: OPAQUE },
        preset: Preset::List(&[]),
        seen_by: &[Router, Gate],
        means: "Hosts to which TLS passes through undecrypted, for programs that pin certificates. Nobody sees what they are \
                sent, so each asks a person; the name in the TLS greeting has to be the host's.",
    },
    Key {
        path: "egress.private_hosts",
        kind: Kind::List { of: &Kind::Text(&PRIVATE_HOST), max: 32 },
        preset: Preset::List(&[]),
        seen_by: &[Dialer, Gate],
        means: "Hosts that jails may ask for although they are not public, such as a mirror of packages in the house.",
    },
    Key {
        path: "egress.authorities_file",
        kind: Kind::Text(&PATH),
        preset: Preset::Nothing,
        seen_by: &[Egress],
        means: "A file in PEM with certificate authorities that are believed besides the public ones, for hosts of one's \
                own. It is read once, when the host starts.",
    },
];
