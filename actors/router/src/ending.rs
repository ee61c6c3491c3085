//! How a turn ends: what it came to goes on the record, then its last state and the outbox row become durable in
//! one change, and only then is anybody told. A turn ends once; whoever comes second is told so.
//!
//! An end is decided durably before all that: after a death in between it is gone on with, and no other end can come of
//! it. What is put on the record again then is one entry with what is there.

use crate::desk::{Desk, Live, Noted, PAUSE, Phase};
use crate::queue::Port;
use crate::store::{Decided, Pass, StoreFault};
use crate::{state, steering};
use ipc_proto::Text;
use ipc_proto::audit::{Action, Event, Result3};
use ipc_proto::ids::TurnId;
use ipc_proto::label::Label;
use ipc_proto::model::Usage;
use ipc_proto::router::{End, EventName, Finished, MessageState, RouterError};

/// Where the answer to whoever ends a turn goes.
pub(crate) type EndPort = Port<Result<(), RouterError>>;

/// What is done once an end is durable, or could not be made so for now.
pub(crate) type Told = Box<dyn FnOnce(Result<(), RouterError>) + Send>;

/// Whoever waits there is told.
pub(crate) fn told(port: EndPort) -> Told {
    Box::new(move |ended| drop(port.send(ended)))
}

/// An end that is under way.
pub(crate) struct Closing {
    pub(crate) finished: Finished,
    /// Why, for the trace.
    note: String,
    /// It is not durable yet: it is not put on the record before it is, or a death in between could lead to another
    /// end of the same turn.
    undecided: bool,
    /// It is on the record.
    recorded: bool,
    waiting: Vec<Told>,
}

impl Closing {
    /// Returns whether a stop with this note has decided it.
    pub(crate) fn is_stop(&self, note: &str) -> bool {
        self.finished.end == End::Cancelled && self.note == note
    }

    /// One more is to be told.
    pub(crate) fn wait(&mut self, told: Told) {
        self.waiting.push(told);
    }
}

impl Desk {
    /// Ends a turn with the gate's word.
    pub(crate) fn finish(&mut self, turn: TurnId, finished: Finished, port: EndPort) {
        let Some(live) = self.live_turn(turn) else {
            let said = self.said_before(turn, &finished);
            drop(port.send(said));
            return;
        };
        let seq = live.head.seq;
        match &mut live.phase {
            Phase::Ending(closing) if is_same(&closing.finished, &finished) => closing.wait(told(port)),
            // Once more, for a runner that died while its answer was under way.
            Phase::Running(_) | Phase::Fallen(_) => self.end(seq, finished, "", true, Some(told(port))),
            Phase::Queued | Phase::Starting if live.head.attempts > 0 => {
                self.end(seq, finished, "", true, Some(told(port)));
            }
            _ => drop(port.send(Self::no_turn())),
        }
    }

    /// What is said to a gate that ends a turn which is over: the same word twice is one.
    fn said_before(&self, turn: TurnId, finished: &Finished) -> Result<(), RouterError> {
        let head = self.store.message_of(turn)?.ok_or(RouterError::NoTurn)?;
        match self.store.finished(head.seq)? {
            Some(before) if is_same(&before, finished) => Ok(()),
            _ => Self::no_turn(),
        }
    }

    /// Ends a turn that has no answer. What is said is the host's own.
    pub(crate) fn end_without_answer(&mut self, seq: i64, end: End, note: &str, told: Option<Told>) {
        let under_way = self.live(seq).is_some_and(|live| !matches!(live.phase, Phase::Ending(_)));
        if under_way {
            let decided = Decided { seq, end, note: note.to_owned() };
            let durable = self.decide(std::slice::from_ref(&decided));
            kit::fault_point!("router.end.decided");
            self.end_as_decided(seq, decided.end, note, durable, told);
        }
    }

    /// Makes durable how messages are to end. If that fails, their runners are ended all the same, and the ends wait.
    pub(crate) fn decide(&mut self, ends: &[Decided]) -> bool {
        let decided =
            self.store.commit(|tx| ends.iter().try_for_each(|it| tx.decide_end(it.seq, &it.end, &it.note)));
        if let Err(fault) = &decided {
            tracing::error!(%fault, "an end could not be decided durably");
        }
        decided.is_ok()
    }

    /// Ends a turn as it is decided; what is not `durable` yet is made so first.
    pub(crate) fn end_as_decided(
        &mut self,
        seq: i64,
        end: End,
        note: &str,
        durable: bool,
        told: Option<Told>,
    ) {
        let finished = Finished {
            end,
            text: Text::default(),
            label: Label::bottom(),
            usage: Usage::default(),
            duration_ms: 0,
            attempts: 0,
        };
        self.end(seq, finished, note, !durable, told);
    }

    /// Goes on with what was decided before this process died.
    pub(crate) fn go_on_with_ends(&mut self) -> Result<(), StoreFault> {
        for Decided { seq, end, note } in self.store.decided_ends()? {
            if end == End::Cancelled {
                let found = self.live(seq).map(|live| (live.head.clone(), note.clone()));
                self.found_ending.extend(found);
            }
            self.end_as_decided(seq, end, &note, true, None);
        }
        for (seq, finished, note) in self.store.decided_answers()? {
            self.end(seq, finished, &note, false, None);
        }
        Ok(())
    }

