//! The key of `[policy]` that is one of a few words. It holds no logic.

use super::Key;
use crate::kind::{Kind, Preset};
use manifest::Process::Gate;

/// The keys.
pub(super) const KEYS: &[Key] = &[Key {
    path: "policy.autonomy",
    kind: Kind::Word(&["readonly", "supervised", "full"]),
    preset: Preset::Text("full"),
    seen_by: &[Gate],
    means: "The autonomy of agents. `readonly`: everything but reading needs an approval. `supervised`: running a \
                command, sending, paying and deleting need an approval. `full`: the profile's policy decides.",
}];
