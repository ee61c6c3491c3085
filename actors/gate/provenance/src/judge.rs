//! The facts of one call: of each security-relevant argument, and of the links in every other one.

use crate::{Trusted, links};
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// In a list of relevant arguments it stands for every one of them.
pub const EVERY: &str = "*";

/// The provenance of one argument.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fact {
    /// The argument's name; for the links in an argument that is not itself relevant, `NAME:link`. A nested one's
    /// names are joined by dots.
    pub name: String,
    /// Everything in it is held by a text that vouches for it.
    pub vouched: bool,
    /// The kind of value that was judged.
    pub kind: Kind,
}

/// The subject of a fact.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A security-relevant argument; where vouched, by the trusted texts.
    Argument,
    /// A security-relevant argument that the owner's own records vouch for, and the trusted texts do not.
    Record,
    /// The links inside an argument that is not security-relevant in itself.
    Link,
}

/// One fact for each relevant argument that is present, and one for each other argument that holds links, sorted by
/// name. `relevant` names arguments (`to`, or `message.to` inside an object; in arrays each element), `records` those
/// of them that the owner's records may vouch for. A link is vouched for by the trusted texts alone.
#[must_use]
pub fn judge(
    trusted: &Trusted,
    relevant: &[String],
    records: &[String],
    args: &Map<String, Value>,
) -> Vec<Fact> {
    let mut judging = Judging { trusted, relevant, records, facts: BTreeMap::new() };
    for (name, value) in args {
        judging.walk(name, value);
    }
    judging.facts.into_iter().map(|(name, (vouched, kind))| Fact { name, vouched, kind }).collect()
}

struct Judging<'a> {
    trusted: &'a Trusted,
    relevant: &'a [String],
    records: &'a [String],
    facts: BTreeMap<String, (bool, Kind)>,
}

impl Judging<'_> {
    fn walk(&mut self, path: &str, value: &Value) {
        if self.relevant.iter().any(|name| name == path || name == EVERY) {
            self.relevant(path, value);
            return;
        }
        match value {
            Value::Array(items) => items.iter().for_each(|item| self.walk(path, item)),
            Value::Object(members) => {
                for (name, item) in members {
                    self.links(path, name);
                    self.walk(&format!("{path}.{name}"), item);
                }
            }
            Value::String(text) => self.links(path, text),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    fn relevant(&mut self, path: &str, value: &Value) {
        let words = self.trusted.vouches(value);
        let record =
            !words && self.records.iter().any(|name| name == path) && self.trusted.records_vouch(value);
        let kind = if record { Kind::Record } else { Kind::Argument };
        self.note(path.to_owned(), words || record, kind);
    }

    fn links(&mut self, path: &str, text: &str) {
        let links = links::links(text);
        if !links.is_empty() {
            let vouched = links.iter().all(|link| self.trusted.holds_link(link));
            self.note(format!("{path}:link"), vouched, Kind::Link);
        }
    }

    /// Each of several values under one name must be vouched for.
    fn note(&mut self, name: String, vouched: bool, kind: Kind) {
        let fact = self.facts.entry(name).or_insert((true, kind));
        fact.0 &= vouched;
        if kind == Kind::Record {
            fact.1 = kind;
        }
    }
}

#[cfg(test)]
mod tests;
