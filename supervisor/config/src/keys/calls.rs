//! The keys of `[service.NAME]`. It holds no logic.

use super::Key;
use crate::forms::{DESCRIPTION, HEADER, NAME, PARAMETER, PREFIX, SECRET, SERVICE_URL, URL_PATH};
use crate::kind::{Kind, Preset};
use manifest::Process::{Credproxy, Dialer, Gate};

/// How a service may be called.
const VERBS: &[&str] = &["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"];

/// The keys.
pub(super) const KEYS: &[Key] = &[
    Key {
        path: "service.NAME.base_url",
        kind: Kind::Text(&SERVICE_URL),
        preset: Preset::Required,
        seen_by: &[Gate, Dialer],
        means: "Where the service is; the paths of calls stand behind it. Where the secret is a part of the path itself, \
                `__cordon_secret__` stands for it here. Dialer hears the host and port alone.",
    },
    Key {
        path: "service.NAME.secret",
        kind: Kind::Text(&SECRET),
        preset: Preset::Nothing,
        seen_by: &[Gate, Credproxy],
        means: "The name of the secret that it is called with; left out for a service that asks for none. The binding of \
                the secret (`agentctl cred set`) holds besides what stands here.",
    },
    Key {
        path: "service.NAME.oauth",
        kind: Kind::Flag,
        preset: Preset::Flag(false),
        seen_by: &[Gate],
        means: "Whether the secret is a login of `agentctl cred login`. Such a service is called by `oauth_call`, which \
                profiles hold to rules of its own, and any other by `http_call`.",
    },
    Key {
        path: "service.NAME.header",
        kind: Kind::Text(&HEADER),
        preset: Preset::Nothing,
        seen_by: &[Gate],
        means: "The header that the secret goes into: `Authorization` where neither this nor `query` nor `field` is said.",
    },
    Key {
        path: "service.NAME.prefix",
        kind: Kind::Text(&PREFIX),
        preset: Preset::Nothing,
        seen_by: &[Gate],
        means: "What stands before the secret in its header: `Bearer ` in `Authorization`, nothing in another, where this \
                is left out.",
    },
    Key {
        path: "service.NAME.query",
        kind: Kind::Text(&PARAMETER),
        preset: Preset::Nothing,
        seen_by: &[Gate],
        means: "The parameter of the query that the secret goes into, in the place of a header.",
    },
    Key {
        path: "service.NAME.field",
        kind: Kind::Text(&PARAMETER),
        preset: Preset::Nothing,
        seen_by: &[Gate],
        means: "The field of the body that the secret goes into, in the place of a header. Only calls with a body can be \
                made then.",
    },
    Key {
        path: "service.NAME.verbs",
        kind: Kind::List { of: &Kind::Word(VERBS), max: VERBS.len() },
        preset: Preset::List(&["GET", "HEAD"]),
        seen_by: &[Gate],
        means: "How it may be called. What does more than read asks a person besides, each time.",
    },
    Key {
        path: "service.NAME.paths",
        kind: Kind::List { of: &Kind::Text(&URL_PATH), max: 32 },
        preset: Preset::List(&[]),
        seen_by: &[Gate],
        means: "What the path of a call must begin with, behind `base_url` and in whole segments; any where this is empty.",
    },
    Key {
        path: "service.NAME.agents",
        kind: Kind::List { of: &Kind::Text(&NAME), max: 32 },
        preset: Preset::List(&[]),
        seen_by: &[Gate],
        means: "Which agents may call it. An agent that lists its tools must list `http_call` or `oauth_call` as well.",
    },
    Key {
        path: "service.NAME.description",
        kind: Kind::Text(&DESCRIPTION),
        preset: Preset::Text(""),
        seen_by: &[Gate],
        means: "What it is and how it is called, for the model.",
    },
    Key {
        path: "service.NAME.idempotency_header",
        kind: Kind::Text(&HEADER),
        preset: Preset::Nothing,
        seen_by: &[Gate],
        means: "A header that the service takes an idempotency key in: then a call that is made twice after a crash takes \
                effect once.",
    },
];
