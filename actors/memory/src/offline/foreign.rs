//! `memory --offline read-foreign FILE`: the rows and sessions of a database of open-mem or claude-mem as JSON lines,
//! in the form of this host, each row with its source text. `agentctl memory import` executes this. The database is
//! opened read-only and is not trusted: no schema of it runs a function, and the content of its rows is a stranger's. A
//! row that cannot be understood is left out and counted on standard error; nothing of it is printed there.

mod claude_mem;
mod open_mem;

use ipc_proto::ids::{MemoryId, SessionId};
use ipc_proto::label::{Class, Label, Trust};
use ipc_proto::memory::{
    Area, Detail, Entry, FilePath, Importance, Kind, LISTED, Observation, ObservationType, Project,
    RAW_BOUND, Row, SessionStatus, Source, SourceType,
};
use ipc_proto::{List, Name, Text};
use rusqlite::types::ValueRef;
use rusqlite::{Connection, OpenFlags};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use std::io::Write;
use std::path::Path;

/// Why there are no rows.
#[derive(Debug, thiserror::Error)]
pub(super) enum Foreign {
    #[error("the database cannot be read: {0}")]
    Database(#[from] rusqlite::Error),
    #[error("it is neither a database of open-mem nor one of claude-mem")]
    Unknown,
    #[error("the rows cannot be written: {0}")]
    Output(#[from] std::io::Error),
}

/// A row of the other program, in the form of an export's line.
struct ExportLine(Value);

impl ExportLine {
    /// A row with its source text.
    fn row(row: &Row, raw: &Text<RAW_BOUND>) -> Self {
        Self(json!({ "v": 1, "row": row, "raw": raw }))
    }
}

/// Writes the rows of the database, oldest first, and its sessions. Gives how many were left out.
pub(super) fn read(path: &Path, to: &mut impl Write) -> Result<u64, Foreign> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let database = Connection::open_with_flags(path, flags)?;
    database
        .execute_batch("PRAGMA trusted_schema = OFF; PRAGMA query_only = ON; PRAGMA cell_size_check = ON;")?;
    let has = |table: &str, column: &str| -> Result<bool, rusqlite::Error> {
        let found = "SELECT count(*) FROM pragma_table_info(?1) WHERE name = ?2";
        database.query_row(found, [table, column], |row| Ok(row.get::<_, i64>(0)? > 0))
    };
    let is_older = has("observations", "sdk_session_id")?;
    let queries = if is_older || has("observations", "memory_session_id")? {
        let sessions = has("sdk_sessions", "started_at_epoch")? && has("sdk_sessions", "completed_at_epoch")?;
        claude_mem::queries(has("user_prompts", "prompt_text")?, sessions)
    } else if has("observations", "session_id")? && has("sessions", "project_path")? {
        open_mem::queries(has("sessions", "started_at")? && has("sessions", "ended_at")?)
    } else {
        return Err(Foreign::Unknown);
    };
    let mut left_out = 0;
    for (sql, understood) in queries {
        let sql = if is_older { claude_mem::to_an_older_one(sql) } else { sql.to_owned() };
        let mut statement = database.prepare(&sql)?;
        let mut rows = statement.query([])?;
        while let Some(columns) = rows.next()? {
            match understood(&Columns(columns)) {
                Some(ExportLine(line)) => writeln!(to, "{line}")?,
                None => left_out += 1,
            }
        }
    }
    to.flush()?;
    Ok(left_out)
}

/// A question, and how its rows are understood.
type Query = (&'static str, fn(&Columns<'_, '_>) -> Option<ExportLine>);

/// The columns of a row by their names. Older versions of both programs lack some: a missing one is empty.
struct Columns<'a, 'b>(&'a rusqlite::Row<'b>);

impl Columns<'_, '_> {
    fn text(&self, name: &str) -> String {
        match self.0.get_ref(name) {
            Ok(ValueRef::Text(text) | ValueRef::Blob(text)) => String::from_utf8_lossy(text).into_owned(),
            Ok(ValueRef::Integer(number)) => number.to_string(),
            _ => String::new(),
        }
    }

    fn number(&self, name: &str) -> Option<u64> {
        match self.0.get_ref(name) {
            Ok(ValueRef::Integer(number)) => u64::try_from(number).ok(),
            _ => None,
        }
    }

    /// A list: a JSON array as both programs write it, or one item to a line.
    fn list(&self, name: &str) -> Vec<String> {
        let text = self.text(name);
        serde_json::from_str(&text).unwrap_or_else(|_| {
            text.lines().map(str::trim).filter(|line| !line.is_empty()).map(str::to_owned).collect()
        })
    }

    fn files(&self, name: &str) -> List<FilePath, LISTED> {
        List::clip(self.list(name).iter().map(|file| Text::clip(file)))
    }

    fn project(&self) -> Option<Project> {
        Some(self.text("project")).filter(|project| !project.is_empty()).map(|project| Text::clip(&project))
    }

    fn r#type(&self) -> ObservationType {
        serde_json::from_value(self.text("type").into()).unwrap_or_default()
    }

    /// An observation, by the names that both programs give its fields.
    fn observation(&self) -> Kind {
        let tokens = self.number("discovery_tokens").and_then(|n| u32::try_from(n).ok());
        Kind::Observation(Box::new(Observation {
            r#type: self.r#type(),
            title: Text::clip(&self.text("title")),
            subtitle: Text::clip(&self.text("subtitle")),
            facts: List::clip(self.list("facts").iter().map(|fact| Text::clip(fact))),
            files_read: self.files("files_read"),
            files_modified: self.files("files_modified"),
            discovery_tokens: tokens.unwrap_or_default(),
            plain: false,
        }))
    }

    /// A row of this kind. None without an id, a time and a text.
    fn row(&self, program: &str, id: &str, session: &str, kind: Kind, content: &str) -> Option<Row> {
        let created_ms = self.number("at_ms")?;
        // No row is stored without a text: its title is the text then.
        let said = [content.to_owned(), self.text("learned"), self.text("request"), self.text("title")];
        let content = said.iter().find(|said| !said.trim().is_empty())?;
        let importance = self.number("importance").and_then(|value| u8::try_from(value).ok());
        let detail = Detail {
            kind,
            source: Source {
                r#type: SourceType::AiInference,
                tool: Some(self.text("tool_name"))
                    .filter(|tool| !tool.is_empty())
                    .map(|tool| Text::clip(&tool)),
                external: true,
                ..Source::default()
            },
            importance: importance.map_or_else(Importance::default, Importance::of),
            project: self.project(),
            expires_ms: None,
        };
        let entry = Entry {
            tags: List::clip(self.list("concepts").iter().map(|concept| Name::clip(concept))),
            session: Some(session_id(program, session)),
            detail,
            ..Entry::new(
                memory_id(program, id),
                Text::clip(content),
                Label::of(Trust::Untrusted, Class::Internal, &format!("import:{program}")),
            )
        };
        (!id.is_empty()).then(|| Row::new(entry, Area::User, created_ms))
    }

    /// A session, by the name that rows of its program have for it and by that of its client. None without a name or a time.
    fn session(&self, program: &str, id: &str, (client, name): (&str, &str)) -> Option<ExportLine> {
        let status = match self.text("status").as_str() {
            "active" => SessionStatus::Active,
            "idle" => SessionStatus::Idle,
            // One that failed is over as well.
            _ => SessionStatus::Completed,
        };
        let started_ms = self.number("at_ms").filter(|_| !name.is_empty())?;
        let (client, name): (Name, Text<128>) = (Name::clip(client), Text::clip(name));
        Some(ExportLine(json!({ "v": 1, "session": {
            "id": session_id(program, id).to_string(), "area": Area::User, "client": client, "name": name,
            "project": self.project().unwrap_or_default(), "started_ms": started_ms,
            "ended_ms": self.number("ended_ms"), "status": status,
        } })))
    }
}

/// The id of a session of another program, which its rows name.
fn session_id(program: &str, session: &str) -> SessionId {
    SessionId::from_bytes(hashed(&[program, "session", session]))
}

/// The id of a row of another program: the same each time, so that a row that is imported twice is there once.
fn memory_id(program: &str, id: &str) -> MemoryId {
    MemoryId::from_bytes(hashed(&[program, "row", id]))
}

fn hashed(parts: &[&str]) -> [u8; 16] {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update(u64::try_from(part.len()).unwrap_or(u64::MAX).to_be_bytes());
        hash.update(part);
    }
    let mut id = [0; 16];
    id.iter_mut().zip(hash.finalize()).for_each(|(to, from)| *to = from);
    id
}

