//! A memory, or a session of a client, as a line of JSON: every field that the host has, and its source text. Ids are text,
//! as everywhere that a person may look; lists of bytes, as memory's own program writes them, are read as well.

use ipc_proto::ids::{MemoryId, SessionId};
use ipc_proto::memory::{Area, CONTENT_BOUND, Project, RAW_BOUND, Row, SessionRow, SessionStatus};
use ipc_proto::{Name, Text, json};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::io::{self, BufRead, Read};

/// The version of these lines.
const VERSION: u8 = 1;
/// Bytes of one line: both texts at their largest, each byte escaped as `\u0000`, and all the rest of a row.
const LINE_BOUND: u64 = 6 * (CONTENT_BOUND as u64 + RAW_BOUND as u64) + 1_048_576;
/// The places of ids in a row.
const IDS: [&str; 5] = [
    "/row/entry/id",
    "/row/entry/session",
    "/row/entry/detail/source/row",
    "/row/revises",
    "/row/state/superseded/by",
];

/// A memory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct MemoryLine {
    v: u8,
    /// The row.
    pub(super) row: Row,
    /// The text it was made from; empty if there is none.
    #[serde(default)]
    pub(super) raw: Text<RAW_BOUND>,
}

impl MemoryLine {
    /// The line of this row.
    pub(super) const fn new(row: Row, raw: Text<RAW_BOUND>) -> Self {
        Self { v: VERSION, row, raw }
    }

    /// Formats the line without its break.
    ///
    /// # Errors
    /// No row leads to one.
    pub(super) fn write(&self) -> serde_json::Result<String> {
        let mut line = serde_json::to_value(self)?;
        for place in IDS {
            if let Some(id) = line.pointer_mut(place)
                && id.is_array()
            {
                let bytes: [u8; 16] = serde_json::from_value(id.take())?;
                // Ids of every type are written alike.
                *id = Value::String(MemoryId::from_bytes(bytes).to_string());
            }
        }
        Ok(line.to_string())
    }

    fn read(mut line: Value) -> Result<Self, String> {
        for place in IDS {
            if let Some(id) = line.pointer_mut(place)
                && let Some(text) = id.as_str()
            {
                let parsed: MemoryId = text.parse().map_err(|_| format!("{place} is no id"))?;
                *id = Value::from(parsed.bytes().to_vec());
            }
        }
        serde_json::from_value(line).map_err(|error| wrong(&error))
    }
}

/// A session of a client. Its counts are not in the line: the importing host counts again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SessionLine {
    v: u8,
    session: Session,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Session {
    id: String,
    area: Area,
    client: Name,
    name: Text<128>,
    project: Project,
    started_ms: u64,
    ended_ms: Option<u64>,
    status: SessionStatus,
}

impl SessionLine {
    /// The line of this session.
    pub(super) fn new(row: SessionRow, area: Area) -> Self {
        let SessionRow { id, client, name, project, started_ms, ended_ms, status, .. } = row;
        let id = id.to_string();
        Self {
            v: VERSION,
            session: Session { id, area, client, name, project, started_ms, ended_ms, status },
        }
    }

    /// Formats the line without its break.
    ///
    /// # Errors
    /// No session leads to one.
    pub(super) fn write(&self) -> serde_json::Result<String> {
        serde_json::to_string(self)
    }

    /// The session, and its area.
    ///
    /// # Errors
    /// The fault of the line, as a sentence without its contents.
    fn row(self) -> Result<(SessionRow, Area), String> {
        let Session { id, area, client, name, project, started_ms, ended_ms, status } = self.session;
        let id: SessionId = id.parse().map_err(|_| "/session/id is no id".to_owned())?;
        let (observations, summary, muted) = (0, None, false);
        let row = SessionRow {
            id,
            client,
            name,
            project,
            started_ms,
            ended_ms,
            status,
            observations,
            summary,
            muted,
        };
        Ok((row, area))
    }
}

