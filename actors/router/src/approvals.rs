//! Questions to persons: asked by the gate, stored durably, waited for, and ended by time. A question that nobody answers is denied by
//! the time in its row, whether or not this process ran then.
//!
//! It must never report a question as approved unless its row says so.

use crate::events::About;
use crate::state::RouterState;
use crate::state::approvals::{AnswerPoll, AnsweredPort, Questions};
use crate::state::effects::Recorded;
use crate::state::moment::PAUSE;
use crate::store::{Asked, Settled, StoreFault, Waiting};
use ipc_proto::approval::{
    ApprovalInfo, ApprovalView, FORM, PENDING, PENDING_OF_OWNERS, PENDING_PER_SESSION, PENDING_PER_USER,
    Question, State,
};
use ipc_proto::audit::{Action, Event, Result3};
use ipc_proto::ids::{ApprovalId, CallId, TurnId, UserId};
use ipc_proto::router::{EventName, RouterError};
use ipc_proto::{List, Text};
use sha2::{Digest, Sha256};

/// The approvals that wait in the session, for the user or in all, whichever first leaves no room for one more. One user's
/// questions leave room for other users', and all of theirs for owners'.
fn full(waiting: &Waiting, owner: bool) -> Option<usize> {
    let (of_user, in_all) =
        if owner { (PENDING, PENDING) } else { (PENDING_PER_USER, PENDING - PENDING_OF_OWNERS) };
    let bounds = [(waiting.session, PENDING_PER_SESSION), (waiting.user, of_user), (waiting.all, in_all)];
    bounds.into_iter().find(|(count, bound)| count >= bound).map(|(count, _)| count)
}

impl RouterState {
    /// Stores a question of a turn that is under way. The same question twice is one.
    pub(crate) fn ask(&mut self, turn: TurnId, question: &Question) -> Result<(), RouterError> {
        self.renew_lease(turn);
        let head = self.under_way(turn)?;
        if Sha256::digest(question.action.as_bytes()).as_slice() != question.hash {
            return Err(RouterError::WrongHash);
        }
        if let Some(before) = self.store.question(question.id)? {
            let theirs = self.store.asked(question.id)?.is_some_and(|it| it.turn == turn);
            return if theirs && before == *question { Ok(()) } else { Err(RouterError::BadStep) };
        }
        let waiting = self.store.pending_approvals(head.session, head.user, self.now.ms)?;
        if let Some(full) = full(&waiting, self.is_owner(head.user)) {
            return Err(RouterError::TooManyApprovals { waiting: u32::try_from(full).unwrap_or(u32::MAX) });
        }
        let now_ms = self.now.ms;
        let shown = self.shown_question(&head, question)?;
        self.store.commit(|tx| {
            tx.ask(head.seq, turn, head.session, question, now_ms)?;
            shown.iter().try_for_each(|shown| shown.store(tx, now_ms))
        })?;
        if let Some(shown) = shown {
            self.channels.wake_later(&shown.channel);
        }
        kit::fault_point!("router.ask.committed");
        let about = About {
            session: Some(head.session),
            turn: Some(turn),
            message: Some(head.id),
            subject: Some(&question.tool),
            detail: None,
        };
        self.publish(EventName::ApprovalRequested, &about);
        self.schedule_expiry();
        self.clock(head.seq);
        Ok(())
    }

    /// Answers with the first of these questions of the turn that is settled: at once if one is, else when one is.
    pub(crate) fn first_answer(&mut self, turn: TurnId, ids: Questions, port: AnsweredPort) {
        self.renew_lease(turn);
        match self.first_settled(turn, &ids) {
            Ok(None) => self.approvals.wait(AnswerPoll { turn, ids, port }),
            settled => drop(port.send(settled)),
        }
    }

    /// Uses up an approval of an act that is no step of its turn's transcript; returns the values of its form. The act is the gate's:
    /// it is on the record.
    pub(crate) fn claim(
        &mut self,
        turn: TurnId,
        id: ApprovalId,
        call: CallId,
    ) -> Result<Text<FORM>, RouterError> {
        let head = self.under_way(turn)?;
        let now_ms = self.now.ms;
        let form = self.store.form(id)?;
        let claimed = self.store.commit(|tx| tx.claim(id, turn, call, now_ms))?;
        kit::fault_point!("router.claim.committed");
        self.schedule_expiry();
        self.clock(head.seq);
        if claimed { Ok(form) } else { Err(RouterError::NotApproved) }
    }

