//! Who listens: the rings of turns, those who wait for more of one, and those who wait for named events. Nothing
//! here is durable; what a turn came to is read from the outbox when its ring is gone.

use crate::desk::{Desk, Phase};
use crate::events::About;
use crate::queue::Port;
use crate::ring::{self, Ring};
use crate::store::Pass;
use crate::{state, store::Head};
use ipc_proto::List;
use ipc_proto::ids::{TurnId, UserId};
use ipc_proto::router::{EventName, Finished, Followed, MessageState, NamedEvent, RouterError, TurnEvent};
use ipc_proto::tool::Outcome;
use std::collections::{HashMap, VecDeque};
use std::time::{Duration, Instant};

/// How long the ring of a turn is kept after its end, and of how many turns.
const KEPT: (Duration, usize) = (Duration::from_secs(60), 16);
/// How long the gate is held up by a follower that is behind.
const HELD: Duration = Duration::from_secs(5);

/// Where the answer to a follower goes.
pub(crate) type FollowPort = Port<Result<Followed, RouterError>>;
/// Where the answer to the gate's events goes.
pub(crate) type EmitPort = Port<Result<u64, RouterError>>;
/// Where named events go.
pub(crate) type EventsPort = Port<List<NamedEvent, 256>>;

/// Who listens to what.
#[derive(Default)]
pub(crate) struct Audience {
    rings: HashMap<TurnId, Ring>,
    /// Turns that are over and whose ring is kept, oldest first.
    over: VecDeque<(Instant, TurnId)>,
    followers: HashMap<TurnId, Vec<Follower>>,
    held: HashMap<TurnId, Held>,
    watchers: Vec<(u64, EventsPort)>,
}

struct Follower {
    from: u64,
    credit: u16,
    port: FollowPort,
}

/// Events of the gate that wait for a follower to make room.
struct Held {
    from: u64,
    events: List<TurnEvent, 64>,
    port: EmitPort,
    since: Instant,
}

impl Audience {
    /// An attempt of a turn begins.
    pub(crate) fn begin(&mut self, turn: TurnId, attempt: u32, notice: Option<TurnEvent>) {
        self.rings.entry(turn).or_default().begin(attempt, notice);
    }
}

impl Desk {
    /// Takes the gate's events of a turn.
    pub(crate) fn emit(&mut self, turn: TurnId, from: u64, events: List<TurnEvent, 64>, port: EmitPort) {
        let now = self.now.at;
        self.heard_of(turn);
        let Some(live) = self.live_turn(turn) else { return drop(port.send(Self::no_turn())) };
        let attempt = live.head.attempts;
        if attempt == 0 || matches!(live.phase, Phase::Ending(_)) {
            return drop(port.send(Self::no_turn()));
        }
        self.audience.begin(turn, attempt, None);
        let Some(ring) = self.audience.rings.get(&turn) else { return drop(port.send(Self::no_turn())) };
        // A question, or a mere sign of life: it waits for nobody.
        if events.is_empty() {
            return drop(port.send(Ok(ring.needs())));
        }
        let full = ring.is_full(now);
        if full && !self.audience.held.contains_key(&turn) {
            self.audience.held.insert(turn, Held { from, events, port, since: now });
            return;
        }
        self.let_through(turn);
        self.append(turn, from, events, port);
    }

    fn append(&mut self, turn: TurnId, from: u64, events: List<TurnEvent, 64>, port: EmitPort) {
        kit::fault_point!("router.emit.taken");
        let Some(ring) = self.audience.rings.get_mut(&turn) else { return drop(port.send(Self::no_turn())) };
        let fresh = ring.emit(from, events);
        drop(port.send(Ok(ring.needs())));
        for event in &fresh {
            self.tell_of_tool(turn, event);
        }
        self.wake(turn);
    }

    /// Takes what was held up.
    fn let_through(&mut self, turn: TurnId) {
        if let Some(held) = self.audience.held.remove(&turn) {
            self.append(turn, held.from, held.events, held.port);
        }
    }

