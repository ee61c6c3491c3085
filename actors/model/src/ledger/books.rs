//! The books: the ledger's operations, done in batches of one durable change each. A reservation is on the disk before
//! its caller learns of it. Sums of reservations are in memory; those of spent money are not.
//!
//! A budget is used up once spent money and reservations reach its bound: so the last answer that is started may cost
//! more than was left, and nothing is started after it. Reserved money is free again in a moment, and a caller that is
//! refused for it learns that.

use super::scope::{Account, EVERYBODY, Scope, bound, counts_to, of_agent, scopes};
use super::store::{Change, Cost, LedgerFault, Reserved, Store};
use ipc_proto::config::{AtLimit, Budget};
use ipc_proto::model::{BudgetInfo, GroupBy, ModelError, Per, SET_ASIDE_S, Usage, UsageRow};
use ipc_proto::{List, Name, Text};
use std::collections::{HashMap, HashSet};
use std::time::Duration;
use tokio::sync::{mpsc, oneshot};

/// Lines of a listing of budgets: the bound of one answer of the interface.
const LINES: usize = 64;
/// Sessions, agents and keys that a listing shows, of each kind.
const EACH: usize = 20;
/// Warnings that are remembered, so that each is given once.
const WARNINGS: usize = 1024;
/// Settlements that wait for a disk that takes them again.
const LATE: usize = 4096;
/// Millionths of a bound in the whole.
const WHOLE: u128 = 1_000_000;

/// Why no money is set aside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refused {
    /// Nothing is to be asked.
    Blocked(ModelError),
    /// The cheaper model is to be asked instead.
    Cheaper(ModelError),
}

/// Money that is set aside. Dropped before it is settled, it is released: so a caller that gives up, at any moment,
/// leaves nothing behind.
pub(crate) struct Hold {
    id: Option<i64>,
    /// A budget that is used up and only warns.
    over: Option<Per>,
    orders: mpsc::UnboundedSender<Order>,
}

impl Hold {
    /// The budget that is used up and only warns.
    pub(crate) const fn over(&self) -> Option<Per> {
        self.over
    }

    /// The number of the reservation, by which it is settled.
    pub(crate) const fn take(&mut self) -> Option<i64> {
        self.id.take()
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        if let Some(id) = self.id.take() {
            // Without the books there is nothing to release.
            drop(self.orders.send(Order::Release(id)));
        }
    }
}

/// One thing that is asked of the books.
pub(crate) enum Order {
    /// To set money aside, unless a budget is used up; `exempt` of those that turn to a cheaper model.
    Reserve {
        /// The purpose and the amount.
        asked: Reserved,
        /// True if it is the cheaper model that is asked.
        exempt: bool,
        /// The channel for the reservation.
        reply: oneshot::Sender<Result<Hold, Refused>>,
    },
    /// To count an answer, and to release its reservation.
    Settle {
        /// The number of the reservation, if there is one.
        id: Option<i64>,
        /// The purpose.
        asked: Reserved,
        /// The tokens used.
        usage: Usage,
        /// The cost.
        cost: Cost,
    },
    /// To release the reservation of an answer that cost nothing.
    Release(i64),
    /// The usage, summed.
    Used(GroupBy, u64, oneshot::Sender<Result<List<UsageRow, 256>, ModelError>>),
    /// How the budgets stand at this time.
    Budgets(u64, oneshot::Sender<Result<List<BudgetInfo, LINES>, ModelError>>),
}

impl Order {
    /// The time that it may wait for others to share its commit. A kill meanwhile has an answer counted at its
    /// reservation, as one in the middle of the answer has; of a free one it loses the count.
    pub(crate) const fn patience(&self) -> Duration {
        match self {
            Self::Reserve { .. } | Self::Used(..) | Self::Budgets(..) => Duration::ZERO,
            Self::Settle { id: None, .. } => Duration::from_millis(250),
            Self::Settle { .. } | Self::Release(_) => Duration::from_millis(5),
        }
    }

    /// Answers with this. A caller that is gone no longer waits for it.
    fn answer(self, answer: Answer, orders: &mpsc::UnboundedSender<Self>) {
        match (self, answer) {
            (Self::Reserve { reply, .. }, Answer::Reserved(answer)) => {
                let held = answer.map(|(id, over)| Hold { id: Some(id), over, orders: orders.clone() });
                drop(reply.send(held));
            }
            (Self::Used(_, _, reply), Answer::Used(rows)) => drop(reply.send(Ok(rows))),
            (Self::Budgets(_, reply), Answer::Budgets(rows)) => drop(reply.send(Ok(rows))),
            _ => {}
        }
    }

    /// Says that it could not be done; gives it back if it is to be done later.
    fn failed(self) -> Option<Self> {
        match self {
            Self::Reserve { reply, .. } => drop(reply.send(Err(Refused::Blocked(ModelError::Ledger)))),
            Self::Used(_, _, reply) => drop(reply.send(Err(ModelError::Ledger))),
            Self::Budgets(_, reply) => drop(reply.send(Err(ModelError::Ledger))),
            later @ (Self::Settle { .. } | Self::Release(_)) => return Some(later),
        }
        None
    }
}

