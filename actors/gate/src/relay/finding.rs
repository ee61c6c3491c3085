//! Questions to memory, with what memory cannot do by itself since it asks no model: a vector of the words by the embedder
//! that is configured, and an order that a model gives the first rows. Both go where labels, policy, scanner and budget let
//! them. An embedder that was asked for by name of a manner fails the question; what was only to help is left out, and the
//! answer says so. It never looks into another memory than the one it is told.

use super::admit::{self, Client};
use super::orders::{Of, Order};
use super::{embedded, memory, orders::Orders};
use crate::host::{Shared, down};
use crate::relay::relayed;
use ipc_proto::gate::{RelayError, TO_ORDER, ToOrder};
use ipc_proto::label::Label;
use ipc_proto::memory::{Answered, Ask, Found, HITS, Kind, Manner, Question, Row, Scope, Vector};
use ipc_proto::model::{Embedding, ModelError, Payer};
use ipc_proto::{Blob, List, Name, Text, embedder};
use sha2::{Digest, Sha256};
use std::time::{Duration, Instant};
use tokio::time::timeout;

/// How long a vector of a question is waited for, and what of it is left for a provider's failure to be told as what it was.
const PATIENCE: Duration = Duration::from_secs(8);
const TO_TELL: Duration = Duration::from_millis(500);
/// How long a question may take: less than anybody waits for its answer. What a vector and memory leave of it, an order may
/// have.
const WHOLE: Duration = Duration::from_secs(30);

/// The rows that answer a question best.
pub(crate) async fn find(
    shared: &Shared,
    client: &Client,
    scope: Scope,
    mut question: Question,
) -> Result<Box<Answered>, RelayError> {
    let (finding, until) = (&shared.settings.finding, Instant::now() + WHOLE);
    question.vector = None;
    let mut note = None;
    let embedder = if finding.embeds(&question) { finding.embedder.clone() } else { None };
    if let Some(embedder) = embedder {
        match vector(shared, client, &embedder, &question.words).await {
            Ok(vector) => question.vector = Some(vector),
            Err(why) if question.manner == Manner::Usual => {
                note = Some(format!("found by words alone, since there is no vector of the question: {why}"));
            }
            Err(why) => return Err(why),
        }
    }
    let (reorders, limit) = (finding.reorders(&question), question.limit);
    let top = usize::from(finding.rerank_top).min(TO_ORDER);
    if reorders {
        question.limit = limit.max(finding.rerank_top.into());
    }
    let mut answered = ask(shared, &scope, &question).await?;
    if answered.rows.is_empty() && question.manner == Manner::Meaning {
        note = question.vector.as_ref().map(|vector| without_vectors(&vector.by));
    }
    if reorders {
        reorder(shared, (client, &scope), &question, (top, until), &mut answered).await;
        let most = usize::from(limit).min(HITS);
        answered.rows = List::clip(std::mem::take(&mut answered.rows).into_iter().take(most));
    }
    let notes = note.as_deref().map(Text::clip).into_iter().chain(std::mem::take(&mut answered.notes));
    answered.notes = List::clip(notes);
    Ok(answered)
}

/// What is said where nothing is found by the vectors of an embedder: memories that it has made none of yet look the same.
fn without_vectors(by: &str) -> String {
    format!(
        "by meaning only memories with a vector of {by} are found; `agentctl memory stats` says how many have one"
    )
}

async fn ask(shared: &Shared, scope: &Scope, question: &Question) -> Result<Box<Answered>, RelayError> {
    let ask = Ask::Find(Box::new(question.clone()));
    memory::asked(shared, scope.clone(), ask).await?.found().map_err(RelayError::Memory)
}

/// What the embedder of this host makes of a question.
async fn vector(shared: &Shared, client: &Client, by: &str, words: &str) -> Result<Vector, RelayError> {
    let vector = match embedder::is_local(by) {
        true => timeout(PATIENCE, here(shared, by, words)).await,
        false => timeout(PATIENCE, elsewhere(shared, client, by, words)).await,
    };
    vector.unwrap_or(Err(RelayError::Model(ModelError::Timeout)))
}

/// The model of this machine: nothing leaves by it.
async fn here(shared: &Shared, by: &str, words: &str) -> Result<Vector, RelayError> {
    let (by, text) = (Name::clip(by), Text::clip(words));
    let vector = shared.embedder.call(&embedder::method::embed, |embedder, rpc| {
        let (by, text) = (by.clone(), text.clone());
        async move { embedder.embed(rpc, by, text).await }
    });
    vector.await.map_err(|_| relayed(down("embedder")))?.map_err(RelayError::Embedder)
}

async fn elsewhere(shared: &Shared, client: &Client, by: &str, words: &str) -> Result<Vector, RelayError> {
    let request = Embedding {
        model: Text::clip(by),
        texts: List::clip([Text::clip(words)]),
        dimensions: None,
        // Who pays is filled in where it is decided on.
        payer: Payer::of(client.user()),
    };
    let until = Instant::now() + PATIENCE;
    let (request, _room) = admit::question(shared, client, request).await?;
    let left = until.saturating_duration_since(Instant::now()).saturating_sub(TO_TELL);
    if left.is_zero() {
        return Err(RelayError::Model(ModelError::Timeout));
    }
    let embedded = embedded(shared, request, Some(left)).await?;
    let values = embedded.vectors.first().ok_or(RelayError::Model(ModelError::InvalidJson))?;
    let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
    let values = Blob::new(bytes).map_err(|_| RelayError::Model(ModelError::InvalidJson))?;
    Ok(Vector { by: Name::clip(by), values })
}

