//! Questions to memory and their answers.

use super::entry::{KindName, ObservationType, Project, Row, StateName};
use super::{HITS, WORDS};
use crate::ids::SessionId;
use crate::label::Label;
use crate::{Blob, List, Name, Text};
use serde::{Deserialize, Serialize};

/// Selects rows. An empty or absent field does not restrict.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Filter {
    /// Rows of one of these kinds.
    pub kinds: List<KindName, 6>,
    /// Observations of one of these types.
    pub types: List<ObservationType, 6>,
    /// Rows with every one of these tags, whatever the case of their ASCII letters.
    pub tags: List<Name, 16>,
    /// Rows with one of these tags.
    pub any_tags: List<Name, 16>,
    /// Rows that read or changed a file whose path holds one of these.
    pub files: List<Text<256>, 16>,
    /// Rows of this project; rows without a project if its name is empty.
    pub project: Option<Project>,
    /// Rows of this session.
    pub session: Option<SessionId>,
    /// Rows of at least this importance, 1 to 5.
    pub importance: Option<u8>,
    /// Rows of at most this importance, 1 to 5.
    pub importance_most: Option<u8>,
    /// Rows of this time or later, unix ms.
    pub since_ms: Option<u64>,
    /// Rows before this time, unix ms.
    pub until_ms: Option<u64>,
    /// Rows in this state.
    pub state: StateName,
}

/// A search.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Question {
    /// The words, as [`words`](super::words) makes them of any text.
    pub words: Text<WORDS>,
    /// Only among these rows.
    pub filter: Filter,
    /// The ranking.
    pub manner: Manner,
    /// True if a row that repeats a better one is put behind those that say something else.
    pub varied: bool,
    /// The most rows to return.
    pub limit: u16,
    /// The vector of the words by the embedder of this host. Callers leave it empty, since the gate has it made.
    pub vector: Option<Vector>,
    /// True if a model is to put the first of the rows into order, also where the configuration does not say so. Memory
    /// itself asks no model.
    pub reorder: bool,
    /// Signals that a row's score is multiplied by besides its fit; each counts once, whatever their order.
    pub weigh: List<Signal, SIGNALS>,
}

impl Question {
    /// A question by words alone.
    #[must_use]
    pub fn new(words: Text<WORDS>, limit: u16) -> Self {
        Self {
            words,
            filter: Filter::default(),
            manner: Manner::default(),
            varied: false,
            limit,
            vector: None,
            reorder: false,
            weigh: List::default(),
        }
    }
}

/// The vector that an embedder made of a text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Vector {
    /// The embedder: `provider/model`, or `local`.
    pub by: Name,
    /// 32-bit floats, little-endian, at most 4,096.
    pub values: Blob<16384>,
}

/// A way to rank rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Manner {
    /// By words; by both, as [`Self::Fused`], where the question comes with a vector.
    #[default]
    Usual,
    /// By words: their stems and their kin, the turns around, who said it and when.
    Words,
    /// By likeness of the whole text.
    Meaning,
    /// Both, by reciprocal rank.
    Fused,
    /// Both, by weighted scores.
    Weighted,
    /// By the full-text index alone, any of the words: what the others are measured against.
    Plain,
}

/// A factor of a row's score, where it is asked for. Each has its formula in deploy/man/agentctl.8.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Signal {
    /// How new it is.
    Recency,
    /// How often and how lately it was read.
    Salience,
    /// How far its origin is trusted.
    Trust,
    /// How much it matters, as whoever wrote it said.
    Importance,
}

/// How many signals there are.
pub const SIGNALS: usize = 4;

impl Signal {
    /// Every signal.
    pub const ALL: [Self; SIGNALS] = [Self::Recency, Self::Salience, Self::Trust, Self::Importance];

    /// Its name, as it is asked for.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Recency => "recency",
            Self::Salience => "salience",
            Self::Trust => "trust",
            Self::Importance => "importance",
        }
    }
}

/// A signal's value for one row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Weighed {
    /// The signal.
    pub signal: Signal,
    /// The factor of the score, in thousandths.
    pub factor: i32,
}

/// A row that was found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hit {
    /// The row.
    pub row: Row,
    /// The text around the match, with `[` `]` about it.
    pub snippet: Text<512>,
    /// The score, in thousandths; higher is better.
    pub score: i32,
}

/// The grounds of a row's rank.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Why {
    /// Its place by words, from 1; none if no word led to it.
    pub by_words: Option<u32>,
    /// Its place by meaning, from 1; none if that was not asked for.
    pub by_meaning: Option<u32>,
    /// Its place as a model put it, from 1; none if no model was asked about it.
    pub by_model: Option<u32>,
    /// The worth of its own text, in thousandths.
    pub own: i32,
    /// The worth of the turns around it, in thousandths.
    pub around: i32,
    /// Likeness of meaning, in thousandths.
    pub likeness: i32,
    /// A tag of it, such as its speaker, is in the question.
    pub named: bool,
    /// It is about the time that the question names.
    pub dated: bool,
    /// It holds an answer of the kind that the question asks for: a time, a number or a name.
    pub answers: bool,
    /// The signals that were asked for, with their values.
    pub weighed: List<Weighed, SIGNALS>,
}

/// A row that was found, and why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Found {
    /// The row.
    pub hit: Hit,
    /// The grounds of the rank.
    pub why: Why,
}

/// The rows that were found, and notes about the search.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answered {
    /// Rows, best first.
    pub rows: List<Found, HITS>,
    /// Steps that were asked for and failed, a sentence each for the caller: their embedder or their model failed.
    pub notes: List<Text<256>, 4>,
    /// The joined label of all rows that a model read to order them, also of those that are not among the results; none
    /// if no model did.
    pub read: Option<Label>,
}

impl Answered {
    /// Rows without notes.
    #[must_use]
    pub fn of(rows: impl IntoIterator<Item = Found>) -> Self {
        Self { rows: List::clip(rows), ..Self::default() }
    }
}