    fn first_settled(
        &self,
        turn: TurnId,
        ids: &Questions,
    ) -> Result<Option<(ApprovalId, State)>, RouterError> {
        for id in ids.iter() {
            let state = self.state_of(turn, *id)?;
            if state != State::Pending {
                return Ok(Some((*id, state)));
            }
        }
        Ok(None)
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
        // A question whose time has run out is settled, although the store does not have it yet.
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

    /// A question that this person may see. Another user's is reported as missing.
    pub(crate) fn visible(&self, user: Option<UserId>, id: ApprovalId) -> Result<Asked, RouterError> {
        let asked = self.store.asked(id)?.filter(|it| user.is_none_or(|user| user == it.user));
        asked.ok_or(RouterError::NoApproval)
    }

    /// Looks up when the next question ends by itself.
    pub(crate) fn schedule_expiry(&mut self) {
        match self.store.next_expiry() {
            Ok(next) => self.approvals.next_ms = next,
            Err(fault) => tracing::error!(%fault, "the questions cannot be read"),
        }
    }

    /// Expires questions that nobody answered in time, and approvals that were not used in time. Each counts as denied from that moment
    /// on, whatever the clock says later; its record follows.
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

    /// Makes expiries durable: a clock that is stepped back does not open a question again.
    fn lapse(&mut self) -> Result<(), StoreFault> {
        let mut over = self.store.overdue_approvals(self.now.ms)?;
        // An answer that came in time is on its way to the record.
        over.retain(|asked| !self.approvals.is_answering(asked.id));
        if over.is_empty() {
            return Ok(());
        }
        self.store.commit(|tx| over.iter().try_for_each(|asked| tx.lapse(asked.id)))?;
        kit::fault_point!("router.approval.lapsed");
        (self.approvals.all_recorded, self.approvals.not_before) = (false, None);
        self.schedule_expiry();
        Ok(())
    }

    fn expire(&mut self, asked: Asked) {
        if !self.approvals.begin_expiry(asked.id) {
            return;
        }
        self.wake_asker(asked.id);
        self.clock_of(asked.turn);
        let event = answered_event(&asked, Result3::Blocked, "nobody answered in time");
        self.record(event, Recorded::Expired(Box::new(asked)));
    }

    /// The expiry of a question is on the record, or could not be put there.
    pub(crate) fn expiry_recorded(&mut self, asked: &Asked, recorded: bool) {
        self.approvals.end_expiry(asked.id);
        if recorded && let Err(fault) = self.expired(asked) {
            tracing::error!(%fault, "a question that ended could not be stored; it waits");
        }
    }

    fn expired(&mut self, asked: &Asked) -> Result<(), StoreFault> {
        let settled = Settled { id: asked.id, to: State::Expired, by: None, form: "", now_ms: self.now.ms };
        let done = self.store.commit(|tx| tx.settle(&settled))?;
        kit::fault_point!("router.approval.expired");
        self.schedule_expiry();
        if done {
            self.publish_answer(asked, State::Expired);
        }
        Ok(())
    }

    /// Answers the calls that wait for this question if it is settled; else they go on waiting.
    pub(crate) fn wake_asker(&mut self, id: ApprovalId) {
        for AnswerPoll { turn, ids, port } in self.approvals.take_waiting(id) {
            self.first_answer(turn, ids, port);
        }
    }

    /// Publishes that the open questions of a turn that is over are void, and answers the calls that wait for them.
    pub(crate) fn voided(&mut self, open: &[Asked]) {
        for asked in open {
            self.publish_answer(asked, State::Void);
            self.wake_asker(asked.id);
        }
        if !open.is_empty() {
            self.schedule_expiry();
        }
    }
}

/// The event for an answer, or for its absence.
pub(crate) fn answered_event(asked: &Asked, result: Result3, why: &str) -> Event {
    let mut event = Event::new(Action::ApprovalAnswered, result)
        .about(&asked.tool)
        .in_turn(asked.session, asked.turn)
        .because(why);
    event.call = Some(asked.call);
    event.hash = Some(asked.hash);
    event
}
