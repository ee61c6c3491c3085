//! Questions to persons: asked by the gate, kept durably, waited for, and ended by time. A question that nobody
//! answers is a no by the time in its row, whether or not this process was there when it ran out.
//!
//! It must never say that a question is approved unless its row says so.

use crate::desk::{Desk, PAUSE};
use crate::events::About;
use crate::queue::Port;
use crate::store::{Asked, Settled, StoreFault, approval_state};
use ipc_proto::List;
use ipc_proto::approval::{ApprovalInfo, ApprovalView, PENDING, PENDING_PER_SESSION, Question, State};
use ipc_proto::audit::{Action, Event, Result3};
use ipc_proto::ids::{ApprovalId, TurnId, UserId};
use ipc_proto::router::{EventName, RouterError};
use sha2::{Digest, Sha256};
use std::collections::{HashMap, HashSet};
use std::time::Instant;

/// Where the state of a question goes once it is known.
pub(crate) type StatePort = Port<Result<State, RouterError>>;

/// What is under way about questions. What holds is in the store.
#[derive(Default)]
pub(crate) struct Approvals {
    /// Those who wait for an answer.
    waiting: HashMap<ApprovalId, Vec<(TurnId, StatePort)>>,
    /// Answers that are on their way to the record, and those that came meanwhile.
    pub(crate) answering: HashMap<ApprovalId, Vec<crate::answers::Given>>,
    /// Ends by time that are on their way to the record.
    expiring: HashSet<ApprovalId>,
    /// When the next one ends by itself, unix ms.
    next_ms: Option<u64>,
    /// Every end by time is on the record, as far as is known.
    all_recorded: bool,
    /// Not before then: the record was asked just now, or is away.
    not_before: Option<Instant>,
    /// Not before then: the disk was away.
    stuck_until: Option<Instant>,
}

impl Desk {
    /// Keeps a question of a turn that is under way. The same twice is one.
    pub(crate) fn ask(&mut self, turn: TurnId, question: &Question) -> Result<(), RouterError> {
        self.heard_of(turn);
        let head = self.under_way(turn)?;
        if Sha256::digest(question.action.as_bytes()).as_slice() != question.hash {
            return Err(RouterError::WrongHash);
        }
        if let Some(before) = self.store.question(question.id)? {
            let theirs = self.store.asked(question.id)?.is_some_and(|it| it.turn == turn);
            return if theirs && before == *question { Ok(()) } else { Err(RouterError::BadStep) };
        }
        let (all, here) = self.store.pending_approvals(head.session, self.now.ms)?;
        if all >= PENDING || here >= PENDING_PER_SESSION {
            let waiting = if here >= PENDING_PER_SESSION { here } else { all };
            return Err(RouterError::TooManyApprovals {
                waiting: u32::try_from(waiting).unwrap_or(u32::MAX),
            });
        }
        let now_ms = self.now.ms;
        self.store.commit(|tx| tx.ask(head.seq, turn, head.session, question, now_ms))?;
        kit::fault_point!("router.ask.committed");
        let about = About {
            session: Some(head.session),
            turn: Some(turn),
            message: Some(head.id),
            subject: Some(&question.tool),
            detail: None,
        };
        self.tell(EventName::ApprovalRequested, &about);
        self.look_ahead();
        self.clock(head.seq);
        Ok(())
    }

    /// Says where a question of this turn is: at once if it is settled, else when it is.
    pub(crate) fn answer_of(&mut self, turn: TurnId, id: ApprovalId, port: StatePort) {
        self.heard_of(turn);
        match self.state_of(turn, id) {
            Ok(State::Pending) => {
                let waiting = self.approvals.waiting.entry(id).or_default();
                waiting.retain(|(_, port)| !port.is_closed());
                waiting.push((turn, port));
            }
            said => drop(port.send(said)),
        }
    }

    fn state_of(&self, turn: TurnId, id: ApprovalId) -> Result<State, RouterError> {
        let asked = self.store.asked(id)?.filter(|it| it.turn == turn).ok_or(RouterError::NoApproval)?;
        Ok(asked.state_at(self.now.ms))
    }

    /// Questions that wait, oldest first, and with `all` the last that were settled after them.
    pub(crate) fn approvals(
        &self,
        user: Option<UserId>,
        all: bool,
    ) -> Result<List<ApprovalInfo, 256>, RouterError> {
        let now_ms = self.now.ms;
        let mut found = self.store.waiting_approvals(user)?;
        // One whose time has run out is settled, although it is not written down yet.
        found.retain(|it| all || it.state_at(now_ms) == State::Pending);
        if all {
            found.extend(self.store.settled_approvals(user)?);
        }
        Ok(List::clip(found.into_iter().map(|it| it.info(now_ms))))
    }

    /// One question in full.
    pub(crate) fn approval(&self, user: Option<UserId>, id: ApprovalId) -> Result<ApprovalView, RouterError> {
        let asked = self.visible(user, id)?;
        let question = self.store.question(id)?.ok_or(RouterError::NoApproval)?;
        Ok(ApprovalView { info: asked.info(self.now.ms), question: Box::new(question) })
    }

