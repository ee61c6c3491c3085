//! The money spent on models, and its bounds: money is set aside, durably, before a provider is asked, and the real
//! cost of an answer is counted after it. It touches one database in the process's own folder.
//!
//! A request that costs money must never go out without a reservation on the disk. A free one is counted when it is
//! over and reserves nothing, so that a model of this machine waits for no disk.

mod books;
mod calendar;
mod price;
mod scope;
mod store;
#[cfg(test)]
mod tests;

pub(crate) use books::Refused;
use books::{Books, Hold, Order};
use ipc_proto::List;
use ipc_proto::config::Budget;
use ipc_proto::model::{BudgetInfo, GroupBy, ModelError, ModelName, Payer, Per, Usage, UsageRow};
pub(crate) use price::{Tariff, cost};
use scope::Account;
use std::cell::Cell;
use std::path::Path;
use std::rc::Rc;
pub(crate) use store::LedgerFault;
use store::{Cost, FILE, Reserved, Store};
use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, timeout_at};

/// Orders in one commit.
const BATCH: usize = 256;

/// The most that an answer may cost, and its payer.
#[derive(Clone, Debug)]
pub(crate) struct Bill {
    /// The payer.
    pub(crate) payer: Payer,
    /// The model that is asked.
    pub(crate) model: ModelName,
    /// Its tariff; none if the price is unknown.
    pub(crate) tariff: Option<Tariff>,
    /// Tokens that are likely read.
    pub(crate) input: u32,
    /// Tokens that are written at most.
    pub(crate) output: u32,
    /// It is the cheaper model that is asked because a budget is used up.
    pub(crate) exempt: bool,
}

/// The ledger before the seal.
pub(crate) struct Opened {
    store: Store,
    budget: Budget,
}

impl Opened {
    /// Opens the ledger in `folder`. Reservations of an earlier process are counted as spent, and logged.
    ///
    /// # Errors
    /// [`LedgerFault`]; the process ends by it.
    pub(crate) fn open(folder: &Path, budget: Budget) -> Result<Self, LedgerFault> {
        let (store, answers, micros) = Store::open(&folder.join(FILE), kit::now_ms())?;
        if answers > 0 {
            tracing::warn!(
                answers,
                micros,
                "answers that were interrupted are counted at what was set aside"
            );
        }
        Ok(Self { store, budget })
    }

    /// Starts the ledger.
    pub(crate) fn start(self) -> Ledger {
        let (orders, queue) = mpsc::unbounded_channel();
        let budget = Rc::new(self.budget.clone());
        tokio::task::spawn_local(write(Books::new(self.store, self.budget, orders.clone()), queue));
        Ledger { orders, budget, spent: Rc::default() }
    }
}

/// The ledger. Its queue has no bound of its own: it holds a few orders for each answer that is coming.
#[derive(Clone)]
pub(crate) struct Ledger {
    orders: mpsc::UnboundedSender<Order>,
    budget: Rc<Budget>,
    /// Millionths of a dollar that were spent since the process started.
    spent: Rc<Cell<u64>>,
}

/// An answer that may be asked for. Dropped before it is settled, it cost nothing.
pub(crate) struct Reservation {
    asked: Reserved,
    tariff: Tariff,
    held: Option<Hold>,
    orders: mpsc::UnboundedSender<Order>,
    spent: Rc<Cell<u64>>,
}

impl Ledger {
    /// Millionths of a dollar that were spent since the process started.
    pub(crate) fn spent(&self) -> u64 {
        self.spent.get()
    }

