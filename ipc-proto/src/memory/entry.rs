//! A row of memory: its text, its kind and its origin. Data alone.

use super::{Area, CONTENT_BOUND, LISTED, PROJECT};
use crate::ids::{MemoryId, SessionId};
use crate::label::Label;
use crate::{List, Name, Text};
use serde::{Deserialize, Serialize};

/// A path of a file in a project.
pub type FilePath = Text<256>;
/// A project: the canonical path of its directory, or any other name that its owner gives it.
pub type Project = Text<PROJECT>;

/// A row to write.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// Chosen by the caller, so that the same write twice is one row.
    pub id: MemoryId,
    /// The remembered text: an observation's narrative, a summary's text, a fact's value.
    pub content: Text<CONTENT_BOUND>,
    /// Words to find it by; of observations and summaries their concepts.
    pub tags: List<Name, 16>,
    /// The label of its origin.
    pub label: Label,
    /// The session it came from.
    pub session: Option<SessionId>,
    /// The rest.
    pub detail: Detail,
}

impl Entry {
    /// Estimated tokens of all its text: a quarter of its characters, rounded up (open-mem's estimate).
    #[must_use]
    pub fn tokens(&self) -> u32 {
        let chars: usize = self.texts().map(|text| text.chars().count()).sum();
        u32::try_from(chars.div_ceil(4)).unwrap_or(u32::MAX)
    }

    /// Every text of it, in the order in which they are read: the first is its title, if it has one.
    pub fn texts(&self) -> impl Iterator<Item = &str> {
        let said: Vec<&str> = match &self.detail.kind {
            Kind::Note { key } => key.iter().map(Text::as_str).collect(),
            Kind::Episodic { role } => vec![role],
            Kind::Semantic(fact) => vec![&fact.key],
            Kind::Entity(entity) => vec![&entity.name],
            Kind::Observation(seen) => {
                let files = seen.files_read.iter().chain(&seen.files_modified).map(Text::as_str);
                let facts = seen.facts.iter().map(Text::as_str);
                [seen.title.as_str(), seen.subtitle.as_str()].into_iter().chain(facts).chain(files).collect()
            }
            Kind::Summary(came) => {
                let told =
                    [&came.request, &came.investigated, &came.learned, &came.completed, &came.next_steps];
                let decisions = came.key_decisions.iter().map(Text::as_str);
                let files = came.files_modified.iter().map(Text::as_str);
                told.into_iter().map(Text::as_str).chain(decisions).chain(files).collect()
            }
        };
        said.into_iter().chain([self.content.as_str()]).chain(self.tags.iter().map(Text::as_str))
    }

    /// A note without tags, session or anything else.
    #[must_use]
    pub fn new(id: MemoryId, content: Text<CONTENT_BOUND>, label: Label) -> Self {
        Self { id, content, tags: List::default(), label, session: None, detail: Detail::default() }
    }
}

/// The properties of a row besides its text.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Detail {
    /// The row's kind.
    pub kind: Kind,
    /// The origin.
    pub source: Source,
    /// The importance.
    pub importance: Importance,
    /// The project it belongs to; none if it belongs to no project.
    pub project: Option<Project>,
    /// The time at which it is forgotten by itself, unix ms.
    pub expires_ms: Option<u64>,
}

/// The kinds of rows, each with the fields that only it has.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// A note, under a key or without one; another note with the same key in the same area takes its place.
    Note {
        /// Its key.
        key: Option<Text<256>>,
    },
    /// A message or an event; kept for 90 days unless it says otherwise.
    Episodic {
        /// The speaker: `user`, `assistant`, `tool` or a name.
        role: Name,
    },
    /// A statement that holds until it is changed. Only a person's own word makes one.
    Semantic(Fact),
    /// An insight from work.
    Observation(Box<Observation>),
    /// The result of a session; one for each session.
    Summary(Box<Summary>),
    /// An entity that memories are about; one of each name and type in an area.
    Entity(Entity),
}

impl Default for Kind {
    fn default() -> Self {
        Self::Note { key: None }
    }
}

/// The name of a kind, for questions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum KindName {
    /// [`Kind::Note`].
    Note,
    /// [`Kind::Episodic`].
    Episodic,
    /// [`Kind::Semantic`].
    Semantic,
    /// [`Kind::Observation`].
    Observation,
    /// [`Kind::Summary`].
    Summary,
    /// [`Kind::Entity`].
    Entity,
}

impl KindName {
    /// Every kind. A question that names none is about all but entities.
    pub const ALL: [Self; 6] =
        [Self::Note, Self::Episodic, Self::Semantic, Self::Observation, Self::Summary, Self::Entity];
}

impl Kind {
    /// Its name.
    #[must_use]
    pub const fn name(&self) -> KindName {
        match self {
            Self::Note { .. } => KindName::Note,
            Self::Episodic { .. } => KindName::Episodic,
            Self::Semantic(_) => KindName::Semantic,
            Self::Observation(_) => KindName::Observation,
            Self::Summary(_) => KindName::Summary,
            Self::Entity(_) => KindName::Entity,
        }
    }
}

/// A fact, a preference or an instruction; the value is the entry's content.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fact {
    /// The category.
    pub category: Category,
    /// The subject; another fact with the same category and key in the same area supersedes it.
    pub key: Text<256>,
    /// The confidence, in thousandths.
    pub confidence: u16,
}

