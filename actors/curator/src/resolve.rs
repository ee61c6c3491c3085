//! Decides if an observation repeats another one or replaces it. Similarity decides at both ends; between them a model
//! does, and where it fails the observation is new. An observation never replaces one that is trusted more.

use crate::failure::Failure;
use crate::model::Asking;
use crate::queue::Queue;
use crate::reading::quoted;
use crate::store::Job;
use ipc_proto::memory::{Kind, Row, Settled};
use serde::Deserialize;

/// The instruction for the model.
const SYSTEM: &str = "Notes of a programmer are quoted below: a new one, and numbered older ones like it. Say whether the new \
    one says something new, says the same as an older one, or makes an older one out of date. Answer with one JSON object \
    and nothing else: {\"outcome\": one of \"new_fact\", \"duplicate\", \"update\", \"of\": the number of the older one, \
    and 0 where it is new, \"reason\": a few words}";

/// The model's answer.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Outcome {
    NewFact,
    Duplicate,
    Update,
}

#[derive(Debug, Deserialize)]
struct Verdict {
    outcome: Outcome,
    #[serde(default)]
    of: usize,
}

/// Compares a row with those like it.
pub(crate) async fn resolve(
    queue: &Queue,
    job: &Job,
    (row, like): (&Row, &[(Row, u16)]),
) -> Result<Settled, Failure> {
    let id = row.entry.id;
    // Likeness is in thousandths.
    let thousandths = |millionths: u32| u16::try_from(millionths / 1000).unwrap_or(u16::MAX);
    let (low, high) = (thousandths(queue.config.conflict_low), thousandths(queue.config.conflict_high));
    if let Some((other, likeness)) = like.first()
        && *likeness >= high
    {
        return Ok(Settled::Duplicate { id, of: other.entry.id });
    }
    let doubtful: Vec<&Row> =
        like.iter().filter(|(_, likeness)| *likeness >= low).map(|(row, _)| row).collect();
    if doubtful.is_empty() || queue.model_of(job).is_none() {
        return Ok(Settled::Distinct(id));
    }
    match judge(queue, job, row, &doubtful).await {
        Ok(verdict) => Ok(settled(row, &doubtful, &verdict)),
        Err(Failure::Unusable(reason)) => {
            tracing::info!(job = %job.view.info.id, reason, "taken for new");
            Ok(Settled::Distinct(id))
        }
        Err(failure) => Err(failure),
    }
}

async fn judge(queue: &Queue, job: &Job, row: &Row, doubtful: &[&Row]) -> Result<Verdict, Failure> {
    let label = doubtful.iter().fold(row.entry.label.clone(), |label, row| label.join(&row.entry.label));
    let mut parts = vec![("new".to_owned(), described(row))];
    parts.extend((1..).zip(doubtful).map(|(number, row): (usize, _)| (number.to_string(), described(row))));
    let parts: Vec<(&str, &str)> = parts.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
    let asking = Asking { by: queue.asker(job), label: &label, system: SYSTEM, input: quoted(&parts) };
    queue.ask_json(&asking).await
}

fn described(row: &Row) -> String {
    match &row.entry.detail.kind {
        Kind::Observation(seen) => format!("{}. {}", seen.title, row.entry.content),
        _ => row.entry.content.to_string(),
    }
}

/// The verdict that memory receives. A number that names no row is no verdict.
fn settled(row: &Row, doubtful: &[&Row], verdict: &Verdict) -> Settled {
    let id = row.entry.id;
    let other = verdict.of.checked_sub(1).and_then(|at| doubtful.get(at));
    match (verdict.outcome, other) {
        (Outcome::Duplicate, Some(other)) => Settled::Duplicate { id, of: other.entry.id },
        (Outcome::Update, Some(other)) if row.entry.label.trust <= other.entry.label.trust => {
            Settled::Supersedes { id, old: other.entry.id }
        }
        _ => Settled::Distinct(id),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ipc_proto::Text;
    use ipc_proto::ids::MemoryId;
    use ipc_proto::label::{Class, Label, Trust};
    use ipc_proto::memory::{Area, Entry};

    fn row(n: u8, trust: Trust) -> Row {
        let label = Label::of(trust, Class::Internal, "test");
        Row::new(Entry::new(MemoryId::from_bytes([n; 16]), Text::default(), label), Area::User, 1)
    }

    // Holds P8-17.
    #[test]
    fn a_stranger_s_note_never_takes_the_place_of_one_that_is_trusted_more() {
        let (mine, theirs) = (row(1, Trust::User), row(2, Trust::Untrusted));
        let update = Verdict { outcome: Outcome::Update, of: 1 };
        let (id, old) = (theirs.entry.id, mine.entry.id);
        assert_eq!(settled(&theirs, &[&mine], &update), Settled::Distinct(id));
        assert_eq!(settled(&mine, &[&theirs], &update), Settled::Supersedes { id: old, old: id });
    }

    #[test]
    fn a_number_that_names_nothing_leaves_it_new() {
        let (one, other) = (row(1, Trust::User), row(2, Trust::User));
        for of in [0, 2, usize::MAX] {
            for outcome in [Outcome::Update, Outcome::Duplicate] {
                let verdict = Verdict { outcome, of };
                assert_eq!(settled(&one, &[&other], &verdict), Settled::Distinct(one.entry.id), "{of}");
            }
        }
    }
}
