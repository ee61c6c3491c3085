//! The end of a turn: it goes on the record, then the last state and the outbox row become durable in one change, and only then the
//! callers get it. A turn ends once; a second request gets the end that is there.
//!
//! An end is decided durably before all that. After a crash in between it is resumed, and no other end can come of it; the record then
//! has one more entry with the end.

use crate::channels::DELEGATION;
use crate::message_state;
use crate::state::RouterState;
use crate::state::effects::Recorded;
use crate::state::live::{Acceptance, Live, Phase};
use crate::state::moment::PAUSE;
use crate::state::pending_end::{EndPort, OnEnd, PendingEnd, reply_to};
use crate::store::{DAY_MS, Decided, StoreFault, Transition};
use ipc_proto::Text;
use ipc_proto::audit::{Action, Event, Result3};
use ipc_proto::ids::TurnId;
use ipc_proto::label::Label;
use ipc_proto::model::Usage;
use ipc_proto::router::{End, EventName, Finished, MessageState, RouterError};

impl RouterState {
    /// Ends a turn as the gate says.
    pub(crate) fn finish(&mut self, turn: TurnId, finished: Finished, port: EndPort) {
        let Some(live) = self.live_turn(turn) else {
            return drop(port.send(self.ended_before(turn, &finished)));
        };
        let seq = live.head.seq;
        match &mut live.phase {
            Phase::Ending(closing) if is_same(&closing.finished, &finished) => closing.wait(reply_to(port)),
            // A retried turn: its runner died while the answer was under way.
            Phase::Running(_) | Phase::RunnerExited(_) => {
                self.end(seq, finished, "", true, Some(reply_to(port)))
            }
            Phase::Queued | Phase::Starting if live.head.attempts > 0 => {
                self.end(seq, finished, "", true, Some(reply_to(port)));
            }
            _ => drop(port.send(Err(RouterError::NoTurn))),
        }
    }

    /// The answer to a gate that ends a turn which is over. The same end twice is one.
    fn ended_before(&self, turn: TurnId, finished: &Finished) -> Result<(), RouterError> {
        let head = self.store.message_of(turn)?.ok_or(RouterError::NoTurn)?;
        match self.store.finished(head.seq)? {
            Some(before) if is_same(&before, finished) => Ok(()),
            _ => Err(RouterError::NoTurn),
        }
    }

    /// Ends a turn without an answer, for the host's own reason.
    pub(crate) fn end_without_answer(&mut self, seq: i64, end: End, note: &str, on_end: Option<OnEnd>) {
        let under_way = self.live(seq).is_some_and(|live| !matches!(live.phase, Phase::Ending(_)));
        if under_way {
            let decided = Decided { seq, end, note: note.to_owned() };
            let durable = self.decide(std::slice::from_ref(&decided));
            kit::fault_point!("router.end.decided");
            self.end_as_decided(seq, decided.end, note, durable, on_end);
        }
    }

    /// Makes durable how messages are to end. If that fails, their runners are ended nevertheless, and the ends wait.
    pub(crate) fn decide(&mut self, ends: &[Decided]) -> bool {
        let decided =
            self.store.commit(|tx| ends.iter().try_for_each(|it| tx.decide_end(it.seq, &it.end, &it.note)));
        if let Err(fault) = &decided {
            tracing::error!(%fault, "an end could not be decided durably");
        }
        decided.is_ok()
    }

    /// Ends a turn as decided. A decision that is not `durable` yet is made so first.
    pub(crate) fn end_as_decided(
        &mut self,
        seq: i64,
        end: End,
        note: &str,
        durable: bool,
        on_end: Option<OnEnd>,
    ) {
        let finished = Finished {
            end,
            text: Text::default(),
            label: Label::bottom(),
            usage: Usage::default(),
            duration_ms: 0,
            attempts: 0,
        };
        self.end(seq, finished, note, !durable, on_end);
    }

    /// Resumes ends that were decided and not done when this process began.
    pub(crate) fn resume_ends(&mut self) -> Result<(), StoreFault> {
        for Decided { seq, end, note } in self.store.decided_ends()? {
            if end == End::Cancelled {
                let found = self.live(seq).map(|live| (live.head.clone(), note.clone()));
                self.ends_at_start.extend(found);
            }
            self.end_as_decided(seq, end, &note, true, None);
        }
        for (seq, finished, note) in self.store.decided_answers()? {
            self.end(seq, finished, &note, false, None);
        }
        Ok(())
    }