    fn tell_of_tool(&mut self, turn: TurnId, event: &TurnEvent) {
        let session = self.live_turn(turn).map(|live| live.head.session);
        let Some(ring) = self.audience.rings.get_mut(&turn) else { return };
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
            self.tell(name, &about);
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
            Ok(_) => return drop(port.send(Self::no_turn())),
            Err(refusal) => return drop(port.send(Err(refusal))),
        };
        let now = self.now.at;
        let piece = match self.audience.rings.get_mut(&turn) {
            Some(ring) => ring.read(from, credit, now),
            None if state::over(head.state) => match self.store.finished(head.seq) {
                Ok(Some(finished)) => Some(ring::end_alone(from, finished)),
                Ok(None) => return drop(port.send(Self::no_turn())),
                Err(fault) => return drop(port.send(Err(fault.into()))),
            },
            None => None,
        };
        match piece {
            Some(piece) => self.give(&head, piece, port),
            None => {
                let waiting = self.audience.followers.entry(turn).or_default();
                waiting.retain(|it| !it.port.is_closed());
                waiting.push(Follower { from, credit, port });
            }
        }
        if self.audience.rings.get(&turn).is_some_and(|ring| !ring.is_full(now)) {
            self.let_through(turn);
        }
    }

    /// The message of a turn, whether or not that is over.
    pub(crate) fn head_of(&mut self, turn: TurnId) -> Result<Head, RouterError> {
        if let Some(live) = self.live_turn(turn) {
            return Ok(live.head.clone());
        }
        self.store.message_of(turn)?.ok_or(RouterError::NoTurn)
    }

    fn give(&mut self, head: &Head, piece: Followed, port: FollowPort) {
        let ends = matches!(piece.events.last(), Some(TurnEvent::Done(_)));
        if port.send(Ok(piece)).is_ok() && ends {
            self.delivered(head);
        }
    }

    /// Marks an answer as given out. If that fails it is given out again to whoever asks, which repeats nothing.
    fn delivered(&mut self, head: &Head) {
        if head.state != MessageState::Answered {
            return;
        }
        let now_ms = self.now.ms;
        let pass = Pass::of(head, MessageState::Delivered, now_ms);
        let committed = self.store.commit(|tx| {
            tx.give_out(head.seq, now_ms)?;
            tx.pass(&pass)
        });
        if let Err(fault) = committed {
            tracing::warn!(%fault, "an answer was given out and could not be marked");
        }
        kit::fault_point!("router.delivered.committed");
    }

    /// Gives those who wait for a turn what there is now.
    pub(crate) fn wake(&mut self, turn: TurnId) {
        for Follower { from, credit, port } in self.audience.followers.remove(&turn).unwrap_or_default() {
            if !port.is_closed() {
                self.follow(None, turn, from, credit, port);
            }
        }
    }

    /// A turn is over and its end durable: its followers are told, and its ring is kept for a while.
    pub(crate) fn ring_ends(&mut self, turn: TurnId, finished: Finished) {
        self.let_through(turn);
        if let Some(ring) = self.audience.rings.get_mut(&turn) {
            ring.finish(finished);
            self.audience.over.push_back((self.now.at, turn));
        }
        self.wake(turn);
        self.drop_old_rings();
    }

    fn drop_old_rings(&mut self) {
        let (long, many) = KEPT;
        let now = self.now.at;
        while let Some((since, turn)) = self.audience.over.front().copied() {
            if self.audience.over.len() <= many && now.saturating_duration_since(since) < long {
                return;
            }
            self.audience.over.pop_front();
            self.audience.rings.remove(&turn);
        }
    }

    /// Lets through what was held long enough, and lets go of what nobody waits for.
    pub(crate) fn audience_tick(&mut self) {
        let now = self.now.at;
        let long = |held: &Held| now.saturating_duration_since(held.since) >= HELD;
        let held: Vec<TurnId> =
            self.audience.held.iter().filter(|(_, held)| long(held)).map(|(turn, _)| *turn).collect();
        for turn in held {
            self.let_through(turn);
        }
        self.audience.followers.retain(|_, waiting| {
            waiting.retain(|it| !it.port.is_closed());
            !waiting.is_empty()
        });
        self.audience.watchers.retain(|(_, port)| !port.is_closed());
        self.drop_old_rings();
    }

    /// Tells whoever observes the host.
    pub(crate) fn tell(&mut self, name: EventName, about: &About<'_>) {
        self.events.tell(name, self.now.ms, about);
        for (after, port) in self.audience.watchers.drain(..) {
            drop(port.send(self.events.after(after)));
        }
    }

    /// Gives named events after number `after`, now or when there are some.
    pub(crate) fn watch(&mut self, after: u64, port: EventsPort) {
        let events = self.events.after(after);
        if events.is_empty() {
            self.audience.watchers.retain(|(_, port)| !port.is_closed());
            self.audience.watchers.push((after, port));
        } else {
            drop(port.send(events));
        }
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
