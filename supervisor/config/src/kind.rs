//! What a key's value can be: its type and range, its default, and the check of one value against them.

use crate::forms::Form;
use crate::problem::{Problems, listed, nearest, quoted};
use crate::shape::{Leaf, Lines, Value};
use serde_json::Value as Json;
use toml::Spanned;
use toml::de::{DeInteger, DeValue};

/// A type with its range.
#[derive(Clone, Copy, Debug)]
pub enum Kind {
    /// A whole number.
    Number {
        /// The least.
        min: u32,
        /// The most.
        max: u32,
    },
    /// `true` or `false`.
    Flag,
    /// The version of the file's format; this one and no other.
    Version(u32),
    /// One of these words.
    Word(&'static [&'static str]),
    /// Text of a form.
    Text(&'static Form),
    /// A list.
    List {
        /// What each item is.
        of: &'static Self,
        /// Most items.
        max: usize,
    },
}

/// What stands for a key that is not in the file.
#[derive(Clone, Copy, Debug)]
pub enum Preset {
    /// Nothing: the key must be there.
    Required,
    /// Nothing, and that has a meaning.
    Nothing,
    /// This number.
    Number(u32),
    /// This truth.
    Flag(bool),
    /// This text.
    Text(&'static str),
    /// This list of texts.
    List(&'static [&'static str]),
}

impl Preset {
    /// The default as TOML, as the reference shows it.
    #[must_use]
    pub fn toml(&self) -> String {
        match self {
            Self::Required => "required".to_owned(),
            Self::Nothing => "none".to_owned(),
            Self::Number(number) => number.to_string(),
            Self::Flag(flag) => flag.to_string(),
            Self::Text(text) => Json::from(*text).to_string(),
            Self::List(items) => {
                format!("[{}]", listed(items.iter().map(|item| Json::from(*item).to_string())))
            }
        }
    }
}

impl Kind {
    /// What is valid, for people.
    #[must_use]
    pub fn valid(&self) -> String {
        match self {
            Self::Number { min, max } => format!("a whole number from {min} to {max}"),
            Self::Flag => "true or false".to_owned(),
            Self::Version(version) => version.to_string(),
            Self::Word(words) => listed(*words),
            Self::Text(form) => form.valid.to_owned(),
            Self::List { of, max } => format!("a list of at most {max}, each {}", of.item()),
        }
    }

    fn item(&self) -> String {
        match self {
            Self::Word(words) => format!("one of {}", listed(*words)),
            other => other.valid(),
        }
    }

    /// Whether `text` is one of the words or of the form; else what is wrong with it.
    ///
    /// # Errors
    /// The words for a person.
    pub fn take_text(&self, text: &str) -> Result<(), String> {
        match self {
            Self::Word(words) if words.contains(&text) => Ok(()),
            Self::Word(words) => Err(format!("{} is unknown{}", quoted(text), nearest(text, words))),
            Self::Text(form) if (form.holds)(text) => Ok(()),
            Self::Text(form) if form.shown => Err(format!("{} is not of this form", quoted(text))),
            Self::Text(_) => Err("this is not of the form".to_owned()),
            Self::Number { .. } | Self::Flag | Self::Version(_) | Self::List { .. } => {
                Err("a string stands here".to_owned())
            }
        }
    }

    fn take_number(&self, number: &DeInteger<'_>) -> Result<u32, String> {
        let read = u32::from_str_radix(number.as_str(), number.radix()).ok();
        let shown = || number.to_string().chars().take(30).collect::<String>();
        match (self, read) {
            (Self::Number { min, max }, Some(n)) if (*min..=*max).contains(&n) => Ok(n),
            (Self::Number { .. }, _) => Err(format!("{} is out of range", shown())),
            (Self::Version(known), Some(n)) if n == *known => Ok(n),
            (Self::Version(known), Some(n)) if n > *known => {
                Err(format!("this file is of the newer version {n}, and this program knows version {known}"))
            }
            (Self::Version(_), _) => Err(format!("there is no version {}", shown())),
            _ => Err("an integer stands here".to_owned()),
        }
    }

    /// Checks one value; `None` if it is wrong, which `problems` then says. Of a list, the items that hold are kept.
    pub fn take(
        &self,
        key: &str,
        value: &Spanned<DeValue<'_>>,
        lines: &Lines,
        problems: &mut Problems,
    ) -> Option<Leaf> {
        let line = lines.of(value.span().start);
        let taken = match (self, value.get_ref()) {
            (Self::List { of, max }, DeValue::Array(items)) if items.len() <= *max => {
                let items = items.iter().enumerate();
                let taken = items.map(|(n, item)| of.take(&format!("{key}[{n}]"), item, lines, problems));
                let taken: Vec<_> = taken.collect();
                let whole = taken.iter().all(Option::is_some);
                return Some(Leaf { line, value: Value::List(taken.into_iter().flatten().collect()), whole });
            }
            (Self::List { .. }, DeValue::Array(items)) => Err(format!("{} stand here", items.len())),
            (_, DeValue::String(text)) => self.take_text(text).map(|()| Value::Text(text.to_string())),
            (Self::Flag, DeValue::Boolean(flag)) => Ok(Value::Flag(*flag)),
            (_, DeValue::Integer(number)) => self.take_number(number).map(Value::Number),
            (_, other) => Err(format!("{} stands here", type_of(other))),
        };
        match taken {
            Ok(value) => Some(Leaf { line, value, whole: true }),
            Err(what) => {
                problems.add(line, key, what, self.valid());
                None
            }
        }
    }
}

/// A value's type with its article.
#[must_use]
pub const fn type_of(value: &DeValue<'_>) -> &'static str {
    match value {
        DeValue::String(_) => "a string",
        DeValue::Integer(_) => "an integer",
        DeValue::Float(_) => "a float",
        DeValue::Boolean(_) => "a boolean",
        DeValue::Datetime(_) => "a date",
        DeValue::Array(_) => "an array",
        DeValue::Table(_) => "a table",
    }
}
