//! The rows of one scope as an index: the terms of each, its speaker, its session, its time, and the times it names. It
//! stores no text. Rows come in the order of their places in the store and may leave in any.

use crate::dates::{self, Day, Span};
use crate::lexicon::{Lexicon, words};
use crate::meaning::{Meant, Signs};
use crate::postings::{LEFT, MOST_ROWS, Postings};
use crate::row::{Holds, NONE, Session, StoredRow, holds};
use crate::spellings::Spelling;
use crate::vector::Code;
use crate::word::Word;
use std::collections::HashMap;
use std::sync::Arc;

/// Bytes of a row and its code, of a time that it speaks of, and of a session.
const OF_ROW: usize = size_of::<StoredRow>() + size_of::<Code>();
const OF_TIME: usize = size_of::<(u32, Span)>();
const OF_SESSION: usize = 128;
/// Rows that may have left before those that are there are numbered anew, beside a quarter of them.
const LEFT_LEAST: usize = 1024;
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
    /// The row's text.
    pub text: &'a str,
}

/// The rows of one scope.
#[derive(Debug)]
pub struct Index {
    pub(crate) lexicon: Arc<Lexicon>,
    pub(crate) rows: Vec<StoredRow>,
    /// The code of each row, in one array: a first pass by meaning reads all of them.
    pub(crate) codes: Vec<Code>,
    /// The same of the vectors that an embedder made.
    pub(crate) meant: Meant,
    pub(crate) terms: Postings,
    pub(crate) tags: Postings,
    pub(crate) sessions: Vec<Session>,
    pub(crate) times: Vec<(u32, Span)>,
    numbers: HashMap<[u8; 16], u32>,
    /// How many rows are there; those that left stay in the lists for a while.
    live: usize,
    said: usize,
}

impl Index {
    /// An index without rows.
    #[must_use]
    pub fn new(lexicon: Arc<Lexicon>) -> Self {
        Self {
            lexicon,
            rows: Vec::new(),
            codes: Vec::new(),
            meant: Meant::default(),
            terms: Postings::default(),
            tags: Postings::default(),
            sessions: Vec::new(),
            times: Vec::new(),
            numbers: HashMap::new(),
            live: 0,
            said: 0,
        }
    }

    /// The lexicon.
    #[must_use]
    pub fn lexicon(&self) -> &Lexicon {
        &self.lexicon
    }

    /// How many rows there are.
    #[must_use]
    pub const fn rows(&self) -> usize {
        self.live
    }

    /// Bytes that it takes, near enough.
    #[must_use]
    pub fn weight(&self) -> usize {
        let rows = self.rows.len() * OF_ROW + self.times.len() * OF_TIME + self.sessions.len() * OF_SESSION;
        self.terms.weight() + self.tags.weight() + self.meant.weight() + rows
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
        self.said += said.len();
        self.live += 1;
        let code = self.held(&said, row);
        push(&mut self.codes, code);
        let tags = self.tag_terms(turn.tags);
        let tags: Vec<u32> = tags.iter().map(|tag| self.tags.add(tag, row, 1)).collect();
        let session = turn.session.map(|session| self.number(session));
        let before = session.and_then(|session| self.joined(session, row, &tags));
        let times = self.spoken_of(&said, row, dates::day_of(turn.time_ms));
        let kept = StoredRow {
            n: turn.n,
            time_ms: turn.time_ms,
            session: session.unwrap_or(NONE),
            before: before.unwrap_or(NONE),
            after: NONE,
            words: u16::try_from(said.len()).unwrap_or(u16::MAX),
            holds: holds(turn.text, &said, times),
        };
        push(&mut self.rows, kept);
    }

    /// Keeps which terms a row holds; gives its code.
    fn held(&mut self, said: &[Word], row: u32) -> Code {
        let lexicon = Arc::clone(&self.lexicon);
        let mut known = lexicon.known();
        let known = known.of(said.get(..MOST_WORDS).unwrap_or(said), &lexicon);
        for (term, often) in counted(&known) {
            self.terms.add(term, row, often);
        }
        Code::of(&known)
    }