    /// A question that this person may see. Somebody else's is as one that is not there.
    pub(crate) fn visible(&self, user: Option<UserId>, id: ApprovalId) -> Result<Asked, RouterError> {
        let asked = self.store.asked(id)?.filter(|it| user.is_none_or(|user| user == it.user));
        asked.ok_or(RouterError::NoApproval)
    }

    /// Looks up when the next question ends by itself.
    pub(crate) fn look_ahead(&mut self) {
        match self.store.next_expiry() {
            Ok(next) => self.approvals.next_ms = next,
            Err(fault) => tracing::error!(%fault, "the questions cannot be read"),
        }
    }

    /// Ends what nobody answered in time, and what was approved and not used in time. It is a no from that moment
    /// on, whatever the clock says later; that it is on the record follows.
    pub(crate) fn expire_approvals(&mut self) {
        let stuck = self.approvals.stuck_until.is_some_and(|at| at > self.now.at);
        let over = self.approvals.next_ms.is_some_and(|next| next <= self.now.ms);
        if over
            && !stuck
            && let Err(fault) = self.lapse()
        {
            tracing::error!(%fault, "questions that ended could not be stored");
            self.approvals.stuck_until = Some(self.now.at + PAUSE);
        }
        let early = self.approvals.not_before.is_some_and(|at| at > self.now.at);
        if early || self.approvals.all_recorded {
            return;
        }
        self.approvals.not_before = Some(self.now.at + PAUSE);
        match self.store.lapsed_approvals() {
            Ok(lapsed) => {
                self.approvals.all_recorded = lapsed.is_empty();
                lapsed.into_iter().for_each(|asked| self.expire(asked));
            }
            Err(fault) => tracing::error!(%fault, "the questions cannot be read"),
        }
    }

    /// Makes durable what is over by now: a clock that is stepped back does not open it again.
    fn lapse(&mut self) -> Result<(), StoreFault> {
        let mut over = self.store.overdue_approvals(self.now.ms)?;
        // An answer that came in time is on its way to the record.
        over.retain(|asked| !self.approvals.answering.contains_key(&asked.id));
        if over.is_empty() {
            return Ok(());
        }
        self.store.commit(|tx| over.iter().try_for_each(|asked| tx.lapse(asked.id)))?;
        kit::fault_point!("router.approval.lapsed");
        (self.approvals.all_recorded, self.approvals.not_before) = (false, None);
        self.look_ahead();
        Ok(())
    }

    fn expire(&mut self, asked: Asked) {
        if !self.approvals.expiring.insert(asked.id) {
            return;
        }
        self.wake_asker(asked.id);
        self.clock_of(asked.turn);
        let event = answered_event(&asked, Result3::Blocked, "nobody answered in time");
        self.record(event, move |desk, recorded| {
            desk.approvals.expiring.remove(&asked.id);
            if recorded && let Err(fault) = desk.expired(&asked) {
                tracing::error!(%fault, "a question that ended could not be stored; it waits");
            }
        });
    }

    fn expired(&mut self, asked: &Asked) -> Result<(), StoreFault> {
        let settled = Settled { id: asked.id, to: State::Expired, by: None, now_ms: self.now.ms };
        let done = self.store.commit(|tx| tx.settle(&settled))?;
        kit::fault_point!("router.approval.expired");
        self.look_ahead();
        if done {
            self.tell_of_answer(asked, State::Expired);
        }
        Ok(())
    }

    /// Those who wait for this answer are told what holds now, or go on waiting.
    pub(crate) fn wake_asker(&mut self, id: ApprovalId) {
        for (turn, port) in self.approvals.waiting.remove(&id).unwrap_or_default() {
            if !port.is_closed() {
                self.answer_of(turn, id, port);
            }
        }
    }

    /// What a turn that is over had open has come to nothing; whoever waits for it is told.
    pub(crate) fn voided(&mut self, open: &[Asked]) {
        for asked in open {
            self.tell_of_answer(asked, State::Void);
            self.wake_asker(asked.id);
        }
        if !open.is_empty() {
            self.look_ahead();
        }
    }

    pub(crate) fn tell_of_answer(&mut self, asked: &Asked, state: State) {
        let about = About {
            session: Some(asked.session),
            turn: Some(asked.turn),
            message: None,
            subject: Some(&asked.tool),
            detail: Some(approval_state(state)),
        };
        self.tell(EventName::ApprovalResponse, &about);
    }

    /// Lets go of those who wait no longer.
    pub(crate) fn approvals_tick(&mut self) {
        self.approvals.waiting.retain(|_, waiting| {
            waiting.retain(|(_, port)| !port.is_closed());
            !waiting.is_empty()
        });
    }
}

/// The record of an answer, or of there being none.
pub(crate) fn answered_event(asked: &Asked, result: Result3, why: &str) -> Event {
    let mut event = Event::new(Action::ApprovalAnswered, result)
        .about(&asked.tool)
        .in_turn(asked.session, asked.turn)
        .because(why);
    event.call = Some(asked.call);
    event.hash = Some(asked.hash);
    event
}
