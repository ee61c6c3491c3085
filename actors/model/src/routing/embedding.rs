//! Embeddings: retried where a failure may pass, and never by another model, since vectors of two models cannot be
//! compared.

use super::belief::{believed, most};
use super::course::{Course, Next, cooling_down};
use super::routes::Chain;
use super::{Answers, Dispatcher, Worth, luck};
use crate::breaker::Breaker;
use crate::failure_class::was_read;
use crate::ledger::{Bill, Refused, Reservation};
use dialect::count::Counter;
use ipc_proto::model::{Embedded, Embedding, ModelError, ModelName, Usage};
use std::cell::RefCell;
use std::time::Duration;
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

    /// The provider's count, as far as it is believed where that is money.
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

impl<A: Answers> Dispatcher<A> {
    /// Vectors of texts. A caller with less time than the host's own gets the last failure within it, and no provider
    /// is blamed for that shorter wait.
    ///
    /// # Errors
    /// Why there are none.
    pub(crate) async fn embed(
        &self,
        request: Embedding,
        patience: Option<Duration>,
    ) -> Result<Embedded, ModelError> {
        if !request.model.contains('/') {
            return Err(ModelError::UnknownModel);
        }
        let chain = Chain { models: vec![request.model.clone()], last: None };
        let mut bounds = self.bounds();
        let hurry = patience.filter(|patience| *patience < bounds.patience);
        bounds.patience = hurry.unwrap_or(bounds.patience);
        let mut course = Course::new(chain, bounds, Instant::now());
        let mut said = None;
        loop {
            let now = Instant::now();
            let next = course.next(&self.breaker.borrow(), now);
            match next {
                Next::Over(error) => return Err(error),
                Next::Wait(until) => sleep_until(until).await,
                Next::Ask(number) => {
                    let until = course.attempt(number, now);
                    match self.embed_once(&request, until, hurry.is_some()).await {
                        Ok(Some(embedded)) => return Ok(embedded),
                        // The earlier error says more than that the time is over.
                        Ok(None) => return Err(said.unwrap_or(ModelError::Timeout)),
                        Err(error) => {
                            said = Some(error);
                            course.failed(number, error, (false, true), (Instant::now(), luck()));
                        }
                    }
                }
            }
        }
    }

    /// One attempt; nothing where the time for it was over first. `hurried` says that it is less than a provider is given.
    async fn embed_once(
        &self,
        request: &Embedding,
        until: Instant,
        hurried: bool,
    ) -> Result<Option<Embedded>, ModelError> {
        let worth = self.answers.worth_of_texts(request);
        let (tariff, (input, output)) = (worth.tariff, most(worth));
        let (payer, model) = (request.payer.clone(), request.model.clone());
        let bill = Bill { payer, model, tariff, input, output, exempt: false };
        let reservation = self.ledger.reserve(&bill).await.map_err(|refused| match refused {
            Refused::Blocked(error) | Refused::Cheaper(error) => error,
        })?;
        let over = reservation.over();
        let begun = self.breaker.borrow_mut().begin(&request.model, Instant::now());
        begun.map_err(cooling_down)?;
        let (breaker, model) = (&self.breaker, &request.model);
        let mut trial = Trial { breaker, model, reservation: Some(reservation), input: worth.input };
        let Ok(answer) = timeout_at(until, self.answers.embed(request)).await else {
            // The state of an attempt that was given up early is unknown.
            if !hurried {
                breaker.borrow_mut().failed(model, &ModelError::Timeout, Instant::now());
            }
            return Ok(None);
        };
        match answer {
            Ok(embedded) => {
                breaker.borrow_mut().succeeded(model);
                let usage = trial.believe(embedded.usage, worth);
                trial.settle(usage);
                Ok(Some(Embedded { usage, over, ..embedded }))
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
