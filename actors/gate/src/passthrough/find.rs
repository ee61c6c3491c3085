//! Queries to memory with the parts that memory cannot do, since it calls no model: the vector of the query, by the configured
//! embedder, and a model's ranking of the first rows. Both are subject to labels, policy, scanner and budget. If the query names
//! an embedder's manner, a failure of the embedder fails the query; otherwise the part is left out, and the answer says so. It
//! never reads another memory than the one it is given.

use crate::memory::ask;
use crate::passthrough::admit;
use crate::passthrough::client::Client;
use crate::passthrough::embed::embedded;
use crate::state::context::GateContext;
use crate::state::elapsed::ms;
use crate::state::errors::relay_down;
use crate::state::reranks::{Ranking, RerankKey, RerankQueue};
use ipc_proto::gate::{RERANK_ROWS, RelayError, RerankRequest};
use ipc_proto::label::Label;
use ipc_proto::memory::{Answered, Found, HITS, Kind, Manner, Question, Row, Scope, Vector};
use ipc_proto::model::{Embedding, ModelError, Payer};
use ipc_proto::{Blob, List, Name, Text, embedder};
use sha2::{Digest, Sha256};
use std::time::{Duration, Instant};
use tokio::time::timeout;

/// The longest wait for the vector of a query, and the part of it that is left for a provider's failure to be reported.
const PATIENCE: Duration = Duration::from_secs(8);

const REPORT_TIME: Duration = Duration::from_millis(500);

/// The longest that a query takes, which is shorter than its callers wait. A ranking may use the time that the vector and memory
/// leave.
const DEADLINE: Duration = Duration::from_secs(30);

/// The rows that match a query best.
pub(crate) async fn find(
    gate: &GateContext,
    client: &Client,
    scope: Scope,
    mut question: Question,
) -> Result<Box<Answered>, RelayError> {
    let (finding, until) = (&gate.settings.finding, Instant::now() + DEADLINE);
    question.vector = None;
    let mut note = None;
    let embedder = if finding.embeds(&question) { finding.embedder.clone() } else { None };
    if let Some(embedder) = embedder {
        match vector(gate, client, &embedder, &question.words).await {
            Ok(vector) => question.vector = Some(vector),
            Err(why) if question.manner == Manner::Usual => {
                note = Some(format!("found by words alone, since there is no vector of the question: {why}"));
            }
            Err(why) => return Err(why),
        }
    }
    let (reorders, limit) = (finding.reorders(&question), question.limit);
    let top = usize::from(finding.rerank_top).min(RERANK_ROWS);
    if reorders {
        question.limit = limit.max(finding.rerank_top.into());
    }
    let mut answered = ask::find(gate, &scope, &question).await?;
    if answered.rows.is_empty() && question.manner == Manner::Meaning {
        note = question.vector.as_ref().map(|vector| without_vectors(&vector.by));
    }
    if reorders {
        reorder(gate, (client, &scope), &question, (top, until), &mut answered).await;
        let most = usize::from(limit).min(HITS);
        answered.rows = List::clip(std::mem::take(&mut answered.rows).into_iter().take(most));
    }
    let notes = note.as_deref().map(Text::clip).into_iter().chain(std::mem::take(&mut answered.notes));
    answered.notes = List::clip(notes);
    Ok(answered)
}

/// The note where a search by vectors finds nothing: memories without a vector yet look the same.
fn without_vectors(by: &str) -> String {
    format!(
        "by meaning only memories with a vector of {by} are found; `agentctl memory stats` says how many have one"
    )
}

/// The vector of a query.
async fn vector(gate: &GateContext, client: &Client, by: &str, words: &str) -> Result<Vector, RelayError> {
    let vector = match embedder::is_local(by) {
        true => timeout(PATIENCE, local_vector(gate, by, words)).await,
        false => timeout(PATIENCE, remote_vector(gate, client, by, words)).await,
    };
    vector.unwrap_or(Err(RelayError::Model(ModelError::Timeout)))
}

