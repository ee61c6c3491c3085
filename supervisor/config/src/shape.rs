//! First pass: compares the file with the table of keys. Valid parts become a tree of checked values; every other part is reported and
//! left out, so that its default is used and no second error follows from the first.

use crate::keys;
use crate::kind::{Preset, type_of};
use crate::problem::{Problems, listed, nearest};
use serde_json::Value as Json;
use std::collections::BTreeMap;
use toml::Spanned;
use toml::de::{DeString, DeTable, DeValue};

/// The offsets of lines.
#[derive(Debug)]
pub struct Lines(Vec<usize>);

impl Lines {
    /// The lines of `text`.
    #[must_use]
    pub fn new(text: &str) -> Self {
        Self(text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n').map(|(at, _)| at).collect())
    }

    /// The line of byte `at`, counted from 1.
    #[must_use]
    pub fn of(&self, at: usize) -> usize {
        self.0.partition_point(|end| *end < at) + 1
    }
}

/// A checked value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// A number.
    Number(u32),
    /// A number with digits after its point, in millionths.
    Millionths(u64),
    /// Truth.
    Flag(bool),
    /// Text.
    Text(String),
    /// A list.
    List(Vec<Leaf>),
}

impl Value {
    /// The value as the section of a process has it.
    #[must_use]
    pub fn json(&self) -> Json {
        match self {
            Self::Number(number) => Json::from(*number),
            Self::Millionths(number) => Json::from(*number),
            Self::Flag(flag) => Json::from(*flag),
            Self::Text(text) => Json::from(text.as_str()),
            Self::List(items) => items.iter().map(|item| item.value.json()).collect(),
        }
    }
}

/// A checked value and its line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Leaf {
    /// Its line.
    pub line: usize,
    /// The value.
    pub value: Value,
    /// True if nothing of it was reported and left out.
    pub whole: bool,
}

/// A checked table.
#[derive(Debug, Default)]
pub struct Table {
    /// The line of its head.
    pub line: usize,
    /// Its content.
    pub entries: BTreeMap<String, Entry>,
}

/// An entry of a table.
#[derive(Debug)]
pub enum Entry {
    /// A value.
    Leaf(Leaf),
    /// A table.
    Table(Table),
    /// An array of tables.
    Rows(Vec<Table>),
    /// A fault that was reported and left out, by its line.
    Wrong(usize),
}

/// A position in the file: as the table of keys writes it, and as people see it.
#[derive(Clone, Debug, Default)]
pub struct Place {
    /// Such as `agent.NAME`.
    pub pattern: String,
    /// Such as `agent.helper`.
    pub shown: String,
}

impl Place {
    /// The position of `part` in it, which the file calls `shown`.
    #[must_use]
    pub fn at(&self, part: &str, shown: &str) -> Self {
        let bare = |c: char| c.is_ascii_alphanumeric() || "-_[]".contains(c);
        let shown = if !shown.is_empty() && shown.chars().all(bare) {
            shown.to_owned()
        } else {
            crate::problem::quoted(shown)
        };
        let join = |whole: &str, part: &str| {
            if whole.is_empty() { part.to_owned() } else { format!("{whole}.{part}") }
        };
        Self { pattern: join(&self.pattern, part), shown: join(&self.shown, &shown) }
    }
}

/// The pass over a file.
#[derive(Debug)]
pub struct Shape<'a> {
    /// The offsets of its lines.
    pub lines: &'a Lines,
    /// The faults.
    pub problems: &'a mut Problems,
}

type File<'i> = DeTable<'i>;
type FileKey<'i> = Spanned<DeString<'i>>;
type FileValue<'i> = Spanned<DeValue<'i>>;

