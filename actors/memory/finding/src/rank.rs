//! Ranking by words. A row is worth what its own terms are (BM25, kin of the question's terms at a part of their worth),
//! and a share of what the turns around it are: the answer to "where did you go?" seldom repeats the question. Who said
//! it, when, and whether it holds what would answer then raise it.
//!
//! The numbers were chosen on the conversations under `actors/memory/evaluation`, each to one digit or two: what helped on
//! one set alone was not kept.

use crate::dates::{Day, Span};
use crate::index::Index;
use crate::question::{Question, Wants};
use crate::row::{Holds, Kept};
use crate::vector::Vector;
use std::cmp::Ordering;
use std::collections::HashSet;

/// BM25: how soon a repeated term says no more, and how much a long row counts less.
const SATURATION: f32 = 0.9;
const BY_LENGTH: f32 = 0.2;
/// What a name in a text is worth where the name is a tag: who said a thing seldom names themselves.
const OF_NAME: f32 = 0.3;
/// A term that more than one in so many rows hold stands in for no other.
const TOO_COMMON: usize = 5;
/// The share of a row's worth that the turns after it get, and those before it.
const TO_LATER: [f32; 3] = [0.6, 0.55, 0.25];
const TO_EARLIER: [f32; 2] = [0.3, 0.15];
/// The share of the best of a session that each of its rows found gets.
const OF_SESSION: f32 = 0.15;
/// What it is worth to be of whom the question names, if nothing else speaks for a row.
const OF_TAG: f32 = 0.01;
/// How much more a row is worth that is of whom the question names, and one of a session with them.
const IF_NAMED: f32 = 2.0;
const IF_WITH_NAMED: f32 = 1.25;
/// What a day near one asked for is worth beside one that is spoken of, and how many days later is near.
const OF_NEAR_DAY: f32 = 0.6;
const NEAR_DAYS: Day = 7;
/// How much more a row is worth that holds what is asked for, and less one that asks itself.
const IF_ANSWERS: f32 = 1.3;
const IF_ASKS: f32 = 0.6;
/// The most that all of these raise a row by together, and a little for what rounding loses.
const MOST_RAISED: f32 = IF_NAMED * IF_ANSWERS * 1.001;
/// The part of its worth that a row shorter than the average may lose.
const IF_SHORT: f32 = 0.5;

/// Which rows may be found.
#[derive(Clone, Copy, Debug, Default)]
pub struct Limits<'a> {
    /// At most so many.
    pub most: usize,
    /// Only these places, if given.
    pub only: Option<&'a HashSet<i64>>,
    /// Only of this time or later, unix ms.
    pub since_ms: Option<u64>,
    /// Only of before this time, unix ms.
    pub until_ms: Option<u64>,
}

/// A row that was found by words, and why.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scored {
    /// Its place in the store.
    pub n: i64,
    /// What it is worth in all.
    pub score: f32,
    /// What its own terms are worth.
    pub own: f32,
    /// What the turns around it and its session lend it.
    pub around: f32,
    /// It is of whom the question names.
    pub named: bool,
    /// It speaks of a time that the question names, or is of about that time.
    pub dated: bool,
    /// It holds what would answer.
    pub answers: bool,
}

/// One number a row, most of them 0.
struct Sums {
    of: Vec<f32>,
    touched: Vec<usize>,
}

impl Sums {
    fn new(rows: usize) -> Self {
        Self { of: vec![0.0; rows], touched: Vec::new() }
    }

    fn get(&self, row: usize) -> f32 {
        self.of.get(row).copied().unwrap_or_default()
    }

    /// Makes a row's number another one of it and of `by`, which is over 0.
    fn join(&mut self, row: usize, by: f32, joined: impl FnOnce(f32, f32) -> f32) {
        if let Some(sum) = self.of.get_mut(row) {
            if *sum == 0.0 {
                self.touched.push(row);
            }
            *sum = joined(*sum, by);
        }
    }

    fn add(&mut self, row: usize, by: f32) {
        self.join(row, by, |sum, by| sum + by);
    }

    /// Gives what there is and begins anew.
    fn drain(&mut self) -> impl Iterator<Item = (usize, f32)> {
        let of = &mut self.of;
        self.touched.drain(..).map(|row| (row, of.get_mut(row).map(std::mem::take).unwrap_or_default()))
    }
}

/// What a question says of this index: which of its terms are tags, and which rows are of the times it names.
struct Asked<'a> {
    question: &'a Question,
    names: Vec<&'a str>,
    /// By row: whether it is of one whom the question names; empty if it names nobody.
    named: Vec<bool>,
    /// By session: whether one whom the question names takes part in it.
    with_named: Vec<bool>,
    /// By row; empty if it names no time.
    dated: Vec<bool>,
}

