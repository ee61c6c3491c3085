//! Rows of memory as a model reads them: JSON, so that no text can end the field it stands in. Short rows are whole; of longer
//! ones there is an excerpt and the number of tokens of the whole, so that a model looks before it reads.

use ipc_proto::Text;
use ipc_proto::label::Label;
use ipc_proto::memory::{Kind, Row, State};
use serde_json::{Value, json};

/// Tokens up to which a listed row is whole.
const SHORT: u32 = 200;

/// Bytes of the beginning of a longer row.
const BEGINNING: usize = 480;

/// The part of a row that is shown.
#[derive(Clone, Copy)]
pub(crate) enum Excerpt<'a> {
    /// Everything.
    Whole,
    /// Its beginning.
    Beginning,
    /// The passage that matched the query.
    Match(&'a str),
}

/// Rows, and the join of their labels; none without a row.
pub(crate) fn rows<'a>(rows: impl Iterator<Item = (&'a Row, Excerpt<'a>)>) -> (Value, Option<Label>) {
    let mut label: Option<Label> = None;
    let mut shown = Vec::new();
    for (row, excerpt) in rows {
        let own = &row.entry.label;
        label = Some(label.map_or_else(|| own.clone(), |label| label.join(own)));
        shown.push(row_value(row, excerpt));
    }
    (Value::Array(shown), label)
}

fn row_value(row: &Row, excerpt: Excerpt<'_>) -> Value {
    let entry = &row.entry;
    let (content, whole) = content(row, excerpt);
    let tags: Vec<&str> = entry.tags.iter().map(Text::as_str).collect();
    let mut shown = json!({
        "id": entry.id.to_string(), "kind": entry.detail.kind.name(), "content": content, "tags": tags,
        "trust": entry.label.trust, "importance": entry.detail.importance, "created_ms": row.created_ms,
        "tokens": row.tokens,
    });
    let Value::Object(fields) = &mut shown else { return shown };
    if let Some(title) = title(&entry.detail.kind) {
        fields.insert("title".to_owned(), title.into());
    }
    if let Some(project) = &entry.detail.project {
        fields.insert("project".to_owned(), project.as_str().into());
    }
    if !whole {
        fields.insert("more".to_owned(), "memory_read shows it whole".into());
    }
    if row.state != State::Current {
        let state = match row.state {
            State::Removed { .. } => "removed",
            State::Proposed { .. } => "proposed",
            State::Superseded { .. } | State::Current => "superseded",
        };
        fields.insert("state".to_owned(), state.into());
    }
    if matches!(excerpt, Excerpt::Whole)
        && let Ok(Value::Object(kind)) = serde_json::to_value(&entry.detail.kind)
    {
        fields.insert("detail".to_owned(), kind.into_iter().next().map_or(Value::Null, |(_, detail)| detail));
    }
    shown
}

/// The content or a part of it, and true if that is all of it.
fn content<'a>(row: &'a Row, excerpt: Excerpt<'a>) -> (&'a str, bool) {
    let content = row.entry.content.as_str();
    match excerpt {
        Excerpt::Whole => (content, true),
        _ if row.tokens <= SHORT => (content, true),
        Excerpt::Beginning => {
            (content.get(..content.floor_char_boundary(BEGINNING)).unwrap_or_default(), false)
        }
        Excerpt::Match(snippet) => (snippet, false),
    }
}

fn title(kind: &Kind) -> Option<&str> {
    let title = match kind {
        Kind::Note { key } => key.as_ref()?.as_str(),
        Kind::Semantic(fact) => &fact.key,
        Kind::Observation(seen) => &seen.title,
        Kind::Summary(came) => &came.request,
        Kind::Entity(entity) => &entity.name,
        Kind::Episodic { role } => role,
    };
    (!title.is_empty()).then_some(title)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ipc_proto::ids::MemoryId;
    use ipc_proto::label::{Class, Trust};
    use ipc_proto::memory::{Area, Entry};

    fn row(content: &str, trust: Trust) -> Row {
        let label = Label::of(trust, Class::Internal, "x");
        Row::new(Entry::new(MemoryId::random(), Text::clip(content), label), Area::User, 7)
    }

    #[test]
    fn a_long_row_is_listed_by_a_part_and_read_whole() {
        let (short, long) = (row("short", Trust::User), row(&"ä ".repeat(1000), Trust::Untrusted));
        let (listed, label) = rows([(&short, Excerpt::Beginning), (&long, Excerpt::Beginning)].into_iter());
        assert_eq!(label.map(|label| label.trust), Some(Trust::Untrusted));
        assert_eq!((&listed[0]["content"], listed[0].get("more")), (&json!("short"), None));
        assert!(listed[1]["content"].as_str().is_some_and(|part| part.len() <= BEGINNING));
        assert_eq!(listed[1]["tokens"], 500);
        let (found, _) = rows([(&long, Excerpt::Match("[ä]"))].into_iter());
        assert_eq!(found[0]["content"], "[ä]");
        let (whole, _) = rows([(&long, Excerpt::Whole)].into_iter());
        assert_eq!(whole[0]["content"].as_str().map(str::len), Some(3000));
        assert_eq!(rows(std::iter::empty()).1, None);
    }
}
