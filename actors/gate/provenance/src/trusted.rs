//! The texts that vouch. A value is vouched for where one of them holds it as it stands, or in the one form of its
//! kind: an amount, an address of mail or web, an account or telephone number, a path, a day. Which of a text's values
//! was meant for which argument is not known: a text that names two people vouches for both.

use crate::date::{self, Day, Time};
use crate::site::Site;
use crate::text::{Sought, Text};
use crate::{compact, file, links, mail, number};
use serde_json::Value;
use std::collections::{BTreeSet, VecDeque};

/// Texts kept of each of the two kinds; over it the oldest go, so that less is vouched for.
const TEXTS: usize = 256;
/// Bytes kept of each kind, the same way; of one longer text the beginning is kept.
const BYTES: usize = 256 * 1024;
/// Bytes of a value that is looked for; a longer one is not vouched for.
const VALUE: usize = 16 * 1024;

/// Texts that vouch for values: the user's words, the owner's settings, contacts the owner confirmed; and, apart, the
/// owner's own records.
#[derive(Clone, Default)]
pub struct Trusted {
    words: Shelf,
    records: Shelf,
}

impl Trusted {
    /// No text, so nothing is vouched for.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a text that vouches.
    pub fn add(&mut self, text: &str) {
        self.words.add(text);
    }

    /// Adds a text of the owner's own records.
    pub fn add_record(&mut self, text: &str) {
        self.records.add(text);
    }

    /// Returns whether the trusted texts vouch for all of `value`: each element, and each member, has to be vouched for.
    #[must_use]
    pub fn vouches(&self, value: &Value) -> bool {
        self.words.vouches(value)
    }

    /// Returns whether the owner's records vouch for all of `value`, by the same rules.
    #[must_use]
    pub fn records_vouch(&self, value: &Value) -> bool {
        self.records.vouches(value)
    }

    /// Returns whether the trusted texts hold a link.
    pub(crate) fn holds_link(&self, link: &str) -> bool {
        self.words.vouches_text(link) || self.words.texts.iter().any(|entry| entry.links.contains(link))
    }
}

/// How many texts, and no word of them: they are somebody's.
impl std::fmt::Debug for Trusted {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Trusted({} texts, {} records)", self.words.texts.len(), self.records.texts.len())
    }
}

/// Texts of one kind.
#[derive(Clone, Default)]
struct Shelf {
    texts: VecDeque<Entry>,
    bytes: usize,
}

impl Shelf {
    fn add(&mut self, text: &str) {
        let text = head(text);
        self.bytes += text.len();
        self.texts.push_back(Entry::new(text));
        while self.texts.len() > TEXTS || self.bytes > BYTES {
            let gone = self.texts.pop_front().map_or(0, |entry| entry.text.len());
            self.bytes = self.bytes.saturating_sub(gone);
        }
    }

    fn vouches(&self, value: &Value) -> bool {
        match value {
            Value::Null => true,
            Value::Bool(flag) => self.vouches_text(if *flag { "true" } else { "false" }),
            Value::Number(number) => self.vouches_text(&number.to_string()),
            Value::String(text) => self.vouches_text(text),
            Value::Array(items) => items.iter().all(|item| self.vouches(item)),
            Value::Object(members) => members.values().all(|item| self.vouches(item)),
        }
    }

    fn vouches_text(&self, value: &str) -> bool {
        if value.trim().is_empty() {
            return true;
        }
        if value.len() > VALUE {
            return false;
        }
        let (sought, wanted) = (Sought::new(value), Wanted::new(value));
        let whole = self.texts.iter().any(|entry| entry.text.holds(&sought) || wanted.is_in(entry));
        whole || self.holds_all(&wanted.mails)
    }

    /// A list of addresses may be gathered from several texts.
    fn holds_all(&self, mails: &[String]) -> bool {
        let held = |mail: &String| self.texts.iter().any(|entry| entry.mails.contains(mail));
        !mails.is_empty() && mails.iter().all(held)
    }
}

/// A text and what stands in it.
#[derive(Clone)]
struct Entry {
    text: Text,
    numbers: BTreeSet<String>,
    mails: BTreeSet<String>,
    files: BTreeSet<String>,
    days: BTreeSet<Day>,
    times: BTreeSet<Time>,
    sites: Vec<Site>,
    /// Links as they read once escapes are undone: the same escapes are undone in what goes out.
    links: BTreeSet<String>,
}

impl Entry {
    fn new(raw: &str) -> Self {
        let text = Text::new(raw);
        let all = |find: fn(&str) -> Vec<String>| text.readings().flat_map(find).collect();
        Self {
            numbers: all(number::numbers),
            mails: all(mail::in_text),
            files: all(file::files),
            days: text.readings().flat_map(date::days).collect(),
            times: text.readings().flat_map(date::times).collect(),
            links: all(links::escaped),
            sites: text.readings().flat_map(Site::in_text).collect(),
            text,
        }
    }
}

/// A value in the one form of each kind it can be.
struct Wanted {
    number: Option<String>,
    compact: Option<String>,
    file: Option<String>,
    moment: Option<(Day, Option<Time>)>,
    site: Option<Site>,
    mails: Vec<String>,
}

impl Wanted {
    fn new(value: &str) -> Self {
        Self {
            number: number::number(value),
            compact: compact::compact(value),
            file: file::file(value),
            moment: date::moment(value),
            site: Site::read(value),
            mails: mail::addresses(value).unwrap_or_default(),
        }
    }

    fn is_in(&self, entry: &Entry) -> bool {
        let number = self.number.as_ref().is_some_and(|number| entry.numbers.contains(number));
        let file = self.file.as_ref().is_some_and(|file| entry.files.contains(file));
        let site = self.site.as_ref().is_some_and(|site| entry.sites.iter().any(|held| held.names(site)));
        let moment = self.moment.is_some_and(|(day, time)| {
            entry.days.contains(&day) && time.is_none_or(|time| entry.times.contains(&time))
        });
        let compact = || {
            self.compact
                .as_ref()
                .is_some_and(|wanted| entry.text.readings().any(|text| compact::holds(text, wanted)))
        };
        number || file || site || moment || compact()
    }
}

/// At most [`BYTES`] of a text, cut between words: a word cut short would be another.
fn head(text: &str) -> &str {
    if text.len() <= BYTES {
        return text;
    }
    let end = text.floor_char_boundary(BYTES);
    let head = text.get(..end).unwrap_or_default();
    head.rfind(char::is_whitespace).and_then(|at| head.get(..at)).unwrap_or_default()
}

#[cfg(test)]
mod tests;