impl Index {
    /// The rows that answer best by words, best first; of equals the newest.
    #[must_use]
    pub fn by_words(&self, question: &Question, limits: &Limits<'_>) -> Vec<Scored> {
        let mut asked = self.asked(question);
        let own = self.own(&asked);
        let mut all = self.with_neighbours(&own);
        self.of_tags(&mut asked, &mut all);
        self.of_times(&mut asked, &mut all);
        let mut best = Best::of(limits.most);
        for row in all.touched.iter().copied() {
            // Most rows are touched by a common word alone and could not be among the best whatever else they hold.
            if best.may_hold(all.get(row) * MOST_RAISED)
                && self.rows.get(row).is_some_and(|row| allows(row, limits))
            {
                best.extend(self.scored(row, &asked, &own, &all));
            }
        }
        best.sorted()
    }

    fn asked<'a>(&self, question: &'a Question) -> Asked<'a> {
        let names = question.terms.iter().map(String::as_str).filter(|term| self.tags.rows(term) > 0);
        let names: Vec<&str> = names.collect();
        let numbers: Vec<u32> = names.iter().filter_map(|name| self.tags.number_of(name)).collect();
        let with_named = match numbers.is_empty() {
            true => Vec::new(),
            false => self.sessions.iter().map(|of| numbers.iter().any(|tag| of.has(*tag))).collect(),
        };
        Asked { question, names, named: Vec::new(), with_named, dated: Vec::new() }
    }

    /// The vector of a question to this index: its rare terms are worth more, and their kin are in it.
    #[must_use]
    pub fn vector(&self, question: &str) -> Vector {
        let worth = |term: &str| {
            let part = if self.tags.rows(term) > 0 { OF_NAME } else { 1.0 };
            part * self.worth(self.terms.rows(term))
        };
        Vector::of_question(question, &self.lexicon, worth)
    }

    /// What a term that so many rows hold is worth.
    fn worth(&self, rows: usize) -> f32 {
        let (all, rows) = (self.rows() as f32, rows as f32);
        ((all - rows + 0.5).max(0.0) / (rows + 0.5)).ln_1p()
    }

    /// What each row's own terms are worth. Of a term and its kin the best counts, not the sum.
    fn own(&self, asked: &Asked<'_>) -> Sums {
        let (mut own, mut best) = (Sums::new(self.rows.len()), Sums::new(self.rows.len()));
        for term in &asked.question.terms {
            let is_name = asked.names.contains(&term.as_str());
            self.term(term, if is_name { OF_NAME } else { 1.0 }, &mut best);
            if !is_name {
                for (kin, near) in self.lexicon.kin(term) {
                    if self.terms.rows(kin) * TOO_COMMON <= self.rows().max(100) {
                        self.term(kin, *near, &mut best);
                    }
                }
            }
            best.drain().for_each(|(row, worth)| own.add(row, worth));
        }
        own
    }

    fn term(&self, term: &str, part: f32, best: &mut Sums) {
        let (worth, average) = (self.worth(self.terms.rows(term)) * part, self.average());
        for (at, often) in self.terms.of(term) {
            let Some(row) = self.rows.get(at).filter(|row| !row.gone()) else { continue };
            let (words, often) = (row.words, f32::from(often));
            let length = 1.0 - BY_LENGTH + BY_LENGTH * f32::from(words) / average;
            let worth = worth * often * (SATURATION + 1.0) / (often + SATURATION * length);
            best.join(at, worth, f32::max);
        }
    }

    /// Every row's own worth, with shares of it for its neighbours and of the best for its session.
    fn with_neighbours(&self, own: &Sums) -> Sums {
        let mut all = Sums::new(self.rows.len());
        let mut sessions = vec![0.0_f32; self.sessions.len()];
        for row in own.touched.iter().copied() {
            let worth = own.get(row);
            all.add(row, worth);
            self.lend(row, worth, &TO_LATER, Kept::after, &mut all);
            self.lend(row, worth, &TO_EARLIER, Kept::before, &mut all);
            if let Some(best) = self.session(row).and_then(|session| sessions.get_mut(session)) {
                *best = best.max(worth);
            }
        }
        for at in 0..all.touched.len() {
            let row = all.touched.get(at).copied().unwrap_or_default();
            let best = self.session(row).and_then(|session| sessions.get(session)).copied();
            all.add(row, OF_SESSION * best.unwrap_or_default());
        }
        all
    }

    fn lend(&self, row: usize, worth: f32, shares: &[f32], next: fn(&Kept) -> Option<u32>, all: &mut Sums) {
        let mut at = row;
        for share in shares {
            let Some(to) = self.rows.get(at).and_then(next) else { return };
            at = to as usize;
            all.add(at, share * worth);
        }
    }

    fn session(&self, row: usize) -> Option<usize> {
        self.rows.get(row)?.session()
    }

    /// Brings in the rows of whom the question names.
    fn of_tags(&self, asked: &mut Asked<'_>, all: &mut Sums) {
        for name in &asked.names {
            asked.named.resize(self.rows.len(), false);
            for (row, _) in self.tags.of(name) {
                all.add(row, OF_TAG);
                asked.named.get_mut(row).into_iter().for_each(|named| *named = true);
            }
        }
    }

    /// Brings in the rows of the times that the question names. A time is a term like others: the rarer, the more it
    /// is worth.
    fn of_times(&self, asked: &mut Asked<'_>, all: &mut Sums) {
        for span in &asked.question.times {
            asked.dated.resize(self.rows.len(), false);
            let mut spoken = vec![false; self.rows.len()];
            for (row, _) in self.times.iter().filter(|(_, other)| other.meets(*span)) {
                spoken.get_mut(*row as usize).into_iter().for_each(|spoken| *spoken = true);
            }
            let of_row = |(row, spoken): (&Kept, &bool)| match (row.gone(), *spoken) {
                (true, _) => None,
                (false, true) => Some(true),
                (false, false) => is_near(row.day(), *span).then_some(false),
            };
            let found = || self.rows.iter().zip(&spoken).map(of_row);
            let near = found().filter(|found| *found == Some(false)).count();
            let worths = (self.worth(found().flatten().count() - near), OF_NEAR_DAY * self.worth(near));
            for (row, (found, dated)) in found().zip(&mut asked.dated).enumerate() {
                if let Some(spoken) = found {
                    all.add(row, if spoken { worths.0 } else { worths.1 });
                    *dated = true;
                }
            }
        }
    }

    /// What a row is worth in all.
    fn scored(&self, at: usize, asked: &Asked<'_>, own: &Sums, all: &Sums) -> Option<Scored> {
        let row = self.rows.get(at)?;
        let (own, sum) = (own.get(at), all.get(at));
        let named = asked.named.get(at).copied().unwrap_or_default();
        let with_named = row.session().and_then(|session| asked.with_named.get(session)).copied();
        let wanted = match asked.question.wants {
            Wants::Time => Holds::TIME,
            Wants::Number => Holds::NUMBER,
            Wants::Name => Holds::NAME,
            Wants::Anything => Holds::default(),
        };
        let asks = row.holds.has(Holds::QUESTION);
        let answers = row.holds.has(wanted) && !asks;
        let short = (f32::from(row.words) / self.average()).min(1.0);
        let by_who = if named {
            IF_NAMED
        } else if with_named.unwrap_or_default() {
            IF_WITH_NAMED
        } else {
            1.0
        };
        let by_what = if answers { IF_ANSWERS } else { 1.0 } * if asks { IF_ASKS } else { 1.0 };
        let score = sum * by_who * by_what * (1.0 - IF_SHORT + IF_SHORT * short);
        Some(Scored {
            n: row.n,
            score,
            own,
            around: sum - own,
            named,
            dated: asked.dated.get(at).copied().unwrap_or_default(),
            answers,
        })
    }
}

