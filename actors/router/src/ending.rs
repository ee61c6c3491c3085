//! How a turn ends: what it came to goes on the record, then its last state and the outbox row become durable in
//! one change, and only then is anybody told. A turn ends once; whoever comes second is told so.

use crate::desk::{Desk, Live, Noted, PAUSE, Phase};
use crate::events::About;
use crate::queue::Port;
use crate::state;
use crate::store::Pass;
use ipc_proto::Text;
use ipc_proto::audit::{Action, Event, Result3};
use ipc_proto::ids::{TurnId, UserId};
use ipc_proto::label::Label;
use ipc_proto::model::Usage;
use ipc_proto::router::{End, EventName, Finished, MessageState, RouterError};

/// Where the answer to whoever ends a turn goes.
pub(crate) type EndPort = Port<Result<(), RouterError>>;

/// An end that is under way.
pub(crate) struct Closing {
    pub(crate) finished: Finished,
    /// Why, for the trace.
    note: String,
    /// It is on the record.
    recorded: bool,
    waiting: Vec<EndPort>,
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
            Phase::Ending(closing) if is_same(&closing.finished, &finished) => closing.waiting.push(port),
            // Once more, for a runner that died while its answer was under way.
            Phase::Running | Phase::Fallen(_) => self.end(seq, finished, "", Some(port)),
            Phase::Queued | Phase::Starting if live.head.attempts > 0 => {
                self.end(seq, finished, "", Some(port))
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

    /// Cancels a turn; its runner is ended at once.
    pub(crate) fn cancel(&mut self, user: Option<UserId>, turn: TurnId, port: EndPort) {
        match self.live_turn(turn) {
            Some(Live { head, .. }) if user.is_some_and(|user| user != head.user) => {
                drop(port.send(Self::no_turn()));
            }
            Some(Live { head, phase, .. }) => match phase {
                Phase::Ending(closing) if closing.finished.end == End::Cancelled => {
                    closing.waiting.push(port)
                }
                Phase::Ending(_) => drop(port.send(Self::no_turn())),
                _ => {
                    let seq = head.seq;
                    self.cancel_with(seq, "by its person", Some(port));
                }
            },
            None => {
                let said = self.cancelled_before(user, turn);
                drop(port.send(said));
            }
        }
    }

    fn cancelled_before(&self, user: Option<UserId>, turn: TurnId) -> Result<(), RouterError> {
        let head = self.store.message_of(turn)?.ok_or(RouterError::NoTurn)?;
        let theirs = user.is_none_or(|user| user == head.user);
        if theirs && head.state == MessageState::Cancelled { Ok(()) } else { Self::no_turn() }
    }

    /// Cancels a turn for the host's own reason.
    pub(crate) fn cancel_live(&mut self, seq: i64, why: &str) {
        self.cancel_with(seq, why, None);
    }

    fn cancel_with(&mut self, seq: i64, why: &str, port: Option<EndPort>) {
        let Some(live) = self.live(seq) else { return };
        if matches!(live.phase, Phase::Running) {
            let turn = live.head.turn;
            self.kill(turn);
        }
        self.end_without_answer(seq, End::Cancelled, why, port);
    }

    /// Ends a turn that has no answer. What is said is the host's own.
    pub(crate) fn end_without_answer(&mut self, seq: i64, end: End, note: &str, port: Option<EndPort>) {
        let finished = Finished {
            end,
            text: Text::default(),
            label: Label::bottom(),
            usage: Usage::default(),
            duration_ms: 0,
            attempts: 0,
        };
        self.end(seq, finished, note, port);
    }

    fn end(&mut self, seq: i64, mut finished: Finished, note: &str, port: Option<EndPort>) {
        let now_ms = self.now.ms;
        let Some(live) = self.live(seq) else { return };
        if matches!(live.phase, Phase::Ending(_)) {
            return;
        }
        let took = now_ms.saturating_sub(live.head.accepted_ms);
        finished.duration_ms = u32::try_from(took).unwrap_or(u32::MAX);
        finished.attempts = live.head.attempts;
        let note = if note.is_empty() { note_of(&finished.end) } else { note.to_owned() };
        let waiting = port.into_iter().collect();
        live.phase = Phase::Ending(Box::new(Closing { finished, note, recorded: false, waiting }));
        live.due = None;
        self.close(seq);
    }

    /// Takes an end as far as it goes: to the record, then to the store.
    pub(crate) fn close(&mut self, seq: i64) {
        let Some(Live { head, phase: Phase::Ending(closing), noted, .. }) = self.live(seq) else { return };
        match noted {
            Noted::No => return self.record_acceptance(seq),
            Noted::UnderWay => return,
            Noted::Yes => {}
        }
        if closing.recorded {
            return self.commit_end(seq);
        }
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
        if to == MessageState::Answered {
            let about = About {
                session: Some(head.session),
                turn: Some(head.turn),
                message: Some(head.id),
                subject: Some(&head.channel),
                detail: None,
            };
            self.tell(EventName::MessageSent, &about);
        }
        self.voided(&open);
        self.ring_ends(head.turn, finished);
        for port in waiting.into_iter().flatten() {
            drop(port.send(Ok(())));
        }
        self.drive();
    }

    /// The record or the disk is away: whoever waits is told, and it is tried again.
    pub(crate) fn end_waits(&mut self, seq: i64) {
        let due = self.now.at + PAUSE;
        let Some(live) = self.live(seq) else { return };
        live.due = Some(due);
        if let Phase::Ending(closing) = &mut live.phase {
            for port in closing.waiting.drain(..) {
                drop(port.send(Err(RouterError::NotDurable)));
            }
        }
    }
}

/// Whether two ends say the same; duration and attempts are the router's own to fill in.
fn is_same(a: &Finished, b: &Finished) -> bool {
    a.end == b.end && a.text == b.text
}

/// An end in the host's words, for the trace and the record.
fn note_of(end: &End) -> String {
    match end {
        End::Answered => String::new(),
        End::Exited { status } => format!("exit status {status}"),
        End::Cancelled => "cancelled".into(),
        End::Blocked => "blocked".into(),
        End::TimedOut => "out of time".into(),
        End::Failed(why) => why.to_string(),
    }
}

fn record_of(finished: &Finished, note: &str) -> Event {
    let (action, result) = match finished.end {
        End::Answered | End::Exited { .. } => (Action::TurnEnded, Result3::Success),
        End::Blocked => (Action::MessageBlocked, Result3::Blocked),
        End::Cancelled | End::TimedOut | End::Failed(_) => (Action::TurnEnded, Result3::Error),
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