enum Answer {
    Nothing,
    /// Its number, and a budget that is used up and only warns.
    Reserved(Result<(i64, Option<Per>), Refused>),
    Used(List<UsageRow, 256>),
    Budgets(List<BudgetInfo, LINES>),
}

/// The way to undo in memory a change that failed.
enum Undo {
    Opened(i64),
    Closed(i64, Reserved),
}

/// The books.
pub(crate) struct Books {
    store: Store,
    side: Side,
    /// The channel on which a reservation reports its release.
    orders: mpsc::UnboundedSender<Order>,
    /// Settlements that could not be written yet.
    late: Vec<Order>,
}

/// The part that stays in memory.
struct Side {
    budget: Budget,
    open: HashMap<i64, Reserved>,
    /// By budget, and whether it was used up by then.
    warned: HashSet<(Scope, bool)>,
    undo: Vec<Undo>,
}

impl Books {
    /// Books over this database.
    pub(crate) fn new(store: Store, budget: Budget, orders: mpsc::UnboundedSender<Order>) -> Self {
        let side = Side { budget, open: HashMap::new(), warned: HashSet::new(), undo: Vec::new() };
        Self { store, side, orders, late: Vec::new() }
    }

    /// Does a batch as one change, and answers everybody once it is durable.
    pub(crate) fn apply(&mut self, batch: Vec<Order>) {
        let mut batch: Vec<Order> = self.late.drain(..).chain(batch).collect();
        let side = &mut self.side;
        side.undo.clear();
        let done = self.store.commit(|change| {
            let answers = batch.iter().map(|order| side.work(change, order));
            let answers = answers.collect::<Result<Vec<_>, _>>()?;
            kit::fault_point!("model.ledger.written");
            Ok(answers)
        });
        match done {
            Ok(answers) => {
                kit::fault_point!("model.ledger.committed");
                let done = batch.drain(..).zip(answers);
                done.for_each(|(order, answer)| order.answer(answer, &self.orders));
            }
            Err(fault) => {
                tracing::error!(%fault, "not written to the ledger");
                side.take_back();
                self.late = batch.drain(..).filter_map(Order::failed).collect();
                let over = self.late.len().saturating_sub(LATE);
                self.late.drain(..over);
            }
        }
    }

    #[cfg(test)]
    pub(crate) const fn store(&mut self) -> &mut Store {
        &mut self.store
    }
}

impl Side {
    fn work(&mut self, change: &Change<'_>, order: &Order) -> Result<Answer, LedgerFault> {
        Ok(match order {
            Order::Reserve { asked, exempt, .. } => Answer::Reserved(self.reserve(change, asked, *exempt)?),
            Order::Settle { id, asked, usage, cost } => {
                self.close(change, *id)?;
                change.add(asked, *usage, *cost)?;
                Answer::Nothing
            }
            Order::Release(id) => {
                self.close(change, Some(*id))?;
                Answer::Nothing
            }
            Order::Used(by, since_ms, _) => Answer::Used(change.used(*by, *since_ms)?),
            Order::Budgets(now_ms, _) => Answer::Budgets(List::clip(self.budgets(change, *now_ms)?)),
        })
    }

    fn reserve(
        &mut self,
        change: &Change<'_>,
        asked: &Reserved,
        exempt: bool,
    ) -> Result<Result<(i64, Option<Per>), Refused>, LedgerFault> {
        let (mut held, mut cheaper, mut over) = (None, None, None);
        for scope in scopes(&asked.account, asked.at_ms) {
            let Some((bound, at_limit)) = bound(&self.budget, &asked.account, &scope) else { continue };
            let spent = change.spent(&scope)?;
            let taken = spent.saturating_add(self.set_aside(&scope));
            if taken < bound {
                self.warn_near(scope, taken.saturating_add(asked.micros), bound);
                continue;
            }
            let is_spent = spent >= bound;
            let again_s = if is_spent { scope.again_s(asked.at_ms) } else { SET_ASIDE_S };
            let error = ModelError::Budget { per: scope.per, again_s };
            match at_limit {
                // One that is spent may follow, and lasts longer.
                AtLimit::Block if !is_spent => held = held.or(Some(error)),
                AtLimit::Block => return Ok(Err(Refused::Blocked(error))),
                AtLimit::Warn => {
                    over = over.or(Some(scope.per));
                    self.warn_used_up(scope, taken, bound);
                }
                AtLimit::Cheaper if exempt => {}
                AtLimit::Cheaper => cheaper = cheaper.or(Some(error)),
            }
        }
        if let Some(error) = held {
            return Ok(Err(Refused::Blocked(error)));
        }
        if let Some(error) = cheaper {
            return Ok(Err(Refused::Cheaper(error)));
        }
        let id = change.reserve(asked)?;
        self.open.insert(id, asked.clone());
        self.undo.push(Undo::Opened(id));
        Ok(Ok((id, over)))
    }

