//! The keys of `[policy]`. It holds no logic.

use super::Key;
use crate::forms::CONTACT;
use crate::kind::{Kind, Preset};
use manifest::Process::Gate;

/// The keys.
pub(super) const KEYS: &[Key] = &[
    Key {
        path: "policy.contacts",
        kind: Kind::List { of: &Kind::Text(&CONTACT), max: 512 },
        preset: Preset::List(&[]),
        seen_by: &[Gate],
        means: "Addresses, account numbers, hosts and other values that you vouch for: an argument with one of them \
                needs no approval. Text that an agent reads is never added here.",
    },
    Key {
        path: "policy.approval_seconds",
        kind: Kind::Number { min: 10, max: 86_400 },
        preset: Preset::Number(300),
        seen_by: &[Gate],
        means: "Seconds after which an approval that nobody answers is refused.",
    },
    Key {
        path: "policy.autonomy",
        kind: Kind::Word(&["readonly", "supervised", "full"]),
        preset: Preset::Text("full"),
        seen_by: &[Gate],
        means: "The autonomy of agents. `readonly`: everything but reading needs an approval. `supervised`: running a \
                command, sending, paying and deleting need an approval. `full`: the profile's policy decides.",
    },
];