/// The content of a line.
pub(super) enum Content {
    /// A memory.
    Memory(Box<MemoryLine>),
    /// A session, and its area.
    Session(Box<SessionRow>, Area),
}

impl Content {
    /// Reads a line. The error does not repeat any of its contents.
    fn read(line: &[u8]) -> Result<Self, String> {
        let line: Value = serde_json::from_slice(line).map_err(|error| wrong(&error))?;
        let version = line.get("v").and_then(Value::as_u64);
        if version != Some(u64::from(VERSION)) {
            return Err(format!("not version {VERSION} of an export of memory"));
        }
        if line.get("session").is_none() {
            return Ok(Self::Memory(Box::new(MemoryLine::read(line)?)));
        }
        let session: SessionLine = serde_json::from_value(line).map_err(|error| wrong(&error))?;
        let (row, area) = session.row()?;
        Ok(Self::Session(Box::new(row), area))
    }
}

fn wrong(error: &serde_json::Error) -> String {
    match error.classify() {
        serde_json::error::Category::Data => "not a memory as `agentctl memory export` writes it".to_owned(),
        _ => format!("not JSON, at column {}", error.column()),
    }
}

/// An iterator over the lines of an export. Empty lines are skipped.
pub(super) struct Lines<R> {
    from: R,
    number: usize,
    /// Bytes before the next line.
    at: u64,
}

/// A line that was read.
pub(super) struct Line {
    /// Its number, from 1.
    pub(super) number: usize,
    /// Bytes before it.
    pub(super) at: u64,
    /// Its content.
    pub(super) content: Content,
}

/// The reason why there is no further line.
pub(super) enum LineFault {
    /// The line of this number, from 1.
    Malformed(usize, String),
    /// It cannot be read.
    Input(io::Error),
}

impl<R: BufRead> Lines<R> {
    /// Reads the lines of this text.
    pub(super) const fn of(from: R) -> Self {
        Self { from, number: 0, at: 0 }
    }

    fn line(&mut self) -> Result<Option<Line>, LineFault> {
        loop {
            let mut line = Vec::new();
            self.number += 1;
            let read = self.from.by_ref().take(LINE_BOUND + 1).read_until(b'\n', &mut line);
            if read.map_err(LineFault::Input)? == 0 {
                return Ok(None);
            }
            let (number, at) = (self.number, self.at);
            self.at = at.saturating_add(u64::try_from(line.len()).unwrap_or(u64::MAX));
            let malformed = |why| LineFault::Malformed(number, why);
            if u64::try_from(line.len()).is_ok_and(|length| length > LINE_BOUND) {
                return Err(malformed(format!("longer than {LINE_BOUND} bytes")));
            }
            if !line.trim_ascii().is_empty() {
                let line = if number == 1 { json::unmarked(&line) } else { &line };
                let content = Content::read(line).map_err(malformed)?;
                return Ok(Some(Line { number, at, content }));
            }
        }
    }
}

impl<R: BufRead> Iterator for Lines<R> {
    type Item = Result<Line, LineFault>;

