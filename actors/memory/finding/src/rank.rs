//! Ranking by words. A row's score is that of its own terms (BM25, kin of the question's terms at a part of their
//! worth), and a share of that of the turns around it: the answer to "where did you go?" seldom repeats the question.
//! The speaker, the time, and the presence of the kind of answer asked for then raise it.
//!
//! The numbers were chosen on the conversations under `actors/memory/evaluation`, each to one digit or two: a change
//! that helped on one set alone was dropped.

use crate::best::Best;
use crate::dates::{Day, Span};
use crate::index::Index;
use crate::like;
use crate::question::Question;
use crate::row::{Holds, StoredRow};
use crate::scored::Scored;
use crate::sums::Sums;
use crate::vector::Vector;
use crate::wants::Wants;
use std::collections::HashSet;

/// BM25: how soon a repeated term says no more, and how much a long row counts less.
const SATURATION: f32 = 0.9;
const BY_LENGTH: f32 = 0.2;
/// The worth of a name in a text where the name is a tag: speakers seldom name themselves.
const OF_NAME: f32 = 0.3;
/// A term that more than one in this many rows hold is no substitute for another.
const TOO_COMMON: usize = 5;
/// The worth of a term that is only spelled like one asked for, the number of such terms looked for, and the number of
/// terms of a question, held by no row, for which they are: the terms of the index are gone through once, and each is
/// compared with all of these.
const INSTEAD: f32 = 0.5;
const MOST_INSTEAD: usize = 16;
const MOST_UNHELD: usize = 4;
/// The share of a row's worth that the turns after it get, and those before it.
const TO_LATER: [f32; 3] = [0.6, 0.55, 0.25];
const TO_EARLIER: [f32; 2] = [0.3, 0.15];
/// The share of the best of a session that each of its rows found gets.
const OF_SESSION: f32 = 0.15;
/// The worth of a row of a person that the question names, beside a term that as many rows hold.
const OF_TAG: f32 = 0.6;
/// How much more a row is worth that is of whom the question names, and one of a session with them.
const IF_NAMED: f32 = 2.0;
const IF_WITH_NAMED: f32 = 1.25;
/// The worth of a day soon after one asked for beside one that is spoken of, and the number of days within which a
/// later one is near.
const OF_NEAR_DAY: f32 = 0.6;
const NEAR_DAYS: Day = 7;
/// The factor of a row that holds the kind of answer asked for, and of one that is a question itself.
const IF_ANSWERS: f32 = 1.3;
const IF_ASKS: f32 = 0.6;
/// The highest product of all of these, and a little for rounding.
const MOST_RAISED: f32 = IF_NAMED * IF_ANSWERS * 1.001;
/// The part of its worth that a row shorter than the average may lose.
const IF_SHORT: f32 = 0.5;
/// Words of a row that is never short, however long others are.
const ENOUGH: f32 = 16.0;

/// The limits on the rows that may be found.
#[derive(Clone, Copy, Debug, Default)]
pub struct Limits<'a> {
    /// The most rows to find.
    pub most: usize,
    /// Only these places, if given.
    pub only: Option<&'a HashSet<i64>>,
    /// Only of this time or later, unix ms.
    pub since_ms: Option<u64>,
    /// Only of before this time, unix ms.
    pub until_ms: Option<u64>,
}

/// How a row is about a time that is asked for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum About {
    /// It speaks of it.
    Spoken,
    /// It was said on that very day, or in that week.
    Said,
    /// It was said soon after.
    Near,
}

