//! A row between its columns and its type. A column that does not hold what the type allows is an error that
//! names the column, never a guess.

use crate::store::StoreError;
use ipc_proto::ids::{MemoryId, SessionId};
use ipc_proto::label::{Class, Label, Trust};
use ipc_proto::memory::{Area, Entry, Row};
use ipc_proto::{List, Name, Text};

/// The columns that [`decoded`] reads, of the table `entry` under the name `e`.
pub(crate) const COLUMNS: &str =
    "e.id, e.content, e.tags, e.trust, e.class, e.sources, e.session, e.created_ms";

/// The row that these columns make.
pub(crate) fn decoded(columns: &rusqlite::Row<'_>, area: &Area) -> Result<Row, StoreError> {
    let content: String = columns.get(1)?;
    let label = Label {
        trust: trust(columns.get(3)?).ok_or(StoreError::Column("trust"))?,
        class: class(columns.get(4)?).ok_or(StoreError::Column("class"))?,
        sources: names(&columns.get::<_, String>(5)?).ok_or(StoreError::Column("sources"))?,
    };
    let created: i64 = columns.get(7)?;
    let entry = Entry {
        id: MemoryId::from_bytes(columns.get(0)?),
        content: Text::new(content).map_err(|_| StoreError::Column("content"))?,
        tags: names(&columns.get::<_, String>(2)?).ok_or(StoreError::Column("tags"))?,
        label,
        session: columns.get::<_, Option<[u8; 16]>>(6)?.map(SessionId::from_bytes),
    };
    let created_ms = u64::try_from(created).map_err(|_| StoreError::Column("created_ms"))?;
    Ok(Row { entry, area: area.clone(), created_ms })
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

/// A trust as it is kept; the numbers are part of the schema.
pub(crate) const fn trust_code(trust: Trust) -> i64 {
    match trust {
        Trust::System => 0,
        Trust::User => 1,
        Trust::Verified => 2,
        Trust::Untrusted => 3,
    }
}

fn trust(code: i64) -> Option<Trust> {
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