    fn next(&mut self) -> Option<Self::Item> {
        self.line().transpose()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ipc_proto::ids::SessionId;
    use ipc_proto::label::{Class, Label, Trust};
    use ipc_proto::memory::{Area, Category, Entity, EntityType, Entry, Fact, Kind, State, Summary};
    use ipc_proto::{List, Name};

    fn sample(kind: Kind, state: State) -> MemoryLine {
        let label = Label::of(Trust::Untrusted, Class::Sensitive, "hook:opencode");
        let mut entry = Entry::new(MemoryId::from_bytes([9; 16]), Text::clip("a\u{0}\n\"b\" 世界"), label);
        entry.session = Some(SessionId::from_bytes([8; 16]));
        entry.tags = List::clip([Name::clip("x")]);
        entry.detail.kind = kind;
        entry.detail.source.row = Some(MemoryId::from_bytes([4; 16]));
        entry.detail.expires_ms = Some(u64::MAX);
        let mut row = Row::new(entry, Area::Agent(Name::clip("default")), 7);
        (row.state, row.revises) = (state, Some(MemoryId::from_bytes([6; 16])));
        MemoryLine::new(row, Text::clip("raw"))
    }

    // Holds P7-33.
    #[test]
    fn every_kind_and_state_is_read_back_as_it_was_written_with_ids_as_text() {
        let kinds = [
            Kind::Note { key: Some(Text::clip("k")) },
            Kind::Episodic { role: Name::clip("user") },
            Kind::Semantic(Fact { category: Category::Preference, key: Text::clip("k"), confidence: 900 }),
            Kind::Observation(Box::default()),
            Kind::Summary(Box::<Summary>::default()),
            Kind::Entity(Entity { name: Text::clip("n"), r#type: EntityType::Person }),
        ];
        let by = MemoryId::from_bytes([5; 16]);
        let states = [
            State::Current,
            State::Superseded { by, at_ms: 9 },
            State::Removed { at_ms: 9 },
            State::Proposed { at_ms: 9 },
        ];
        for kind in kinds {
            for state in states {
                let memory = sample(kind.clone(), state);
                let line = memory.write().unwrap();
                assert!(
                    !line.contains('\n')
                        && line.contains("\"09090909-0909-0909-0909-090909090909\"")
                        && line.contains("\"04040404-0404-0404-0404-040404040404\""),
                    "{line}"
                );
                let read = |line: &str| MemoryLine::read(serde_json::from_str(line).unwrap());
                assert_eq!(read(&line), Ok(memory.clone()));
                // As memory's own program writes it.
                assert_eq!(read(&serde_json::to_string(&memory).unwrap()), Ok(memory));
            }
        }
    }

    // Holds P7-37.
    #[test]
    fn a_session_is_read_back_as_it_was_written_without_its_counts() {
        let row = SessionRow {
            id: SessionId::from_bytes([8; 16]),
            client: Name::clip("claude-code"),
            name: Text::clip("s1"),
            project: Text::clip("/p"),
            started_ms: 5,
            ended_ms: Some(9),
            status: SessionStatus::Completed,
            observations: 3,
            summary: Some(MemoryId::from_bytes([7; 16])),
            muted: true,
        };
        let area = Area::Agent(Name::clip("default"));
        let line = SessionLine::new(row.clone(), area.clone()).write().unwrap();
        assert!(
            line.contains("\"08080808-0808-0808-0808-080808080808\"") && !line.contains("muted"),
            "{line}"
        );
        let Ok(Content::Session(read, of)) = Content::read(line.as_bytes()) else { panic!("{line}") };
        assert_eq!((*read, of), (SessionRow { observations: 0, summary: None, muted: false, ..row }, area));
    }

    #[test]
    fn a_malformed_line_is_named_by_its_number_without_its_contents() {
        let good = sample(Kind::Observation(Box::default()), State::Current).write().unwrap();
        for (wrong, why) in [
            ("{".to_owned(), "not JSON"),
            ("{\"v\":2}".to_owned(), "not version 1"),
            ("{\"v\":1,\"row\":{}}".to_owned(), "not a memory"),
            ("{\"v\":1,\"session\":{}}".to_owned(), "not a memory"),
            (good.replace("09090909-0909", "secret"), "is no id"),
            (good.replace("\"raw\":", "\"more\":1,\"raw\":"), "not a memory"),
        ] {
            let text = format!("{good}\n\n{wrong}\n");
            let found = Lines::of(text.as_bytes()).find_map(Result::err);
            let Some(LineFault::Malformed(3, said)) = found else { panic!("{wrong}") };
            assert!(said.contains(why) && !said.contains("secret"), "{said}");
        }
    }
}
