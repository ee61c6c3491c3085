//! Keys of `cordon.toml`, each declared once: as a field of the section that its process reads. The field's comment is the
//! sentence that the reference and the manual page show.

use manifest::Process;
use std::ops::RangeInclusive;

/// One key.
#[derive(Clone, Copy, Debug)]
pub struct Key {
    /// Its path, such as `curator.attempts`.
    pub path: &'static str,
    /// The valid values and the default.
    pub rule: Rule,
    /// The processes that get it.
    pub seen_by: &'static [Process],
    /// Its meaning, with a blank at the beginning.
    pub means: &'static str,
}

/// The valid values of a key, and its default.
#[derive(Clone, Copy, Debug)]
pub enum Rule {
    /// A whole number.
    Number {
        /// The smallest.
        min: u32,
        /// The largest.
        max: u32,
        /// The default.
        default: u32,
    },
    /// A number from 0 with at most six digits after the point; the field holds millionths.
    Decimal {
        /// The largest.
        max: u32,
        /// The default, in millionths.
        default: u32,
    },
    /// `true` or `false`.
    Flag {
        /// The default.
        default: bool,
    },
    /// Text of this form, by its name in `supervisor/config/src/keys.rs`; none by default.
    Text {
        /// The form.
        form: &'static str,
    },
    /// A list of texts of this form; empty by default.
    Texts {
        /// The form.
        form: &'static str,
        /// The most items.
        max: usize,
    },
}

/// A whole number within `range`.
pub(crate) const fn number(range: RangeInclusive<u32>, default: u32) -> Rule {
    Rule::Number { min: *range.start(), max: *range.end(), default }
}

/// A number from 0 to `max`; the default is in millionths.
pub(crate) const fn decimal(max: u32, default: u32) -> Rule {
    Rule::Decimal { max, default }
}

/// `true` or `false`.
pub(crate) const fn flag(default: bool) -> Rule {
    Rule::Flag { default }
}

/// Text of a form, or nothing.
pub(crate) const fn text(form: &'static str) -> Rule {
    Rule::Text { form }
}

/// At most `max` texts of a form.
pub(crate) const fn texts(form: &'static str, max: usize) -> Rule {
    Rule::Texts { form, max }
}

/// The value of a field by its rule's default.
pub(crate) trait ByDefault {
    /// The default.
    fn by_default(rule: Rule) -> Self;
}

impl ByDefault for bool {
    fn by_default(rule: Rule) -> Self {
        matches!(rule, Rule::Flag { default: true })
    }
}

impl ByDefault for u32 {
    fn by_default(rule: Rule) -> Self {
        match rule {
            Rule::Number { default, .. } | Rule::Decimal { default, .. } => default,
            Rule::Flag { .. } | Rule::Text { .. } | Rule::Texts { .. } => 0,
        }
    }
}

impl ByDefault for u16 {
    fn by_default(rule: Rule) -> Self {
        Self::try_from(u32::by_default(rule)).unwrap_or(Self::MAX)
    }
}

impl ByDefault for u8 {
    fn by_default(rule: Rule) -> Self {
        Self::try_from(u32::by_default(rule)).unwrap_or(Self::MAX)
    }
}

impl ByDefault for Option<String> {
    fn by_default(_: Rule) -> Self {
        None
    }
}

impl ByDefault for Vec<String> {
    fn by_default(_: Rule) -> Self {
        Self::new()
    }
}

/// A section whose fields are keys.
pub trait Keyed {
    /// The table of the file.
    const TABLE: &'static str;
    /// Its keys, in the order of the reference.
    const KEYS: &'static [Key];
}

/// Declares a section: its table, the processes that read it, and a field for each key with its rule. A process in brackets reads
/// that key besides. Fields after `..` are no keys: the configuration child works them out of other keys.
macro_rules! section {
    (
        $(#[$outer:meta])*
        pub struct $name:ident in $table:literal, read by $processes:tt {
            $( $(#[doc = $means:literal])+ $key:ident: $type:ty $([$also:ident])? = $rule:expr, )+
            $( .. $( $(#[$inner:meta])* $field:ident: $other:ty, )+ )?
        }
    ) => {
        $(#[$outer])*
        #[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
        #[serde(deny_unknown_fields)]
        pub struct $name {
            $( $(#[doc = $means])+ pub $key: $type, )+
            $( $( $(#[$inner])* #[serde(default)] pub $field: $other, )+ )?
        }

        impl Default for $name {
            /// The section of a host whose file does not name its keys.
            fn default() -> Self {
                Self {
                    $( $key: $crate::config::key::ByDefault::by_default($rule), )+
                    $( $( $field: Default::default(), )+ )?
                }
            }
        }

        impl $crate::config::Keyed for $name {
            const TABLE: &'static str = $table;
            const KEYS: &'static [$crate::config::Key] = &[
                $( $crate::config::Key {
                    path: concat!($table, ".", stringify!($key)),
                    rule: $rule,
                    seen_by: $crate::config::key::readers!($($also)?; $processes),
                    means: concat!($($means),+),
                }, )+
            ];
        }
    };
}

/// The readers of a key: one that reads this key alone, and those of the section.
macro_rules! readers {
    ($($also:ident)?; [$($process:ident),+]) => {
        &[$(manifest::Process::$also,)? $(manifest::Process::$process),+]
    };
}

pub(crate) use {readers, section};