    /// Takes a row out again, given as it was added.
    pub fn remove(&mut self, turn: Turn<'_>) {
        let Some(at) = self.place(turn.n) else { return };
        let said = words(turn.text);
        let lexicon = Arc::clone(&self.lexicon);
        for (term, _) in counted(&lexicon.known().of(said.get(..MOST_WORDS).unwrap_or(&said), &lexicon)) {
            self.terms.left(term);
        }
        let session = self.rows.get(at).and_then(StoredRow::session);
        for tag in self.tag_terms(turn.tags) {
            let number = self.tags.left(&tag);
            let session = session.and_then(|session| self.sessions.get_mut(session));
            session.zip(number).into_iter().for_each(|(session, number)| session.uncount(number));
        }
        self.unlink(at);
        self.live -= 1;
        self.said = self.said.saturating_sub(said.len());
        self.sink();
        if self.rows.len() - self.live > self.live / 4 + LEFT_LEAST {
            self.renumber();
        }
    }

    /// Has the last rows, where they have left, stand at the place of the last that is there: the store may give the
    /// places behind it again.
    fn sink(&mut self) {
        let last = self.rows.iter().rposition(|row| !row.gone());
        let n = last.and_then(|last| self.rows.get(last)).map_or(i64::MIN, |last| last.n);
        let behind = self.rows.iter_mut().rev().take_while(|row| row.gone());
        behind.for_each(|row| row.n = n);
    }

    /// Numbers the present rows anew and drops the others.
    pub(crate) fn renumber(&mut self) {
        let mut next = 0_u32;
        let numbers: Vec<u32> = self
            .rows
            .iter()
            .map(|row| {
                let number = if row.gone() { LEFT } else { next };
                next += u32::from(!row.gone());
                number
            })
            .collect();
        self.meant.retain(|row| numbers.get(row).is_some_and(|number| *number != LEFT));
        let anew = |old: u32| numbers.get(old as usize).copied().unwrap_or(NONE);
        let mut gone = self.rows.iter().map(StoredRow::gone);
        self.codes.retain(|_| !gone.next().unwrap_or(false));
        self.times.retain_mut(|(row, _)| {
            *row = anew(*row);
            *row != LEFT
        });
        self.rows.retain_mut(|row| {
            (row.before, row.after) = (anew(row.before), anew(row.after));
            !row.gone()
        });
        for session in &mut self.sessions {
            session.last = session.last.map(anew);
        }
        self.terms.renumber(&numbers);
        self.tags.renumber(&numbers);
        self.rows.shrink_to_fit();
        self.codes.shrink_to_fit();
    }

    /// Keeps the signs of the vector that an embedder made of a row that is there.
    pub fn mean(&mut self, n: i64, signs: &Signs) {
        if let Some(at) = self.place(n) {
            self.meant.put(at, signs);
        }
    }

    /// Where a row is that is there.
    pub(crate) fn place(&self, n: i64) -> Option<usize> {
        // The first row of those at one place is the one that may be there.
        let at = self.rows.partition_point(|row| row.n < n);
        self.rows.get(at).filter(|row| row.n == n && !row.gone()).map(|_| at)
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
    fn joined(&mut self, session: u32, row: u32, tags: &[u32]) -> Option<u32> {
        let session = self.sessions.get_mut(session as usize)?;
        tags.iter().for_each(|tag| session.count(*tag));
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

/// Each term, and how often it is there.
fn counted<'a>(words: &[&'a Spelling]) -> Vec<(&'a str, usize)> {
    let mut sorted: Vec<&str> = words.iter().map(|word| &*word.term).collect();
    sorted.sort_unstable();
    let alike = sorted.chunk_by(|one, other| one == other);
    alike.filter_map(|alike| Some((*alike.first()?, alike.len()))).collect()
}
