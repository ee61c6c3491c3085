//! Chooses the model that answers a request: the model that was named, or the models of a task, one after the other.
//! Each is asked again after a failure that may pass, none is asked without the money for it, and every change of model
//! is reported.
//!
//! It must never replace a model that was named, nor hide a failure once something of an answer was given out.

mod attempt;
mod belief;
mod course;
mod embedding;
mod replay_memory;
mod routes;
#[cfg(test)]
mod tests;

use crate::breaker::Breaker;
use crate::ledger::{Bill, Ledger, Refused, Tariff};
use crate::streams::{Outlet, Stop};
use attempt::{Attempt, Ended, Patience, Received};
use course::{Bounds, Course, Next, cooling_down};
use ipc_proto::List;
use ipc_proto::config::{Asking, AtLimit, Budget};
use ipc_proto::model::{Embedded, Embedding, ModelError, ModelInfo, ModelName, Piece, Request};
use replay_memory::Replayable;
use routes::Routes;
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::Duration;
use tokio::time::Instant;

/// The most that a request may come to.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Worth {
    /// Its model's tariff; none if the price is unknown.
    pub(crate) tariff: Option<Tariff>,
    /// Tokens that are likely read.
    pub(crate) input: u32,
    /// Tokens that are read at least, by any count.
    pub(crate) least: u32,
    /// Tokens of its images beyond the bound for others.
    pub(crate) beyond: u32,
    /// Tokens that are written at most.
    pub(crate) output: u32,
}

/// Those who answer. A trait so that routing can be tried on models that fail in every way.
pub(crate) trait Answers {
    /// The plan of a request to one of them.
    type Plan;
    /// The plan of a request to `request.model`, which is `provider/model`.
    fn plan(&self, request: &Request) -> Result<Self::Plan, ModelError>;
    /// Returns whether it runs in this process: then it comes out the same each time.
    fn is_here(plan: &Self::Plan) -> bool;
    /// The most that a request to `request.model` may come to.
    fn worth(&self, request: &Request) -> Worth;
    /// Answers: gives pieces until `Done` or `Failed`, or until `stop`.
    async fn answer(&self, plan: Self::Plan, outlet: Outlet, stop: Stop);
    /// The most that an embedding may come to.
    fn worth_of_texts(&self, request: &Embedding) -> Worth;
    /// Embeds.
    async fn embed(&self, request: &Embedding) -> Result<Embedded, ModelError>;
}

/// The state that all requests share.
pub(crate) struct Dispatcher<A> {
    answers: A,
    ledger: Ledger,
    breaker: RefCell<Breaker>,
    routes: Routes,
    asking: Asking,
    cheaper: Option<ModelName>,
    /// Bytes of requests that are stored to be made again.
    replayable: Rc<Cell<usize>>,
}

impl<A: Answers> Dispatcher<A> {
    /// A dispatcher as `[model]` and `[budget]` have it.
    pub(crate) fn new(answers: A, ledger: Ledger, asking: Asking, budget: &Budget) -> Self {
        let cheaper = budget.cheaper_model.as_deref().filter(|_| budget.at_limit == AtLimit::Cheaper);
        Self {
            routes: Routes::new(&asking),
            cheaper: cheaper.map(ModelName::clip),
            breaker: RefCell::default(),
            replayable: Rc::default(),
            answers,
            ledger,
            asking,
        }
    }

    /// Makes a request ready to be run: who is asked first is known, and the money for it is set aside.
    ///
    /// # Errors
    /// Why nobody can be asked.
    pub(crate) async fn begin(self: Rc<Self>, mut request: Request) -> Result<Begun<A>, ModelError> {
        self.fill_in(&mut request);
        let course = Course::new(self.routes.chain(&request.model)?, self.bounds(), Instant::now());
        let mut begun =
            Begun { dispatcher: self, request, course, pending: Vec::new(), warned: false, first: None };
        begun.first = Some(begun.prepare().await?);
        Ok(begun)
    }

    /// An estimate of the tokens that a request would read.
    ///
    /// # Errors
    /// [`ModelError::UnknownModel`].
    pub(crate) fn count(&self, mut request: Request) -> Result<u32, ModelError> {
        let chain = self.routes.chain(&request.model)?;
        request.model = chain.models.into_iter().next().ok_or(ModelError::UnknownModel)?;
        Ok(self.answers.worth(&request).input)
    }

    /// These models, and before them the tasks.
    pub(crate) fn listed(&self, models: &[ModelInfo]) -> List<ModelInfo, 256> {
        List::clip(self.routes.listed(models).chain(models.iter().cloned()))
    }

    /// The ledger.
    pub(crate) const fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    /// Options that a request leaves open.
    fn fill_in(&self, request: &mut Request) {
        if request.max_output == 0 {
            request.max_output = self.asking.output_tokens;
        }
        request.temperature = request.temperature.or(self.asking.temperature);
        if request.stop.is_empty() {
            request.stop = List::clip(self.asking.stop.iter().map(|text| ipc_proto::Text::clip(text)));
        }
    }

    fn bounds(&self) -> Bounds {
        Bounds { attempts: self.asking.retries.saturating_add(1), patience: self.patience() }
    }

    fn patience(&self) -> Duration {
        Duration::from_secs(u64::from(self.asking.timeout_s))
    }
}

