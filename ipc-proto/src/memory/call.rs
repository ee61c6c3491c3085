//! The arguments and answers of memory's methods that belong to no row alone.

use super::entry::Row;
use super::search::Filter;
use super::session::SessionRow;
use super::{BEHIND, MOST_IDS, RAW_BOUND};
use crate::ids::MemoryId;
use crate::label::Label;
use crate::{List, Text};
use serde::{Deserialize, Serialize};

/// The place where a page of a list begins.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Start<T = MemoryId> {
    /// Behind this number of the newest. Rows that cannot be read count as well, here and in the page, so that the next
    /// page begins where this one ends.
    After(u32),
    /// Behind these rows or sessions of a list, even if they were revised or removed since: behind the furthest of those
    /// that still exist, or with the newest if none is named. A page that is shorter than its limit is the last.
    /// [`super::MemoryError::NotFound`] if none of them exists any more.
    Behind(List<T, BEHIND>),
}

/// The neighbourhood of a row in time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Neighbourhood {
    /// The anchor; the newest row without one.
    pub anchor: Option<MemoryId>,
    /// Selects the rows.
    pub filter: Filter,
    /// The number of rows before it.
    pub before: u16,
    /// The number of rows after it.
    pub after: u16,
}

/// A row that was exported and is put back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Restored {
    /// The row. The area is that of the call, whatever it names.
    pub row: Row,
    /// The material that it was made from.
    pub raw: Text<RAW_BOUND>,
    /// The action where a row with its id exists.
    pub over: Over,
    /// The person declares that it is theirs, so that its label may stand; without that it is a stranger's.
    pub mine: bool,
    /// Change nothing.
    pub dry_run: bool,
}

/// A client's session that was exported and is put back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RestoredSession {
    /// The session.
    pub session: SessionRow,
    /// The action where it exists.
    pub over: Over,
    /// The person declares that it is theirs; without that it changes none that exists.
    pub mine: bool,
    /// Change nothing.
    pub dry_run: bool,
}

/// The action where an imported row's id exists.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Over {
    /// It stays as it is.
    #[default]
    Skip,
    /// Its text stays, and of both states the later one is taken: removed, superseded, current.
    Merge,
    /// The imported row replaces it.
    Replace,
}

/// The material that an observation was made from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Raw {
    /// The text; empty where nothing is kept.
    pub text: Text<RAW_BOUND>,
    /// The label of the observation, which is the text's as well.
    pub label: Label,
}

/// Rows that cannot be read.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unread {
    /// The database is damaged, and only read.
    pub damaged: bool,
    /// The number of them.
    pub rows: u32,
    /// The ids of the first of them, as far as they are known: none for a damaged database.
    pub first: List<MemoryId, MOST_IDS>,
}
