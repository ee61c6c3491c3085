//! Summarises a session: by a model if there is one, else by counting. A session of fewer than two observations gets no
//! summary.

use crate::compress::names;
use crate::failure::Failure;
use crate::model::{Asking, written_by};
use crate::queue::Queue;
use crate::reading::{quoted, texts};
use crate::store::Job;
use crate::work::row_of;
use ipc_proto::ids::{MemoryId, SessionId};
use ipc_proto::label::Label;
use ipc_proto::memory::{
    Detail, Entry, FilePath, Importance, Kind, LISTED, Observation, ObservationType, Row, Settled, Source,
    SourceType, Summary,
};
use ipc_proto::{List, Text};
use serde::Deserialize;

/// The least observations that are summed up.
const LEAST: usize = 2;
/// Decisions that are named where no model chooses them.
const DECISIONS: usize = 5;
/// Concepts that are named where no model chooses them.
const CONCEPTS: usize = 5;
/// Characters of one observation that a model is given.
const SHOWN: usize = 1200;
const TYPES: [(ObservationType, &str); 6] = [
    (ObservationType::Decision, "decision"),
    (ObservationType::Bugfix, "bugfix"),
    (ObservationType::Feature, "feature"),
    (ObservationType::Refactor, "refactor"),
    (ObservationType::Discovery, "discovery"),
    (ObservationType::Change, "change"),
];

/// The instruction for the model.
const SYSTEM: &str = "You keep the notes of a programmer. Sum up the session whose observations are quoted below. Answer with \
    one JSON object and nothing else: {\"summary\": 2 to 4 sentences, \"request\": what was asked for, \
    \"investigated\": what was looked into, \"learned\": what was learned, \"completed\": what was done, \
    \"next_steps\": what is left, \"key_decisions\": [short sentences], \"files_modified\": [paths], \
    \"concepts\": [at most 8 words]}";

/// The model's answer.
#[derive(Debug, Deserialize)]
struct Summed {
    summary: String,
    #[serde(default)]
    request: String,
    #[serde(default)]
    investigated: String,
    #[serde(default)]
    learned: String,
    #[serde(default)]
    completed: String,
    #[serde(default)]
    next_steps: String,
    #[serde(default)]
    key_decisions: Vec<String>,
    #[serde(default)]
    files_modified: Vec<String>,
    #[serde(default)]
    concepts: Vec<String>,
}

/// Sums up a session.
pub(crate) async fn summarise(
    queue: &Queue,
    job: &Job,
    (session, rows): (SessionId, &[Row]),
) -> Result<Settled, Failure> {
    let seen: Vec<(&Row, &Observation)> = rows.iter().filter_map(observation).collect();
    if seen.len() < LEAST {
        return Ok(Settled::Summarised { session, entry: None });
    }
    tracing::debug!(job = %job.view.info.id, observations = seen.len(), "a session is summed up");
    let label = seen.iter().fold(Label::bottom(), |label, (row, _)| label.join(&row.entry.label));
    let mut by = None;
    if let Some(model) = queue.model_of(job) {
        match by_model(queue, job, &seen, &label).await {
            Ok(summed) => by = Some((summed, model)),
            Err(Failure::Unusable(reason)) => {
                tracing::info!(job = %job.view.info.id, reason, "done without a model")
            }
            Err(failure) => return Err(failure),
        }
    }
    let (summed, label, source) = match by {
        Some((summed, model)) => (summed, written_by(&model, &label), SourceType::AiInference),
        None => (counted(&seen), label, SourceType::ToolOutput),
    };
    let entry = entry(job, session, &seen, summed, label, source);
    Ok(Settled::Summarised { session, entry: Some(Box::new(entry)) })
}

fn observation(row: &Row) -> Option<(&Row, &Observation)> {
    if let Kind::Observation(seen) = &row.entry.detail.kind { Some((row, seen)) } else { None }
}

async fn by_model(
    queue: &Queue,
    job: &Job,
    seen: &[(&Row, &Observation)],
    label: &Label,
) -> Result<Summed, Failure> {
    let described: Vec<String> = seen.iter().map(|(row, seen)| described(row, seen)).collect();
    let parts: Vec<(&str, &str)> = described.iter().map(|text| ("observation", text.as_str())).collect();
    let asking = Asking { by: queue.asker(job), label, system: SYSTEM, input: quoted(&parts) };
    let summed: Summed = queue.ask_json(&asking).await?;
    if summed.summary.trim().is_empty() {
        return Err(Failure::Unusable("LLM_INVALID_JSON: the summary says nothing".to_owned()));
    }
    Ok(summed)
}

