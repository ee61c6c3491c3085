//! The keys of `[service.NAME]`. It holds no logic.

use super::Key;
use crate::forms::{DESCRIPTION, HEADER, NAME, PARAMETER, PREFIX, SECRET, SERVICE_URL, URL_PATH, VARIABLE};
use crate::kind::{Kind, Preset};
use manifest::Process::{Credproxy, Dialer, Gate};

/// The HTTP methods that a service may allow.
const VERBS: &[&str] = &["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"];

/// The keys.
pub(super) const KEYS: &[Key] = &[
    Key {
        path: "service.NAME.base_url",
        kind: Kind::Text(&SERVICE_URL),
        preset: Preset::Required,
        seen_by: &[Gate, Dialer],
        means: "The address of the service; a call's path is appended to it. If the secret is a part of the path \
                itself, `__cordon_secret__` stands for it here. Dialer gets only the host and port.",
    },
    Key {
        path: "service.NAME.secret",
        kind: Kind::Text(&SECRET),
        preset: Preset::Nothing,
        seen_by: &[Gate, Credproxy],
        means: "The name of the secret for the service; left out for a service without one. The binding of the secret \
                (`agentctl cred set`) must allow the call as well.",
    },
    Key {
        path: "service.NAME.oauth",
        kind: Kind::Flag,
        preset: Preset::Flag(false),
        seen_by: &[Gate],
        means: "True if the secret is a login of `agentctl cred login`. Such a service is called with `oauth_call`, for \
                which profiles have rules of their own, and any other with `http_call`.",
    },
    Key {
        path: "service.NAME.header",
        kind: Kind::Text(&HEADER),
        preset: Preset::Nothing,
        seen_by: &[Gate],
        means: "The header that carries the secret; the default is `Authorization`, unless `query` or `field` is set.",
    },
    Key {
        path: "service.NAME.prefix",
        kind: Kind::Text(&PREFIX),
        preset: Preset::Nothing,
        seen_by: &[Gate],
        means: "The text before the secret in its header; the default is `Bearer ` for `Authorization` and nothing for \
                any other header.",
    },
    Key {
        path: "service.NAME.query",
        kind: Kind::Text(&PARAMETER),
        preset: Preset::Nothing,
        seen_by: &[Gate],
        means: "The query parameter that carries the secret, instead of a header.",
    },
    Key {
        path: "service.NAME.field",
        kind: Kind::Text(&PARAMETER),
        preset: Preset::Nothing,
        seen_by: &[Gate],
        means: "The field of the body that carries the secret, instead of a header. The service then accepts only calls \
                with a body.",
    },
    Key {
        path: "service.NAME.verbs",
        kind: Kind::List { of: &Kind::Word(VERBS), max: VERBS.len() },
        preset: Preset::List(&["GET", "HEAD"]),
        seen_by: &[Gate],
        means: "The allowed HTTP methods. A method that does more than read needs an approval each time.",
    },
    Key {
        path: "service.NAME.paths",
        kind: Kind::List { of: &Kind::Text(&URL_PATH), max: 32 },
        preset: Preset::List(&[]),
        seen_by: &[Gate],
        means: "The allowed beginnings of a call's path, relative to `base_url` and in whole segments; an empty list \
                allows all.",
    },
    Key {
        path: "service.NAME.agents",
        kind: Kind::List { of: &Kind::Text(&NAME), max: 32 },
        preset: Preset::List(&[]),
        seen_by: &[Gate],
        means: "The agents that may call the service. An agent with a list of tools must list `http_call` or \
                `oauth_call` as well.",
    },
    Key {
        path: "service.NAME.description",
        kind: Kind::Text(&DESCRIPTION),
        preset: Preset::Text(""),
        seen_by: &[Gate],
        means: "A description of the service and its calls, for the model.",
    },
    Key {
        path: "service.NAME.idempotency_header",
        kind: Kind::Text(&HEADER),
        preset: Preset::Nothing,
        seen_by: &[Gate],
        means: "The header in which the service accepts an idempotency key: a call that is repeated after a crash then \
                takes effect once.",
    },
    Key {
        path: "service.NAME.variable",
        kind: Kind::Text(&VARIABLE),
        preset: Preset::Nothing,
        seen_by: &[Gate],
        means: "The environment variable in which programs in jails with a way out find `__cordon_secret__`, a placeholder: \
                their requests to the service get the secret outside of the jail. Without it they cannot use the secret.",
    },
];
