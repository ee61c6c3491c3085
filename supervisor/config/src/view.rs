//! Reads the checked tree: a value of the file, or the default from the table of keys. A key that is not in the table cannot be
//! read.

use crate::keys;
use crate::kind::Preset;
use crate::problem::Problems;
use crate::shape::{Entry, Leaf, Place, Table, Value};
use ipc_proto::config::{self, Keyed};
use serde::de::DeserializeOwned;

/// A table of the file, which may be missing.
#[derive(Clone, Debug)]
pub struct View<'a> {
    place: Place,
    table: Option<&'a Table>,
    line: usize,
}

impl<'a> View<'a> {
    /// The whole file.
    #[must_use]
    pub fn new(table: &'a Table) -> Self {
        Self { place: Place::default(), table: Some(table), line: 1 }
    }

    fn entry(&self, name: &str) -> Option<&'a Entry> {
        self.table.and_then(|table| table.entries.get(name))
    }

    fn inner(&self, part: &str, name: &str, table: Option<&'a Table>) -> Self {
        let line = table.map_or(self.line, |table| table.line);
        Self { place: self.place.at(part, name), table, line }
    }

    /// The table `name` in it.
    #[must_use]
    pub fn table(&self, name: &str) -> Self {
        let table = match self.entry(name) {
            Some(Entry::Table(table)) => Some(table),
            _ => None,
        };
        self.inner(name, name, table)
    }

    /// The table that the writer called `name`, where the table of keys has `part`.
    #[must_use]
    pub fn named(&self, part: &str, name: &str) -> Self {
        Self { place: self.place.at(part, name), ..self.table(name) }
    }

    /// The names that the writer gave to tables in it.
    #[must_use]
    pub fn names(&self) -> Vec<&'a str> {
        let tables =
            |(name, entry): (&'a String, &Entry)| matches!(entry, Entry::Table(_)).then_some(name.as_str());
        self.table.into_iter().flat_map(|table| &table.entries).filter_map(tables).collect()
    }

    /// Each table of the array `name` in it.
    #[must_use]
    pub fn rows(&self, name: &str) -> Vec<Self> {
        let part = format!("{name}[]");
        let rows = match self.entry(name) {
            Some(Entry::Rows(rows)) => rows.as_slice(),
            _ => &[],
        };
        let row = |(n, row): (usize, &'a Table)| self.inner(&part, &format!("{name}[{n}]"), Some(row));
        rows.iter().enumerate().map(row).collect()
    }

    /// The value of `name`, if the file has it.
    #[must_use]
    pub fn given(&self, name: &str) -> Option<&'a Leaf> {
        match self.entry(name) {
            Some(Entry::Leaf(leaf)) => Some(leaf),
            _ => None,
        }
    }

    /// Returns true if `name` is in the file but was reported and left out, in whole or in part: errors that follow from that are not
    /// reported.
    #[must_use]
    pub fn wrong(&self, name: &str) -> bool {
        match self.entry(name) {
            Some(Entry::Wrong(_)) => true,
            Some(Entry::Leaf(leaf)) => !leaf.whole,
            Some(Entry::Table(_) | Entry::Rows(_)) | None => false,
        }
    }

    fn preset(&self, name: &str) -> Preset {
        let path = self.place.at(name, name).pattern;
        // Only this crate reads keys, by literal names; `every_key_of_the_table_is_read` reads each.
        keys::find(&path).map_or_else(|| unreachable!("{path} is not in the table of keys"), |key| key.preset)
    }

    /// The number `name`.
    #[must_use]
    pub fn number(&self, name: &str) -> u32 {
        match (self.given(name).map(|leaf| &leaf.value), self.preset(name)) {
            (Some(Value::Number(number)), _) => *number,
            (_, Preset::Number(number)) => number,
            _ => 0,
        }
    }

    /// The number `name` in millionths; none if the file has none and neither has the table of keys.
    #[must_use]
    pub fn millionths(&self, name: &str) -> Option<u64> {
        match (self.given(name).map(|leaf| &leaf.value), self.preset(name)) {
            (Some(Value::Millionths(number)), _) => Some(*number),
            (_, Preset::Millionths(number)) => Some(number),
            _ => None,
        }
    }

    /// The flag `name`.
    #[must_use]
    pub fn flag(&self, name: &str) -> bool {
        match (self.given(name).map(|leaf| &leaf.value), self.preset(name)) {
            (Some(Value::Flag(flag)), _) => *flag,
            (_, Preset::Flag(flag)) => flag,
            _ => false,
        }
    }

    /// The section that declares the keys of this table.
    #[must_use]
    pub fn section<T: Keyed + DeserializeOwned + Default>(&self, problems: &mut Problems) -> T {
        let value = |key: &config::Key| {
            let name = key.path.rsplit('.').next().unwrap_or(key.path);
            let value = self.given(name).map_or_else(|| self.preset(name).json(), |leaf| leaf.value.json());
            (name.to_owned(), value)
        };
        // A field that is too small for its key's rule is an error of this program, which a test finds.
        serde_json::from_value(T::KEYS.iter().map(value).collect()).unwrap_or_else(|fault| {
            problems.add(self.line(""), &self.key(""), fault, "a section");
            T::default()
        })
    }

    /// The table itself, if the file has it.
    #[must_use]
    pub const fn written(&self) -> Option<&'a Table> {
        self.table
    }

    /// The text `name`; none if the file has none and neither has the table of keys.
    #[must_use]
    pub fn text(&self, name: &str) -> Option<String> {
        match (self.given(name).map(|leaf| &leaf.value), self.preset(name)) {
            (Some(Value::Text(text)), _) => Some(text.clone()),
            (_, Preset::Text(text)) => Some(text.to_owned()),
            _ => None,
        }
    }

    /// The word `name`, which has a default or is required; a required one that is missing was reported.
    #[must_use]
    pub fn word(&self, name: &str) -> String {
        self.text(name).unwrap_or_default()
    }

    /// The list `name`, each item with its line.
    #[must_use]
    pub fn list(&self, name: &str) -> Vec<Leaf> {
        match (self.given(name).map(|leaf| &leaf.value), self.preset(name)) {
            (Some(Value::List(items)), _) => items.clone(),
            (_, Preset::List(items)) => {
                let leaf = |item: &&str| Leaf {
                    line: self.line,
                    value: Value::Text((*item).to_owned()),
                    whole: true,
                };
                items.iter().map(leaf).collect()
            }
            _ => Vec::new(),
        }
    }

    /// The texts of the list `name`, each with its line.
    #[must_use]
    pub fn texts(&self, name: &str) -> Vec<(usize, String)> {
        let text = |leaf: Leaf| match leaf.value {
            Value::Text(text) => Some((leaf.line, text)),
            Value::Number(_) | Value::Millionths(_) | Value::Flag(_) | Value::List(_) => None,
        };
        self.list(name).into_iter().filter_map(text).collect()
    }

    /// The line of `name`; if it is not in the file, the line of its table.
    #[must_use]
    pub fn line(&self, name: &str) -> usize {
        match self.entry(name) {
            Some(Entry::Leaf(leaf)) => leaf.line,
            Some(Entry::Table(table)) => table.line,
            Some(Entry::Wrong(line)) => *line,
            Some(Entry::Rows(_)) | None => self.line,
        }
    }

    /// The full name of `name` in it, as messages show it; its own name where `name` is empty.
    #[must_use]
    pub fn key(&self, name: &str) -> String {
        if name.is_empty() { self.place.shown.clone() } else { self.place.at(name, name).shown }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ipc_proto::config::{
        AgentLimits, Curator, Embedder, Finding, Gateway, Key, Memory, Policy, RelayLimits,
    };
    use ipc_proto::config::{Router, Rule};
    use serde_json::{Value as Json, json};

    fn section_of<T: Keyed + DeserializeOwned>(value: fn(&Rule) -> Json) {
        let name = |key: &Key| key.path.rsplit('.').next().unwrap_or_default().to_owned();
        let values: Json = T::KEYS.iter().map(|key| (name(key), value(&key.rule))).collect();
        let section = serde_json::from_value::<T>(values);
        assert!(section.is_ok(), "[{}]: {:?}", T::TABLE, section.err());
        assert!(T::KEYS.iter().all(|key| key.path == format!("{}.{}", T::TABLE, name(key))));
    }

    fn smallest(rule: &Rule) -> Json {
        let Rule::Number { min, .. } = rule else { return largest(rule) };
        json!(min)
    }

    fn largest(rule: &Rule) -> Json {
        match rule {
            Rule::Number { max, .. } => json!(max),
            Rule::Decimal { max, .. } => json!(max * 1_000_000),
            Rule::Flag { default } => json!(!default),
            Rule::Text { .. } => json!("x"),
            Rule::Texts { .. } => json!(["x"]),
        }
    }

    #[test]
    fn every_value_that_a_rule_allows_fits_its_field() {
        let edges: [fn(&Rule) -> Json; 2] = [smallest, largest];
        for values in edges {
            section_of::<AgentLimits>(values);
            section_of::<Memory>(values);
            section_of::<Finding>(values);
            section_of::<Embedder>(values);
            section_of::<Router>(values);
            section_of::<config::Asking>(values);
            section_of::<Curator>(values);
            section_of::<Policy>(values);
            section_of::<Gateway>(values);
            section_of::<RelayLimits>(values);
        }
    }
}
