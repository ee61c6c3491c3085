//! Second pass over `[tool.TOOL]`: each table becomes the whole declaration of that tool; a key that is left out has the default of
//! `ipc_proto::capability`, which the table of keys repeats.

use crate::forms::patterns_hold;
use crate::problem::Problems;
use crate::shape::{Entry, Leaf, Table};
use crate::view::View;
use ipc_proto::capability::Capability;
use serde_json::{Map, Value as Json};
use std::collections::BTreeMap;

/// Reads them.
#[must_use]
pub fn resolve(file: &View<'_>, problems: &mut Problems) -> BTreeMap<String, Capability> {
    let tools = file.table("tool");
    let mut declared = BTreeMap::new();
    for name in tools.names() {
        let view = tools.named("TOOL", name);
        undeclared(&view, problems);
        too_large(&view, problems);
        let json = view.written().map_or(Json::Null, table);
        match serde_json::from_value(json) {
            Ok(capability) => {
                declared.insert(name.to_owned(), capability);
            }
            // A test compares the table of keys with the interface: both accept the same.
            Err(fault) => problems.add(view.line(""), &view.key(""), fault, "a capability"),
        }
    }
    declared
}

/// Every argument of `record_args` must be one of `relevant_args`.
fn undeclared(view: &View<'_>, problems: &mut Problems) {
    let relevant = view.texts("relevant_args");
    for (n, (line, name)) in view.texts("record_args").into_iter().enumerate() {
        if !relevant.iter().any(|(_, other)| *other == name) && !view.wrong("relevant_args") {
            let key = format!("{}[{n}]", view.key("record_args"));
            problems.add(line, &key, format!("{name} is not a relevant argument"), "one of `relevant_args`");
        }
    }
}

/// Patterns that are valid one by one can be too large together.
fn too_large(tool: &View<'_>, problems: &mut Problems) {
    let view = tool.table("approval");
    let patterns = view.texts("danger_patterns");
    if !patterns_hold(&patterns.iter().map(|(_, pattern)| pattern.as_str()).collect::<Vec<_>>()) {
        let what = "together these patterns are too large";
        problems.add(
            view.line("danger_patterns"),
            &view.key("danger_patterns"),
            what,
            "fewer or simpler ones",
        );
    }
}

/// A checked table as the JSON of its declaration. Errors in it were reported.
fn table(table: &Table) -> Json {
    let part = |(name, entry): (&String, &Entry)| match entry {
        Entry::Leaf(Leaf { value: given, .. }) => Some((name.clone(), given.json())),
        Entry::Table(inner) => Some((name.clone(), self::table(inner))),
        Entry::Rows(_) | Entry::Wrong(_) => None,
    };
    Json::Object(table.entries.iter().filter_map(part).collect::<Map<_, _>>())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keys;

    /// The defaults of the interface, by the paths that the table of keys uses.
    fn defaults() -> BTreeMap<String, Json> {
        let Json::Object(all) = serde_json::to_value(Capability::default()).unwrap() else { panic!() };
        let mut flat = BTreeMap::new();
        for (name, value) in all {
            match value {
                Json::Object(part) => {
                    flat.extend(part.into_iter().map(|(key, value)| (format!("{name}.{key}"), value)));
                }
                value => {
                    flat.insert(name, value);
                }
            }
        }
        flat
    }

    #[test]
    fn the_table_of_keys_has_every_field_of_a_capability_with_its_default() {
        let mut expected = defaults();
        for key in keys::all() {
            let Some(path) = key.path.strip_prefix("tool.TOOL.") else { continue };
            assert_eq!(expected.remove(path), Some(key.preset.json()), "{path}");
        }
        assert!(expected.is_empty(), "no key for {expected:?}");
    }
}
