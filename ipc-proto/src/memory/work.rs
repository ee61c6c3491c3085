//! Work that curator takes from memory, and its results. Each piece of work names its scope: memory chose it, and
//! curator can only return it.

use super::entry::{Entry, Row};
use super::search::Vector;
use super::{LISTED, RAW_BOUND, Scope, TAKEN};
use crate::ids::{MemoryId, SessionId};
use crate::{List, Text};
use serde::{Deserialize, Serialize};

/// Work that waits.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Work {
    /// The owner's memory that the work is for.
    pub scope: Scope,
    /// The task.
    pub task: Task,
}

/// A task for curator.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Task {
    /// Make an observation of what was captured.
    Compress {
        /// As it stands.
        row: Box<Row>,
        /// The material that it was made from.
        raw: Text<RAW_BOUND>,
    },
    /// Say what came of a session.
    Summarise {
        /// The session.
        session: SessionId,
        /// Its current observations, oldest first.
        rows: List<Row, LISTED>,
    },
    /// Compare an observation with those like it.
    Resolve {
        /// The observation.
        row: Box<Row>,
        /// Those like it, the likest first, with likeness in thousandths.
        like: List<(Row, u16), 5>,
    },
    /// Make a vector of a text.
    Embed {
        /// The row.
        id: MemoryId,
        /// The text.
        text: Text<RAW_BOUND>,
        /// Its label.
        label: crate::label::Label,
    },
}

/// The kind of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TaskName {
    /// [`Task::Compress`].
    Compress,
    /// [`Task::Summarise`].
    Summarise,
    /// [`Task::Resolve`].
    Resolve,
    /// [`Task::Embed`].
    Embed,
}

/// The result of a piece of work. Each is settled once; settling it again changes nothing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Settled {
    /// An observation stands in the place of what was captured.
    Compressed {
        /// The captured row.
        id: MemoryId,
        /// The observation.
        entry: Box<Entry>,
        /// Facts and entities that were taken from it: a fact is proposed, an entity is kept.
        taken: List<Entry, TAKEN>,
    },
    /// The captured row stays as it is.
    LeftPlain(MemoryId),
    /// A summary of a session, and nothing if there is none to be made.
    Summarised {
        /// The session.
        session: SessionId,
        /// The summary.
        entry: Option<Box<Entry>>,
    },
    /// The row says something new.
    Distinct(MemoryId),
    /// The row says what another one says: it is superseded by that.
    Duplicate {
        /// The row.
        id: MemoryId,
        /// The other.
        of: MemoryId,
    },
    /// The row takes the place of another one.
    Supersedes {
        /// The row.
        id: MemoryId,
        /// The other.
        old: MemoryId,
    },
    /// A vector of a row's text.
    Embedded {
        /// The row.
        id: MemoryId,
        /// The vector.
        vector: Vector,
    },
}