    /// Sets money aside for an answer: durable when this returns. A free one needs no money.
    ///
    /// # Errors
    /// [`Refused`] if a budget is used up, if nobody knows what the model costs and a budget holds, or if the ledger
    /// cannot be written.
    pub(crate) async fn reserve(&self, bill: &Bill) -> Result<Reservation, Refused> {
        let at_ms = kit::now_ms();
        let account = Account::from(&bill.payer);
        let unknown = bill.tariff.is_none() && !self.budget.unpriced;
        if unknown && books::is_bounded(&self.budget, &account, at_ms) {
            return Err(Refused::Blocked(ModelError::Unpriced));
        }
        let tariff = bill.tariff.unwrap_or_default();
        let micros = price::most(tariff, bill.input, bill.output);
        let model = bill.model.to_string();
        let asked = Reserved { at_ms, model, account, input: bill.input, output: bill.output, micros };
        let held = if micros == 0 { None } else { Some(self.hold(asked.clone(), bill.exempt).await?) };
        Ok(Reservation { asked, tariff, held, orders: self.orders.clone(), spent: Rc::clone(&self.spent) })
    }

    async fn hold(&self, asked: Reserved, exempt: bool) -> Result<Hold, Refused> {
        let gone = Refused::Blocked(ModelError::Ledger);
        let (reply, answer) = oneshot::channel();
        self.orders.send(Order::Reserve { asked, exempt, reply }).map_err(|_| gone)?;
        answer.await.unwrap_or(Err(gone))
    }

    /// The usage since the hour of `since_ms` began.
    ///
    /// # Errors
    /// [`ModelError::Ledger`] if the ledger cannot be read.
    pub(crate) async fn used(&self, by: GroupBy, since_ms: u64) -> Result<List<UsageRow, 256>, ModelError> {
        let (reply, answer) = oneshot::channel();
        self.orders.send(Order::Used(by, since_ms, reply)).map_err(|_| ModelError::Ledger)?;
        answer.await.unwrap_or(Err(ModelError::Ledger))
    }

    /// Every budget and how it stands.
    ///
    /// # Errors
    /// [`ModelError::Ledger`] if the ledger cannot be read.
    pub(crate) async fn budgets(&self) -> Result<List<BudgetInfo, 64>, ModelError> {
        let (reply, answer) = oneshot::channel();
        self.orders.send(Order::Budgets(kit::now_ms(), reply)).map_err(|_| ModelError::Ledger)?;
        answer.await.unwrap_or(Err(ModelError::Ledger))
    }
}

impl Reservation {
    /// Returns whether the answer costs anything.
    pub(crate) const fn costs(&self) -> bool {
        self.held.is_some()
    }

    /// A budget that is used up, and only warns.
    pub(crate) fn over(&self) -> Option<Per> {
        self.held.as_ref().and_then(Hold::over)
    }

    /// Counts the usage. It is on the disk a moment later.
    pub(crate) fn settle(mut self, usage: Usage) {
        let id = self.held.as_mut().and_then(Hold::take);
        let micros = price::cost(self.tariff, usage);
        let claimed = usage.claimed.map_or(micros, |claim| price::claimed(self.tariff, claim));
        self.spent.set(self.spent.get().saturating_add(micros));
        let asked = std::mem::take(&mut self.asked);
        drop(self.orders.send(Order::Settle { id, asked, usage, cost: Cost { micros, claimed } }));
    }
}

/// Writes the orders: all that wait are one commit, and one without a waiting caller waits for others.
async fn write(mut books: Books, mut queue: mpsc::UnboundedReceiver<Order>) {
    while let Some(first) = queue.recv().await {
        // Tasks that are ready to ask do so now.
        tokio::task::yield_now().await;
        let mut until = Instant::now() + first.patience();
        let mut batch = vec![first];
        while batch.len() < BATCH {
            let Some(order) = another(&mut queue, until).await else { break };
            until = until.min(Instant::now() + order.patience());
            batch.push(order);
        }
        books.apply(batch);
    }
}

/// The next order of those that come by then. If that is now, it is one of those that wait already: a timer takes at
/// least a millisecond, and a caller waits.
async fn another(queue: &mut mpsc::UnboundedReceiver<Order>, until: Instant) -> Option<Order> {
    match queue.try_recv() {
        Ok(order) => Some(order),
        Err(_) if until <= Instant::now() => None,
        Err(_) => timeout_at(until, queue.recv()).await.ok().flatten(),
    }
}