/// An observation as a model is given it.
fn described(row: &Row, seen: &Observation) -> String {
    let facts: Vec<&str> = seen.facts.iter().map(Text::as_str).collect();
    let files: Vec<&str> = seen.files_modified.iter().map(Text::as_str).collect();
    let whole = format!(
        "[{}] {}. {} {} (changed: {})",
        name(seen.r#type),
        seen.title,
        row.entry.content,
        facts.join(" "),
        files.join(" ")
    );
    whole.chars().take(SHOWN).collect()
}

fn name(of: ObservationType) -> &'static str {
    TYPES.iter().find(|(it, _)| *it == of).map_or("observation", |(_, name)| name)
}

/// The summary that can be made without a model.
fn counted(seen: &[(&Row, &Observation)]) -> Summed {
    let counts = TYPES.iter().filter_map(|(of, name)| {
        let count = seen.iter().filter(|(_, seen)| seen.r#type == *of).count();
        (count > 0).then(|| format!("{count} {name}"))
    });
    let counts: Vec<String> = counts.collect();
    let decisions = seen.iter().filter(|(_, seen)| seen.r#type == ObservationType::Decision);
    let mut concepts: Vec<(usize, String)> = Vec::new();
    for tag in seen.iter().flat_map(|(row, _)| &row.entry.tags) {
        match concepts.iter_mut().find(|(_, it)| it == tag.as_str()) {
            Some((count, _)) => *count += 1,
            None => concepts.push((1, tag.to_string())),
        }
    }
    concepts.sort_by_key(|(count, _)| std::cmp::Reverse(*count));
    Summed {
        summary: format!("{} observations: {}.", seen.len(), counts.join(", ")),
        request: String::new(),
        investigated: String::new(),
        learned: String::new(),
        completed: String::new(),
        next_steps: String::new(),
        key_decisions: decisions.take(DECISIONS).map(|(_, seen)| seen.title.to_string()).collect(),
        files_modified: Vec::new(),
        concepts: concepts.into_iter().take(CONCEPTS).map(|(_, concept)| concept).collect(),
    }
}

fn entry(
    job: &Job,
    session: SessionId,
    seen: &[(&Row, &Observation)],
    summed: Summed,
    label: Label,
    source: SourceType,
) -> Entry {
    let mut files: Vec<FilePath> = texts::<256, LISTED>(&summed.files_modified).into_vec();
    for file in seen.iter().flat_map(|(_, seen)| &seen.files_modified) {
        if !files.contains(file) {
            files.push(file.clone());
        }
    }
    let summary = Summary {
        request: Text::clip(summed.request.trim()),
        investigated: Text::clip(summed.investigated.trim()),
        learned: Text::clip(summed.learned.trim()),
        completed: Text::clip(summed.completed.trim()),
        next_steps: Text::clip(summed.next_steps.trim()),
        key_decisions: texts(&summed.key_decisions),
        files_modified: List::clip(files),
    };
    let newest = seen.last().map_or(MemoryId::from_bytes([0; 16]), |(row, _)| row.entry.id);
    let external = seen.iter().any(|(row, _)| row.entry.detail.source.external);
    let detail = Detail {
        kind: Kind::Summary(Box::new(summary)),
        source: Source { r#type: source, external, ..Source::default() },
        importance: Importance::default(),
        project: seen.iter().find_map(|(row, _)| row.entry.detail.project.clone()),
        expires_ms: None,
    };
    Entry {
        id: row_of(job.view.info.id, newest),
        content: Text::clip(summed.summary.trim()),
        tags: names(summed.concepts),
        label,
        session: Some(session),
        detail,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ipc_proto::memory::Area;

    fn row(of: ObservationType, title: &str, tags: &[&str]) -> Row {
        let mut entry = Entry::new(MemoryId::random(), Text::default(), Label::bottom());
        entry.tags = names(tags.iter().map(|tag| (*tag).to_owned()));
        let seen = Observation { r#type: of, title: Text::clip(title), ..Observation::default() };
        entry.detail.kind = Kind::Observation(Box::new(seen));
        Row::new(entry, Area::User, 1)
    }

    #[test]
    fn without_a_model_a_summary_counts_types_and_names_concepts() {
        let mut rows: Vec<Row> =
            (0..7).map(|n| row(ObservationType::Decision, &format!("d{n}"), &["rare"])).collect();
        rows.push(row(ObservationType::Change, "c", &["common"]));
        rows.extend((0..9).map(|_| row(ObservationType::Change, "c", &["common"])));
        let seen: Vec<_> = rows.iter().filter_map(observation).collect();
        let summed = counted(&seen);
        assert_eq!(summed.summary, "17 observations: 7 decision, 10 change.");
        assert_eq!(summed.key_decisions, ["d0", "d1", "d2", "d3", "d4"]);
        assert_eq!(summed.concepts, ["common", "rare"]);
    }
}
