//! Conversion between a row's columns and its type. A column with a value that the type does not allow is an error that
//! names the column, never a guess.

use crate::error::StoreError;
use ipc_proto::ids::{MemoryId, SessionId};
use ipc_proto::label::{Class, Label, Trust};
use ipc_proto::memory::{Area, Detail, Entry, Kind, KindName, ObservationType, Row, State, StateName};
use ipc_proto::{List, Name, Text};

/// The columns that [`decoded`] reads, of the table `kept` or the view `entry` under the name `e`.
pub(crate) const COLUMNS: &str = "e.id, e.body, e.tags, e.trust, e.class, e.sources, e.session, e.created_ms, \
     e.detail, e.state, e.revises, e.superseded_by, e.state_ms, e.reason, e.n";

impl StoreError {
    /// Returns whether it is one row that cannot be read, and nothing else is at fault.
    pub(crate) const fn is_of_a_row(&self) -> bool {
        matches!(
            self,
            Self::Column(_)
                | Self::Database(
                    rusqlite::Error::FromSqlConversionFailure(..)
                        | rusqlite::Error::IntegralValueOutOfRange(..)
                        | rusqlite::Error::InvalidColumnType(..)
                        | rusqlite::Error::Utf8Error(..)
                )
        )
    }
}

/// The row that these columns make.
pub(crate) fn decoded(columns: &rusqlite::Row<'_>, area: &Area) -> Result<Row, StoreError> {
    let content: String = columns.get(1)?;
    let label = Label {
        trust: trust_of(columns.get(3)?).ok_or(StoreError::Column("trust"))?,
        class: class(columns.get(4)?).ok_or(StoreError::Column("class"))?,
        sources: names(&columns.get::<_, String>(5)?).ok_or(StoreError::Column("sources"))?,
    };
    let entry = Entry {
        id: MemoryId::from_bytes(columns.get(0)?),
        content: Text::new(content).map_err(|_| StoreError::Column("content"))?,
        tags: names(&columns.get::<_, String>(2)?).ok_or(StoreError::Column("tags"))?,
        label,
        session: columns.get::<_, Option<[u8; 16]>>(6)?.map(SessionId::from_bytes),
        detail: detail(columns.get_ref(8)?.as_str().map_err(|_| StoreError::Column("detail"))?)?,
    };
    let created_ms = unsigned(columns.get(7)?).ok_or(StoreError::Column("created_ms"))?;
    let row = Row::new(entry, area.clone(), created_ms);
    let reason: String = columns.get(13)?;
    Ok(Row {
        state: state(columns)?,
        revises: columns.get::<_, Option<[u8; 16]>>(10)?.map(MemoryId::from_bytes),
        reason: Text::new(reason).map_err(|_| StoreError::Column("reason"))?,
        ..row
    })
}

fn state(columns: &rusqlite::Row<'_>) -> Result<State, StoreError> {
    let code: i64 = columns.get(9)?;
    let at = || columns.get::<_, Option<i64>>(12).ok().flatten().and_then(unsigned);
    match code {
        0 => Ok(State::Current),
        1 => {
            let by = columns.get::<_, Option<[u8; 16]>>(11)?.map(MemoryId::from_bytes);
            let (by, at_ms) = by.zip(at()).ok_or(StoreError::Column("superseded_by"))?;
            Ok(State::Superseded { by, at_ms })
        }
        2 => Ok(State::Removed { at_ms: at().ok_or(StoreError::Column("state_ms"))? }),
        3 => Ok(State::Proposed { at_ms: at().ok_or(StoreError::Column("state_ms"))? }),
        _ => Err(StoreError::Column("state")),
    }
}

fn detail(column: &str) -> Result<Detail, StoreError> {
    if column.is_empty() {
        return Ok(Detail::default());
    }
    serde_json::from_str(column).map_err(|_| StoreError::Column("detail"))
}

/// A detail as it is kept; nothing for that of most notes.
pub(crate) fn detail_of(detail: &Detail) -> Result<String, StoreError> {
    if *detail == Detail::default() {
        return Ok(String::new());
    }
    serde_json::to_string(detail).map_err(|_| StoreError::Column("detail"))
}

/// The text of an entry that is searched before its content: all but its content, its tags and its speaker.
pub(crate) fn head(entry: &Entry) -> String {
    if matches!(entry.detail.kind, Kind::Episodic { .. }) {
        return String::new();
    }
    let said: Vec<&str> = entry.texts().collect();
    let before = said.len().saturating_sub(1 + entry.tags.len());
    let said = said.into_iter().take(before).filter(|text| !text.trim().is_empty());
    said.collect::<Vec<_>>().join("\n")
}

