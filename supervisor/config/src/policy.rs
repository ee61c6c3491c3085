//! Second pass over `[policy]`: the owner's contacts and the autonomy of agents.

use crate::problem::Problems;
use crate::view::View;
use ipc_proto::config::{Autonomy, Policy};

/// Reads it.
#[must_use]
pub fn resolve(file: &View<'_>, problems: &mut Problems) -> Policy {
    let view = file.table("policy");
    let mut contacts = Vec::new();
    for (n, (line, contact)) in view.texts("contacts").into_iter().enumerate() {
        if contacts.contains(&contact) {
            problems.add(
                line,
                &format!("{}[{n}]", view.key("contacts")),
                "is listed twice",
                "each value once",
            );
        } else {
            contacts.push(contact);
        }
    }
    let autonomy = match view.word("autonomy").as_str() {
        "readonly" => Autonomy::Readonly,
        "supervised" => Autonomy::Supervised,
        _ => Autonomy::Full,
    };
    Policy { contacts, approval_seconds: view.number("approval_seconds"), autonomy }
}
