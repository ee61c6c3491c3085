//! Has a model rank rows for a caller that waits: the gate has the rows, and they are taken from it here. It is no job
//! of the queue: a ranking that is not done in time is dropped, and the rows stay as they were found. The result is an
//! order and no text, so that no content of a row goes further by it.

use crate::failure::Failure;
use crate::model::{Asker, Asking};
use crate::queue::Queue;
use crate::reading::quoted;
use ipc_proto::gate::{RERANK_ROWS, RerankRequest, method};
use ipc_proto::model::ModelName;
use ipc_proto::{List, Text};
use serde::Deserialize;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Semaphore;

/// Lists that are put into order at once.
const AT_ONCE: usize = 4;
/// How long a list is waited for at a time, ms.
const WAIT_MS: u32 = 20_000;
/// How long the gate is left alone that is not there.
const AWAY: Duration = Duration::from_secs(1);
/// The instruction for the model.
const SYSTEM: &str = "A question and numbered notes are quoted below. Put the notes into the order in which they help to answer the \
    question, the best first. Answer with one JSON object and nothing else: {\"order\": the numbers of the notes}. Leave out \
    those that have nothing to do with the question.";

/// The model's answer.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Ranking {
    order: Vec<usize>,
}

impl Ranking {
    /// Returns whether it names notes that there are, none of them twice.
    fn is_of(&self, count: usize) -> bool {
        let mut seen = [false; RERANK_ROWS];
        self.order.iter().all(|number| {
            let at = number.checked_sub(1).filter(|at| *at < count).and_then(|at| seen.get_mut(at));
            at.is_some_and(|seen| !std::mem::replace(seen, true))
        })
    }

    fn places(&self) -> List<u8, RERANK_ROWS> {
        List::clip(self.order.iter().filter_map(|number| u8::try_from(number.checked_sub(1)?).ok()))
    }
}

/// Serves waiting requests, for as long as the process lives.
pub(crate) async fn serve(queue: Rc<Queue>) {
    let permits = Arc::new(Semaphore::new(AT_ONCE));
    loop {
        let Ok(permit) = Arc::clone(&permits).acquire_owned().await else { return };
        let next = queue.gate.call(&method::next_rerank, |gate, context| async move {
            gate.next_rerank(context, WAIT_MS).await
        });
        match next.await {
            Ok(Some(wanted)) => {
                let queue = Rc::clone(&queue);
                drop(tokio::task::spawn_local(async move {
                    answer(&queue, wanted).await;
                    drop(permit);
                }));
            }
            Ok(None) => {}
            Err(_) => tokio::time::sleep(AWAY).await,
        }
    }
}

/// Tells the gate the order, or why there is none.
async fn answer(queue: &Queue, wanted: RerankRequest) {
    let (id, patience) = (wanted.id, Duration::from_millis(wanted.patience_ms.into()));
    let ranking = tokio::time::timeout(patience, order(queue, wanted)).await;
    // A ranking that comes too late has no reader any more.
    let Ok(ranking) = ranking else { return };
    let told = ranking.map_err(|why| Text::clip(&why.to_string()));
    let told = queue.gate.call(&method::finish_rerank, |gate, context| {
        let told = told.clone();
        async move { gate.finish_rerank(context, id, told).await }
    });
    if let Err(fault) = told.await {
        tracing::warn!(%fault, "an order could not be told");
    }
}

/// The order that the model gives the rows.
async fn order(queue: &Queue, wanted: RerankRequest) -> Result<List<u8, RERANK_ROWS>, Failure> {
    let Some(model) = queue.config.model.as_deref() else {
        return Err(Failure::Permanent("no model is configured, [curator] model".to_owned()));
    };
    if queue.is_paused() {
        return Err(Failure::Aborted);
    }
    if let Some(why) = queue.withheld(model, kit::now_ms()) {
        return Err(Failure::Passing(why));
    }
    let rows =
        (1..).zip(&wanted.rows).map(|(number, row): (usize, _)| (format!("note {number}"), row.as_str()));
    let rows: Vec<(String, &str)> = rows.collect();
    let question = [("question", wanted.words.as_str())];
    let parts: Vec<(&str, &str)> =
        question.into_iter().chain(rows.iter().map(|(name, row)| (name.as_str(), *row))).collect();
    let by = Asker { owner: wanted.owner, model: Some(ModelName::clip(model)), order: Some(wanted.id) };
    let asking = Asking { by, label: &wanted.label, system: SYSTEM, input: quoted(&parts) };
    let ranking: Ranking =
        queue.ask_for(&asking, |ranking: &Ranking| ranking.is_of(wanted.rows.len())).await?;
    Ok(ranking.places())
}

#[cfg(test)]
mod tests {
    use super::*;

    // Holds P5-22.
    #[test]
    fn an_order_names_notes_that_there_are_and_none_of_them_twice() {
        let cases: [(&[usize], bool); 7] = [
            (&[2, 1, 3], true),
            (&[3], true),
            (&[], true),
            (&[0], false),
            (&[4], false),
            (&[1, 1], false),
            (&[usize::MAX], false),
        ];
        for (order, sound) in cases {
            assert_eq!(Ranking { order: order.to_vec() }.is_of(3), sound, "{order:?}");
        }
        assert_eq!(Ranking { order: vec![2, 1] }.places(), List::clip([1, 0]));
    }

    #[test]
    fn an_answer_that_says_more_than_an_order_is_none() {
        for wrong in [r#"{"order":[1],"say":"obey"}"#, r#"{"order":["1"]}"#, r#"{"order":[-1]}"#, "[1]"] {
            assert!(serde_json::from_str::<Ranking>(wrong).is_err(), "{wrong}");
        }
    }
}
