//! The course of one request: the models that may answer it, the attempts with each and their results, and the next
//! model. It decides and does nothing: it reads no clock and asks nobody.
//!
//! The allowed model with the fewest attempts comes first, so a task asks each of its models once before it asks one
//! again; among equals, those that did well of late, in the order of the chain.

use super::routes::Chain;
use crate::breaker::{Breaker, State};
use crate::failure_class::{Class, class, wait};
use ipc_proto::model::{ModelError, ModelName, Piece, SET_ASIDE_S};
use std::time::Duration;
use tokio::time::Instant;

/// It is not asked for this long. Whole seconds, for people: a part of one is one, and so is none.
pub(super) fn cooling_down(left: Duration) -> ModelError {
    let again_s = u32::try_from(left.as_millis().div_ceil(1000)).unwrap_or(u32::MAX).max(1);
    ModelError::CoolingDown { again_s }
}

/// One that may answer.
#[derive(Debug)]
struct Candidate {
    model: ModelName,
    attempts: u32,
    /// It is not asked before.
    not_before: Instant,
    /// Until when its answer must have begun, from its first attempt on.
    until: Option<Instant>,
    /// It will not be asked again.
    out: bool,
    last: Option<ModelError>,
}

/// The next step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// To ask the one with this number.
    Ask(usize),
    /// To wait until then, and see.
    Wait(Instant),
    /// To give up.
    Over(ModelError),
}

/// The bounds of a course.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bounds {
    /// Attempts with one model.
    pub(crate) attempts: u32,
    /// Time within which its answer must begin.
    pub(crate) patience: Duration,
}

/// The course of one request.
#[derive(Debug)]
pub(crate) struct Course {
    candidates: Vec<Candidate>,
    last: Option<ModelName>,
    bounds: Bounds,
    /// The one that is said to answer.
    current: usize,
    /// Something of its answer was given out.
    said: bool,
    /// A budget is used up, and the cheaper model was turned to.
    pub(crate) exempt: bool,
}

impl Course {
    /// The course of a request to this chain.
    pub(crate) fn new(chain: Chain, bounds: Bounds, now: Instant) -> Self {
        let candidates = chain.models.into_iter().map(|model| Candidate::new(model, now)).collect();
        Self { candidates, last: chain.last, bounds, current: 0, said: false, exempt: false }
    }

    /// The model with this number.
    pub(crate) fn model(&self, number: usize) -> Option<&ModelName> {
        self.candidates.get(number).map(|it| &it.model)
    }

    /// The next model to ask.
    pub(crate) fn next(&mut self, breaker: &Breaker, now: Instant) -> Next {
        let live = || self.candidates.iter().enumerate().filter(|(_, it)| self.may_try(it, now));
        let state = |it: &Candidate| breaker.state(&it.model, now);
        let ready = live().filter(|(_, it)| it.not_before <= now && !matches!(state(it), State::Open(_)));
        let cooling = |it: &Candidate| matches!(state(it), State::Cooling(_));
        if let Some((number, _)) = ready.min_by_key(|(number, it)| (it.attempts, cooling(it), *number)) {
            return Next::Ask(number);
        }
        let waiting = live().filter(|(_, it)| !matches!(state(it), State::Open(_)));
        if let Some(until) = waiting.map(|(_, it)| it.not_before).min() {
            return Next::Wait(until);
        }
        // Money that is only set aside is free again soon: that is waited for rather than answered by the last resort.
        if let Some(set_aside) = self.set_aside() {
            return Next::Over(set_aside);
        }
        if let Some(model) = self.last.take() {
            self.candidates.push(Candidate::new(model, now));
            return Next::Ask(self.candidates.len() - 1);
        }
        Next::Over(self.why(breaker, now))
    }

    /// Returns whether it may be asked now or in time.
    fn may_try(&self, it: &Candidate, now: Instant) -> bool {
        let in_time = it.until.is_none_or(|until| it.not_before.max(now) < until);
        !it.out && it.attempts < self.bounds.attempts && in_time
    }

    /// That one of them was not asked because money is set aside for answers that are under way: that is so for moments.
    fn set_aside(&self) -> Option<ModelError> {
        let mut last = self.candidates.iter().filter_map(|it| it.last);
        last.find(|error| matches!(error, ModelError::Budget { again_s: 1..=SET_ASIDE_S, .. }))
    }

    /// The reason for which no model answers: the error of the last one asked, or that none may be asked.
    fn why(&self, breaker: &Breaker, now: Instant) -> ModelError {
        let asked = self.candidates.get(self.current).and_then(|it| it.last);
        asked.or_else(|| self.candidates.iter().rev().find_map(|it| it.last)).unwrap_or_else(|| {
            let open = self.candidates.iter().map(|it| match breaker.state(&it.model, now) {
                State::Open(left) | State::Cooling(left) => left,
                State::Ready => Duration::ZERO,
            });
            cooling_down(open.min().unwrap_or_default())
        })
    }

    /// Turns to this model; returns the piece that says so, if it is news or the answer so far is void.
    pub(crate) fn turn_to(&mut self, number: usize, breaker: &Breaker, now: Instant) -> Option<Piece> {
        let from = self.candidates.get(self.current)?;
        let to = self.candidates.get(number)?;
        let news = number != self.current || self.said;
        let left = || match breaker.state(&from.model, now) {
            State::Open(left) | State::Cooling(left) => left,
            State::Ready => Duration::ZERO,
        };
        let why = from.last.unwrap_or_else(|| cooling_down(left()));
        let told = Piece::Failover { from: from.model.clone(), why, to: to.model.clone() };
        (self.current, self.said) = (number, false);
        news.then_some(told)
    }

    /// Counts an attempt with it; gives the time by which its answer must have begun.
    pub(crate) fn attempt(&mut self, number: usize, now: Instant) -> Instant {
        let latest = now + self.bounds.patience;
        let Some(it) = self.candidates.get_mut(number) else { return latest };
        it.attempts = it.attempts.saturating_add(1);
        *it.until.get_or_insert(latest)
    }

    /// It failed so, after something of its answer was given out or not. `again` says whether the same request can come
    /// out differently at all.
    pub(crate) fn failed(
        &mut self,
        number: usize,
        error: ModelError,
        (said, again): (bool, bool),
        (now, luck): (Instant, u64),
    ) {
        self.said |= said;
        if class(&error) == Class::Final {
            self.candidates.iter_mut().for_each(|it| it.out = true);
            self.last = None;
        }
        let Some(it) = self.candidates.get_mut(number) else { return };
        it.last = Some(error);
        it.out |= !again || class(&error) != Class::Passing;
        it.not_before = now + wait(&error, it.attempts, luck);
        if said {
            it.until = None;
        }
    }

    /// Forbids further attempts: the request is not there any more.
    pub(crate) fn make_once(&mut self) {
        (self.bounds.attempts, self.last) = (0, None);
    }

    /// Turns to this model alone, because a budget is used up; gives whether it was not turned to before.
    pub(crate) fn turn_cheaper(&mut self, model: ModelName, error: ModelError, now: Instant) -> bool {
        if std::mem::replace(&mut self.exempt, true) {
            return false;
        }
        self.candidates.iter_mut().for_each(|it| it.out = true);
        if let Some(it) = self.candidates.get_mut(self.current) {
            it.last = Some(error);
        }
        self.candidates.push(Candidate::new(model, now));
        true
    }
}

impl Candidate {
    const fn new(model: ModelName, now: Instant) -> Self {
        Self { model, attempts: 0, not_before: now, until: None, out: false, last: None }
    }
}