/// The embedder of this machine: nothing leaves it.
async fn local_vector(gate: &GateContext, by: &str, words: &str) -> Result<Vector, RelayError> {
    let (by, text) = (Name::clip(by), Text::clip(words));
    let vector = gate.embedder.call(&embedder::method::embed, |embedder, rpc| {
        let (by, text) = (by.clone(), text.clone());
        async move { embedder.embed(rpc, by, text).await }
    });
    vector.await.map_err(|_| relay_down("embedder"))?.map_err(RelayError::Embedder)
}

async fn remote_vector(
    gate: &GateContext,
    client: &Client,
    by: &str,
    words: &str,
) -> Result<Vector, RelayError> {
    let request = Embedding {
        model: Text::clip(by),
        texts: List::clip([Text::clip(words)]),
        dimensions: None,
        // The decision fills in the payer.
        payer: Payer::of(client.user()),
    };
    let until = Instant::now() + PATIENCE;
    let (request, _room) = admit::memory_query(gate, client, request).await?;
    let left = until.saturating_duration_since(Instant::now()).saturating_sub(REPORT_TIME);
    if left.is_zero() {
        return Err(RelayError::Model(ModelError::Timeout));
    }
    let embedded = embedded(gate, request, Some(left)).await?;
    let values = embedded.vectors.first().ok_or(RelayError::Model(ModelError::InvalidJson))?;
    let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
    let values = Blob::new(bytes).map_err(|_| RelayError::Model(ModelError::InvalidJson))?;
    Ok(Vector { by: Name::clip(by), values })
}

/// Ranks the first rows by a model. If none answers, they keep their order.
async fn reorder(
    gate: &GateContext,
    (client, scope): (&Client, &Scope),
    question: &Question,
    (top, until): (usize, Instant),
    answered: &mut Answered,
) {
    let patience = Duration::from_secs(gate.settings.finding.rerank_seconds.into());
    let patience = patience.min(until.saturating_duration_since(Instant::now()));
    let Some((key, wanted)) = ranking_request(client.question(), scope, question, (top, patience), answered)
    else {
        return;
    };
    let label = wanted.label.clone();
    let result = match gate.reranks.known(&key) {
        Some(order) => Ok(order),
        None => match client.payer(gate) {
            Ok(payer) => request_ranking(&gate.reranks, wanted, payer).await,
            Err(why) => Err(Text::clip(&why.to_string())),
        },
    };
    match result {
        Ok(order) => {
            gate.reranks.remember(key, order.clone());
            answered.rows = apply_ranking(std::mem::take(&mut answered.rows).into_vec(), &order);
            answered.read = Some(label);
        }
        Err(why) => {
            let note =
                format!("in the order that they were found in, since no model gave them another: {why}");
            answered.notes = List::clip([Text::clip(&note)]);
        }
    }
}

/// The rows for a model to rank, and the key of their ranking; `None` where there are fewer than two.
fn ranking_request(
    asked: Label,
    scope: &Scope,
    question: &Question,
    (top, patience): (usize, Duration),
    answered: &Answered,
) -> Option<(RerankKey, RerankRequest)> {
    let first: Vec<&Row> = answered.rows.iter().take(top).map(|found| &found.hit.row).collect();
    if first.len() < 2 {
        return None;
    }
    let label = first.iter().fold(asked, |label, row| label.join(&row.entry.label));
    let wanted = RerankRequest {
        id: 0,
        owner: scope.owner,
        label,
        words: question.words.clone(),
        rows: List::clip(first.iter().map(|row| Text::clip(&text_of(row)))),
        patience_ms: ms(patience),
    };
    Some((ranking_key(scope, &question.words, &first), wanted))
}

/// The ranking that curator returned, if it names each row at most once.
async fn request_ranking(
    reranks: &RerankQueue,
    wanted: RerankRequest,
    payer: Payer,
) -> Result<Ranking, Text<200>> {
    let count = wanted.rows.len();
    let order = reranks.ask(wanted, payer).await?;
    let mut seen = [false; RERANK_ROWS];
    for place in &order {
        let fresh = seen.get_mut(usize::from(*place)).filter(|seen| usize::from(*place) < count && !**seen);
        *fresh.ok_or(Text::clip("the order names a row that is not there, or one twice"))? = true;
    }
    Ok(order)
}