/// A question in terms of this index: its terms that are tags, and the rows of the times it names.
struct Asked<'a> {
    question: &'a Question,
    names: Vec<&'a str>,
    /// True for each row of a person whom the question names; empty if it names none.
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

    /// The worth of a term that this many rows hold.
    fn worth(&self, rows: usize) -> f32 {
        let (all, rows) = (self.rows() as f32, rows as f32);
        ((all - rows + 0.5).max(0.0) / (rows + 0.5)).ln_1p()
    }

    /// The score of each row by its own terms. The best of a term and its kin counts, not the sum.
    fn own(&self, asked: &Asked<'_>) -> Sums {
        let (mut own, mut best) = (Sums::new(self.rows.len()), Sums::new(self.rows.len()));
        let mut unheld = Vec::new();
        for term in &asked.question.terms {
            let is_name = asked.names.contains(&term.as_str());
            if !is_name && self.terms.rows(term) == 0 {
                unheld.push(term.as_str());
            }
            self.term(term, if is_name { OF_NAME } else { 1.0 }, &mut best);
            if !is_name {
                for (kin, near) in self.lexicon.kin(term) {
                    self.unless_common(kin, *near, &mut best);
                }
            }
            best.drain().for_each(|(row, worth)| own.add(row, worth));
        }
        unheld.truncate(MOST_UNHELD);
        self.instead(&unheld, &mut best, &mut own);
        own
    }

    /// Scores the terms that no row holds by those spelled nearly like them, and a code by its parts.
    fn instead(&self, unheld: &[&str], best: &mut Sums, own: &mut Sums) {
        for (term, held) in unheld.iter().zip(like::likest(unheld, self.terms.terms(), MOST_INSTEAD)) {
            for held in held {
                self.unless_common(held, INSTEAD, best);
            }
            best.drain().for_each(|(row, worth)| own.add(row, worth));
            for part in like::parts(term) {
                self.term(part, 1.0, best);
                best.drain().for_each(|(row, worth)| own.add(row, worth));
            }
        }
    }

    /// Adds the worth of a term, or a part of that, to each row that holds it; the best of several counts.
    fn term(&self, term: &str, part: f32, best: &mut Sums) {
        let (worth, average) = (self.worth(self.terms.rows(term)) * part, self.average());
        for (at, often) in self.terms.of(term) {
            let Some(row) = self.rows.get(at).filter(|row| !row.gone()) else {
                continue;
            };
            let (words, often) = (row.words, f32::from(often));
            let length = 1.0 - BY_LENGTH + BY_LENGTH * f32::from(words) / average;
            let worth = worth * often * (SATURATION + 1.0) / (often + SATURATION * length);
            best.join(at, worth, f32::max);
        }
    }

    /// The same as [`Index::term`], except for a term that too many rows hold.
    fn unless_common(&self, term: &str, part: f32, best: &mut Sums) {
        if self.terms.rows(term) * TOO_COMMON <= self.rows().max(100) {
            self.term(term, part, best);
        }
    }

    /// Every row's own worth, with shares of it for its neighbours and of the best for its session.
    fn with_neighbours(&self, own: &Sums) -> Sums {
        let mut all = Sums::new(self.rows.len());
        let mut sessions = vec![0.0_f32; self.sessions.len()];
        for row in own.touched.iter().copied() {
            let worth = own.get(row);
            all.add(row, worth);
            self.lend(row, worth, &TO_LATER, StoredRow::after, &mut all);
            self.lend(row, worth, &TO_EARLIER, StoredRow::before, &mut all);
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

    fn lend(
        &self,
        row: usize,
        worth: f32,
        shares: &[f32],
        next: fn(&StoredRow) -> Option<u32>,
        all: &mut Sums,
    ) {
        let mut at = row;
        for share in shares {
            let Some(to) = self.rows.get(at).and_then(next) else {
                return;
            };
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
            let worth = OF_TAG * self.worth(self.tags.rows(name));
            for (row, _) in self.tags.of(name) {
                all.add(row, worth);
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
            let of_row = |(row, spoken): (&StoredRow, &bool)| match (row.gone(), *spoken) {
                (true, _) => None,
                (false, true) => Some(About::Spoken),
                (false, false) if span.days() <= NEAR_DAYS && span.holds(row.day()) => Some(About::Said),
                (false, false) => is_near(row.day(), *span).then_some(About::Near),
            };
            let found = || self.rows.iter().zip(&spoken).map(of_row);
            let rows = |about| found().filter(|found| *found == Some(about)).count();
            let (spoken, said, near) = (rows(About::Spoken), rows(About::Said), rows(About::Near));
            let worths = (self.worth(spoken), self.worth(said), OF_NEAR_DAY * self.worth(near + said));
            for (row, (found, dated)) in found().zip(&mut asked.dated).enumerate() {
                if let Some(about) = found {
                    let worth = match about {
                        About::Spoken => worths.0,
                        About::Said => worths.1,
                        About::Near => worths.2,
                    };
                    all.add(row, worth);
                    *dated = true;
                }
            }
        }
    }

    /// The score of a row in all.
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
        let short = (f32::from(row.words) / self.average().min(ENOUGH)).min(1.0);
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

/// Returns whether a row is there and may be found.
pub(crate) fn allows(row: &StoredRow, limits: &Limits<'_>) -> bool {
    !row.gone()
        && limits.only.is_none_or(|only| only.contains(&row.n))
        && limits.since_ms.is_none_or(|since| row.time_ms >= since)
        && limits.until_ms.is_none_or(|until| row.time_ms < until)
}

/// Returns true if a text of a day may be about a span: people tell of things a few days later.
const fn is_near(day: Day, span: Span) -> bool {
    span.from <= day && day <= span.to + NEAR_DAYS
}
