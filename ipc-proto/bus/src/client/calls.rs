//! The table of calls: who waits for which answer, what is to be written, and when the next deadline is.

use super::{Config, RpcError};
use slab::Slab;
use std::collections::VecDeque;
use std::task::{Context, Poll, Waker};
use std::time::Instant;
use tarpc::{ClientMessage, Request, context};

/// Bits of an id that name the slot. The others count the calls, so that a late answer to a call that was given up is
/// told from the answer to the call that has its slot now.
const SLOT_BITS: u32 = 24;

/// Identifies a call: its slot, and its id on the wire.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ticket {
    slot: usize,
    id: u64,
}

/// The calls of one connection.
pub(super) struct Calls<Req, Resp> {
    slots: Slab<Slot<Resp>>,
    /// Calls made so far.
    made: u64,
    /// The most that may be under way; more wait in `crowd`.
    most: usize,
    /// The most of them that may wait to be written.
    most_unwritten: usize,
    unwritten: VecDeque<Request<Req>>,
    given_up: Vec<(u64, context::Context)>,
    crowd: Vec<Waker>,
    dispatch: Option<Waker>,
    /// The dispatch has to be woken when there is something for it to do.
    asleep: bool,
    /// No deadline of a call that is waited for is before this.
    pub(super) earliest: Option<Instant>,
    pub(super) channels: usize,
    over: bool,
}

/// A call under way.
struct Slot<Resp> {
    id: u64,
    context: context::Context,
    written: bool,
    answer: Answer<Resp>,
}

/// Its answer, or who waits for it.
enum Answer<Resp> {
    Awaited(Option<Waker>),
    Here(Result<Resp, RpcError>),
}

impl<Req, Resp> Calls<Req, Resp> {
    pub(super) fn new(config: &Config) -> Self {
        Self {
            slots: Slab::new(),
            made: 0,
            most: config.max_in_flight_requests.min(1 << SLOT_BITS),
            most_unwritten: config.pending_request_buffer,
            unwritten: VecDeque::new(),
            given_up: Vec::new(),
            crowd: Vec::new(),
            dispatch: None,
            asleep: false,
            earliest: None,
            channels: 1,
            over: false,
        }
    }

    /// Gives a call its slot and puts its request, which is taken, in the queue; once there is room.
    pub(super) fn poll_enter(
        &mut self,
        task: &Context<'_>,
        context: &context::Context,
        request: &mut Option<Req>,
    ) -> Poll<Result<Ticket, RpcError>> {
        if self.slots.len() >= self.most || self.unwritten.len() >= self.most_unwritten {
            self.crowd.push(task.waker().clone());
            return Poll::Pending;
        }
        let message = request.take().filter(|_| !self.over);
        let Some(message) = message else { return Poll::Ready(Err(RpcError::Shutdown)) };
        self.made += 1;
        let slot = self.slots.vacant_key();
        let id = (self.made << SLOT_BITS) | slot as u64;
        self.slots.insert(Slot { id, context: *context, written: false, answer: Answer::Awaited(None) });
        self.unwritten.push_back(Request { context: *context, id, message });
        if self.earliest.is_none_or(|earliest| context.deadline < earliest) {
            self.earliest = Some(context.deadline);
        }
        self.rouse();
        Poll::Ready(Ok(Ticket { slot, id }))
    }

    /// The answer to a call, which has its slot no longer then.
    pub(super) fn poll_answer(&mut self, task: &Context<'_>, ticket: Ticket) -> Poll<Result<Resp, RpcError>> {
        match self.slot(ticket.id).map(|slot| &mut slot.answer) {
            Some(Answer::Awaited(waker)) => {
                keep(waker, task);
                Poll::Pending
            }
            Some(Answer::Here(_)) => match self.slots.remove(ticket.slot).answer {
                Answer::Here(answer) => Poll::Ready(answer),
                Answer::Awaited(_) => Poll::Ready(Err(RpcError::Shutdown)),
            },
            None => Poll::Ready(Err(RpcError::Shutdown)),
        }
    }

