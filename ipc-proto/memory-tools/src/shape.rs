//! Rows as clients read and write them, with open-mem's names: observations, summaries, and memory's other rows in the
//! same form. One type serves both directions, so that nothing is lost on the way.

use crate::time;
use ipc_proto::ids::{MemoryId, SessionId};
use ipc_proto::label::{Class, Label, Trust};
use ipc_proto::memory::{
    Area, CONTENT_BOUND, Category, Detail, Entity, EntityType, Entry, Fact, FilePath, Importance, Kind,
    KindName, LISTED, Observation, ObservationType, Project, Row, Source, SourceType, State, Summary,
};
use ipc_proto::{List, Name, Text};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

/// Characters of a title that is the beginning of a text.
const BEGINNING: usize = 60;
/// The importance where none is given.
const fn middle() -> u8 {
    3
}

/// A row: open-mem's fields, and those that only memory has.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Item {
    pub(crate) id: Text<128>,
    #[serde(default)]
    pub(crate) session_id: Option<Text<128>>,
    #[serde(default)]
    pub(crate) kind: Option<KindName>,
    #[serde(default)]
    pub(crate) r#type: Option<ObservationType>,
    #[serde(default)]
    pub(crate) title: Text<200>,
    #[serde(default)]
    pub(crate) subtitle: Text<400>,
    #[serde(default)]
    pub(crate) facts: List<Text<512>, LISTED>,
    #[serde(default)]
    pub(crate) narrative: Text<CONTENT_BOUND>,
    #[serde(default)]
    pub(crate) concepts: List<Name, 16>,
    #[serde(default)]
    pub(crate) files_read: List<FilePath, LISTED>,
    #[serde(default)]
    pub(crate) files_modified: List<FilePath, LISTED>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) raw_tool_output: Option<Text<{ ipc_proto::memory::RAW_BOUND }>>,
    #[serde(default)]
    pub(crate) tool_name: Option<Name>,
    #[serde(default)]
    pub(crate) created_at: Option<Text<64>>,
    #[serde(default)]
    pub(crate) token_count: u32,
    #[serde(default)]
    pub(crate) discovery_tokens: u32,
    #[serde(default = "middle")]
    pub(crate) importance: u8,
    #[serde(default)]
    pub(crate) scope: Option<Text<16>>,
    #[serde(default)]
    pub(crate) project: Option<Project>,
    #[serde(default)]
    pub(crate) revision_of: Option<Text<128>>,
    #[serde(default)]
    pub(crate) superseded_by: Option<Text<128>>,
    #[serde(default)]
    pub(crate) superseded_at: Option<Text<64>>,
    #[serde(default)]
    pub(crate) deleted_at: Option<Text<64>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) reason: Option<Text<512>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) expires_at: Option<Text<64>>,
    #[serde(default, skip_serializing_if = "is_false")]
    pub(crate) plain: bool,
    /// The trust of the row. It is given out and not believed when it comes in.
    #[serde(default)]
    pub(crate) trust: Option<Trust>,
    /// The class of the row. When it comes in it can only raise the class.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) class: Option<Class>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) source: Option<SourceType>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) message_id: Option<Text<128>>,
    #[serde(default, skip_serializing_if = "is_false")]
    pub(crate) external: bool,
    /// The row that a model derived it from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) taken_from: Option<Text<128>>,
    /// The key of a note or a fact.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) key: Option<Text<256>>,
    /// The speaker of an episode.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) role: Option<Name>,
    /// The category of a fact.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) category: Option<Category>,
    /// The confidence of a fact, in thousandths.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) confidence: Option<u16>,
    /// The type of an entity, whose name is its key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) entity: Option<EntityType>,
    /// The text of a summary, in the place of a narrative.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) summary: Option<Text<CONTENT_BOUND>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) request: Option<Text<2048>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) investigated: Option<Text<2048>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) learned: Option<Text<2048>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) completed: Option<Text<2048>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) next_steps: Option<Text<2048>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) key_decisions: Option<List<Text<512>, LISTED>>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde gives a reference")]
const fn is_false(flag: &bool) -> bool {
    !*flag
}

