//! Second pass over `[policy]`: the owner's contacts and the autonomy of agents.

use crate::problem::Problems;
use crate::view::View;
use ipc_proto::config::{Autonomy, Policy};
use std::collections::BTreeSet;

/// Reads it.
#[must_use]
pub fn resolve(file: &View<'_>, problems: &mut Problems) -> Policy {
    let view = file.table("policy");
    let policy: Policy = view.section(problems);
    let mut seen = BTreeSet::new();
    for (n, (line, contact)) in view.texts("contacts").into_iter().enumerate() {
        if !seen.insert(contact) {
            let key = format!("{}[{n}]", view.key("contacts"));
            problems.add(line, &key, "is listed twice", "each value once");
        }
    }
    let autonomy = match view.word("autonomy").as_str() {
        "readonly" => Autonomy::Readonly,
        "supervised" => Autonomy::Supervised,
        _ => Autonomy::Full,
    };
    Policy { autonomy, ..policy }
}