/// All of an entry that is searched besides its tags, as the database puts it together.
pub(crate) fn searched(entry: &Entry) -> String {
    let head = head(entry);
    if head.is_empty() { entry.content.to_string() } else { format!("{head}\n{}", entry.content.as_str()) }
}

/// The key by which a newer row takes this one's place, if it has one.
pub(crate) fn key(entry: &Entry) -> Option<String> {
    match &entry.detail.kind {
        Kind::Note { key } => key.as_ref().map(ToString::to_string),
        Kind::Semantic(fact) => Some(format!("{:?} {}", fact.category, fact.key.as_str())),
        Kind::Summary(_) => entry.session.map(|session| session.to_string()),
        Kind::Entity(entity) => Some(format!("{:?} {}", entity.r#type, entity.name.trim().to_lowercase())),
        Kind::Episodic { .. } | Kind::Observation(_) => None,
    }
}

/// The files of an entry as one column: a JSON list.
pub(crate) fn files(entry: &Entry) -> String {
    let files: Vec<&str> = match &entry.detail.kind {
        Kind::Observation(seen) => {
            seen.files_read.iter().chain(&seen.files_modified).map(Text::as_str).collect()
        }
        Kind::Summary(came) => came.files_modified.iter().map(Text::as_str).collect(),
        _ => Vec::new(),
    };
    serde_json::Value::from(files).to_string()
}

/// Names as one column: a JSON list.
pub(crate) fn listed(names: &[Name]) -> String {
    let names: Vec<&str> = names.iter().map(|name| name.as_str()).collect();
    serde_json::Value::from(names).to_string()
}

/// Names of a column that [`listed`] made; none if it did not.
pub(crate) fn names(column: &str) -> Option<List<Name, 16>> {
    let names: Vec<String> = serde_json::from_str(column).ok()?;
    let names: Option<Vec<Name>> = names.into_iter().map(|name| Text::new(name).ok()).collect();
    List::new(names?).ok()
}

/// A number that the database holds, where none is below 0.
pub(crate) fn unsigned(number: i64) -> Option<u64> {
    u64::try_from(number).ok()
}

/// A trust as it is kept; the numbers are part of the schema.
pub(crate) const fn trust_code(trust: Trust) -> i64 {
    match trust {
        Trust::System => 0,
        Trust::User => 1,
        Trust::Verified => 2,
        Trust::Untrusted => 3,
    }
}

pub(crate) fn trust_of(code: i64) -> Option<Trust> {
    [Trust::System, Trust::User, Trust::Verified, Trust::Untrusted]
        .into_iter()
        .find(|trust| trust_code(*trust) == code)
}

/// A class as it is kept; the numbers are part of the schema.
pub(crate) const fn class_code(class: Class) -> i64 {
    match class {
        Class::Public => 0,
        Class::Internal => 1,
        Class::Sensitive => 2,
        Class::Secret => 3,
    }
}

fn class(code: i64) -> Option<Class> {
    [Class::Public, Class::Internal, Class::Sensitive, Class::Secret]
        .into_iter()
        .find(|class| class_code(*class) == code)
}

/// Every kind, each at its number in the schema.
pub(crate) const KINDS: [KindName; 6] = [
    KindName::Note,
    KindName::Episodic,
    KindName::Semantic,
    KindName::Observation,
    KindName::Summary,
    KindName::Entity,
];

/// Every type, each at its number in the schema.
pub(crate) const TYPES: [ObservationType; 6] = [
    ObservationType::Decision,
    ObservationType::Bugfix,
    ObservationType::Feature,
    ObservationType::Refactor,
    ObservationType::Discovery,
    ObservationType::Change,
];

/// A kind as it is kept.
pub(crate) fn kind_code(kind: KindName) -> i64 {
    code(&KINDS, kind)
}

/// A type as it is kept.
pub(crate) fn type_code(r#type: ObservationType) -> i64 {
    code(&TYPES, r#type)
}

fn code<T: PartialEq>(all: &[T], one: T) -> i64 {
    let at = all.iter().position(|other| *other == one).unwrap_or_default();
    i64::try_from(at).unwrap_or_default()
}

/// A state as it is kept.
pub(crate) const fn state_code(state: StateName) -> i64 {
    match state {
        StateName::Current => 0,
        StateName::Superseded => 1,
        StateName::Removed => 2,
        StateName::Proposed => 3,
    }
}
