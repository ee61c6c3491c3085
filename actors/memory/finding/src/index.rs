//! The rows of one scope as finding sees them: which terms each holds, who said it, in which session, when, and of which
//! times it speaks. No text is kept. Rows come in the order of their places in the store and may leave in any.

use crate::dates::{self, Day, Span};
use crate::postings::{MOST_ROWS, Postings};
use crate::vector::{Code, Vector};
use crate::words::{Lexicon, Word, words};
use std::collections::HashMap;
use std::sync::Arc;

/// What a row and its code weigh, and a time that it speaks of.
const OF_ROW: usize = (size_of::<Kept>() + size_of::<Code>()) / 4;
const OF_TIME: usize = size_of::<(u32, Span)>() / 4;
/// Words of one row that it is found by.
const MOST_WORDS: usize = 4096;
/// Times of one row that it is found by.
const MOST_TIMES: usize = 16;
/// A span of more days than this says too little of when.
const WIDEST: Day = 62;

/// A row, as it is given.
#[derive(Clone, Copy, Debug)]
pub struct Turn<'a> {
    /// Its place in the store: greater than that of every row before.
    pub n: i64,
    /// The session it is of, if of any; rows of one are each other's neighbours.
    pub session: Option<[u8; 16]>,
    /// When it was said, unix ms.
    pub time_ms: u64,
    /// Words to find it by, such as who said it.
    pub tags: &'a [&'a str],
    /// What was said.
    pub text: &'a str,
}

/// Stands for a session or a row where there is none; no row has this number.
const NONE: u32 = u32::MAX;

/// A row, as it is kept: 32 bytes, since there may be a million.
#[derive(Clone, Debug)]
pub(crate) struct Kept {
    pub(crate) n: i64,
    pub(crate) time_ms: u64,
    session: u32,
    before: u32,
    after: u32,
    pub(crate) words: u16,
    pub(crate) holds: Holds,
}

impl Kept {
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

    /// Whether it was taken out.
    pub(crate) const fn gone(&self) -> bool {
        self.holds.has(Holds::GONE)
    }
}

fn some(number: u32) -> Option<u32> {
    (number != NONE).then_some(number)
}

