//! Databases of claude-mem. Its ids count from 1 in each database: a row is identified by its session as well.

use super::{Columns, ExportLine, Query};
use ipc_proto::memory::{Kind, OWN_CLIENT, Observation, ObservationType, Summary};
use ipc_proto::{List, Text};

const PROGRAM: &str = "claude-mem";
/// Characters of a question that are its title.
const TITLE: usize = 60;
/// The other program's name for the client that it was made for first, and the name here.
const CLIENT: (&str, &str) = ("claude", "claude-code");
/// Sessions.
const SESSIONS: &str = "SELECT *, started_at_epoch AS at_ms, completed_at_epoch AS ended_ms,
        coalesce(memory_session_id, content_session_id) AS session, content_session_id AS called
     FROM sdk_sessions ORDER BY started_at_epoch DESC";

/// A query to a database of before its sessions were called as they are now.
pub(super) fn to_an_older_one(query: &str) -> String {
    query.replace("memory_session_id", "sdk_session_id").replace("content_session_id", "claude_session_id")
}

/// Observations, summaries, what the person asked, where that is kept, and sessions where it is said when they were, the newest
/// first as an export has them. Questions name the client's session and all else the program's own: both are one here.
pub(super) fn queries(prompts: bool, sessions: bool) -> Vec<Query> {
    let mut queries: Vec<Query> = vec![
        (
            "SELECT *, created_at_epoch AS at_ms, memory_session_id AS session FROM observations
             ORDER BY created_at_epoch, id",
            observation,
        ),
        (
            "SELECT *, created_at_epoch AS at_ms, memory_session_id AS session FROM session_summaries
             ORDER BY created_at_epoch, id",
            summary,
        ),
    ];
    if prompts {
        queries.push((
            "SELECT user_prompts.*, created_at_epoch AS at_ms, project,
                coalesce(memory_session_id, user_prompts.content_session_id) AS session
             FROM user_prompts LEFT JOIN (SELECT content_session_id AS known, memory_session_id, project FROM sdk_sessions)
                ON known = user_prompts.content_session_id
             ORDER BY created_at_epoch, id",
            prompt,
        ));
    }
    if sessions {
        queries.push((SESSIONS, session));
    }
    queries
}

/// The identity of a row: its place in its database and its session, since ids of two databases are alike.
fn known_by(columns: &Columns<'_, '_>, what: &str) -> (String, String) {
    let session = columns.text("session");
    (format!("{what} {} {session}", columns.text("id")), session)
}

fn session(columns: &Columns<'_, '_>) -> Option<ExportLine> {
    let named = columns.text("platform_source");
    let client = match named.as_str() {
        "" => CLIENT.1,
        named if named == CLIENT.0 => CLIENT.1,
        OWN_CLIENT => PROGRAM,
        named => named,
    };
    columns.session(PROGRAM, &columns.text("session"), (client, &columns.text("called")))
}

fn observation(columns: &Columns<'_, '_>) -> Option<ExportLine> {
    let (id, session) = known_by(columns, "observation");
    let narrative = columns.text("narrative");
    let said = if narrative.is_empty() { columns.text("text") } else { narrative };
    let row = columns.row(PROGRAM, &id, &session, columns.observation(), &said)?;
    Some(ExportLine::row(&row, &Text::default()))
}

fn summary(columns: &Columns<'_, '_>) -> Option<ExportLine> {
    let came = Summary {
        request: Text::clip(&columns.text("request")),
        investigated: Text::clip(&columns.text("investigated")),
        learned: Text::clip(&columns.text("learned")),
        completed: Text::clip(&columns.text("completed")),
        next_steps: Text::clip(&columns.text("next_steps")),
        key_decisions: List::default(),
        files_modified: columns.files("files_edited"),
    };
    let (id, session) = known_by(columns, "summary");
    let row = columns.row(PROGRAM, &id, &session, Kind::Summary(Box::new(came)), &columns.text("notes"))?;
    Some(ExportLine::row(&row, &Text::default()))
}

fn prompt(columns: &Columns<'_, '_>) -> Option<ExportLine> {
    let said = columns.text("prompt_text");
    let begun: String = said.split_whitespace().collect::<Vec<_>>().join(" ").chars().take(TITLE).collect();
    let seen = Observation {
        r#type: ObservationType::Discovery,
        title: Text::clip(&format!("User request: {begun}")),
        ..Observation::default()
    };
    let (id, session) = known_by(columns, "prompt");
    let row = columns.row(PROGRAM, &id, &session, Kind::Observation(Box::new(seen)), &said)?;
    Some(ExportLine::row(&row, &Text::default()))
}
