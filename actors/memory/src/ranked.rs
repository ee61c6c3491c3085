//! The order in which the rows of a scope answer a question: by its index in memory, by the full-text index where there
//! is none, by meaning, or by both. It reads rows for their similarity alone and changes nothing.

use crate::error::StoreError;
use crate::filter;
use crate::find::{Placed, placed_by_index, whole};
use crate::query::Query;
use crate::scope::Number;
use crate::store::Store;
use crate::weigh::{thousandths, weighed};
use finding::{Index, Limits, Ranked, Scored, Vector};
use ipc_proto::memory::{KindName, Manner, Question, Why};
use rusqlite::{OptionalExtension, params};
use std::collections::{HashMap, HashSet};

/// Rows whose vectors are compared after a first pass over all codes, for each row that is wanted, and at least.
const COMPARED: usize = 3;
const COMPARED_LEAST: usize = 128;
/// The likeness by chance of two texts with nothing in common: 1 / √384, for as many numbers as a vector has. A
/// likeness up to it means nothing.
const CHANCE: f32 = 0.051;
/// Rows that two rankings are fused of, for each row that is wanted, and at least.
const FUSED: usize = 2;
const FUSED_LEAST: usize = 40;

impl Store {
    /// The places of the rows that answer best, best first.
    pub(crate) fn ranked(
        &self,
        number: Number,
        question: &Question,
        now_ms: u64,
    ) -> Result<Vec<Placed>, StoreError> {
        if self.damage.is_some()
            && let Some(question) = self.as_it_can_be_answered(question)
        {
            return self.ranked(number, &question, now_ms);
        }
        let mut library = self.library.borrow_mut();
        let manner = manner(question);
        let index = match manner {
            Manner::Plain => None,
            // Entities are in no index in memory.
            _ if question.filter.kinds.contains(&KindName::Entity) => None,
            _ => library.of(&self.db, number)?,
        };
        let Some(index) = index else {
            return self.by_index_weighed(number, &Query::of(&question.words).any(), question, now_ms);
        };
        Search::of(self, (number, index), question, now_ms)?.placed()
    }

    /// The same with the other rows of these rows' sessions behind them, where a sentence asks for more rows than words
    /// find: an answer may be farther from its question, and in other words. For a list of words, rows without them are
    /// no answer.
    pub(crate) fn with_sessions(
        &self,
        number: Number,
        question: &Question,
        mut placed: Vec<Placed>,
        now_ms: u64,
    ) -> Result<Vec<Placed>, StoreError> {
        let wanted = usize::from(question.limit).saturating_sub(placed.len());
        if wanted == 0 || placed.is_empty() || manner(question) != Manner::Words {
            return Ok(placed);
        }
        let library = self.library.borrow();
        let Some(index) = library.at_hand(number) else { return Ok(placed) };
        if finding::Question::of(&question.words, now_ms, index.lexicon()).is_a_sentence() {
            let search = Search::of(self, (number, index), question, now_ms)?;
            let found: Vec<i64> = placed.iter().map(|(n, _, _)| *n).collect();
            let around = index.around(&found, &search.limits(wanted));
            placed.extend(around.into_iter().map(|n| (n, 0, Why::default())));
        }
        Ok(placed)
    }

    /// Another question, where a damaged database cannot answer this one: by words, if the full-text index may be
    /// damaged, and without a vector if the embedder of the stored vectors is not known any more.
    fn as_it_can_be_answered(&self, question: &Question) -> Option<Question> {
        let is_of_none = question.vector.as_ref().is_some_and(|vector| self.meaning(vector).is_err());
        if question.manner == Manner::Plain {
            return Some(Question { manner: Manner::Words, ..question.clone() });
        }
        is_of_none.then(|| Question { vector: None, ..question.clone() })
    }

    /// The best by the full-text index alone, with the signals asked for.
    pub(crate) fn by_index_weighed(
        &self,
        number: Number,
        expression: &str,
        question: &Question,
        now_ms: u64,
    ) -> Result<Vec<Placed>, StoreError> {
        if question.weigh.is_empty() {
            return self.by_index(number, expression, question);
        }
        let several = u16::try_from(several(usize::from(question.limit))).unwrap_or(u16::MAX);
        let asked = Question { limit: several, ..question.clone() };
        let scored = self.scored_by_index(number, expression, &asked)?;
        let weights = self.weights(number, &question.weigh, scored.iter().map(|(n, _)| *n), now_ms)?;
        let mut placed: Vec<(f64, Placed)> = Vec::new();
        for (rank, (n, score)) in (1..).zip(scored) {
            let mut found = placed_by_index(rank, n, score);
            let mut score = score;
            if let Some(weight) = weights.get(&n) {
                score *= weight.factor();
                found.1 = whole(score);
                found.2.weighed = weight.factors.clone();
            }
            placed.push((score, found));
        }
        placed.sort_by(|one, other| other.0.total_cmp(&one.0).then(other.1.0.cmp(&one.1.0)));
        placed.truncate(usize::from(question.limit));
        Ok(placed.into_iter().map(|(_, found)| found).collect())
    }
}

/// The rows of a ranking that is to be reordered, for this many that are wanted.
fn several(wanted: usize) -> usize {
    (wanted * FUSED).max(FUSED_LEAST)
}