/// Has a model put the first rows into order. Where none does, they stay in the order that they have.
async fn reorder(
    shared: &Shared,
    (client, scope): (&Client, &Scope),
    question: &Question,
    (top, until): (usize, Instant),
    answered: &mut Answered,
) {
    let patience = Duration::from_secs(shared.settings.finding.rerank_seconds.into());
    let patience = patience.min(until.saturating_duration_since(Instant::now()));
    let Some((of, wanted)) = wanted(client.question(), scope, question, (top, patience), answered) else {
        return;
    };
    let label = wanted.label.clone();
    let told = match shared.orders.known(&of) {
        Some(order) => Ok(order),
        None => match client.payer(shared) {
            Ok(payer) => judged(&shared.orders, wanted, payer).await,
            Err(why) => Err(Text::clip(&why.to_string())),
        },
    };
    match told {
        Ok(order) => {
            shared.orders.keep(of, order.clone());
            answered.rows = ordered(std::mem::take(&mut answered.rows).into_vec(), &order);
            answered.read = Some(label);
        }
        Err(why) => {
            let note =
                format!("in the order that they were found in, since no model gave them another: {why}");
            answered.notes = List::clip([Text::clip(&note)]);
        }
    }
}

/// What a model is to put into order, and what its order will be of; none where there is nothing to be ordered.
fn wanted(
    asked: Label,
    scope: &Scope,
    question: &Question,
    (top, patience): (usize, Duration),
    answered: &Answered,
) -> Option<(Of, ToOrder)> {
    let first: Vec<&Row> = answered.rows.iter().take(top).map(|found| &found.hit.row).collect();
    if first.len() < 2 {
        return None;
    }
    let label = first.iter().fold(asked, |label, row| label.join(&row.entry.label));
    let wanted = ToOrder {
        id: 0,
        owner: scope.owner,
        label,
        words: question.words.clone(),
        rows: List::clip(first.iter().map(|row| Text::clip(&beginning(row)))),
        patience_ms: u32::try_from(patience.as_millis()).unwrap_or(u32::MAX),
    };
    Some((hash(scope, &question.words, &first), wanted))
}

/// An order that curator told, if it is one of these rows.
async fn judged(orders: &Orders, wanted: ToOrder, payer: Payer) -> Result<Order, Text<200>> {
    let count = wanted.rows.len();
    let order = orders.ask(wanted, payer).await?;
    let mut seen = [false; TO_ORDER];
    for place in &order {
        let fresh = seen.get_mut(usize::from(*place)).filter(|seen| usize::from(*place) < count && !**seen);
        *fresh.ok_or(Text::clip("the order names a row that is not there, or one twice"))? = true;
    }
    Ok(order)
}

/// What a model reads of a row.
fn beginning(row: &Row) -> String {
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

/// What an order is of: the same rows for the same question in the same order, each as it is.
fn hash(scope: &Scope, words: &str, rows: &[&Row]) -> Of {
    let mut hash = Sha256::new();
    hash.update(format!("{}\0{:?}\0{words}\0", scope.owner, scope.area));
    for row in rows {
        hash.update(row.entry.id.bytes());
    }
    hash.finalize().into()
}

/// The rows with those first that the order names, as it names them, and the others behind them as they were.
fn ordered(rows: Vec<Found>, order: &[u8]) -> List<Found, HITS> {
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
    fn whatever_a_question_waits_for_is_over_before_those_who_asked_stop_waiting() {
        let memory = ipc_proto::memory::method::ask.deadline;
        assert!(PATIENCE + memory < WHOLE, "an order has time left");
        for caller in [
            ipc_proto::gate::method::find.deadline,
            ipc_proto::gate::method::memory.deadline,
            ipc_proto::control::method::memory.deadline,
            ipc_proto::runner_gate::method::effect.deadline,
        ] {
            assert!(WHOLE < caller, "{caller:?}");
        }
    }

    #[test]
    fn rows_that_an_order_leaves_out_follow_those_that_it_names_as_they_were() {
        let rows: Vec<Found> = (0..5).map(found).collect();
        let ordered = ordered(rows, &[3, 0]);
        let ids: Vec<u8> = ordered.iter().map(|found| found.hit.row.entry.id.bytes()[0]).collect();
        assert_eq!(ids, [3, 0, 1, 2, 4]);
        let places: Vec<Option<u32>> = ordered.iter().map(|found| found.why.by_model).collect();
        assert_eq!(places, [Some(1), Some(2), None, None, None]);
    }

    // Holds P5-22.
    #[tokio::test]
    async fn an_order_that_names_what_is_not_there_or_one_row_twice_is_none() {
        let payer = Payer::of(ipc_proto::ids::UserId::from_bytes([1; 16]));
        for (told, sound) in [(vec![1, 0], true), (vec![1], true), (vec![2], false), (vec![0, 0], false)] {
            let orders = Orders::default();
            let answering = async {
                let wanted = orders.next(5000).await.unwrap();
                orders.tell(wanted.id, Ok(List::clip(told.iter().copied())));
            };
            let wanted = ToOrder {
                id: 0,
                owner: ipc_proto::ids::UserId::from_bytes([1; 16]),
                label: Label::bottom(),
                words: Text::default(),
                rows: List::clip([Text::default(), Text::default()]),
                patience_ms: 5000,
            };
            let (order, ()) = tokio::join!(judged(&orders, wanted, payer.clone()), answering);
            assert_eq!(order.is_ok(), sound, "{told:?}");
        }
    }
}
