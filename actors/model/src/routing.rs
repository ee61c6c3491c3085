//! Who answers a request: the model that was named, or the models of a task, one after the other; each asked again where
//! a failure may pass, nobody asked without the money for it, and every change of who answers told.
//!
//! It must never replace a model that was named, nor hide a failure once something of an answer was given out.

mod attempt;
mod belief;
mod class;
mod course;
mod embedding;
mod keeping;
mod routes;
#[cfg(test)]
mod tests;

use crate::breaker::Breaker;
use crate::ledger::{Bill, Ledger, Refused, Tariff};
use crate::streams::{Outlet, Stop};
use attempt::{Attempt, Ended, Heard, Patience};
pub(crate) use class::{is_the_providers, said_wait};
use course::{Bounds, Course, Next, cooling_down};
use ipc_proto::List;
use ipc_proto::config::{Asking, AtLimit, Budget};
use ipc_proto::model::{Embedded, Embedding, ModelError, ModelInfo, ModelName, Piece, Request};
use keeping::Kept;
use routes::Routes;
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::Duration;
use tokio::time::Instant;

/// What a request may come to.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Worth {
    /// What its model costs; nobody knows if none.
    pub(crate) tariff: Option<Tariff>,
    /// Tokens that are likely read.
    pub(crate) input: u32,
    /// Tokens that are read at least, whoever counts.
    pub(crate) least: u32,
    /// Tokens that its images may come to beyond what is believed of others.
    pub(crate) beyond: u32,
    /// Tokens that are written at most.
    pub(crate) output: u32,
}

/// Those who answer. A trait so that routing can be tried on models that fail in every way.
pub(crate) trait Answers {
    /// What is asked of one of them.
    type Plan;
    /// The plan of a request to `request.model`, which is `provider/model`.
    fn plan(&self, request: &Request) -> Result<Self::Plan, ModelError>;
    /// Returns whether it runs in this process: then it comes out the same each time.
    fn is_here(plan: &Self::Plan) -> bool;
    /// What a request to `request.model` may come to.
    fn worth(&self, request: &Request) -> Worth;
    /// Answers: gives pieces until `Done` or `Failed`, or until `stop`.
    async fn answer(&self, plan: Self::Plan, outlet: Outlet, stop: Stop);
    /// What an embedding may come to.
    fn worth_of_texts(&self, request: &Embedding) -> Worth;
    /// Embeds.
    async fn embed(&self, request: &Embedding) -> Result<Embedded, ModelError>;
}

/// What all requests share.
pub(crate) struct Desk<A> {
    answers: A,
    ledger: Ledger,
    breaker: RefCell<Breaker>,
    routes: Routes,
    asking: Asking,
    cheaper: Option<ModelName>,
    /// Bytes of requests that are kept to be made again.
    kept: Rc<Cell<usize>>,
}

impl<A: Answers> Desk<A> {
    /// A desk as `[model]` and `[budget]` have it.
    pub(crate) fn new(answers: A, ledger: Ledger, asking: Asking, budget: &Budget) -> Self {
        let cheaper = budget.cheaper_model.as_deref().filter(|_| budget.at_limit == AtLimit::Cheaper);
        Self {
            routes: Routes::new(&asking),
            cheaper: cheaper.map(ModelName::clip),
            breaker: RefCell::default(),
            kept: Rc::default(),
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
        let mut begun = Begun { desk: self, request, course, told: Vec::new(), warned: false, first: None };
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
    desk: Rc<Desk<A>>,
    request: Request,
    course: Course,
    /// What is to be told before the next answer.
    told: Vec<Piece>,
    /// That a budget is used up, and only warns, was told.
    warned: bool,
    first: Option<Attempt<A::Plan>>,
}

impl<A: Answers> Begun<A> {
    /// Runs it to its end, or until nobody wants it any more.
    pub(crate) async fn run(mut self, outlet: Outlet, mut stop: Stop) {
        let kept = Kept::beside(&self.desk.kept, &self.request);
        if kept.is_none() {
            keeping::empty(&mut self.request);
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

    /// The next attempt; without one, the end is told.
    async fn next(&mut self, outlet: &Outlet) -> Option<Attempt<A::Plan>> {
        match self.prepare().await {
            Ok(attempt) => Some(attempt),
            Err(error) => {
                tracing::info!(%error, "an answer failed");
                self.tell(outlet).await;
                outlet.give(Piece::Failed(error)).await;
                None
            }
        }
    }

    async fn tell(&mut self, outlet: &Outlet) {
        for piece in self.told.drain(..) {
            outlet.give(piece).await;
        }
    }

    /// Makes an attempt; whether the request is at its end.
    async fn attempt(&mut self, attempt: Attempt<A::Plan>, outlet: &Outlet, stop: &mut Stop) -> bool {
        let Attempt { number, plan, here, reservation, worth } = attempt;
        let told = tokio::select! {
            biased;
            _ = &mut *stop => false,
            () = self.tell(outlet) => true,
        };
        let Some(model) = self.course.model(number).cloned().filter(|_| told) else { return true };
        let now = Instant::now();
        let begun = self.desk.breaker.borrow_mut().begin(&model, now);
        if let Err(left) = begun {
            self.failed(number, cooling_down(left), (false, true));
            return false;
        }
        let first = self.course.attempt(number, now);
        let between = self.desk.patience();
        let patience = if here { Patience::at_home() } else { Patience { first, between } };
        kit::fault_point!("model.answer.begun");
        let mut heard = Heard::of(worth, reservation.costs());
        let ended = attempt::make(&self.desk.answers, plan, patience, (outlet, &mut heard), stop).await;
        heard.settle(reservation, ended);
        let mut breaker = self.desk.breaker.borrow_mut();
        match ended {
            Ended::Done => breaker.succeeded(&model),
            Ended::Stopped => breaker.ended(&model),
            Ended::Failed(error) => {
                breaker.failed(&model, &error, Instant::now());
                drop(breaker);
                tracing::info!(model = model.as_str(), %error, "an attempt failed");
                self.failed(number, error, (heard.said, !here));
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
            let next = self.course.next(&self.desk.breaker.borrow(), now);
            let number = match next {
                Next::Ask(number) => number,
                Next::Wait(until) => {
                    tokio::time::sleep_until(until).await;
                    continue;
                }
                Next::Over(error) => return Err(error),
            };
            let told = self.course.turn_to(number, &self.desk.breaker.borrow(), now);
            self.told.extend(told);
            match self.plan(number).await {
                Ok(attempt) => return Ok(attempt),
                Err(Refused::Blocked(error)) => self.failed(number, error, (false, false)),
                Err(Refused::Cheaper(error)) => {
                    let cheaper = self.desk.cheaper.clone();
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
        let plan = self.desk.answers.plan(&self.request).map_err(Refused::Blocked)?;
        let worth = self.desk.answers.worth(&self.request);
        let (input, output) = belief::most(worth);
        let bill = Bill {
            payer: self.request.payer.clone(),
            model: self.request.model.clone(),
            tariff: worth.tariff,
            input,
            output,
            exempt: self.course.exempt,
        };
        let reservation = self.desk.ledger.reserve(&bill).await?;
        if let Some(per) = reservation.over().filter(|_| !std::mem::replace(&mut self.warned, true)) {
            self.told.push(Piece::OverBudget { per });
        }
        Ok(Attempt { number, here: A::is_here(&plan), plan, reservation, worth })
    }
}

/// Any number, by which those who failed together come back apart.
fn luck() -> u64 {
    uuid::Uuid::new_v4().as_u64_pair().0
}
