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
        means: "Addresses, account numbers, hosts and other values that you vouch for: a call that names one of them \
                needs no question for that argument. Nothing that an agent reads is ever added here.",
    },
    Key {
        path: "policy.approval_seconds",
        kind: Kind::Number { min: 10, max: 86_400 },
        preset: Preset::Number(300),
        seen_by: &[Gate],
        means: "Seconds after which a question that nobody answers is a no.",
    },
    Key {
        path: "policy.autonomy",
        kind: Kind::Word(&["readonly", "supervised", "full"]),
        preset: Preset::Text("full"),
        seen_by: &[Gate],
        means: "How much agents do by themselves. `readonly`: everything but reading asks. `supervised`: what runs a \
                command, sends, pays or deletes asks. `full`: what the profile's policy says.",
    },
];