/// The usual manner for this question.
fn manner(question: &Question) -> Manner {
    match (question.manner, &question.vector) {
        (Manner::Usual, Some(_)) => Manner::Fused,
        (Manner::Usual, None) => Manner::Words,
        (manner, _) => manner,
    }
}

/// One question to one index.
struct Search<'a> {
    store: &'a Store,
    number: Number,
    index: &'a Index,
    question: &'a Question,
    manner: Manner,
    only: Option<HashSet<i64>>,
    now_ms: u64,
}

impl<'a> Search<'a> {
    fn of(
        store: &'a Store,
        (number, index): (Number, &'a Index),
        question: &'a Question,
        now_ms: u64,
    ) -> Result<Self, StoreError> {
        let only = match filter::only_times(&question.filter) {
            true => None,
            false => Some(store.places(number, &question.filter)?),
        };
        Ok(Self { store, number, index, question, manner: manner(question), only, now_ms })
    }

    fn placed(&self) -> Result<Vec<Placed>, StoreError> {
        let wanted = usize::from(self.question.limit);
        let several = several(wanted);
        let reorders = self.question.varied || !self.question.weigh.is_empty();
        let words = match self.manner {
            Manner::Meaning => Vec::new(),
            Manner::Usual | Manner::Words if !reorders => self.by_words(wanted),
            _ => self.by_words(several),
        };
        let meaning = match self.manner {
            Manner::Usual | Manner::Words | Manner::Plain => Vec::new(),
            _ => self.by_meaning(several)?,
        };
        let of_words: Vec<Ranked> = words.iter().map(|scored| (scored.n, scored.score)).collect();
        let ranked = match self.manner {
            Manner::Usual | Manner::Words | Manner::Plain => of_words,
            Manner::Meaning => meaning.clone(),
            Manner::Fused => finding::fused(&[&of_words, &meaning]),
            Manner::Weighted => finding::weighted(&meaning, &of_words),
        };
        let places = ranked.iter().map(|(n, _)| *n);
        let weights = self.store.weights(self.number, &self.question.weigh, places, self.now_ms)?;
        let ranked = weighed(ranked, &weights);
        let ranked = match self.question.varied {
            true => finding::varied(ranked, wanted, |one, other| self.index.alike(one, other)),
            false => ranked,
        };
        let mut why = reasons(&words, &meaning);
        for (n, weight) in weights {
            why.entry(n).or_default().weighed = weight.factors;
        }
        let placed = ranked.into_iter().take(wanted);
        Ok(placed
            .map(|(n, score)| (n, thousandths(score), why.get(&n).cloned().unwrap_or_default()))
            .collect())
    }

    fn limits(&self, most: usize) -> Limits<'_> {
        Limits {
            most,
            only: self.only.as_ref(),
            since_ms: self.question.filter.since_ms,
            until_ms: self.question.filter.until_ms,
        }
    }

    fn by_words(&self, most: usize) -> Vec<Scored> {
        let question = finding::Question::of(&self.question.words, self.now_ms, self.index.lexicon());
        self.index.by_words(&question, &self.limits(most))
    }

    /// The nearest by code are compared by their vectors: those of the embedder, if the question comes with one of it, and
    /// else those that are made of the rows' own texts.
    fn by_meaning(&self, most: usize) -> Result<Vec<Ranked>, StoreError> {
        let compared = self.limits((most * COMPARED).max(COMPARED_LEAST));
        if let Some(vector) = &self.question.vector {
            let asked = self.store.meaning(vector)?;
            return self.store.by_vector((self.number, self.index), &asked, &compared, most);
        }
        let asked = self.index.vector(&self.question.words);
        let near = self.index.by_code(&asked, &compared);
        let content = "SELECT e.content FROM entry AS e WHERE e.scope = ?1 AND e.n = ?2";
        let mut content = self.store.db.prepare(content)?;
        let mut ranked = Vec::new();
        for n in near {
            let text = content.query_row(params![self.number.get(), n], |row| row.get::<_, String>(0));
            let likeness =
                text.optional()?.map(|text| Vector::of(&text, self.index.lexicon()).likeness(&asked));
            ranked.extend(likeness.filter(|likeness| *likeness > CHANCE).map(|likeness| (n, likeness)));
        }
        ranked.sort_unstable_by(|one, other| other.1.total_cmp(&one.1).then(other.0.cmp(&one.0)));
        ranked.truncate(most);
        Ok(ranked)
    }
}

/// Why each row is where it is, by its place in the store.
fn reasons(words: &[Scored], meaning: &[Ranked]) -> HashMap<i64, Why> {
    let mut reasons: HashMap<i64, Why> = HashMap::new();
    for (rank, scored) in (1..).zip(words) {
        let why = Why {
            by_words: Some(rank),
            own: thousandths(scored.own),
            around: thousandths(scored.around),
            named: scored.named,
            dated: scored.dated,
            answers: scored.answers,
            ..Why::default()
        };
        reasons.insert(scored.n, why);
    }
    for (rank, (n, likeness)) in (1..).zip(meaning) {
        let why = reasons.entry(*n).or_default();
        why.by_meaning = Some(rank);
        why.likeness = thousandths(*likeness);
    }
    reasons
}
