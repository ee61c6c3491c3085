//! Lists of rows that wait for a model's ranking. Curator asks models, and takes the lists from here: nothing is pushed to it. A
//! caller waits a bounded time and then does without a ranking. Texts are held while they are waited for; afterwards only a hash
//! and the ranking are kept, so that the next page has the same order.

use ipc_proto::gate::{RERANK_ROWS, RerankRequest};
use ipc_proto::model::Payer;
use ipc_proto::{List, Text};
use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::{Notify, oneshot};
use tokio::time::timeout;

/// Lists that may wait at once.
const WAITING: usize = 32;

/// Rankings that are remembered.
const KNOWN: usize = 64;

/// The longest that curator waits for a list, in ms.
const LONGEST: u32 = 20_000;

/// Indices of rows from 0, the best first.
pub(crate) type Ranking = List<u8, RERANK_ROWS>;

/// A ranking, or the reason for which there is none.
pub(crate) type RankingResult = Result<Ranking, Text<200>>;

/// The key of a ranking: a hash of the query and of the rows in their order.
pub(crate) type RerankKey = [u8; 32];

#[derive(Default)]
struct Table {
    last: u64,
    waiting: VecDeque<RerankRequest>,
    waiters: HashMap<u64, (oneshot::Sender<RankingResult>, Payer)>,
    known: VecDeque<(RerankKey, Ranking)>,
}

/// The lists that wait, and the rankings that are remembered.
#[derive(Default)]
pub(crate) struct RerankQueue {
    table: Mutex<Table>,
    /// Notified when a list arrives.
    arrived: Notify,
}

impl RerankQueue {
    fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The remembered ranking of these rows for this query.
    pub(crate) fn known(&self, key: &RerankKey) -> Option<Ranking> {
        self.table().known.iter().find(|(known, _)| known == key).map(|(_, ranking)| ranking.clone())
    }

    /// Remembers a ranking for the next page.
    pub(crate) fn remember(&self, key: RerankKey, ranking: Ranking) {
        let mut table = self.table();
        table.known.retain(|(known, _)| *known != key);
        if table.known.len() >= KNOWN {
            table.known.pop_front();
        }
        table.known.push_back((key, ranking));
    }

    /// Waits for the ranking of these rows. `wanted.id` is filled in here; `payer` pays for it.
    pub(crate) async fn ask(&self, mut wanted: RerankRequest, payer: Payer) -> RankingResult {
        let patience = Duration::from_millis(wanted.patience_ms.into());
        let (sender, result) = oneshot::channel();
        let id = {
            let mut table = self.table();
            if table.waiting.len() >= WAITING {
                return Err(Text::clip("too many lists wait for a model"));
            }
            table.last += 1;
            let id = table.last;
            wanted.id = id;
            table.waiters.insert(id, (sender, payer));
            table.waiting.push_back(wanted);
            id
        };
        let waiter = Waiter { reranks: self, id };
        self.arrived.notify_one();
        let result = timeout(patience, result).await;
        drop(waiter);
        match result {
            Ok(Ok(result)) => result,
            Ok(Err(_)) | Err(_) => {
                Err(Text::clip(&format!("no model answered within {} s", patience.as_secs())))
            }
        }
    }

    /// The next list that somebody waits for; `None` if there is none within `wait_ms`.
    pub(crate) async fn next(&self, wait_ms: u32) -> Option<RerankRequest> {
        let next = async {
            loop {
                let arrived = self.arrived.notified();
                if let Some(wanted) = self.table().waiting.pop_front() {
                    return wanted;
                }
                arrived.await;
            }
        };
        timeout(Duration::from_millis(wait_ms.min(LONGEST).into()), next).await.ok()
    }

    /// Hands a ranking to its caller. If the caller is gone, nothing happens.
    pub(crate) fn finish(&self, id: u64, result: RankingResult) {
        if let Some((sender, _)) = self.table().waiters.remove(&id) {
            // The caller may have gone away meanwhile.
            let _ = sender.send(result);
        }
    }