    fn end(&mut self, seq: i64, mut finished: Finished, note: &str, undecided: bool, on_end: Option<OnEnd>) {
        let now_ms = self.now.ms;
        let Some(live) = self.live(seq) else { return };
        if matches!(live.phase, Phase::Ending(_)) {
            return;
        }
        let took = now_ms.saturating_sub(live.head.accepted_ms);
        finished.duration_ms = u32::try_from(took).unwrap_or(u32::MAX);
        finished.attempts = live.head.attempts;
        let note = if note.is_empty() { note_of(&finished.end) } else { note.to_owned() };
        let waiting = on_end.into_iter().collect();
        live.phase =
            Phase::Ending(Box::new(PendingEnd { finished, note, undecided, recorded: false, waiting }));
        live.due = None;
        let turn = live.head.turn;
        self.cancel_tasks_of(turn);
        self.advance_end(seq);
    }

    /// Advances an end as far as it goes: to the record, then to the store.
    pub(crate) fn advance_end(&mut self, seq: i64) {
        let Some(Live { phase: Phase::Ending(closing), acceptance, .. }) = self.live(seq) else { return };
        match acceptance {
            Acceptance::Unrecorded => return self.record_acceptance(seq),
            Acceptance::Recording => return,
            Acceptance::Recorded => {}
        }
        if closing.recorded {
            return self.commit_end(seq);
        }
        if closing.undecided {
            let (finished, note) = (closing.finished.clone(), closing.note.clone());
            if let Err(fault) = self.store.commit(|tx| tx.decide_answer(seq, &finished, &note)) {
                tracing::error!(%fault, "an end could not be decided durably; it waits");
                return self.delay_end(seq);
            }
            kit::fault_point!("router.finish.decided");
        }
        let Some(Live { head, phase: Phase::Ending(closing), .. }) = self.live(seq) else { return };
        closing.undecided = false;
        let event = record_of(&closing.finished, &closing.note).in_turn(head.session, head.turn);
        self.record(event, Recorded::End(seq));
    }

    /// The end of a turn is on the record, or could not be put there.
    pub(crate) fn end_recorded(&mut self, seq: i64, recorded: bool) {
        let Some(Live { phase: Phase::Ending(closing), .. }) = self.live(seq) else { return };
        closing.recorded = recorded;
        if recorded {
            kit::fault_point!("router.finish.recorded");
            self.commit_end(seq);
        } else {
            self.delay_end(seq);
        }
    }

    /// Puts a message's acceptance on the record, which comes before anything else about it.
    pub(crate) fn record_acceptance(&mut self, seq: i64) {
        let Some(live) = self.live(seq) else { return };
        live.acceptance = Acceptance::Recording;
        let head = live.head.clone();
        let user = self.people.by_id(head.user).map(|it| it.name.clone()).unwrap_or_default();
        let mut event = Event::new(Action::MessageAccepted, Result3::Success)
            .about(&user)
            .because(&head.channel)
            .in_turn(head.session, head.turn);
        event.bytes = u64::from(head.bytes);
        self.record(event, Recorded::Acceptance(seq));
    }