#[cfg(test)]
mod tests {
    use super::*;
    use ipc_proto::memory::State;

    /// The lines of rows, and the content of those of sessions.
    fn lines(schema: &str) -> (Vec<Value>, Vec<Value>) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("other.db");
        Connection::open(&path).unwrap().execute_batch(schema).unwrap();
        let mut lines = Vec::new();
        assert_eq!(read(&path, &mut lines).unwrap(), 2, "a row and a session without a time are left out");
        let lines = String::from_utf8(lines).unwrap();
        let lines = lines.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        let (sessions, rows): (Vec<Value>, Vec<Value>) = lines.partition(|line| line["row"].is_null());
        (rows, sessions.into_iter().map(|line| line["session"].clone()).collect())
    }

    fn row(line: &Value) -> Row {
        serde_json::from_value(line["row"].clone()).unwrap()
    }

    // Holds P7-45.
    #[test]
    fn an_open_mem_database_is_imported_as_a_strangers() {
        let (lines, sessions) = lines(
            "CREATE TABLE sessions (id TEXT, project_path TEXT, started_at TEXT, ended_at TEXT, status TEXT);
             INSERT INTO sessions VALUES ('s1', '/p', '2026-01-02 03:00:00', '2026-01-06T00:00:00.000Z', 'completed'),
                ('s2', '/p', '2026-01-07 00:00:00', NULL, 'idle'), ('s3', '/p', 'never', NULL, 'active');
             CREATE TABLE observations (_rowid INTEGER PRIMARY KEY, id TEXT, session_id TEXT, type TEXT, title TEXT,
                subtitle TEXT, facts TEXT, narrative TEXT, concepts TEXT, files_read TEXT, files_modified TEXT,
                raw_tool_output TEXT, tool_name TEXT, created_at TEXT, token_count INTEGER, discovery_tokens INTEGER,
                importance INTEGER, superseded_by TEXT, superseded_at TEXT, scope TEXT, revision_of TEXT, deleted_at TEXT);
             INSERT INTO observations VALUES
                (1, 'o1', 's1', 'bugfix', 'T', 'S', '[\"f\"]', 'N', '[\"c\"]', '[\"a.rs\"]', '[]', 'raw', 'Edit',
                 '2026-01-02T03:04:05.678Z', 1, 70, 5, 'o2', '2026-01-03 00:00:00', 'project', NULL, NULL),
                (2, 'o2', 's1', 'decision', 'T2', '', '[]', 'N2', '[]', '[]', '[]', '', '', '2026-01-03 00:00:00', 1, 0, 3,
                 NULL, NULL, 'user', 'o1', NULL),
                (3, 'o3', 's1', 'change', 'gone', '', '[]', '', '[]', '[]', '[]', '', '', '2026-01-04 00:00:00', 1, 0, 3,
                 NULL, NULL, 'project', NULL, '2026-01-05 00:00:00'),
                (4, 'o4', 's1', 'change', 'no time', '', '[]', '', '[]', '[]', '[]', '', '', 'never', 1, 0, 3,
                 NULL, NULL, 'project', NULL, NULL);
             CREATE TABLE session_summaries (id TEXT, session_id TEXT, summary TEXT, key_decisions TEXT,
                files_modified TEXT, concepts TEXT, created_at TEXT, token_count INTEGER);
             INSERT INTO session_summaries VALUES ('y', 's1', 'done', '[\"d\"]', '[]', '[]', '2026-01-06 00:00:00', 1);",
        );
        let [first, second, third, summary] = lines.iter().map(row).collect::<Vec<_>>().try_into().unwrap();
        assert_eq!((first.created_ms, lines[0]["raw"].as_str()), (1_767_323_045_678, Some("raw")));
        let by = second.entry.id;
        assert_eq!(first.state, State::Superseded { by, at_ms: 1_767_398_400_000 });
        assert_eq!((second.revises, second.state), (Some(first.entry.id), State::Current));
        assert!(matches!(third.state, State::Removed { .. }));
        let project = |row: &Row| row.entry.detail.project.as_ref().map(ToString::to_string);
        assert_eq!((project(&first), project(&second)), (Some("/p".to_owned()), None));
        let Kind::Observation(seen) = &first.entry.detail.kind else { panic!() };
        assert_eq!((seen.title.as_str(), seen.discovery_tokens, seen.facts.len()), ("T", 70, 1));
        assert!(matches!(&summary.entry.detail.kind, Kind::Summary(came) if came.key_decisions.len() == 1));
        for row in [&first, &second, &third, &summary] {
            assert!(row.entry.label.trust == Trust::Untrusted && row.entry.detail.source.external);
        }
        let id = first.entry.session.unwrap().to_string();
        let told = json!({ "id": id, "area": "user", "client": "opencode", "name": "s1", "project": "/p",
            "started_ms": 1_767_322_800_000_u64, "ended_ms": 1_767_657_600_000_u64, "status": "completed" });
        assert_eq!(sessions.get(1), Some(&told), "the newest first, as an export has them: {sessions:?}");
        assert_eq!((&sessions[0]["name"], &sessions[0]["status"]), (&json!("s2"), &json!("idle")));
    }

    const CLAUDE_MEM: &str =
        "CREATE TABLE sdk_sessions (memory_session_id TEXT, content_session_id TEXT, project TEXT, platform_source TEXT,
            started_at_epoch INTEGER, completed_at_epoch INTEGER, status TEXT);
         INSERT INTO sdk_sessions VALUES ('m1', 'c1', 'ferry', 'claude', 4000, 9000, 'failed'),
            (NULL, 'c2', 'ferry', 'codex', 5000, NULL, 'active'), ('m3', 'c3', 'ferry', 'claude', NULL, NULL, 'active'),
            ('m4', 'c4', 'ferry', 'cordon', 3000, NULL, 'active');
         CREATE TABLE observations (id INTEGER, memory_session_id TEXT, project TEXT, text TEXT, type TEXT, title TEXT,
            facts TEXT, narrative TEXT, concepts TEXT, files_read TEXT, files_modified TEXT,
            discovery_tokens INTEGER, created_at TEXT, created_at_epoch INTEGER);
         INSERT INTO observations VALUES
            (1, 'm1', 'ferry', NULL, 'gotcha', 'T', NULL, 'N', '[\"c\"]', NULL, '[\"a.rs\"]', 9, 'x', 1767323045678),
            (2, 'm1', 'ferry', NULL, 'bugfix', 'T', NULL, 'N', NULL, NULL, NULL, 9, 'x', NULL);
         CREATE TABLE session_summaries (id INTEGER, memory_session_id TEXT, project TEXT, request TEXT,
            investigated TEXT, learned TEXT, completed TEXT, next_steps TEXT, files_edited TEXT, notes TEXT,
            created_at_epoch INTEGER);
         INSERT INTO session_summaries VALUES (1, 'm1', 'ferry', 'R', 'I', 'L', 'C', 'N', NULL, 'notes', 5000);
         CREATE TABLE user_prompts (id INTEGER, content_session_id TEXT, prompt_text TEXT, created_at_epoch INTEGER);
         INSERT INTO user_prompts VALUES (1, 'c1', 'when does the ferry leave?', 6000);";

    // Holds P7-37.
    #[test]
    fn a_claude_mem_database_is_imported_with_its_sessions() {
        let (lines, sessions) = lines(CLAUDE_MEM);
        let [seen, summary, prompt] = lines.iter().map(row).collect::<Vec<_>>().try_into().unwrap();
        let Kind::Observation(of) = &seen.entry.detail.kind else { panic!() };
        assert_eq!((of.r#type, of.files_modified.len()), (ObservationType::Discovery, 1));
        assert!(matches!(&summary.entry.detail.kind, Kind::Summary(came) if came.learned.as_str() == "L"));
        assert_eq!(prompt.entry.content.as_str(), "when does the ferry leave?");
        assert_eq!(prompt.entry.session, seen.entry.session, "prompts and observations are of one session");
        let id = seen.entry.session.unwrap().to_string();
        let told = json!({ "id": id, "area": "user", "client": "claude-code", "name": "c1", "project": "ferry",
            "started_ms": 4000, "ended_ms": 9000, "status": "completed" });
        assert_eq!(sessions.get(1), Some(&told), "{sessions:?}");
        assert_eq!((&sessions[0]["client"], &sessions[0]["status"]), (&json!("codex"), &json!("active")));
        assert_eq!(sessions[2]["client"], "claude-mem", "none is called as this host's own are");
    }

    // Holds P7-40.
    #[test]
    fn an_older_database_of_claude_mem_gives_the_same() {
        let older = claude_mem::to_an_older_one(CLAUDE_MEM);
        assert!(older.contains("claude_session_id") && !older.contains("memory_session_id"));
        assert_eq!(lines(&older), lines(CLAUDE_MEM));
    }

    #[test]
    fn another_database_is_named_as_none_of_both() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("other.db");
        Connection::open(&path).unwrap().execute_batch("CREATE TABLE observations (x)").unwrap();
        assert!(matches!(read(&path, &mut Vec::new()), Err(Foreign::Unknown)));
        std::fs::write(&path, "no database").unwrap();
        assert!(matches!(read(&path, &mut Vec::new()), Err(Foreign::Database(_))));
    }
}