    /// The payer of this ranking; `None` once nobody waits for it.
    pub(crate) fn payer(&self, id: u64) -> Option<Payer> {
        self.table().waiters.get(&id).map(|(_, payer)| payer.clone())
    }
}

/// A caller that waits. When it is dropped, its list is removed.
struct Waiter<'a> {
    reranks: &'a RerankQueue,
    id: u64,
}

impl Drop for Waiter<'_> {
    fn drop(&mut self) {
        let mut table = self.reranks.table();
        table.waiters.remove(&self.id);
        table.waiting.retain(|wanted| wanted.id != self.id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ipc_proto::ids::UserId;
    use ipc_proto::label::Label;
    use std::sync::Arc;

    fn wanted(patience_ms: u32) -> RerankRequest {
        RerankRequest {
            id: 0,
            owner: UserId::from_bytes([1; 16]),
            label: Label::bottom(),
            words: Text::clip("ferry"),
            rows: List::clip([Text::clip("one"), Text::clip("two")]),
            patience_ms,
        }
    }

    fn payer() -> Payer {
        Payer::of(UserId::from_bytes([2; 16]))
    }

    // Holds P5-23.
    #[tokio::test]
    async fn an_order_goes_to_who_asked_for_it_and_to_nobody_else() {
        let reranks = Arc::new(RerankQueue::default());
        let one = tokio::spawn({
            let reranks = Arc::clone(&reranks);
            async move { reranks.ask(wanted(5000), payer()).await }
        });
        let first = reranks.next(5000).await.unwrap();
        let two = tokio::spawn({
            let reranks = Arc::clone(&reranks);
            async move { reranks.ask(wanted(5000), payer()).await }
        });
        let second = reranks.next(5000).await.unwrap();
        assert_ne!(first.id, second.id);
        assert_eq!(reranks.payer(first.id), Some(payer()));
        reranks.finish(second.id, Err(Text::clip("policy")));
        reranks.finish(first.id, Ok(List::clip([1, 0])));
        reranks.finish(first.id, Ok(List::clip([0, 1])));
        assert_eq!(one.await.unwrap(), Ok(List::clip([1, 0])));
        assert_eq!(two.await.unwrap(), Err(Text::clip("policy")));
        assert_eq!(reranks.payer(first.id), None, "nobody waits for it any more");
        assert!(reranks.table().waiters.is_empty());
    }

    // Holds B-122.
    #[tokio::test]
    async fn who_waits_too_long_does_without_and_leaves_nothing_to_be_done() {
        let reranks = RerankQueue::default();
        assert!(reranks.ask(wanted(10), payer()).await.is_err());
        let table = reranks.table();
        assert!(table.waiting.is_empty() && table.waiters.is_empty());
    }

    // Holds B-122, B-123.
    #[tokio::test]
    async fn lists_that_wait_and_orders_that_are_known_are_bounded() {
        let reranks = Arc::new(RerankQueue::default());
        let asking = || {
            let reranks = Arc::clone(&reranks);
            tokio::spawn(async move { reranks.ask(wanted(60_000), payer()).await })
        };
        let waiting: Vec<_> = (0..WAITING).map(|_| asking()).collect();
        while reranks.table().waiting.len() < WAITING {
            tokio::task::yield_now().await;
        }
        assert!(reranks.ask(wanted(60_000), payer()).await.is_err_and(|why| why.contains("too many")));
        waiting.iter().for_each(tokio::task::JoinHandle::abort);
        for n in 0..=u8::try_from(KNOWN).unwrap() {
            reranks.remember([n; 32], List::clip([n]));
        }
        assert_eq!((reranks.known(&[0; 32]), reranks.known(&[1; 32])), (None, Some(List::clip([1]))));
        assert_eq!(reranks.table().known.len(), KNOWN);
    }
}
