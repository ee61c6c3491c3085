//! A filter as a condition on rows. Pure: the SQL is fixed text, and the values asked for are parameters.

use crate::row::{kind_code, listed, state_code, type_code};
use crate::scope::Number;
use ipc_proto::memory::{Filter, KindName, StateName};
use rusqlite::types::Value;

/// A condition on the table `kept` under the name `e`, and its parameters.
#[derive(Clone, Debug)]
pub(crate) struct Narrow {
    sql: String,
    values: Vec<Value>,
}

impl Narrow {
    /// The rows of a scope that a filter admits, as of now. Expired rows are not among them, removed already or not.
    pub(crate) fn of(number: Number, filter: &Filter, now_ms: u64) -> Self {
        // The state is no parameter: an index of the rows that hold serves only where it is known which are asked for.
        let sql = format!("e.scope = ?1 AND e.state = {}", state_code(filter.state));
        let mut narrow = Self { sql, values: vec![Value::from(number.get())] };
        narrow.and("(e.expires_ms IS NULL OR e.expires_ms > ?)", ms(now_ms));
        if filter.kinds.is_empty() {
            // Entities, the subjects of memories, are no answer by themselves unless they are asked for.
            narrow.and("e.kind <> ?", kind_code(KindName::Entity));
        } else {
            let kinds: Vec<i64> = filter.kinds.iter().map(|kind| kind_code(*kind)).collect();
            narrow.and("e.kind IN (SELECT value FROM json_each(?))", json(&kinds));
        }
        if !filter.types.is_empty() {
            let types: Vec<i64> = filter.types.iter().map(|it| type_code(*it)).collect();
            narrow.and("e.type IN (SELECT value FROM json_each(?))", json(&types));
        }
        narrow.tags(filter);
        if !filter.files.is_empty() {
            let files: Vec<&str> = filter.files.iter().map(|file| file.as_str()).collect();
            narrow.and(
                "EXISTS (SELECT 1 FROM json_each(e.files) AS has, json_each(?) AS wanted
                 WHERE instr(has.value, wanted.value) > 0)",
                json(&files),
            );
        }
        match filter.project.as_deref() {
            Some("") => narrow.sql.push_str(" AND e.project IS NULL"),
            project => narrow.and_if("e.project = ?", project.map(str::to_owned)),
        }
        narrow.and_if("e.session = ?", filter.session.map(|session| session.bytes().to_vec()));
        narrow.and_if("e.importance >= ?", filter.importance.map(i64::from));
        narrow.and_if("e.importance <= ?", filter.importance_most.map(i64::from));
        narrow.and_if("e.created_ms >= ?", filter.since_ms.map(ms));
        narrow.and_if("e.created_ms < ?", filter.until_ms.map(ms));
        narrow
    }

    /// Tags are the same whatever the case of their ASCII letters.
    fn tags(&mut self, filter: &Filter) {
        if !filter.tags.is_empty() {
            self.and(
                "NOT EXISTS (SELECT 1 FROM json_each(?) AS wanted WHERE NOT EXISTS
                 (SELECT 1 FROM json_each(e.tags) AS has WHERE has.value = wanted.value COLLATE NOCASE))",
                listed(&filter.tags),
            );
        }
        if !filter.any_tags.is_empty() {
            self.and(
                "EXISTS (SELECT 1 FROM json_each(e.tags) AS has, json_each(?) AS wanted
                 WHERE has.value = wanted.value COLLATE NOCASE)",
                listed(&filter.any_tags),
            );
        }
    }

    /// Adds a condition whose one `?` stands for a value.
    pub(crate) fn and(&mut self, condition: &str, value: impl Into<Value>) {
        let parameter = self.parameter(value);
        self.sql.push_str(" AND ");
        self.sql.push_str(&condition.replacen('?', &parameter, 1));
    }

    fn and_if(&mut self, condition: &str, value: Option<impl Into<Value>>) {
        if let Some(value) = value {
            self.and(condition, value);
        }
    }

    /// A further parameter, by its number.
    pub(crate) fn parameter(&mut self, value: impl Into<Value>) -> String {
        self.values.push(value.into());
        format!("?{}", self.values.len())
    }

    /// The condition.
    pub(crate) fn sql(&self) -> &str {
        &self.sql
    }

    /// Its parameters.
    pub(crate) fn values(&self) -> rusqlite::ParamsFromIter<&[Value]> {
        rusqlite::params_from_iter(self.values.as_slice())
    }
}

/// Returns true if a filter asks for no more than times, which an index in memory knows by itself.
pub(crate) fn only_times(filter: &Filter) -> bool {
    let Filter { since_ms, until_ms, .. } = *filter;
    *filter == Filter { since_ms, until_ms, ..Filter::default() }
}

/// Returns whether a filter asks for anything at all of rows that hold.
pub(crate) fn asks(filter: &Filter) -> bool {
    *filter != Filter { state: filter.state, ..Filter::default() } || filter.state != StateName::Current
}

fn json<T>(items: &[T]) -> String
where
    serde_json::Value: From<Vec<T>>,
    T: Clone,
{
    serde_json::Value::from(items.to_vec()).to_string()
}

/// A time as it is kept.
pub(crate) fn ms(ms: u64) -> i64 {
    i64::try_from(ms).unwrap_or(i64::MAX)
}
