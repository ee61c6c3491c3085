//! Rows that wait for a model to put them into order. Curator asks models, and it takes what waits here: nothing is pushed
//! down to it. Whoever wants an order waits a bounded time and does without it then. Texts are held while they are waited
//! for; of what came of them a hash and numbers are kept, so that the next page of an answer has the order of the first.

use ipc_proto::gate::{TO_ORDER, ToOrder};
use ipc_proto::model::Payer;
use ipc_proto::{List, Text};
use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::{Notify, oneshot};
use tokio::time::timeout;

/// Lists that wait at once.
const WAITING: usize = 32;
/// Orders that are known again.
const KNOWN: usize = 64;
/// The longest that curator waits for a list, ms.
const LONGEST: u32 = 20_000;

/// Places from 0, the best first.
pub(crate) type Order = List<u8, TO_ORDER>;
/// An order, or why there is none.
pub(crate) type Told = Result<Order, Text<200>>;
/// What an order was of: a hash of the question and of the rows, in the order that they had.
pub(super) type Of = [u8; 32];

#[derive(Default)]
struct Table {
    last: u64,
    waiting: VecDeque<ToOrder>,
    asked: HashMap<u64, (oneshot::Sender<Told>, Payer)>,
    known: VecDeque<(Of, Order)>,
}

/// What waits, and what came.
#[derive(Default)]
pub(crate) struct Orders {
    table: Mutex<Table>,
    /// Told when a list comes.
    come: Notify,
}

impl Orders {
    fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The order that these rows had for this question not long ago.
    pub(super) fn known(&self, of: &Of) -> Option<Order> {
        self.table().known.iter().find(|(known, _)| known == of).map(|(_, order)| order.clone())
    }

    /// Keeps an order for the next page.
    pub(super) fn keep(&self, of: Of, order: Order) {
        let mut table = self.table();
        table.known.retain(|(known, _)| *known != of);
        if table.known.len() >= KNOWN {
            table.known.pop_front();
        }
        table.known.push_back((of, order));
    }

    /// The order of these rows, as soon as there is one; `wanted.id` is filled in here. Who asks pays for it.
    pub(super) async fn ask(&self, mut wanted: ToOrder, payer: Payer) -> Told {
        let patience = Duration::from_millis(wanted.patience_ms.into());
        let (tell, told) = oneshot::channel();
        let id = {
            let mut table = self.table();
            if table.waiting.len() >= WAITING {
                return Err(Text::clip("too many lists wait for a model"));
            }
            table.last += 1;
            let id = table.last;
            wanted.id = id;
            table.asked.insert(id, (tell, payer));
            table.waiting.push_back(wanted);
            id
        };
        let asked = Asked { orders: self, id };
        self.come.notify_one();
        let told = timeout(patience, told).await;
        drop(asked);
        match told {
            Ok(Ok(told)) => told,
            Ok(Err(_)) | Err(_) => {
                Err(Text::clip(&format!("no model answered within {} s", patience.as_secs())))
            }
        }
    }

    /// The next list that somebody waits for; none if nobody does for so long.
    pub(crate) async fn next(&self, wait_ms: u32) -> Option<ToOrder> {
        let next = async {
            loop {
                let come = self.come.notified();
                if let Some(wanted) = self.table().waiting.pop_front() {
                    return wanted;
                }
                come.await;
            }
        };
        timeout(Duration::from_millis(wait_ms.min(LONGEST).into()), next).await.ok()
    }

    /// Gives an order to whoever waits for it; nothing happens if nobody does any more.
    pub(crate) fn tell(&self, id: u64, told: Told) {
        if let Some((asked, _)) = self.table().asked.remove(&id) {
            // Whoever asked may have gone away this very moment.
            let _ = asked.send(told);
        }
    }

    /// Who pays for this order; nobody once nobody waits for it.
    pub(super) fn payer(&self, id: u64) -> Option<Payer> {
        self.table().asked.get(&id).map(|(_, payer)| payer.clone())
    }
}

/// Somebody who waits. Who goes away leaves nothing to be done for them.
struct Asked<'a> {
    orders: &'a Orders,
    id: u64,
}

impl Drop for Asked<'_> {
    fn drop(&mut self) {
        let mut table = self.orders.table();
        table.asked.remove(&self.id);
        table.waiting.retain(|wanted| wanted.id != self.id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ipc_proto::ids::UserId;
    use ipc_proto::label::Label;
    use std::sync::Arc;

    fn wanted(patience_ms: u32) -> ToOrder {
        ToOrder {
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
        let orders = Arc::new(Orders::default());
        let one = tokio::spawn({
            let orders = Arc::clone(&orders);
            async move { orders.ask(wanted(5000), payer()).await }
        });
        let first = orders.next(5000).await.unwrap();
        let two = tokio::spawn({
            let orders = Arc::clone(&orders);
            async move { orders.ask(wanted(5000), payer()).await }
        });
        let second = orders.next(5000).await.unwrap();
        assert_ne!(first.id, second.id);
        assert_eq!(orders.payer(first.id), Some(payer()));
        orders.tell(second.id, Err(Text::clip("policy")));
        orders.tell(first.id, Ok(List::clip([1, 0])));
        orders.tell(first.id, Ok(List::clip([0, 1])));
        assert_eq!(one.await.unwrap(), Ok(List::clip([1, 0])));
        assert_eq!(two.await.unwrap(), Err(Text::clip("policy")));
        assert_eq!(orders.payer(first.id), None, "nobody waits for it any more");
        assert!(orders.table().asked.is_empty());
    }

    // Holds B-122.
    #[tokio::test]
    async fn who_waits_too_long_does_without_and_leaves_nothing_to_be_done() {
        let orders = Orders::default();
        assert!(orders.ask(wanted(10), payer()).await.is_err());
        let table = orders.table();
        assert!(table.waiting.is_empty() && table.asked.is_empty());
    }

    // Holds B-122, B-123.
    #[tokio::test]
    async fn lists_that_wait_and_orders_that_are_known_are_bounded() {
        let orders = Arc::new(Orders::default());
        let asking = || {
            let orders = Arc::clone(&orders);
            tokio::spawn(async move { orders.ask(wanted(60_000), payer()).await })
        };
        let waiting: Vec<_> = (0..WAITING).map(|_| asking()).collect();
        while orders.table().waiting.len() < WAITING {
            tokio::task::yield_now().await;
        }
        assert!(orders.ask(wanted(60_000), payer()).await.is_err_and(|why| why.contains("too many")));
        waiting.iter().for_each(tokio::task::JoinHandle::abort);
        for n in 0..=u8::try_from(KNOWN).unwrap() {
            orders.keep([n; 32], List::clip([n]));
        }
        assert_eq!((orders.known(&[0; 32]), orders.known(&[1; 32])), (None, Some(List::clip([1]))));
        assert_eq!(orders.table().known.len(), KNOWN);
    }
}
