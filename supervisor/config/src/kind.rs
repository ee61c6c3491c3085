//! The values of a key: type, range and default, and the check of one value against them.

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
        /// The smallest.
        min: u32,
        /// The largest.
        max: u32,
    },
    /// A number from 0 with at most six digits after the point; stored as whole millionths, so that sums of money are exact.
    Decimal {
        /// The largest.
        max: u32,
    },
    /// `true` or `false`.
    Flag,
    /// The version of the file's format: this one and no other.
    Version(u32),
    /// One of these words.
    Word(&'static [&'static str]),
    /// Text of a form.
    Text(&'static Form),
    /// A list.
    List {
        /// The kind of each item.
        of: &'static Self,
        /// The most items.
        max: usize,
    },
}

/// The default of a key that is not in the file.
#[derive(Clone, Copy, Debug)]
pub enum Preset {
    /// None: the key is required.
    Required,
    /// None, which has a meaning of its own.
    Nothing,
    /// This number.
    Number(u32),
    /// This many millionths.
    Millionths(u64),
    /// This flag.
    Flag(bool),
    /// This text.
    Text(&'static str),
    /// This list of texts.
    List(&'static [&'static str]),
}

impl Preset {
    /// The default as the section of a process has it.
    #[must_use]
    pub fn json(&self) -> Json {
        match self {
            Self::Required | Self::Nothing => Json::Null,
            Self::Number(number) => Json::from(*number),
            Self::Millionths(millionths) => Json::from(*millionths),
            Self::Flag(flag) => Json::from(*flag),
            Self::Text(text) => Json::from(*text),
            Self::List(items) => items.iter().map(|item| Json::from(*item)).collect(),
        }
    }

    /// The default as TOML, as the reference shows it.
    #[must_use]
    pub fn toml(&self) -> String {
        match self {
            Self::Required => "required".to_owned(),
            Self::Nothing => "none".to_owned(),
            Self::Number(number) => number.to_string(),
            Self::Millionths(millionths) => decimal(*millionths),
            Self::Flag(flag) => flag.to_string(),
            Self::Text(text) => Json::from(*text).to_string(),
            Self::List(items) => {
                format!("[{}]", listed(items.iter().map(|item| Json::from(*item).to_string())))
            }
        }
    }
}

impl Kind {
    /// The valid values, for people.
    #[must_use]
    pub fn valid(&self) -> String {
        match self {
            Self::Number { min, max } => format!("a whole number from {min} to {max}"),
            Self::Decimal { max } => {
                format!("a number from 0 to {max}, with at most six digits after the point")
            }
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

    /// Checks that `text` is one of the words or of the form.
    ///
    /// # Errors
    /// The error for people.
    pub fn take_text(&self, text: &str) -> Result<(), String> {
        match self {
            Self::Word(words) if words.contains(&text) => Ok(()),
            Self::Word(words) => Err(format!("{} is unknown{}", quoted(text), nearest(text, words))),
            Self::Text(form) if (form.holds)(text) => Ok(()),
            Self::Text(form) if form.shown => Err(format!("{} is not of this form", quoted(text))),
            Self::Text(_) => Err("this is not of the form".to_owned()),
            Self::Number { .. }
            | Self::Decimal { .. }
            | Self::Flag
            | Self::Version(_)
            | Self::List { .. } => Err("found a string".to_owned()),
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
            _ => Err("found an integer".to_owned()),
        }
    }

    fn take_decimal(&self, text: &str) -> Result<u64, String> {
        let Self::Decimal { max } = self else { return Err("found a float".to_owned()) };
        let shown = || text.chars().take(30).collect::<String>();
        let most = u64::from(*max).saturating_mul(MILLION);
        let millionths = millionths(text).ok_or_else(|| format!("{} is not of this form", shown()))?;
        if millionths <= most { Ok(millionths) } else { Err(format!("{} is out of range", shown())) }
    }

    /// Checks one value; reports it to `problems` and returns `None` if it is wrong. In a list, the valid items are kept.
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
            (Self::List { .. }, DeValue::Array(items)) => Err(format!("found {}", items.len())),
            (_, DeValue::String(text)) => self.take_text(text).map(|()| Value::Text(text.to_string())),
            (Self::Flag, DeValue::Boolean(flag)) => Ok(Value::Flag(*flag)),
            (Self::Decimal { .. }, DeValue::Integer(number)) if number.radix() == 10 => {
                self.take_decimal(number.as_str()).map(Value::Millionths)
            }
            (Self::Decimal { .. }, DeValue::Float(number)) => {
                self.take_decimal(number.as_str()).map(Value::Millionths)
            }
            (_, DeValue::Integer(number)) => self.take_number(number).map(Value::Number),
            (_, other) => Err(format!("found {}", type_of(other))),
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

/// Millionths in one.
const MILLION: u64 = 1_000_000;

/// The millionths of the number in `text`; `None` for a sign, an exponent or a seventh digit after the point.
#[must_use]
pub fn millionths(text: &str) -> Option<u64> {
    let (whole, part) = text.split_once('.').unwrap_or((text, "0"));
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    if !digits(whole) || !digits(part) || part.len() > 6 {
        return None;
    }
    let part: u64 = format!("{part:0<6}").parse().ok()?;
    whole.parse::<u64>().ok()?.checked_mul(MILLION)?.checked_add(part)
}

/// The text that [`millionths`] reads, without trailing zeros.
#[must_use]
pub fn decimal(millionths: u64) -> String {
    let text = format!("{}.{:06}", millionths / MILLION, millionths % MILLION);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_decimal_is_read_to_its_last_digit_and_written_back_the_same() {
        for (text, read) in
            [("0", 0), ("2.5", 2_500_000), ("0.000001", 1), ("12", 12_000_000), ("0.8", 800_000)]
        {
            assert_eq!(millionths(text), Some(read), "{text}");
            assert_eq!(decimal(read), text);
        }
        for text in ["", ".", "1.", ".5", "-1", "+1", "1e3", "inf", "nan", "0.0000001", "1.2.3", "1_0"] {
            assert_eq!(millionths(text), None, "{text}");
        }
        assert_eq!(millionths("99999999999999999999"), None);
    }

    #[test]
    fn a_decimal_beyond_its_bound_is_refused() {
        let kind = Kind::Decimal { max: 1 };
        assert_eq!(kind.take_decimal("1"), Ok(1_000_000));
        assert!(kind.take_decimal("1.000001").is_err() && kind.take_decimal("x").is_err());
        assert!(Kind::Flag.take_decimal("1.5").is_err());
    }
}