impl Shape<'_> {
    /// Checks the table `file` at `place`, whose head is on `line`.
    pub fn table(&mut self, place: &Place, file: &File<'_>, line: usize) -> Table {
        let parts = keys::parts_after(&place.pattern);
        let mut table = Table { line, ..Table::default() };
        for (key, value) in file {
            let wrong = || Entry::Wrong(self.lines.of(key.span().start));
            let entry = self.entry(place, &parts, key, value).unwrap_or_else(wrong);
            table.entries.insert(key.get_ref().to_string(), entry);
        }
        self.count(place, &parts, file, line);
        self.required(place, &parts, file, line);
        table
    }

    fn entry(
        &mut self,
        place: &Place,
        parts: &[&str],
        key: &FileKey<'_>,
        value: &FileValue<'_>,
    ) -> Option<Entry> {
        let (name, line) = (key.get_ref().as_ref(), self.lines.of(key.span().start));
        let rows = format!("{name}[]");
        if parts.contains(&rows.as_str()) {
            return self.rows(place, name, value).map(Entry::Rows);
        }
        let own = |part: &str| keys::wildcard(part).is_some() || part.ends_with("[]");
        let literal = parts.iter().find(|part| **part == name && !own(part));
        let part = match literal {
            Some(part) => part,
            None => self.named(place, parts, name, line)?,
        };
        let at = place.at(part, name);
        match (keys::find(&at.pattern), value.get_ref()) {
            (Some(known), _) => known.kind.take(&at.shown, value, self.lines, self.problems).map(Entry::Leaf),
            (None, DeValue::Table(inner)) => Some(Entry::Table(self.table(&at, inner, line))),
            (None, other) => {
                self.problems.add(line, &at.shown, format!("found {}", type_of(other)), "a table");
                None
            }
        }
    }

    /// The wildcard that `name` is a name for; reports a name that matches none.
    fn named<'p>(&mut self, place: &Place, parts: &[&'p str], name: &str, line: usize) -> Option<&'p str> {
        let shown = place.at(name, name).shown;
        let Some((part, wildcard)) = parts.iter().find_map(|part| Some((*part, keys::wildcard(part)?)))
        else {
            let valid: Vec<_> = parts.iter().map(|part| part.trim_end_matches("[]")).collect();
            self.problems.add(line, &shown, format!("unknown key{}", nearest(name, &valid)), listed(&valid));
            return None;
        };
        match wildcard.kind.take_text(name) {
            Ok(()) => Some(part),
            Err(what) => {
                self.problems.add(line, &shown, what, wildcard.kind.valid());
                None
            }
        }
    }

    fn rows(&mut self, place: &Place, name: &str, value: &FileValue<'_>) -> Option<Vec<Table>> {
        let part = format!("{name}[]");
        let line = self.lines.of(value.span().start);
        let shown = place.at(&part, name).shown;
        let DeValue::Array(items) = value.get_ref() else {
            let what = format!("found {}", type_of(value.get_ref()));
            self.problems.add(line, &shown, what, format!("`[[{shown}]]` before each"));
            return None;
        };
        if items.len() > keys::USERS {
            self.problems.add(
                line,
                &shown,
                format!("{} of them", items.len()),
                format!("at most {}", keys::USERS),
            );
            return None;
        }
        let rows = items.iter().enumerate().filter_map(|(n, item)| {
            let at = place.at(&part, &format!("{name}[{n}]"));
            let line = self.lines.of(item.span().start);
            if let DeValue::Table(row) = item.get_ref() {
                return Some(self.table(&at, row, line));
            }
            self.problems.add(line, &at.shown, format!("found {}", type_of(item.get_ref())), "a table");
            None
        });
        Some(rows.collect())
    }

    fn count(&mut self, place: &Place, parts: &[&str], file: &File<'_>, line: usize) {
        let most = parts.iter().find_map(|part| keys::wildcard(part)).map(|wildcard| wildcard.max);
        if let Some(most) = most.filter(|most| file.len() > *most) {
            self.problems.add(
                line,
                &place.shown,
                format!("{} of them", file.len()),
                format!("at most {most}"),
            );
        }
    }

    fn required(&mut self, place: &Place, parts: &[&str], file: &File<'_>, line: usize) {
        for part in parts {
            let at = place.at(part, part);
            let needed = keys::find(&at.pattern).filter(|key| matches!(key.preset, Preset::Required));
            if let Some(key) = needed.filter(|_| !file.contains_key(*part)) {
                self.problems.add(line, &at.shown, "this key is missing", key.kind.valid());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_count_from_one_and_a_line_ends_with_its_newline() {
        let lines = Lines::new("a\nbc\n\nd");
        let of: Vec<_> = (0..8).map(|at| lines.of(at)).collect();
        assert_eq!(of, [1, 1, 2, 2, 2, 3, 4, 4]);
        assert_eq!(Lines::new("").of(5), 1);
    }
}