    fn end(&mut self, seq: i64, mut finished: Finished, note: &str, undecided: bool, told: Option<Told>) {
        let now_ms = self.now.ms;
        let Some(live) = self.live(seq) else { return };
        if matches!(live.phase, Phase::Ending(_)) {
            return;
        }
        let took = now_ms.saturating_sub(live.head.accepted_ms);
        finished.duration_ms = u32::try_from(took).unwrap_or(u32::MAX);
        finished.attempts = live.head.attempts;
        let note = if note.is_empty() { note_of(&finished.end) } else { note.to_owned() };
        let waiting = told.into_iter().collect();
        live.phase = Phase::Ending(Box::new(Closing { finished, note, undecided, recorded: false, waiting }));
        live.due = None;
        self.close(seq);
    }

    /// Takes an end as far as it goes: to the record, then to the store.
    pub(crate) fn close(&mut self, seq: i64) {
        let Some(Live { phase: Phase::Ending(closing), noted, .. }) = self.live(seq) else { return };
        match noted {
            Noted::No => return self.record_acceptance(seq),
            Noted::UnderWay => return,
            Noted::Yes => {}
        }
        if closing.recorded {
            return self.commit_end(seq);
        }
        if closing.undecided {
            let (finished, note) = (closing.finished.clone(), closing.note.clone());
            if let Err(fault) = self.store.commit(|tx| tx.decide_answer(seq, &finished, &note)) {
                tracing::error!(%fault, "an end could not be decided durably; it waits");
                return self.end_waits(seq);
            }
            kit::fault_point!("router.finish.decided");
        }
        let Some(Live { head, phase: Phase::Ending(closing), .. }) = self.live(seq) else { return };
        closing.undecided = false;
        let event = record_of(&closing.finished, &closing.note).in_turn(head.session, head.turn);
        self.record(event, move |desk, recorded| {
            let Some(Live { phase: Phase::Ending(closing), .. }) = desk.live(seq) else { return };
            closing.recorded = recorded;
            if recorded {
                kit::fault_point!("router.finish.recorded");
                desk.commit_end(seq);
            } else {
                desk.end_waits(seq);
            }
        });
    }

    fn commit_end(&mut self, seq: i64) {
        let now_ms = self.now.ms;
        let Some(Live { head, phase: Phase::Ending(closing), .. }) = self.live(seq) else { return };
        let (head, finished, note) = (head.clone(), closing.finished.clone(), closing.note.clone());
        let to = state::of_end(&finished.end);
        let pass = Pass { note: &note, ..Pass::of(&head, to, now_ms) };
        let committed = self.store.open_approvals(head.turn).and_then(|open| {
            self.store.commit(|tx| {
                tx.put_out(seq, &finished, now_ms)?;
                // Nobody can answer any more what this turn asked, nor use an answer.
                tx.void_approvals(head.turn, now_ms)?;
                tx.end_is_done(seq)?;
                tx.pass(&pass)
            })?;
            Ok(open)
        });
        let open = match committed {
            Ok(open) => open,
            Err(fault) => {
                tracing::error!(%fault, "an end could not be stored; it waits");
                return self.end_waits(seq);
            }
        };
        kit::fault_point!("router.finish.committed");
        let waiting = self.depart(seq).map(|live| match live.phase {
            Phase::Ending(closing) => closing.waiting,
            _ => Vec::new(),
        });
        self.admission.leave(seq);
        self.lanes.leave(head.session, seq);
        match to {
            MessageState::Answered => self.tell_where(&head, EventName::MessageSent, None),
            MessageState::Recalled => self.tell_where(&head, EventName::MessageRecalled, None),
            failed => self.tell_where(&head, EventName::MessageFailed, Some(failed.name())),
        }
        self.voided(&open);
        self.ring_ends(head.turn, finished);
        waiting.into_iter().flatten().for_each(|told| told(Ok(())));
        self.drive();
    }

    /// The record or the disk is away: whoever waits is told, and it is tried again.
    pub(crate) fn end_waits(&mut self, seq: i64) {
        let due = self.now.at + PAUSE;
        let Some(live) = self.live(seq) else { return };
        live.due = Some(due);
        if let Phase::Ending(closing) = &mut live.phase {
            closing.waiting.drain(..).for_each(|told| told(Err(RouterError::NotDurable)));
        }
    }
}

/// Returns whether two ends say the same; duration and attempts are the router's own to fill in.
fn is_same(a: &Finished, b: &Finished) -> bool {
    a.end == b.end && a.text == b.text
}

/// An end in the host's words, for the trace and the record.
fn note_of(end: &End) -> String {
    match end {
        End::Answered => String::new(),
        End::Exited { status } => format!("exit status {status}"),
        End::Cancelled => "cancelled".into(),
        End::TimedOut => "out of time".into(),
        End::Recalled => "by its sender".into(),
        End::Blocked(why) | End::Failed(why) | End::Quarantined(why) => why.to_string(),
        End::OverLimit(limit) => limit.sentence(),
        End::TakenIn(into) => steering::note_of(*into),
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
