//! `agentctl memory history`: every revision of a memory, oldest first, and which fields each changed.

use super::{Where, show};
use crate::app::{App, Outcome};
use crate::{text, view};
use ipc_proto::control::method;
use ipc_proto::ids::MemoryId;
use ipc_proto::memory::{Kind, Row};
use serde_json::{Value, json};
use std::process::ExitCode;

/// The arguments of `memory history`.
#[derive(clap::Args)]
pub(crate) struct History {
    /// The id of any of its revisions
    #[arg(value_parser = super::id)]
    id: MemoryId,
    #[command(flatten)]
    place: Where,
}

/// A field with different values in two revisions.
#[derive(Debug, PartialEq, Eq)]
struct Difference {
    field: &'static str,
    before: String,
    after: String,
}

/// Shows the revisions.
pub(super) async fn history(app: &App, arguments: History) -> Outcome {
    let History { id, place } = arguments;
    let rows = app
        .link
        .ask(&method::memory_history, async |c, cx| c.memory_history(cx, place.area.clone(), id).await);
    let rows = rows.await?;
    let before = std::iter::once(None).chain(rows.iter().map(Some));
    let revisions =
        rows.iter().zip(before).map(|(row, before)| (row, before.map(|before| differences(before, row))));
    if app.out.json {
        let shown: Vec<Value> = revisions.map(|(row, changed)| document(row, changed.as_deref())).collect();
        app.out.document(json!({ "revisions": shown }))?;
        return Ok(ExitCode::SUCCESS);
    }
    for (row, changed) in revisions {
        let reason = if row.reason.is_empty() { String::new() } else { format!(" ({})", row.reason) };
        let head = format!("{}  {}  {}{reason}", row.entry.id, text::utc(row.created_ms), show::state(row));
        app.out.line(&text::line(&head))?;
        let Some(changed) = changed else { continue };
        app.out.line(&format!("    {}", summary(&changed)))?;
        for Difference { field, before, after } in changed {
            app.out.line(&text::line(&format!("    - {field}: {}", text::begin(&before, 90))))?;
            app.out.line(&text::line(&format!("    + {field}: {}", text::begin(&after, 90))))?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn document(row: &Row, changed: Option<&[Difference]>) -> Value {
    let mut document = view::memory(row);
    if let (Some(map), Some(changed)) = (document.as_object_mut(), changed) {
        let each = |d: &Difference| json!({ "field": d.field, "before": d.before, "after": d.after });
        map.insert("changed".to_owned(), changed.iter().map(each).collect());
        map.insert("summary".to_owned(), summary(changed).into());
    }
    document
}

/// The changes in one line.
fn summary(changed: &[Difference]) -> String {
    let names: Vec<&str> = changed.iter().map(|difference| difference.field).collect();
    match names.len() {
        0 => "nothing changed".to_owned(),
        1 => format!("1 field changed: {}", names.concat()),
        many => format!("{many} fields changed: {}", names.join(", ")),
    }
}

/// The fields that differ.
fn differences(before: &Row, after: &Row) -> Vec<Difference> {
    let pairs = fields(before).into_iter().zip(fields(after));
    let differ = pairs.filter(|((_, before), (_, after))| before != after);
    differ.map(|((field, before), (_, after))| Difference { field, before, after }).collect()
}

/// The nine fields by which revisions are compared; a field that a kind does not have is empty.
fn fields(row: &Row) -> [(&'static str, String); 9] {
    fn lines<T: ToString>(items: &[T]) -> String {
        items.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
    }
    let (entry, kind) = (&row.entry, &row.entry.detail.kind);
    let seen = if let Kind::Observation(seen) = kind { Some(seen) } else { None };
    let title = match kind {
        Kind::Note { key } => key.as_ref().map_or_else(String::new, ToString::to_string),
        Kind::Semantic(fact) => fact.key.to_string(),
        Kind::Episodic { role } => role.to_string(),
        Kind::Observation(seen) => seen.title.to_string(),
        Kind::Summary(summary) => summary.request.to_string(),
        Kind::Entity(entity) => entity.name.to_string(),
    };
    let modified = match kind {
        Kind::Summary(summary) => lines(&summary.files_modified),
        _ => seen.map_or_else(String::new, |seen| lines(&seen.files_modified)),
    };
    [
        ("title", title),
        ("subtitle", seen.map_or_else(String::new, |seen| seen.subtitle.to_string())),
        ("type", view::kind(kind)),
        ("narrative", entry.content.to_string()),
        ("facts", seen.map_or_else(String::new, |seen| lines(&seen.facts))),
        ("concepts", lines(&entry.tags)),
        ("filesRead", seen.map_or_else(String::new, |seen| lines(&seen.files_read))),
        ("filesModified", modified),
        ("importance", entry.detail.importance.get().to_string()),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use ipc_proto::Text;
    use ipc_proto::label::Label;
    use ipc_proto::memory::{Area, Entry, Importance, Observation};

    #[test]
    fn each_field_that_changed_is_named_and_no_other() {
        let row = |title: &str, narrative: &str, importance| {
            let mut entry = Entry::new(MemoryId::random(), Text::clip(narrative), Label::bottom());
            let seen = Observation { title: Text::clip(title), ..Observation::default() };
            entry.detail.kind = Kind::Observation(Box::new(seen));
            entry.detail.importance = Importance::of(importance);
            Row::new(entry, Area::User, 5)
        };
        let changed = differences(&row("a", "same", 3), &row("b", "same", 5));
        assert_eq!(summary(&changed), "2 fields changed: title, importance");
        assert_eq!(changed[0], Difference { field: "title", before: "a".into(), after: "b".into() });
        assert_eq!(summary(&differences(&row("a", "x", 3), &row("a", "y", 3))), "1 field changed: narrative");
        assert_eq!(summary(&differences(&row("a", "x", 3), &row("a", "x", 3))), "nothing changed");
    }
}
