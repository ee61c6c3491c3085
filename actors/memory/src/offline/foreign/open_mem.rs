//! Databases of open-mem, of every version of its schema: columns that a version lacks are empty.

use super::{Columns, ExportLine, Query, memory_id};
use ipc_proto::memory::{Kind, State, Summary};
use ipc_proto::{List, Text};

const PROGRAM: &str = "open-mem";
/// The client that it is a plugin of.
const CLIENT: &str = "opencode";
/// Sessions.
const SESSIONS: &str = "SELECT *, project_path AS project,
        CAST(round((julianday(started_at) - 2440587.5) * 86400000) AS INTEGER) AS at_ms,
        CAST(round((julianday(ended_at) - 2440587.5) * 86400000) AS INTEGER) AS ended_ms
     FROM sessions ORDER BY at_ms DESC";

/// Observations with their history, then summaries, then sessions where it is said when they were, the newest first as an
/// export has them. Times are texts in two notations; what SQLite cannot read is none.
pub(super) fn queries(sessions: bool) -> Vec<Query> {
    let mut queries: Vec<Query> = vec![
        (
            "SELECT *, CAST(round((julianday(created_at) - 2440587.5) * 86400000) AS INTEGER) AS at_ms,
                (SELECT project_path FROM sessions WHERE sessions.id = session_id) AS project
             FROM observations ORDER BY created_at, _rowid",
            observation,
        ),
        (
            "SELECT *, CAST(round((julianday(created_at) - 2440587.5) * 86400000) AS INTEGER) AS at_ms,
                (SELECT project_path FROM sessions WHERE sessions.id = session_id) AS project
             FROM session_summaries ORDER BY created_at",
            summary,
        ),
    ];
    if sessions {
        queries.push((SESSIONS, session));
    }
    queries
}

fn session(columns: &Columns<'_, '_>) -> Option<ExportLine> {
    let id = columns.text("id");
    columns.session(PROGRAM, &id, (CLIENT, &id))
}

fn observation(columns: &Columns<'_, '_>) -> Option<ExportLine> {
    let (id, session) = (columns.text("id"), columns.text("session_id"));
    let mut row = columns.row(PROGRAM, &id, &session, columns.observation(), &columns.text("narrative"))?;
    if columns.text("scope") == "user" {
        row.entry.detail.project = None;
    }
    let named =
        |column| Some(columns.text(column)).filter(|id| !id.is_empty()).map(|id| memory_id(PROGRAM, &id));
    row.revises = named("revision_of");
    // If a row has both, the tombstone wins. The time of it is read here: older schemas lack the column, so SQL cannot
    // name it.
    let at = |column| when(&columns.text(column)).unwrap_or(row.created_ms);
    if !columns.text("deleted_at").is_empty() {
        row.state = State::Removed { at_ms: at("deleted_at") };
    } else if let Some(by) = named("superseded_by") {
        row.state = State::Superseded { by, at_ms: at("superseded_at") };
    }
    Some(ExportLine::row(&row, &Text::clip(&columns.text("raw_tool_output"))))
}

/// The day of a time as open-mem writes it, unix ms.
fn when(text: &str) -> Option<u64> {
    finding::date_in(text)
}

fn summary(columns: &Columns<'_, '_>) -> Option<ExportLine> {
    let came = Summary {
        request: Text::clip(&columns.text("request")),
        investigated: Text::clip(&columns.text("investigated")),
        learned: Text::clip(&columns.text("learned")),
        completed: Text::clip(&columns.text("completed")),
        next_steps: Text::clip(&columns.text("next_steps")),
        key_decisions: List::clip(columns.list("key_decisions").iter().map(|decision| Text::clip(decision))),
        files_modified: columns.files("files_modified"),
    };
    let kind = Kind::Summary(Box::new(came));
    let (id, session) = (columns.text("id"), columns.text("session_id"));
    let row = columns.row(PROGRAM, &id, &session, kind, &columns.text("summary"))?;
    Some(ExportLine::row(&row, &Text::default()))
}
