//! Turns captured tool output into an observation: by a model if there is one, else by rules. The captured row is
//! untouched until memory has the observation, and stays in its history after that.

use crate::extraction::{self, Entity, Relation, Statement};
use crate::failure::Failure;
use crate::model::{Asking, written_by};
use crate::plain;
use crate::queue::Queue;
use crate::reading::{quoted, texts};
use crate::store::Job;
use crate::work::row_of;
use ipc_proto::label::Label;
use ipc_proto::memory::{
    Entry, Importance, Kind, LISTED, Observation, ObservationType, RAW_BOUND, Row, Settled, SourceType,
};
use ipc_proto::{List, Name, Text};
use serde::Deserialize;

/// The instruction for the model.
const SYSTEM: &str = "You keep the notes of a programmer. Make one observation of the tool output that is quoted below: what \
    was learned, decided or changed, so that it need not be found out again. Answer with one JSON object and nothing else: \
    {\"type\": one of \"decision\", \"bugfix\", \"feature\", \"refactor\", \"discovery\", \"change\", \
    \"title\": at most 80 characters, \"subtitle\": one sentence, \"facts\": [short sentences that hold by themselves], \
    \"narrative\": 2 or 3 sentences, \"concepts\": [at most 8 of: how-it-works, why-it-exists, what-changed, \
    problem-solution, gotcha, pattern, trade-off, or names of what it is about], \"files_read\": [paths], \
    \"files_modified\": [paths], \"importance\": 1 to 5}";
/// The further instruction where entities are wanted.
const ENTITIES: &str = " Add \"entities\": [{\"name\": …, \"type\": one of \"technology\", \"library\", \"pattern\", \
    \"concept\", \"file\", \"person\", \"project\", \"other\"}] and \"relations\": [{\"source\": name, \"kind\": one of \
    \"uses\", \"depends_on\", \"implements\", \"extends\", \"related_to\", \"replaces\", \"configures\", \"target\": name}]. Add \
    \"statements\": [{\"key\": what it is about in a few words, \"value\": one sentence that holds by itself, \"confidence\": \
    0 to 1}], at most 8, of what holds beyond this output and will be asked for again.";

/// The model's answer.
#[derive(Debug, Deserialize)]
struct Compressed {
    r#type: ObservationType,
    title: String,
    #[serde(default)]
    subtitle: String,
    #[serde(default)]
    facts: Vec<String>,
    narrative: String,
    #[serde(default)]
    concepts: Vec<String>,
    #[serde(default)]
    files_read: Vec<String>,
    #[serde(default)]
    files_modified: Vec<String>,
    #[serde(default = "middling")]
    importance: u8,
    #[serde(default)]
    entities: Vec<Entity>,
    #[serde(default)]
    relations: Vec<Relation>,
    #[serde(default)]
    statements: Vec<Statement>,
}

const fn middling() -> u8 {
    3
}

/// Makes an observation of a captured row.
pub(crate) async fn compress(
    queue: &Queue,
    job: &Job,
    (row, raw): (&Row, &Text<RAW_BOUND>),
) -> Result<Settled, Failure> {
    let id = row.entry.id;
    let Kind::Observation(seen) = &row.entry.detail.kind else { return Ok(Settled::LeftPlain(id)) };
    if let Some(model) = queue.model_of(job) {
        match by_model(queue, job, row, raw).await {
            Ok(made) => {
                let label = written_by(&model, &row.entry.label);
                let taken =
                    extraction::entries(job, &label, &made.statements, &made.entities, &made.relations);
                let entry = observed(job, row, seen, made, label);
                return Ok(Settled::Compressed { id, entry: Box::new(entry), taken });
            }
            Err(Failure::Unusable(reason)) => {
                tracing::info!(job = %job.view.info.id, reason, "done without a model")
            }
            Err(failure) => return Err(failure),
        }
    }
    Ok(match plain::observation(row, seen, raw) {
        Some(better) => {
            let mut entry = row.entry.clone();
            entry.id = row_of(job.view.info.id, row.entry.id);
            entry.detail.kind = Kind::Observation(Box::new(better));
            Settled::Compressed { id, entry: Box::new(entry), taken: List::default() }
        }
        None => Settled::LeftPlain(id),
    })
}

async fn by_model(queue: &Queue, job: &Job, row: &Row, raw: &str) -> Result<Compressed, Failure> {
    let tool = row.entry.detail.source.tool.as_ref().map_or("unknown", |tool| tool.as_str());
    let entities = queue.config.extract_entities;
    let system = format!("{SYSTEM}{}", if entities { ENTITIES } else { "" });
    let input = quoted(&[("tool", tool), ("output", raw)]);
    let asking = Asking { by: queue.asker(job), label: &row.entry.label, system: &system, input };
    let mut made: Compressed = queue.ask_json(&asking).await?;
    if made.title.trim().is_empty() || made.narrative.trim().is_empty() {
        return Err(Failure::Unusable("LLM_INVALID_JSON: the observation says nothing".to_owned()));
    }
    if !entities {
        made.entities.clear();
        made.relations.clear();
        made.statements.clear();
    }
    Ok(made)
}

/// The observation as a row: all of it is a model's word about a stranger's text.
fn observed(job: &Job, row: &Row, seen: &Observation, made: Compressed, label: Label) -> Entry {
    let relations =
        extraction::relations(&made.entities, &made.relations).into_iter().map(|(_, sentence)| sentence);
    let concepts = made.concepts.into_iter().chain(made.entities.into_iter().map(|entity| entity.name));
    let facts: Vec<String> = made.facts.into_iter().chain(relations).collect();
    let observation = Observation {
        r#type: made.r#type,
        title: Text::clip(made.title.trim()),
        subtitle: Text::clip(made.subtitle.trim()),
        facts: texts::<512, LISTED>(&facts),
        files_read: texts(&made.files_read),
        files_modified: texts(&made.files_modified),
        discovery_tokens: seen.discovery_tokens,
        plain: false,
    };
    let mut entry = row.entry.clone();
    entry.id = row_of(job.view.info.id, row.entry.id);
    entry.content = Text::clip(made.narrative.trim());
    entry.tags = names(concepts);
    entry.label = label;
    entry.detail.kind = Kind::Observation(Box::new(observation));
    entry.detail.source.r#type = SourceType::AiInference;
    entry.detail.importance = Importance::of(made.importance);
    entry
}

/// Names that can be tags, each once.
pub(crate) fn names(from: impl IntoIterator<Item = String>) -> List<Name, 16> {
    let mut names: Vec<Name> = Vec::new();
    for name in from {
        let name = Name::clip(name.trim());
        if !name.is_empty() && !names.contains(&name) {
            names.push(name);
        }
    }
    List::clip(names)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made(json: &str) -> Result<Compressed, serde_json::Error> {
        serde_json::from_str(json)
    }

    #[test]
    fn an_unknown_type_and_a_missing_title_are_no_observation() {
        assert!(made(r#"{"type":"discovery","title":"t","narrative":"n"}"#).is_ok());
        for json in [
            r#"{"type":"hypothesis","title":"t","narrative":"n"}"#,
            r#"{"type":"discovery","narrative":"n"}"#,
            r#"{"type":"discovery","title":"t","narrative":"n","importance":"high"}"#,
        ] {
            assert!(made(json).is_err(), "{json}");
        }
    }
}
