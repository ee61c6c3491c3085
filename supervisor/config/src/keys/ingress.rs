//! The key of `[ingress]`. It holds no logic.

use super::Key;
use crate::forms::HOST_PORT_ANY;
use crate::kind::{Kind, Preset};
use manifest::Process::Agentd;

/// The keys.
pub(super) const KEYS: &[Key] = &[Key {
    path: "ingress.listen",
    kind: Kind::Text(&HOST_PORT_ANY),
    preset: Preset::Nothing,
    seen_by: &[Agentd],
    means: "The TCP address at which hooks are taken: `127.0.0.1:PORT` or `[::1]:PORT`. Only `/hook/NAME` of a channel that takes \
            hooks is served there, and never the API. A tunnel or a reverse proxy with TLS leads there from outside.",
}];