    /// Frees the slot of a call that is not waited for any more; gives who waits for room.
    pub(super) fn leave(&mut self, ticket: Ticket) -> Vec<Waker> {
        if self.slot(ticket.id).is_some() {
            let slot = self.slots.remove(ticket.slot);
            if slot.written && matches!(slot.answer, Answer::Awaited(_)) {
                self.given_up.push((slot.id, slot.context));
                self.rouse();
            }
        }
        std::mem::take(&mut self.crowd)
    }

    /// One channel less; with the last of them the dispatch is to be woken, to end.
    pub(super) fn lose_channel(&mut self) -> Option<Waker> {
        self.channels -= 1;
        if self.channels == 0 { self.dispatch.take() } else { None }
    }

    fn slot(&mut self, id: u64) -> Option<&mut Slot<Resp>> {
        let slot = usize::try_from(id & ((1 << SLOT_BITS) - 1)).ok()?;
        self.slots.get_mut(slot).filter(|slot| slot.id == id)
    }

    /// Wakes the dispatch once for all that is put in the queue before it runs.
    fn rouse(&mut self) {
        if std::mem::take(&mut self.asleep)
            && let Some(dispatch) = &self.dispatch
        {
            dispatch.wake_by_ref();
        }
    }

    /// The dispatch looks now, and is to be woken for what comes after.
    pub(super) fn attend(&mut self, task: &Context<'_>) {
        keep(&mut self.dispatch, task);
        self.asleep = true;
    }

    /// The next message to write. A request that nobody waits for any more is none.
    pub(super) fn next(&mut self) -> Option<ClientMessage<Req>> {
        if let Some((request_id, context)) = self.given_up.pop() {
            return Some(ClientMessage::Cancel { trace_context: context.trace_context, request_id });
        }
        loop {
            let request = self.unwritten.pop_front()?;
            if let Some(slot) = self.slot(request.id) {
                slot.written = true;
                return Some(ClientMessage::Request(request));
            }
        }
    }

    /// Gives who waits for room in the queue, if there is some.
    pub(super) fn crowd(&mut self) -> Vec<Waker> {
        if self.unwritten.len() < self.most_unwritten { std::mem::take(&mut self.crowd) } else { Vec::new() }
    }

    /// Keeps an answer for its call; gives who waits for it.
    pub(super) fn answer(&mut self, id: u64, answer: Result<Resp, RpcError>) -> Option<Waker> {
        let slot = self.slot(id)?;
        match std::mem::replace(&mut slot.answer, Answer::Here(answer)) {
            Answer::Awaited(waker) => waker,
            Answer::Here(_) => None,
        }
    }

    /// Answers calls whose deadline has passed; gives who waits for them.
    pub(super) fn expire(&mut self, now: Instant) -> Vec<Waker> {
        let (mut woken, mut earliest) = (Vec::new(), None::<Instant>);
        for (_, slot) in &mut self.slots {
            let Answer::Awaited(waker) = &mut slot.answer else { continue };
            let deadline = slot.context.deadline;
            if deadline <= now {
                woken.extend(waker.take());
                slot.answer = Answer::Here(Err(RpcError::DeadlineExceeded));
            } else {
                earliest = Some(earliest.map_or(deadline, |earliest| earliest.min(deadline)));
            }
        }
        self.earliest = earliest;
        woken
    }

    /// The connection has ended: no call is answered any more. Gives everybody who waits.
    pub(super) fn end(&mut self) -> Vec<Waker> {
        self.over = true;
        self.unwritten.clear();
        let mut woken = std::mem::take(&mut self.crowd);
        for (_, slot) in &mut self.slots {
            if let Answer::Awaited(waker) = &mut slot.answer {
                woken.extend(waker.take());
                slot.answer = Answer::Here(Err(RpcError::Shutdown));
            }
        }
        woken
    }
}

fn keep(waker: &mut Option<Waker>, task: &Context<'_>) {
    if !waker.as_ref().is_some_and(|waker| waker.will_wake(task.waker())) {
        *waker = Some(task.waker().clone());
    }
}