/// An entity that memories are about; the known facts are the entry's content, a sentence a line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entity {
    /// The entity's name. Two names that differ in the case of their letters alone are one.
    pub name: Text<256>,
    /// The entity's type.
    pub r#type: EntityType,
}

/// The type of an entity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum EntityType {
    /// A language, a protocol, a tool.
    Technology,
    /// Code that others wrote.
    Library,
    /// A way in which things are done.
    Pattern,
    /// An idea.
    Concept,
    /// A file.
    File,
    /// Somebody.
    Person,
    /// Something that is worked on.
    Project,
    /// Anything else.
    Other,
}

/// The category of a semantic row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Category {
    /// Something that is so.
    Fact,
    /// Something the person likes.
    Preference,
    /// Something the person wants done.
    Instruction,
}

/// The six types of an observation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ObservationType {
    /// A choice, and why.
    Decision,
    /// A fault that was mended.
    Bugfix,
    /// Something new.
    Feature,
    /// The same in another shape.
    Refactor,
    /// Something found out.
    #[default]
    Discovery,
    /// Anything else that was changed.
    Change,
}

/// An insight from work; its narrative is the entry's content, its concepts are the entry's tags.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Observation {
    /// The observation's type.
    pub r#type: ObservationType,
    /// The title, a few words.
    pub title: Text<200>,
    /// The subtitle.
    pub subtitle: Text<400>,
    /// Facts that hold.
    pub facts: List<Text<512>, LISTED>,
    /// Files that were read.
    pub files_read: List<FilePath, LISTED>,
    /// Files that were changed.
    pub files_modified: List<FilePath, LISTED>,
    /// Tokens of its material: the cost of finding it out.
    pub discovery_tokens: u32,
    /// The row is as it was captured: it is not compressed yet.
    pub plain: bool,
}

/// The result of a session; its text is the entry's content, its concepts are the entry's tags.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Summary {
    /// The request.
    pub request: Text<2048>,
    /// The investigation.
    pub investigated: Text<2048>,
    /// The insights.
    pub learned: Text<2048>,
    /// The completed work.
    pub completed: Text<2048>,
    /// The remaining work.
    pub next_steps: Text<2048>,
    /// The decisions.
    pub key_decisions: List<Text<512>, LISTED>,
    /// Files that were changed.
    pub files_modified: List<FilePath, LISTED>,
}

/// The origin of a row.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Source {
    /// The way in which it came here.
    pub r#type: SourceType,
    /// The message it is from, by its client's own id.
    pub message: Option<Text<128>>,
    /// The tool whose output it is.
    pub tool: Option<Name>,
    /// It holds content from outside the host, whoever wrote it down.
    pub external: bool,
    /// The row that it was taken from, where a model took it from one.
    pub row: Option<MemoryId>,
}

/// The way in which a row came here.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SourceType {
    /// A person said it.
    UserMessage,
    /// A tool answered it.
    ToolOutput,
    /// A model concluded it.
    AiInference,
    /// A person asked to store it.
    #[default]
    ExplicitSave,
}

/// The importance of a row: 1 to 5.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Importance(u8);

impl Importance {
    /// The nearest valid importance.
    #[must_use]
    pub fn of(value: u8) -> Self {
        Self(value.clamp(1, 5))
    }

    /// The number.
    #[must_use]
    pub const fn get(self) -> u8 {
        self.0
    }
}

impl Default for Importance {
    fn default() -> Self {
        Self(3)
    }
}

impl<'de> Deserialize<'de> for Importance {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let value = u8::deserialize(from)?;
        if (1..=5).contains(&value) {
            Ok(Self(value))
        } else {
            Err(serde::de::Error::custom("an importance is 1 to 5"))
        }
    }
}

/// A stored row.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Row {
    /// The entry.
    pub entry: Entry,
    /// The area of memory that it is in.
    pub area: Area,
    /// The time at which it was stored, unix ms.
    pub created_ms: u64,
    /// Estimated tokens of all its text: a quarter of its characters.
    pub tokens: u32,
    /// The row's state.
    pub state: State,
    /// The row that it is a revision of.
    pub revises: Option<MemoryId>,
    /// The reason why it was revised or removed, as its author gave it.
    pub reason: Text<512>,
}

impl Row {
    /// A current row.
    #[must_use]
    pub fn new(entry: Entry, area: Area, created_ms: u64) -> Self {
        let tokens = entry.tokens();
        Self {
            entry,
            area,
            created_ms,
            tokens,
            state: State::Current,
            revises: None,
            reason: Text::default(),
        }
    }
}

/// The state of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// It holds.
    Current,
    /// A newer row stands in its place.
    Superseded {
        /// The row in its place.
        by: MemoryId,
        /// Since when, unix ms.
        at_ms: u64,
    },
    /// It was removed, and only the tombstone is left.
    Removed {
        /// When, unix ms.
        at_ms: u64,
    },
    /// A model derived it from texts of others, and the person has not accepted it yet.
    Proposed {
        /// Since when, unix ms.
        at_ms: u64,
    },
}

/// The name of a state, for questions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum StateName {
    /// [`State::Current`].
    #[default]
    Current,
    /// [`State::Superseded`].
    Superseded,
    /// [`State::Removed`].
    Removed,
    /// [`State::Proposed`].
    Proposed,
}