/// The text of a row that a model reads.
fn text_of(row: &Row) -> String {
    let title = match &row.entry.detail.kind {
        Kind::Observation(seen) => seen.title.as_str(),
        Kind::Summary(came) => came.request.as_str(),
        Kind::Semantic(fact) => fact.key.as_str(),
        Kind::Entity(entity) => entity.name.as_str(),
        Kind::Note { .. } | Kind::Episodic { .. } => "",
    };
    match title {
        "" => row.entry.content.to_string(),
        title => format!("{title}. {}", row.entry.content),
    }
}

/// The key of a ranking: the same rows in the same order for the same query.
fn ranking_key(scope: &Scope, words: &str, rows: &[&Row]) -> RerankKey {
    let mut hash = Sha256::new();
    hash.update(format!("{}\0{:?}\0{words}\0", scope.owner, scope.area));
    for row in rows {
        hash.update(row.entry.id.bytes());
    }
    hash.finalize().into()
}

/// The ranked rows first, then the others in their order.
fn apply_ranking(rows: Vec<Found>, order: &[u8]) -> List<Found, HITS> {
    let mut rows: Vec<Option<Found>> = rows.into_iter().map(Some).collect();
    let mut first = Vec::new();
    for place in order {
        let found = rows.get_mut(usize::from(*place)).and_then(Option::take);
        first.extend(found.map(|found| (found, u32::try_from(first.len()).unwrap_or(u32::MAX) + 1)));
    }
    let first = first.into_iter().map(|(mut found, place)| {
        found.why.by_model = Some(place);
        found
    });
    List::clip(first.chain(rows.into_iter().flatten()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use ipc_proto::ids::MemoryId;
    use ipc_proto::label::{Class, Trust};
    use ipc_proto::memory::{Area, Entry, Hit, Why};

    fn found(n: u8) -> Found {
        let label = Label::of(Trust::User, Class::Internal, "test");
        let row = Row::new(Entry::new(MemoryId::from_bytes([n; 16]), Text::default(), label), Area::User, 1);
        Found { hit: Hit { row, snippet: Text::default(), score: 0 }, why: Why::default() }
    }

    // Holds P5-24.
    #[test]
    fn a_query_to_memory_ends_before_its_callers_stop_waiting() {
        let memory = ipc_proto::memory::method::find.deadline;
        assert!(PATIENCE + memory < DEADLINE, "an order has time left");
        for caller in [
            ipc_proto::gate::method::find.deadline,
            ipc_proto::gate::method::memory_find.deadline,
            ipc_proto::control::method::memory_find.deadline,
            ipc_proto::runner_gate::method::effect.deadline,
        ] {
            assert!(DEADLINE < caller, "{caller:?}");
        }
    }

    #[test]
    fn rows_that_an_order_leaves_out_follow_those_that_it_names_as_they_were() {
        let rows: Vec<Found> = (0..5).map(found).collect();
        let ordered = apply_ranking(rows, &[3, 0]);
        let ids: Vec<u8> = ordered.iter().map(|found| found.hit.row.entry.id.bytes()[0]).collect();
        assert_eq!(ids, [3, 0, 1, 2, 4]);
        let places: Vec<Option<u32>> = ordered.iter().map(|found| found.why.by_model).collect();
        assert_eq!(places, [Some(1), Some(2), None, None, None]);
    }

    // Holds P5-22.
    #[tokio::test]
    async fn an_order_that_names_what_is_not_there_or_one_row_twice_is_none() {
        let payer = Payer::of(ipc_proto::ids::UserId::from_bytes([1; 16]));
        for (result, sound) in [(vec![1, 0], true), (vec![1], true), (vec![2], false), (vec![0, 0], false)] {
            let reranks = RerankQueue::default();
            let answering = async {
                let wanted = reranks.next(5000).await.unwrap();
                reranks.finish(wanted.id, Ok(List::clip(result.iter().copied())));
            };
            let wanted = RerankRequest {
                id: 0,
                owner: ipc_proto::ids::UserId::from_bytes([1; 16]),
                label: Label::bottom(),
                words: Text::default(),
                rows: List::clip([Text::default(), Text::default()]),
                patience_ms: 5000,
            };
            let (order, ()) = tokio::join!(request_ranking(&reranks, wanted, payer.clone()), answering);
            assert_eq!(order.is_ok(), sound, "{result:?}");
        }
    }
}