/// A request that is ready to be run.
pub(crate) struct Begun<A: Answers> {
    dispatcher: Rc<Dispatcher<A>>,
    request: Request,
    course: Course,
    /// The pieces to give before the next answer.
    pending: Vec<Piece>,
    /// The warning about a used budget was given.
    warned: bool,
    first: Option<Attempt<A::Plan>>,
}

impl<A: Answers> Begun<A> {
    /// Runs it to its end, or until it is stopped.
    pub(crate) async fn run(mut self, outlet: Outlet, mut stop: Stop) {
        let replayable = Replayable::beside(&self.dispatcher.replayable, &self.request);
        if replayable.is_none() {
            replay_memory::empty(&mut self.request);
            self.course.make_once();
        }
        let mut next = self.first.take();
        while let Some(attempt) = next {
            if self.attempt(attempt, &outlet, &mut stop).await {
                return;
            }
            next = tokio::select! {
                biased;
                _ = &mut stop => return,
                prepared = self.next(&outlet) => prepared,
            };
        }
    }

    /// The next attempt; without one, the failure is given.
    async fn next(&mut self, outlet: &Outlet) -> Option<Attempt<A::Plan>> {
        match self.prepare().await {
            Ok(attempt) => Some(attempt),
            Err(error) => {
                tracing::info!(%error, "an answer failed");
                self.give_pending(outlet).await;
                outlet.give(Piece::Failed(error)).await;
                None
            }
        }
    }

    async fn give_pending(&mut self, outlet: &Outlet) {
        for piece in self.pending.drain(..) {
            outlet.give(piece).await;
        }
    }

    /// Makes an attempt; whether the request is at its end.
    async fn attempt(&mut self, attempt: Attempt<A::Plan>, outlet: &Outlet, stop: &mut Stop) -> bool {
        let Attempt { number, plan, here, reservation, worth } = attempt;
        let done = tokio::select! {
            biased;
            _ = &mut *stop => false,
            () = self.give_pending(outlet) => true,
        };
        let Some(model) = self.course.model(number).cloned().filter(|_| done) else { return true };
        let now = Instant::now();
        let begun = self.dispatcher.breaker.borrow_mut().begin(&model, now);
        if let Err(left) = begun {
            self.failed(number, cooling_down(left), (false, true));
            return false;
        }
        let first = self.course.attempt(number, now);
        let between = self.dispatcher.patience();
        let patience = if here { Patience::at_home() } else { Patience { first, between } };
        kit::fault_point!("model.answer.begun");
        let mut received = Received::of(worth, reservation.costs());
        let ended =
            attempt::make(&self.dispatcher.answers, plan, patience, (outlet, &mut received), stop).await;
        received.settle(reservation, ended);
        let mut breaker = self.dispatcher.breaker.borrow_mut();
        match ended {
            Ended::Done => breaker.succeeded(&model),
            Ended::Stopped => breaker.ended(&model),
            Ended::Failed(error) => {
                breaker.failed(&model, &error, Instant::now());
                drop(breaker);
                tracing::info!(model = model.as_str(), %error, "an attempt failed");
                self.failed(number, error, (received.said, !here));
            }
        }
        !matches!(ended, Ended::Failed(_))
    }

    fn failed(&mut self, number: usize, error: ModelError, how: (bool, bool)) {
        self.course.failed(number, error, how, (Instant::now(), luck()));
    }

    /// Finds who is asked next, and sets the money for it aside.
    async fn prepare(&mut self) -> Result<Attempt<A::Plan>, ModelError> {
        loop {
            let now = Instant::now();
            let next = self.course.next(&self.dispatcher.breaker.borrow(), now);
            let number = match next {
                Next::Ask(number) => number,
                Next::Wait(until) => {
                    tokio::time::sleep_until(until).await;
                    continue;
                }
                Next::Over(error) => return Err(error),
            };
            let news = self.course.turn_to(number, &self.dispatcher.breaker.borrow(), now);
            self.pending.extend(news);
            match self.plan(number).await {
                Ok(attempt) => return Ok(attempt),
                Err(Refused::Blocked(error)) => self.failed(number, error, (false, false)),
                Err(Refused::Cheaper(error)) => {
                    let cheaper = self.dispatcher.cheaper.clone();
                    if !cheaper.is_some_and(|model| self.course.turn_cheaper(model, error, now)) {
                        self.failed(number, error, (false, false));
                    }
                }
            }
        }
    }

    async fn plan(&mut self, number: usize) -> Result<Attempt<A::Plan>, Refused> {
        let model = self.course.model(number).cloned();
        self.request.model = model.ok_or(Refused::Blocked(ModelError::UnknownModel))?;
        let plan = self.dispatcher.answers.plan(&self.request).map_err(Refused::Blocked)?;
        let worth = self.dispatcher.answers.worth(&self.request);
        let (input, output) = belief::most(worth);
        let bill = Bill {
            payer: self.request.payer.clone(),
            model: self.request.model.clone(),
            tariff: worth.tariff,
            input,
            output,
            exempt: self.course.exempt,
        };
        let reservation = self.dispatcher.ledger.reserve(&bill).await?;
        if let Some(per) = reservation.over().filter(|_| !std::mem::replace(&mut self.warned, true)) {
            self.pending.push(Piece::OverBudget { per });
        }
        Ok(Attempt { number, here: A::is_here(&plan), plan, reservation, worth })
    }
}

/// Any number, by which those who failed together come back apart.
fn luck() -> u64 {
    uuid::Uuid::new_v4().as_u64_pair().0
}