/// Whether a row is there and may be found.
pub(crate) fn allows(row: &Kept, limits: &Limits<'_>) -> bool {
    !row.gone()
        && limits.only.is_none_or(|only| only.contains(&row.n))
        && limits.since_ms.is_none_or(|since| row.time_ms >= since)
        && limits.until_ms.is_none_or(|until| row.time_ms < until)
}

/// Whether what is said on a day may be about a span: people tell of things a few days later.
const fn is_near(day: Day, span: Span) -> bool {
    span.from <= day && day <= span.to + NEAR_DAYS
}

/// The best rows so far. Few are held at any moment: a common word finds every row.
struct Best {
    most: usize,
    held: Vec<Scored>,
    /// The score of the last of the best when they were last counted: what is below it is not among them.
    floor: f32,
}

impl Best {
    const fn of(most: usize) -> Self {
        Self { most, held: Vec::new(), floor: 0.0 }
    }

    fn may_hold(&self, score: f32) -> bool {
        score >= self.floor
    }

    fn extend(&mut self, scored: Option<Scored>) {
        self.held.extend(scored);
        if self.held.len() >= 2 * self.most + 256 {
            self.held.select_nth_unstable_by(self.most, order);
            self.held.truncate(self.most);
            self.floor = self.held.iter().map(|scored| scored.score).fold(f32::MAX, f32::min);
        }
    }

    /// Best first; of equals the newest.
    fn sorted(mut self) -> Vec<Scored> {
        self.held.sort_unstable_by(order);
        self.held.truncate(self.most);
        self.held
    }
}

fn order(one: &Scored, other: &Scored) -> Ordering {
    other.score.total_cmp(&one.score).then(other.n.cmp(&one.n))
}
