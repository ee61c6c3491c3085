//! Questions to memory and their answers.

use super::entry::{KindName, ObservationType, Project, Row, StateName};
use super::{HITS, WORDS};
use crate::ids::SessionId;
use crate::label::Label;
use crate::{Blob, List, Name, Text};
use serde::{Deserialize, Serialize};

/// Which rows. What is empty or none asks for nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Filter {
    /// Of one of these kinds.
    pub kinds: List<KindName, 6>,
    /// Observations of one of these types.
    pub types: List<ObservationType, 6>,
    /// With every one of these tags, whatever the case of their ASCII letters.
    pub tags: List<Name, 16>,
    /// With one of these tags.
    pub any_tags: List<Name, 16>,
    /// That read or changed a file whose path holds one of these.
    pub files: List<Text<256>, 16>,
    /// Of this project; about none if its name is empty.
    pub project: Option<Project>,
    /// Of this session.
    pub session: Option<SessionId>,
    /// That matter at least so much, 1 to 5.
    pub importance: Option<u8>,
    /// That matter at most so much, 1 to 5.
    pub importance_most: Option<u8>,
    /// Of this time or later, unix ms.
    pub since_ms: Option<u64>,
    /// Of before this time, unix ms.
    pub until_ms: Option<u64>,
    /// In this state.
    pub state: StateName,
}

/// What is looked for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Question {
    /// As [`words`](super::words) makes them of any text at all.
    pub words: Text<WORDS>,
    /// Only among these rows.
    pub filter: Filter,
    /// By what rows are ranked.
    pub manner: Manner,
    /// True if a row that repeats a better one is put behind those that say something else.
    pub varied: bool,
    /// At most so many rows.
    pub limit: u16,
    /// The words as the embedder of this host understands them. Whoever asks for a person or a model leaves it empty: the
    /// gate has it made.
    pub vector: Option<Vector>,
    /// True if a model is to put the first of the rows into order, also where the configuration does not say so. Memory
    /// itself asks no model.
    pub reorder: bool,
    /// What else than how well it fits a row's score is multiplied by; each once, whatever their order.
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

/// What an embedder made of a text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Vector {
    /// The embedder: `provider/model`, or `local`.
    pub by: Name,
    /// 32-bit floats, little-endian, at most 4,096.
    pub values: Blob<16384>,
}

/// By what rows are ranked.
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

/// What a row's score is multiplied by where it is asked for. Each has its formula in docs/guide/memory.md.
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

/// What a signal came to for one row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Weighed {
    /// Which.
    pub signal: Signal,
    /// What the score was multiplied by, in thousandths.
    pub factor: i32,
}

/// A row that was found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hit {
    /// The row.
    pub row: Row,
    /// The words around the match, with `[` `]` about it.
    pub snippet: Text<512>,
    /// Higher is better, in thousandths.
    pub score: i32,
}

/// Why a row is where it is among what was found.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Why {
    /// Its place by words, from 1; none if no word led to it.
    pub by_words: Option<u32>,
    /// Its place by meaning, from 1; none if that was not asked for.
    pub by_meaning: Option<u32>,
    /// Its place as a model put it, from 1; none if no model was asked about it.
    pub by_model: Option<u32>,
    /// What its own words are worth, in thousandths.
    pub own: i32,
    /// What the turns around it lend it, in thousandths.
    pub around: i32,
    /// Likeness of meaning, in thousandths.
    pub likeness: i32,
    /// A tag of it, such as who said it, is in the question.
    pub named: bool,
    /// It is about the time that the question names.
    pub dated: bool,
    /// It holds what the question asks for: a time, a number or a name.
    pub answers: bool,
    /// The signals that were asked for, and what each came to.
    pub weighed: List<Weighed, SIGNALS>,
}

/// A row that was found, and why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Found {
    /// The row.
    pub hit: Hit,
    /// Why.
    pub why: Why,
}

/// What was found, and what is to be said of how.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answered {
    /// Rows, best first.
    pub rows: List<Found, HITS>,
    /// What was to be done and was not, each a sentence for whoever asks: their embedder or their model failed.
    pub notes: List<Text<256>, 4>,
    /// What is known of all that a model read to put them into order, whether or not it is among them; none if none did.
    pub read: Option<Label>,
}

impl Answered {
    /// Rows of which there is nothing to say.
    #[must_use]
    pub fn of(rows: impl IntoIterator<Item = Found>) -> Self {
        Self { rows: List::clip(rows), ..Self::default() }
    }
}
