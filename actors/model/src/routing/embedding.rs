//! Embeddings: asked again where a failure may pass, and never of another model, since vectors of two models cannot be
//! compared.

use super::belief::{believed, most};
use super::class::was_read;
use super::course::{Course, Next, cooling_down};
use super::routes::Chain;
use super::{Answers, Desk, Worth, luck};
use crate::breaker::Breaker;
use crate::ledger::{Bill, Refused, Reservation};
use dialect::count::Counter;
use ipc_proto::model::{Embedded, Embedding, ModelError, ModelName, Usage};
use std::cell::RefCell;
use tokio::time::{Instant, sleep_until, timeout_at};

/// A request to a model that may be given up at any moment.
struct Trial<'a> {
    breaker: &'a RefCell<Breaker>,
    model: &'a ModelName,
    /// The money for it, until that is settled.
    reservation: Option<Reservation>,
    /// An estimate of the tokens that are read.
    input: u32,
}

impl Trial<'_> {
    fn settle(&mut self, usage: Usage) {
        if let Some(reservation) = self.reservation.take() {
            reservation.settle(usage);
        }
    }

    /// What the provider counts, as far as it is believed where that is money.
    fn believe(&self, usage: Usage, worth: Worth) -> Usage {
        let costs = self.reservation.as_ref().is_some_and(Reservation::costs);
        if costs { believed(usage, worth, Counter::default()) } else { usage }
    }

    /// It cost nothing.
    fn let_go(&mut self) {
        self.reservation = None;
    }
}

impl Drop for Trial<'_> {
    /// Given up in the middle, it may have been read.
    fn drop(&mut self) {
        self.settle(Usage { input: self.input, estimated: true, ..Usage::default() });
        self.breaker.borrow_mut().ended(self.model);
    }
}

impl<A: Answers> Desk<A> {
    /// Vectors of texts.
    ///
    /// # Errors
    /// Why there are none.
    pub(crate) async fn embed(&self, request: Embedding) -> Result<Embedded, ModelError> {
        if !request.model.contains('/') {
            return Err(ModelError::UnknownModel);
        }
        let chain = Chain { models: vec![request.model.clone()], last: None };
        let mut course = Course::new(chain, self.bounds(), Instant::now());
        loop {
            let now = Instant::now();
            let next = course.next(&self.breaker.borrow(), now);
            match next {
                Next::Over(error) => return Err(error),
                Next::Wait(until) => sleep_until(until).await,
                Next::Ask(number) => match self.embed_once(&request, course.attempt(number, now)).await {
                    Ok(embedded) => return Ok(embedded),
                    Err(error) => course.failed(number, error, (false, true), (Instant::now(), luck())),
                },
            }
        }
    }

    async fn embed_once(&self, request: &Embedding, until: Instant) -> Result<Embedded, ModelError> {
        let worth = self.answers.worth_of_texts(request);
        let (tariff, (input, output)) = (worth.tariff, most(worth));
        let (payer, model) = (request.payer.clone(), request.model.clone());
        let bill = Bill { payer, model, tariff, input, output, exempt: false };
        let reservation = self.ledger.reserve(&bill).await.map_err(|refused| match refused {
            Refused::Blocked(error) | Refused::Cheaper(error) => error,
        })?;
        let begun = self.breaker.borrow_mut().begin(&request.model, Instant::now());
        begun.map_err(cooling_down)?;
        let (breaker, model) = (&self.breaker, &request.model);
        let mut trial = Trial { breaker, model, reservation: Some(reservation), input: worth.input };
        let answer = timeout_at(until, self.answers.embed(request)).await;
        match answer.unwrap_or(Err(ModelError::Timeout)) {
            Ok(embedded) => {
                breaker.borrow_mut().succeeded(model);
                let usage = trial.believe(embedded.usage, worth);
                trial.settle(usage);
                Ok(Embedded { usage, ..embedded })
            }
            Err(error) => {
                breaker.borrow_mut().failed(model, &error, Instant::now());
                if !was_read(&error) {
                    trial.let_go();
                }
                Err(error)
            }
        }
    }
}
