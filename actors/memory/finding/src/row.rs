//! A row and a session as the index stores them: numbers and a few bits, no text. Data; the index changes it.

use crate::cjk;
use crate::dates::{self, Day};
use crate::word::Word;

/// Stands for a session or a row where there is none; no row has this number.
pub(crate) const NONE: u32 = u32::MAX;

/// A row, as it is kept: 32 bytes, since there may be a million.
#[derive(Clone, Debug)]
pub(crate) struct StoredRow {
    pub(crate) n: i64,
    pub(crate) time_ms: u64,
    pub(crate) session: u32,
    pub(crate) before: u32,
    pub(crate) after: u32,
    pub(crate) words: u16,
    pub(crate) holds: Holds,
}

impl StoredRow {
    /// When it was said.
    pub(crate) fn day(&self) -> Day {
        dates::day_of(self.time_ms)
    }

    /// The number of its session.
    pub(crate) fn session(&self) -> Option<usize> {
        some(self.session).map(|session| session as usize)
    }

    /// The row before it in its session.
    pub(crate) fn before(&self) -> Option<u32> {
        some(self.before)
    }

    /// The row after it in its session.
    pub(crate) fn after(&self) -> Option<u32> {
        some(self.after)
    }

    /// Returns whether it was taken out.
    pub(crate) const fn gone(&self) -> bool {
        self.holds.has(Holds::GONE)
    }
}

fn some(number: u32) -> Option<u32> {
    (number != NONE).then_some(number)
}

/// The properties of a row's text, a bit each.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Holds(u8);

impl Holds {
    /// A time, a number, a name.
    pub(crate) const TIME: Self = Self(1);
    pub(crate) const NUMBER: Self = Self(2);
    pub(crate) const NAME: Self = Self(4);
    /// It asks rather than tells.
    pub(crate) const QUESTION: Self = Self(8);
    /// The row was taken out.
    pub(crate) const GONE: Self = Self(16);

    /// Returns true if it has all properties of the other.
    pub(crate) const fn has(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    /// The properties that either has.
    pub(crate) const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

/// A session: its last row, and the tags of its rows by their numbers, with how many rows have each.
#[derive(Debug, Default)]
pub(crate) struct Session {
    pub(crate) last: Option<u32>,
    tags: Vec<(u32, u32)>,
}

impl Session {
    /// Returns whether a row of it has the tag.
    pub(crate) fn has(&self, tag: u32) -> bool {
        self.tags.iter().any(|(of, _)| *of == tag)
    }

    /// Counts a row with the tag in.
    pub(crate) fn count(&mut self, tag: u32) {
        match self.tags.iter_mut().find(|(of, _)| *of == tag) {
            Some((_, rows)) => *rows += 1,
            None => self.tags.push((tag, 1)),
        }
    }

    /// Counts a row with the tag out. One that no row has is forgotten: its number may become that of another tag.
    pub(crate) fn uncount(&mut self, tag: u32) {
        for (_, rows) in self.tags.iter_mut().filter(|(of, _)| *of == tag) {
            *rows = rows.saturating_sub(1);
        }
        self.tags.retain(|(_, rows)| *rows > 0);
    }
}

/// The properties of a text, with or without the times it names.
pub(crate) fn holds(text: &str, said: &[Word], times: bool) -> Holds {
    let of_time = |word: &Word| {
        matches!(
            word.plain.as_str(),
            "morning" | "evening" | "afternoon" | "week" | "month" | "year" | "since" | "ago"
        )
    };
    let many = |word: &Word| {
        let plain = word.plain.as_str();
        plain.starts_with(|c: char| c.is_ascii_digit())
            || !matches!(plain, "a" | "an") && dates::count(plain).is_some()
            || matches!(plain, "once" | "twice" | "half" | "dozen" | "hundred" | "thousand" | "million")
            || plain.ends_with("teen")
            || matches!(
                plain,
                "twenty" | "thirty" | "forty" | "fifty" | "sixty" | "seventy" | "eighty" | "ninety"
            )
    };
    let (of_day, number) = cjk::holds(text);
    let signs = [
        (times || of_day || said.iter().any(of_time), Holds::TIME),
        (number || said.iter().any(many), Holds::NUMBER),
        (said.iter().any(|word| word.named), Holds::NAME),
        (text.trim_end().ends_with(['?', '？', '؟']), Holds::QUESTION),
    ];
    let held = signs.into_iter().filter(|(holds, _)| *holds);
    held.fold(Holds::default(), |all, (_, sign)| all.with(sign))
}