/// A whole row, without its material.
pub(crate) fn item(row: &Row) -> Item {
    let Row { entry, created_ms, tokens, state, revises, reason, .. } = row;
    let Detail { kind, source, importance, project, expires_ms } = &entry.detail;
    let (superseded, deleted) = match state {
        State::Current | State::Proposed { .. } => (None, None),
        State::Superseded { by, at_ms } => (Some((*by, *at_ms)), None),
        State::Removed { at_ms } => (None, Some(*at_ms)),
    };
    let mut item = Item {
        id: id_text(&entry.id),
        session_id: entry.session.as_ref().map(id_text),
        kind: Some(kind.name()),
        title: title(entry),
        narrative: entry.content.clone(),
        concepts: entry.tags.clone(),
        tool_name: source.tool.clone(),
        created_at: Some(time(*created_ms)),
        token_count: *tokens,
        importance: importance.get(),
        scope: Some(Text::clip(scope(project.as_ref()))),
        project: project.clone(),
        revision_of: revises.as_ref().map(id_text),
        superseded_by: superseded.map(|(by, _)| id_text(&by)),
        superseded_at: superseded.map(|(_, at)| time(at)),
        deleted_at: deleted.map(time),
        reason: Some(reason.clone()).filter(|reason| !reason.is_empty()),
        expires_at: expires_ms.map(time),
        trust: Some(entry.label.trust),
        class: Some(entry.label.class),
        source: Some(source.r#type),
        message_id: source.message.clone(),
        external: source.external,
        taken_from: source.row.as_ref().map(id_text),
        ..Item::default()
    };
    item.tell(kind);
    item
}

impl Item {
    /// Fills in the fields that only a row of this kind has.
    fn tell(&mut self, kind: &Kind) {
        match kind.clone() {
            Kind::Note { key } => self.key = key,
            Kind::Episodic { role } => self.role = Some(role),
            Kind::Semantic(Fact { category, key, confidence }) => {
                (self.category, self.key, self.confidence) = (Some(category), Some(key), Some(confidence));
            }
            Kind::Entity(entity) => (self.entity, self.key) = (Some(entity.r#type), Some(entity.name)),
            Kind::Observation(seen) => {
                self.r#type = Some(seen.r#type);
                (self.subtitle, self.facts) = (seen.subtitle, seen.facts);
                (self.files_read, self.files_modified) = (seen.files_read, seen.files_modified);
                (self.discovery_tokens, self.plain) = (seen.discovery_tokens, seen.plain);
            }
            Kind::Summary(came) => {
                self.summary = Some(std::mem::take(&mut self.narrative));
                (self.request, self.investigated) = (Some(came.request), Some(came.investigated));
                (self.learned, self.completed) = (Some(came.learned), Some(came.completed));
                (self.next_steps, self.key_decisions) = (Some(came.next_steps), Some(came.key_decisions));
                self.files_modified = came.files_modified;
            }
        }
    }

    /// The kind that it claims.
    fn said(&mut self, kind: KindName) -> Kind {
        match kind {
            KindName::Note => Kind::Note { key: self.key.take() },
            KindName::Episodic => Kind::Episodic { role: self.role.take().unwrap_or_default() },
            KindName::Semantic => Kind::Semantic(Fact {
                category: self.category.unwrap_or(Category::Fact),
                key: self.key.take().unwrap_or_default(),
                confidence: self.confidence.unwrap_or_default(),
            }),
            KindName::Entity => Kind::Entity(Entity {
                name: self.key.take().unwrap_or_default(),
                r#type: self.entity.unwrap_or(EntityType::Other),
            }),
            KindName::Observation => Kind::Observation(Box::new(Observation {
                r#type: self.r#type.unwrap_or_default(),
                title: std::mem::take(&mut self.title),
                subtitle: std::mem::take(&mut self.subtitle),
                facts: std::mem::take(&mut self.facts),
                files_read: std::mem::take(&mut self.files_read),
                files_modified: std::mem::take(&mut self.files_modified),
                discovery_tokens: self.discovery_tokens,
                plain: self.plain,
            })),
            KindName::Summary => Kind::Summary(Box::new(Summary {
                request: self.request.take().unwrap_or_default(),
                investigated: self.investigated.take().unwrap_or_default(),
                learned: self.learned.take().unwrap_or_default(),
                completed: self.completed.take().unwrap_or_default(),
                next_steps: self.next_steps.take().unwrap_or_default(),
                key_decisions: self.key_decisions.take().unwrap_or_default(),
                files_modified: std::mem::take(&mut self.files_modified),
            })),
        }
    }

    /// The row, of this kind unless it names another; `home` is the project of a row that names none and is of scope
    /// `project`.
    ///
    /// # Errors
    /// The invalid field, and its valid values.
    pub(crate) fn row(mut self, kind: KindName, home: Option<&Project>) -> Result<Row, (String, String)> {
        let kind = self.kind.unwrap_or(kind);
        if self.id.trim().is_empty() {
            return Err(("id".to_owned(), "must not be empty".to_owned()));
        }
        if !(1..=5).contains(&self.importance) {
            return Err(("importance".to_owned(), "must be a whole number from 1 to 5".to_owned()));
        }
        let created_ms = moment("createdAt", self.created_at.as_ref())?.unwrap_or_else(time::now);
        let superseded_ms = moment("supersededAt", self.superseded_at.as_ref())?.unwrap_or(created_ms);
        let deleted = moment("deletedAt", self.deleted_at.as_ref())?;
        let state = match (deleted, self.superseded_by.as_ref()) {
            (Some(at_ms), _) => State::Removed { at_ms },
            (None, Some(by)) => State::Superseded { by: memory_id(by), at_ms: superseded_ms },
            (None, None) => State::Current,
        };
        let content = self.summary.take().unwrap_or_else(|| std::mem::take(&mut self.narrative));
        let is_users = self.scope.as_ref().is_some_and(|scope| scope.as_str() == "user");
        let own = self.project.take().filter(|project| !project.is_empty());
        let project = own.or_else(|| home.filter(|_| !is_users).cloned());
        let detail = Detail {
            source: Source {
                r#type: self.source.unwrap_or(SourceType::AiInference),
                message: self.message_id.take(),
                tool: self.tool_name.take(),
                external: true,
                row: self.taken_from.as_ref().map(memory_id),
            },
            importance: Importance::of(self.importance),
            project,
            expires_ms: moment("expiresAt", self.expires_at.as_ref())?,
            kind: self.said(kind),
        };
        let class = self.class.map_or(Class::Internal, |class| class.max(Class::Internal));
        let label = Label::of(Trust::Untrusted, class, "mcp");
        let session = self.session_id.as_ref().map(session_id);
        let entry = Entry { id: memory_id(&self.id), content, tags: self.concepts, label, session, detail };
        let revises = self.revision_of.as_ref().map(memory_id);
        let reason = self.reason.unwrap_or_default();
        Ok(Row { state, revises, reason, ..Row::new(entry, Area::User, created_ms) })
    }
}

/// A row in a list: its subject, and the tokens that reading it costs.
pub(crate) fn index(row: &Row) -> Value {
    let entry = &row.entry;
    let seen = if let Kind::Observation(seen) = &entry.detail.kind { Some(seen) } else { None };
    json!({
        "id": entry.id.to_string(),
        "kind": entry.detail.kind.name(),
        "sessionId": entry.session.map(|session| session.to_string()),
        "type": seen.map(|seen| seen.r#type),
        "title": title(entry).as_str(),
        "subtitle": seen.map_or("", |seen| seen.subtitle.as_str()),
        "tokenCount": row.tokens,
        "discoveryTokens": seen.map_or(0, |seen| seen.discovery_tokens),
        "importance": entry.detail.importance.get(),
        "createdAt": time::written(row.created_ms),
        "scope": scope(entry.detail.project.as_ref()),
        "trust": entry.label.trust,
    })
}

/// Its title; without one its key or the beginning of its text.
pub(crate) fn title(entry: &Entry) -> Text<200> {
    match &entry.detail.kind {
        Kind::Observation(seen) => seen.title.clone(),
        Kind::Note { key: Some(key) }
        | Kind::Semantic(Fact { key, .. })
        | Kind::Entity(Entity { name: key, .. }) => Text::clip(key),
        _ => {
            let line = entry.content.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
            Text::clip(&line.trim().chars().take(BEGINNING).collect::<String>())
        }
    }
}

const fn scope(project: Option<&Project>) -> &'static str {
    if project.is_some() { "project" } else { "user" }
}

fn time(ms: u64) -> Text<64> {
    Text::clip(&time::written(ms))
}

fn id_text(id: &impl ToString) -> Text<128> {
    Text::clip(&id.to_string())
}

fn moment(name: &str, text: Option<&Text<64>>) -> Result<Option<u64>, (String, String)> {
    let Some(text) = text else { return Ok(None) };
    let ms = time::read(text).ok_or_else(|| (name.to_owned(), "must be a time of ISO 8601".to_owned()))?;
    Ok(Some(ms))
}

/// An id as another host names a row: its own where it is of our form, else one that follows from it.
pub(crate) fn memory_id(text: &Text<128>) -> MemoryId {
    text.parse().unwrap_or_else(|_| MemoryId::from_bytes(hashed("memory", text)))
}

/// The same of a session.
fn session_id(text: &Text<128>) -> SessionId {
    text.parse().unwrap_or_else(|_| SessionId::from_bytes(hashed("session", text)))
}

fn hashed(what: &str, text: &str) -> [u8; 16] {
    let hash = Sha256::new().chain_update(what).chain_update([0]).chain_update(text).finalize();
    let mut bytes = [0; 16];
    bytes.iter_mut().zip(hash).for_each(|(into, from)| *into = from);
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn observed() -> Row {
        let label = Label::of(Trust::User, Class::Sensitive, "control");
        let mut entry = Entry::new(MemoryId::random(), Text::clip("because of the tide"), label);
        entry.tags = List::clip(["gotcha", "harbour"].map(Text::clip));
        entry.session = Some(SessionId::random());
        entry.detail.importance = Importance::of(5);
        entry.detail.project = Some(Text::clip("/srv/harbour"));
        entry.detail.expires_ms = Some(1_900_000_000_000);
        entry.detail.source = Source {
            r#type: SourceType::ToolOutput,
            message: Some(Text::clip("m1")),
            tool: Some(Text::clip("Read")),
            external: true,
            row: Some(MemoryId::random()),
        };
        entry.detail.kind = Kind::Observation(Box::new(Observation {
            r#type: ObservationType::Bugfix,
            title: Text::clip("the light was out"),
            subtitle: Text::clip("at night"),
            facts: List::clip([Text::clip("one lamp")]),
            files_read: List::clip([Text::clip("src/lamp.rs")]),
            files_modified: List::clip([Text::clip("src/tide.rs")]),
            discovery_tokens: 812,
            plain: true,
        }));
        Row { reason: Text::clip("why not"), ..Row::new(entry, Area::User, 1_700_000_000_123) }
    }

    fn back(row: &Row) -> Row {
        let text = serde_json::to_string(&item(row)).unwrap();
        serde_json::from_str::<Item>(&text).unwrap().row(KindName::Observation, None).unwrap()
    }

    // Holds P3-40.
    #[test]
    fn a_row_of_any_kind_and_state_goes_out_and_comes_in_all_but_its_label() {
        let mut rows = vec![observed()];
        let kinds = [
            Kind::Note { key: Some(Text::clip("k")) },
            Kind::Note { key: None },
            Kind::Episodic { role: Text::clip("assistant") },
            Kind::Semantic(Fact { category: Category::Preference, key: Text::clip("tea"), confidence: 900 }),
            Kind::Entity(Entity { name: Text::clip("tokio"), r#type: EntityType::Library }),
            Kind::Summary(Box::new(Summary {
                request: Text::clip("r"),
                next_steps: Text::clip("n"),
                key_decisions: List::clip([Text::clip("d")]),
                files_modified: List::clip([Text::clip("f")]),
                ..Summary::default()
            })),
        ];
        for kind in kinds {
            let mut row = observed();
            row.entry.detail.kind = kind;
            rows.push(row);
        }
        for state in [
            State::Superseded { by: MemoryId::random(), at_ms: 1_700_000_000_999 },
            State::Removed { at_ms: 1_700_000_001_000 },
        ] {
            rows.push(Row { state, revises: Some(MemoryId::random()), ..observed() });
        }
        for mut row in rows {
            let mut back = back(&row);
            // Tokens are counted anew, the trust is not taken from the document, and the class is.
            back.tokens = row.tokens;
            assert_eq!(back.entry.label.class, row.entry.label.class);
            row.entry.label = back.entry.label.clone();
            assert_eq!(back, row);
        }
    }

    #[test]
    fn a_foreign_id_becomes_the_same_id_each_time_and_none_of_another_kind() {
        let text = Text::clip("obs_17");
        assert_eq!(memory_id(&text), memory_id(&text));
        assert_ne!(memory_id(&text), memory_id(&Text::clip("obs_18")));
        assert_ne!(memory_id(&text).bytes(), session_id(&text).bytes());
    }
}