    fn close(&mut self, change: &Change<'_>, id: Option<i64>) -> Result<(), LedgerFault> {
        let Some(id) = id else { return Ok(()) };
        change.unreserve(id)?;
        if let Some(reserved) = self.open.remove(&id) {
            self.undo.push(Undo::Closed(id, reserved));
        }
        Ok(())
    }

    fn take_back(&mut self) {
        while let Some(undo) = self.undo.pop() {
            match undo {
                Undo::Opened(id) => drop(self.open.remove(&id)),
                Undo::Closed(id, reserved) => drop(self.open.insert(id, reserved)),
            }
        }
    }

    /// The amount set aside of this sum. There are as many reservations as answers that are coming, a few hundred at
    /// most.
    fn set_aside(&self, scope: &Scope) -> u64 {
        let of = self.open.values().filter(|it| counts_to(&it.account, it.at_ms, scope));
        of.fold(0, |sum, it| sum.saturating_add(it.micros))
    }

    fn warn_near(&mut self, scope: Scope, taken: u64, bound: u64) {
        let share = u128::from(bound) * u128::from(self.budget.warn_at) / WHOLE;
        if u128::from(taken) >= share && self.is_news(&scope, false) {
            tracing::warn!(per = %scope.per, whose = scope.whose, taken, bound, "a budget is nearly used up");
        }
    }

    fn warn_used_up(&mut self, scope: Scope, taken: u64, bound: u64) {
        if self.is_news(&scope, true) {
            tracing::warn!(per = %scope.per, whose = scope.whose, taken, bound, "a budget is used up, and only warns");
        }
    }

    fn is_news(&mut self, scope: &Scope, used_up: bool) -> bool {
        if self.warned.len() >= WARNINGS {
            self.warned.clear();
        }
        self.warned.insert((scope.clone(), used_up))
    }

    fn budgets(&self, change: &Change<'_>, now_ms: u64) -> Result<Vec<BudgetInfo>, LedgerFault> {
        let budget = &self.budget;
        let mut rows = Vec::new();
        for (per, bound) in [(Per::Day, budget.day), (Per::Month, budget.month)] {
            if let Some(bound) = bound {
                let scope = Scope::new(per, EVERYBODY, now_ms);
                let spent = change.spent(&scope)?;
                rows.push(self.row(scope, spent, bound));
            }
        }
        rows.extend(self.of_each(change, Per::Session, now_ms, |_, _| budget.session)?);
        rows.extend(self.of_each(change, Per::Agent, now_ms, |name, _| of_agent(budget, name))?);
        rows.extend(self.of_each(change, Per::Key, now_ms, |_, told| (told > 0).then_some(told))?);
        Ok(rows)
    }

    /// Those of this kind that have a bound and have spent or set aside something, and one line for all the others.
    fn of_each(
        &self,
        change: &Change<'_>,
        per: Per,
        now_ms: u64,
        bound: impl Fn(&str, u64) -> Option<u64>,
    ) -> Result<Vec<BudgetInfo>, LedgerFault> {
        let period = Scope::new(per, "", now_ms).period;
        let mut sums = change.sums(per, period, EACH)?;
        for reserved in self.open.values() {
            let told = reserved.account.key_day.unwrap_or_default();
            let whose = scopes(&reserved.account, now_ms).into_iter().find(|scope| scope.per == per);
            let new = whose.filter(|scope| sums.iter().all(|(known, ..)| *known != scope.whose));
            if let Some(scope) = new.filter(|_| sums.len() < EACH) {
                sums.push((scope.whose, 0, told));
            }
        }
        let named = self.budget.agents.keys().filter(|_| per == Per::Agent);
        let silent: Vec<&String> =
            named.filter(|name| sums.iter().all(|(known, ..)| known != *name)).collect();
        sums.extend(silent.into_iter().take(EACH).map(|name| (name.clone(), 0, 0)));
        sums.push((EVERYBODY.to_owned(), 0, 0));
        let row = |(whose, spent, told): (String, u64, u64)| {
            let bound = bound(&whose, told)?;
            Some(self.row(Scope { per, whose, period }, spent, bound))
        };
        Ok(sums.into_iter().filter_map(row).collect())
    }

    fn row(&self, scope: Scope, spent_micros: u64, limit_micros: u64) -> BudgetInfo {
        let at_limit = match self.budget.at_limit {
            _ if scope.per == Per::Key => "block",
            AtLimit::Block => "block",
            AtLimit::Warn => "warn",
            AtLimit::Cheaper => "cheaper",
        };
        BudgetInfo {
            per: scope.per,
            whose: Text::clip(&scope.whose),
            limit_micros,
            spent_micros,
            reserved_micros: self.set_aside(&scope),
            at_limit: Name::clip(at_limit),
        }
    }
}

/// Returns true if any sum of this account has a bound: then the model's price must be known.
pub(crate) fn is_bounded(budget: &Budget, account: &Account, now_ms: u64) -> bool {
    scopes(account, now_ms).iter().any(|scope| bound(budget, account, scope).is_some())
}
