//! Events of turns: from the gate into the rings, and from there to the followers.

use crate::events::About;
use crate::state::RouterState;
use crate::state::subscribers::{EmitPort, FollowPort, Follower, Held};
use crate::store::{Head, Transition};
use crate::{channels, message_state, ring};
use ipc_proto::List;
use ipc_proto::ids::{TurnId, UserId};
use ipc_proto::router::{EventName, Finished, Followed, MessageState, RouterError, TurnEvent};
use ipc_proto::tool::Outcome;

impl RouterState {
    /// Adds the gate's events of a turn to its ring.
    pub(crate) fn emit(&mut self, turn: TurnId, from: u64, events: List<TurnEvent, 64>, port: EmitPort) {
        let now = self.now.at;
        self.renew_lease(turn);
        let Some(attempt) = self.live.under_way(turn).map(|head| head.attempts) else {
            return drop(port.send(Err(RouterError::NoTurn)));
        };
        let ring = self.subscribers.begin(turn, attempt, None);
        // A request for the next number, or a heartbeat, waits for nobody.
        if events.is_empty() {
            return drop(port.send(Ok(ring.needs())));
        }
        let full = ring.is_full(now);
        let new = Held { from, events, port, since: now };
        let new = if full { self.subscribers.hold(turn, new) } else { Some(new) };
        let Some(new) = new else { return };
        self.let_through(turn);
        self.append(turn, new);
    }

    fn append(&mut self, turn: TurnId, Held { from, events, port, .. }: Held) {
        kit::fault_point!("router.emit.taken");
        let Some(ring) = self.subscribers.ring(turn) else {
            return drop(port.send(Err(RouterError::NoTurn)));
        };
        let fresh = ring.emit(from, events);
        drop(port.send(Ok(ring.needs())));
        for event in &fresh {
            self.publish_tool(turn, event);
        }
        self.wake(turn);
    }

    /// Adds the events that were held up.
    fn let_through(&mut self, turn: TurnId) {
        if let Some(held) = self.subscribers.take_held(turn) {
            self.append(turn, held);
        }
    }

    fn publish_tool(&mut self, turn: TurnId, event: &TurnEvent) {
        let session = self.live_turn(turn).map(|live| live.head.session);
        let Some(ring) = self.subscribers.ring(turn) else { return };
        let (name, tool, detail) = match event {
            TurnEvent::ToolStart { call, tool, refused: None, .. } => {
                ring.began(*call, tool);
                (EventName::ToolStarted, Some(tool.clone()), None)
            }
            TurnEvent::ToolEnd { call, outcome, .. } => {
                (EventName::ToolCompleted, ring.ended(*call), Some(outcome_name(*outcome)))
            }
            _ => return,
        };
        // A call that was refused never began, so its end is no event.
        if let Some(tool) = tool {
            let about = About { session, turn: Some(turn), subject: Some(&tool), detail, ..About::default() };
            self.publish(name, &about);
        }
    }

    /// Gives events of a turn to a follower, now or when there are some.
    pub(crate) fn follow(
        &mut self,
        user: Option<UserId>,
        turn: TurnId,
        from: u64,
        credit: u16,
        port: FollowPort,
    ) {
        let head = match self.head_of(turn) {
            Ok(head) if user.is_none_or(|user| user == head.user) => head,
            Ok(_) => return drop(port.send(Err(RouterError::NoTurn))),
            Err(refusal) => return drop(port.send(Err(refusal))),
        };
        let now = self.now.at;
        let piece = match self.subscribers.ring(turn) {
            Some(ring) => ring.read(from, credit, now),
            None if message_state::over(head.state) => match self.store.finished(head.seq) {
                Ok(Some(finished)) => Some(ring::end_alone(from, finished)),
                Ok(None) => return drop(port.send(Err(RouterError::NoTurn))),
                Err(fault) => return drop(port.send(Err(fault.into()))),
            },
            None => None,
        };
        match piece {
            Some(piece) => self.give(&head, piece, port),
            None => self.subscribers.add_follower(turn, Follower { from, credit, port }),
        }
        if self.subscribers.ring(turn).is_some_and(|ring| !ring.is_full(now)) {
            self.let_through(turn);
        }
    }

    fn give(&mut self, head: &Head, piece: Followed, port: FollowPort) {
        let ends = matches!(piece.events.last(), Some(TurnEvent::Done(_)));
        // An answer to a messaging platform is delivered when the platform has it.
        if port.send(Ok(piece)).is_ok() && ends && channels::account(&head.channel).is_none() {
            self.delivered(head);
        }
    }

    /// Marks an answer as delivered. If that fails, the next follower gets it again, which repeats no effect.
    pub(crate) fn delivered(&mut self, head: &Head) {
        if head.state != MessageState::Answered {
            return;
        }
        let now_ms = self.now.ms;
        let transition = Transition::of(head, MessageState::Delivered, now_ms);
        let committed = self.store.commit(|tx| {
            tx.mark_delivered(head.seq, now_ms)?;
            tx.transition(&transition)
        });
        if let Err(fault) = committed {
            tracing::warn!(%fault, "an answer was given out and could not be marked");
        }
        kit::fault_point!("router.delivered.committed");
    }

    /// Gives the followers that wait for a turn the events that are there now.
    pub(crate) fn wake(&mut self, turn: TurnId) {
        for Follower { from, credit, port } in self.subscribers.take_followers(turn) {
            self.follow(None, turn, from, credit, port);
        }
    }

    /// A turn is over and its end durable: its followers get it, and its ring stays for a while.
    pub(crate) fn ring_ends(&mut self, turn: TurnId, finished: Finished) {
        self.let_through(turn);
        self.subscribers.finish(turn, finished, self.now.at);
        self.wake(turn);
        self.subscribers.drop_old_rings(self.now.at);
    }

    /// Lets events through that were held long enough, and drops what nobody waits for.
    pub(crate) fn subscribers_tick(&mut self) {
        let now = self.now.at;
        for turn in self.subscribers.long_held(now) {
            self.let_through(turn);
        }
        self.subscribers.drop_closed();
        self.subscribers.drop_old_rings(now);
    }
}

const fn outcome_name(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Success => "success",
        Outcome::Error => "error",
        Outcome::Blocked => "blocked",
        Outcome::Unknown => "unknown",
    }
}