/// What a row's text holds, a bit each.
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
    const GONE: Self = Self(16);

    /// Whether it holds what the other does.
    pub(crate) const fn has(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

/// A session: its last row, and the tags of its rows with how many rows have each.
#[derive(Debug, Default)]
pub(crate) struct Session {
    last: Option<u32>,
    tags: Vec<(String, u32)>,
}

impl Session {
    /// Whether a row of it has the tag.
    pub(crate) fn has(&self, tag: &str) -> bool {
        self.tags.iter().any(|(of, rows)| of == tag && *rows > 0)
    }

    fn count(&mut self, tag: String) {
        match self.tags.iter_mut().find(|(of, _)| *of == tag) {
            Some((_, rows)) => *rows += 1,
            None => self.tags.push((tag, 1)),
        }
    }

    fn uncount(&mut self, tag: &str) {
        if let Some((_, rows)) = self.tags.iter_mut().find(|(of, _)| of == tag) {
            *rows = rows.saturating_sub(1);
        }
    }
}

/// The rows of one scope.
#[derive(Debug)]
pub struct Index {
    pub(crate) lexicon: Arc<Lexicon>,
    pub(crate) rows: Vec<Kept>,
    /// The code of each row, in one array: a first pass by meaning reads all of them.
    pub(crate) codes: Vec<Code>,
    pub(crate) terms: Postings,
    pub(crate) tags: Postings,
    pub(crate) sessions: Vec<Session>,
    pub(crate) times: Vec<(u32, Span)>,
    numbers: HashMap<[u8; 16], u32>,
    live: usize,
    said: usize,
}

impl Index {
    /// Of no rows yet.
    #[must_use]
    pub fn new(lexicon: Arc<Lexicon>) -> Self {
        Self {
            lexicon,
            rows: Vec::new(),
            codes: Vec::new(),
            terms: Postings::default(),
            tags: Postings::default(),
            sessions: Vec::new(),
            times: Vec::new(),
            numbers: HashMap::new(),
            live: 0,
            said: 0,
        }
    }

    /// What is known of words.
    #[must_use]
    pub fn lexicon(&self) -> &Lexicon {
        &self.lexicon
    }

    /// How many rows there are.
    #[must_use]
    pub const fn rows(&self) -> usize {
        self.live
    }

    /// What it weighs, in four bytes: pairs of a term and a row have one each, rows and terms several.
    #[must_use]
    pub fn weight(&self) -> usize {
        let rows = self.rows.len() * OF_ROW + self.times.len() * OF_TIME;
        self.terms.weight() + self.tags.weight() + rows
    }

    /// Words of a row on average, at least 1.
    pub(crate) fn average(&self) -> f32 {
        (self.said as f32 / self.live.max(1) as f32).max(1.0)
    }

    /// Adds a row. One that is not behind all others, or one too many, is left out: it is then not found by words.
    pub fn add(&mut self, turn: Turn<'_>) {
        let in_order = self.rows.last().is_none_or(|last| last.n < turn.n);
        let Some(row) = u32::try_from(self.rows.len()).ok().filter(|_| self.rows.len() < MOST_ROWS) else {
            return;
        };
        if !in_order {
            return;
        }
        let said = words(turn.text);
        let terms = self.lexicon.terms(&said);
        for (term, often) in counted(&terms) {
            self.terms.add(term, row, often);
        }
        let tags = self.tag_terms(turn.tags);
        tags.iter().for_each(|tag| self.tags.add(tag, row, 1));
        let session = turn.session.map(|session| self.number(session));
        let before = session.and_then(|session| self.joined(session, row, tags));
        let times = self.spoken_of(&said, row, dates::day_of(turn.time_ms));
        let kept = Kept {
            n: turn.n,
            time_ms: turn.time_ms,
            session: session.unwrap_or(NONE),
            before: before.unwrap_or(NONE),
            after: NONE,
            words: u16::try_from(said.len()).unwrap_or(u16::MAX),
            holds: holds(turn.text, &said, times),
        };
        push(&mut self.rows, kept);
        let vector = Vector::of_words(&said, &terms, &self.lexicon, |_| 1.0, 0.0);
        push(&mut self.codes, vector.code());
        self.live += 1;
        self.said += said.len();
    }

    /// Takes a row out again, given as it was added.
    pub fn remove(&mut self, turn: Turn<'_>) {
        let Some(at) = self.place(turn.n) else { return };
        let Ok(row) = u32::try_from(at) else { return };
        let said = words(turn.text);
        for (term, _) in counted(&self.lexicon.terms(&said)) {
            self.terms.remove(term, row);
        }
        let session = self.rows.get(at).and_then(Kept::session);
        for tag in self.tag_terms(turn.tags) {
            self.tags.remove(&tag, row);
            if let Some(session) = session.and_then(|session| self.sessions.get_mut(session)) {
                session.uncount(&tag);
            }
        }
        self.times.retain(|(of, _)| *of != row);
        self.unlink(at);
        self.live -= 1;
        self.said -= said.len();
        // The store may give the last place again.
        while self.rows.last().is_some_and(Kept::gone) {
            self.rows.pop();
            self.codes.pop();
        }
    }

    /// Where a row is that is there.
    pub(crate) fn place(&self, n: i64) -> Option<usize> {
        let at = self.rows.binary_search_by_key(&n, |row| row.n).ok()?;
        self.rows.get(at).filter(|row| !row.gone()).map(|_| at)
    }

    /// How alike two rows are, from 0 to 1.
    #[must_use]
    pub fn alike(&self, one: i64, other: i64) -> f32 {
        let code = |n| self.place(n).and_then(|at| self.codes.get(at));
        code(one).zip(code(other)).map_or(0.0, |(one, other)| one.likeness(other))
    }

    fn tag_terms(&self, tags: &[&str]) -> Vec<String> {
        let words = tags.iter().flat_map(|tag| words(tag));
        let words = words.filter(|word| !self.lexicon.is_common(&word.plain));
        let mut terms: Vec<String> = words.map(|word| self.lexicon.term(&word.plain)).collect();
        terms.sort_unstable();
        terms.dedup();
        terms
    }

    fn number(&mut self, session: [u8; 16]) -> u32 {
        let next = u32::try_from(self.sessions.len()).unwrap_or(u32::MAX);
        let number = *self.numbers.entry(session).or_insert(next);
        if number == next {
            self.sessions.push(Session::default());
        }
        number
    }

    /// Makes a row the last of its session; gives the one before.
    fn joined(&mut self, session: u32, row: u32, tags: Vec<String>) -> Option<u32> {
        let session = self.sessions.get_mut(session as usize)?;
        tags.into_iter().for_each(|tag| session.count(tag));
        let before = session.last.replace(row)?;
        self.rows.get_mut(before as usize)?.after = row;
        Some(before)
    }

    /// Keeps the times that a row speaks of; whether there are any.
    fn spoken_of(&mut self, said: &[Word], row: u32, day: Day) -> bool {
        let spans = dates::spans(said, day);
        let narrow = spans.iter().filter(|span| span.days() <= WIDEST).take(MOST_TIMES);
        self.times.extend(narrow.map(|span| (row, *span)));
        !spans.is_empty()
    }

    /// Makes a row's neighbours each other's.
    fn unlink(&mut self, at: usize) {
        let Some(row) = self.rows.get_mut(at) else { return };
        row.holds = row.holds.with(Holds::GONE);
        let (before, after, session) = (row.before(), row.after(), row.session());
        if let Some(row) = before.and_then(|before| self.rows.get_mut(before as usize)) {
            row.after = after.unwrap_or(NONE);
        }
        if let Some(row) = after.and_then(|after| self.rows.get_mut(after as usize)) {
            row.before = before.unwrap_or(NONE);
        } else if let Some(session) = session.and_then(|session| self.sessions.get_mut(session)) {
            session.last = before;
        }
    }
}

/// Appends to a list that is long: it grows by an eighth, not to double its size.
fn push<T>(list: &mut Vec<T>, item: T) {
    if list.len() == list.capacity() {
        list.reserve_exact(list.len() / 8 + 16);
    }
    list.push(item);
}

/// Each of the first terms, and how often it is there.
fn counted(terms: &[String]) -> Vec<(&str, usize)> {
    let mut sorted: Vec<&str> = terms.iter().take(MOST_WORDS).map(String::as_str).collect();
    sorted.sort_unstable();
    let alike = sorted.chunk_by(|one, other| one == other);
    alike.filter_map(|alike| Some((*alike.first()?, alike.len()))).collect()
}

fn holds(text: &str, said: &[Word], times: bool) -> Holds {
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
    let signs = [
        (times || said.iter().any(of_time), Holds::TIME),
        (said.iter().any(many), Holds::NUMBER),
        (said.iter().any(|word| word.named), Holds::NAME),
        (text.trim_end().ends_with('?'), Holds::QUESTION),
    ];
    let held = signs.into_iter().filter(|(holds, _)| *holds);
    held.fold(Holds::default(), |all, (_, sign)| all.with(sign))
}