    fn commit_end(&mut self, seq: i64) {
        let now_ms = self.now.ms;
        let Some(Live { head, phase: Phase::Ending(closing), .. }) = self.live(seq) else { return };
        let (head, finished, note) = (head.clone(), closing.finished.clone(), closing.note.clone());
        let to = message_state::of_end(&finished.end);
        let transition = Transition { note: &note, ..Transition::of(&head, to, now_ms) };
        let reply = self.reply_by_channel(&head, &finished);
        let committed = reply.and_then(|reply| {
            let open = self.store.open_approvals(head.turn)?;
            self.store.commit(|tx| {
                tx.insert_outbox(seq, &finished, now_ms)?;
                tx.count_usage(head.user, now_ms / DAY_MS, &finished.usage)?;
                if let Some(reply) = &reply {
                    let delivery = tx.add_delivery(&reply.delivery(now_ms))?;
                    if let Some((message, nonce)) = reply.offer {
                        tx.add_button(delivery, &reply.channel, &reply.conversation, message, nonce)?;
                    }
                    tx.offer_unknown(&reply.channel, &reply.conversation)?;
                }
                // The turn's open questions are void: no answer can be given or used any more.
                tx.void_approvals(head.turn, now_ms)?;
                tx.end_is_done(seq)?;
                // Nobody talks to a task.
                if head.channel.as_str() == DELEGATION {
                    tx.forget_engine_state(head.session)?;
                    tx.close_session(head.session, now_ms)?;
                }
                tx.transition(&transition)
            })?;
            Ok((open, reply.map_or_else(|| head.channel.clone(), |reply| reply.channel)))
        });
        let (open, channel) = match committed {
            Ok(open) => open,
            Err(fault) => {
                tracing::error!(%fault, "an end could not be stored; it waits");
                return self.delay_end(seq);
            }
        };
        kit::fault_point!("router.finish.committed");
        let waiting = self.remove_live(seq).map(|live| match live.phase {
            Phase::Ending(closing) => closing.waiting,
            _ => Vec::new(),
        });
        self.admission.leave(seq);
        self.lanes.leave(head.session, seq);
        self.gauges.ended(to == MessageState::Answered);
        match to {
            MessageState::Answered => self.publish_progress(&head, EventName::MessageSent, None),
            MessageState::Recalled => self.publish_progress(&head, EventName::MessageRecalled, None),
            failed => self.publish_progress(&head, EventName::MessageFailed, Some(failed.name())),
        }
        self.voided(&open);
        self.wake_channel(&channel);
        self.ring_ends(head.turn, finished);
        waiting.into_iter().flatten().for_each(|on_end| on_end(Ok(())));
        self.drive_now = true;
    }

    /// The record or the disk is away: the callers that wait get an error, and the end is tried again.
    pub(crate) fn delay_end(&mut self, seq: i64) {
        let due = self.now.at + PAUSE;
        let Some(live) = self.live(seq) else { return };
        live.due = Some(due);
        if let Phase::Ending(closing) = &mut live.phase {
            closing.waiting.drain(..).for_each(|on_end| on_end(Err(RouterError::NotDurable)));
        }
    }
}

/// Returns true if two ends are the same; the router itself fills in duration and attempts.
fn is_same(a: &Finished, b: &Finished) -> bool {
    a.end == b.end && a.text == b.text
}

/// The reason for an end in the host's words, for the trace and the record.
pub(crate) fn note_of(end: &End) -> String {
    match end {
        End::Answered => String::new(),
        End::Exited { status } => format!("exit status {status}"),
        End::Cancelled => "cancelled".into(),
        End::TimedOut => "out of time".into(),
        End::Recalled => "by its sender".into(),
        End::Blocked(why) | End::Failed(why) | End::Quarantined(why) => why.to_string(),
        End::OverLimit(limit) => limit.sentence(),
        End::TakenIn(into) => steering_note(*into),
    }
}

fn record_of(finished: &Finished, note: &str) -> Event {
    let (action, result) = match finished.end {
        End::Answered | End::Exited { .. } => (Action::TurnEnded, Result3::Success),
        End::Blocked(_) => (Action::MessageBlocked, Result3::Blocked),
        End::Recalled => (Action::MessageRecalled, Result3::Success),
        End::Quarantined(_) => (Action::MessageQuarantined, Result3::Error),
        End::TakenIn(_) => (Action::MessageTakenIn, Result3::Success),
        End::Cancelled | End::TimedOut | End::Failed(_) | End::OverLimit(_) => {
            (Action::TurnEnded, Result3::Error)
        }
    };
    let mut event = Event::new(action, result);
    if !note.is_empty() {
        event = event.because(note);
    }
    event.bytes = u64::try_from(finished.text.len()).unwrap_or(u64::MAX);
    event.duration_ms = finished.duration_ms;
    event.tokens = (finished.usage.input, finished.usage.output);
    event.label = Some(finished.label.clone());
    event
}

/// The note in the trace of a steering message that this turn has taken in.
pub(crate) fn steering_note(into: TurnId) -> String {
    format!("turn {into} took it in")
}
