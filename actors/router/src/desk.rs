//! The desk: everything the router knows, and what is due. It is driven from outside, by what is asked of it, by
//! errands that come back and by ticks, and holds no clock and no peer of its own; so a test can play any life
//! of it, every crash included. What it knows beyond the store can be rebuilt from the store.

use crate::approvals::Approvals;
use crate::attached::Attachments;
use crate::audience::Audience;
use crate::ending::Closing;
use crate::errands::{Errand, Then};
use crate::events::Events;
use crate::falling::Fall;
use crate::keys::Keys;
use crate::lanes::{Bounds, Lanes, Whose};
use crate::launch::Runners;
use crate::lease::Lease;
use crate::pausing::Pauses;
use crate::people::{People, PeopleFault};
use crate::removals::Removals;
use crate::scan::Admission;
use crate::steering::Taking;
use crate::store::{Head, Store, StoreFault};
use crate::typing::Typings;
use ipc_proto::audit::Event;
use ipc_proto::config::{self, UserRole};
use ipc_proto::ids::{TurnId, UserId};
use ipc_proto::router::{MessageState, RouterError};
use ipc_proto::{List, Name};
use manifest::command::Room;
use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// After this long, what could not be done for want of a peer or of room on the disk is tried again.
pub(crate) const PAUSE: Duration = Duration::from_secs(1);

/// Now, on the clock that never steps and on the wall's.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Moment {
    pub(crate) at: Instant,
    pub(crate) ms: u64,
}

impl Moment {
    pub(crate) fn now() -> Self {
        Self { at: Instant::now(), ms: kit::now_ms() }
    }
}

/// A message whose turn is not over.
pub(crate) struct Live {
    pub(crate) head: Head,
    pub(crate) phase: Phase,
    /// Whether its acceptance is on the record.
    pub(crate) noted: Noted,
    /// When to go on with it, if that is a matter of time.
    pub(crate) due: Option<Instant>,
    /// What its runner had left when its turn began to wait for a person; that time does not count.
    pub(crate) left: Option<Duration>,
    /// True if its runner may have begun its work: the gate has asked for it, or nobody knows.
    pub(crate) taken: bool,
    /// What it waits for, as the gate said last of this runner; nothing if it said nothing yet.
    pub(crate) waits: Option<List<Name, 4>>,
}

/// How far the record of a message's acceptance is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Noted {
    No,
    UnderWay,
    Yes,
}

/// What is being done about a message.
pub(crate) enum Phase {
    /// It waits for the scanner, or is with it.
    Accepted,
    /// It waits in its lane.
    Queued,
    /// The record of its start is under way.
    Starting,
    /// A runner has it, for as long as something is heard of it.
    Running(Lease),
    /// Its runner ended first; the record of that is under way.
    Fallen(Fall),
    /// Its end is under way.
    Ending(Box<Closing>),
}

/// Why the desk cannot begin.
#[derive(Debug, thiserror::Error)]
pub(crate) enum DeskFault {
    #[error(transparent)]
    Store(#[from] StoreFault),
    #[error(transparent)]
    People(#[from] PeopleFault),
}

/// The desk.
pub(crate) struct Desk {
    pub(crate) now: Moment,
    pub(crate) config: config::Router,
    pub(crate) store: Store,
    pub(crate) people: People,
    pub(crate) keys: Keys,
    pub(crate) lanes: Lanes,
    pub(crate) admission: Admission,
    pub(crate) runners: Runners,
    pub(crate) audience: Audience,
    pub(crate) approvals: Approvals,
    pub(crate) pauses: Pauses,
    pub(crate) typings: Typings,
    pub(crate) events: Events,
    /// The room on the disk, as agentd told it last.
    pub(crate) disk: Room,
    /// Ends that were decided, and not done, when this process died before: a stop that is asked again counts them.
    pub(crate) found_ending: Vec<(Head, String)>,
    /// Words whose taking in is on its way to the record.
    pub(crate) taking: Taking,
    /// The users that control saw attach directories, by the ids of these.
    pub(crate) attached: Attachments,
    /// Which removed workspaces agentd is told of next.
    pub(crate) removals: Removals,
    /// When the leases were looked at last.
    pub(crate) looked: Instant,
    /// What is to be done outside, in order.
    pub(crate) errands: Vec<Errand>,
    /// A message was taken in, and what can begin is to be begun once its sender has been told.
    pub(crate) is_behind: bool,
    live: BTreeMap<i64, Live>,
    turns: HashMap<TurnId, i64>,
    depth: Arc<AtomicU64>,
}

impl Desk {
    /// Takes up the queue in `file` where it was left.
    pub(crate) fn open(file: &Path, config: config::Router, now: Moment) -> Result<Self, DeskFault> {
        let mut store = Store::open(file)?;
        let people = People::settle(&mut store, &config, now.ms)?;
        let heads = store.live()?;
        let keys = Keys::new(store.keys()?);
        let pauses = Pauses::new(store.pauses()?);
        let mut desk = Self {
            now,
            lanes: Lanes::new(bounds(&config)),
            config,
            store,
            people,
            keys,
            admission: Admission::default(),
            runners: Runners::default(),
            audience: Audience::default(),
            approvals: Approvals::default(),
            pauses,
            typings: Typings::default(),
            events: Events::default(),
            disk: Room::default(),
            found_ending: Vec::new(),
            taking: Taking::default(),
            attached: Attachments::default(),
            removals: Removals::new(now.at),
            looked: now.at,
            errands: Vec::new(),
            is_behind: false,
            live: BTreeMap::new(),
            turns: HashMap::new(),
            depth: Arc::default(),
        };
        for head in heads {
            desk.take_up(head);
        }
        desk.go_on_with_ends()?;
        desk.let_go_of_orphans()?;
        desk.look_ahead();
        Ok(desk)
    }

    /// Takes up a message where the store says that it is.
    fn take_up(&mut self, head: Head) {
        let (session, seq, whose) = (head.session, head.seq, self.whose(head.user));
        let phase = match head.state {
            MessageState::Accepted => {
                self.lanes.join(session, whose, seq);
                self.admission.join(seq);
                Phase::Accepted
            }
            MessageState::Running => {
                self.lanes.found(session, whose, seq);
                Phase::Running(Lease::from(self.now.at))
            }
            _ => {
                self.lanes.join(session, whose, seq);
                self.lanes.clear(session, seq);
                Phase::Queued
            }
        };
        let due = matches!(phase, Phase::Running(_)).then(|| self.overdue_at(&head));
        // Whatever has gone on from there was put on the record first.
        let noted = if matches!(phase, Phase::Accepted) { Noted::No } else { Noted::Yes };
        self.enter(Live { head, phase, noted, due, left: None, taken: true, waits: None });
        self.clock(seq);
    }

    /// Cancels what belongs to a session that has ended or a user who is gone: the process may have died between.
    fn let_go_of_orphans(&mut self) -> Result<(), StoreFault> {
        let heads: Vec<Head> = self.live.values().map(|live| live.head.clone()).collect();
        for head in heads {
            if self.store.session(head.session)?.ended {
                self.cancel_live(head.seq, "its session was ended");
            } else if self.people.by_id(head.user).is_none() {
                self.cancel_live(head.seq, "its user is gone");
            }
        }
        Ok(())
    }

    /// Where the number of waiting messages is kept for `status`.
    pub(crate) fn depth(&self) -> Arc<AtomicU64> {
        Arc::clone(&self.depth)
    }

    /// Time has gone on, or was stepped: what is over by it is so before anybody asks.
    pub(crate) fn at(&mut self, now: Moment) {
        self.now = now;
        self.expire_approvals();
    }

    /// Does what is due, and begins what can begin.
    pub(crate) fn tick(&mut self) {
        let now = self.now.at;
        let due: Vec<i64> = self
            .live
            .iter_mut()
            .filter(|(_, live)| live.due.is_some_and(|due| due <= now))
            .map(|(seq, live)| {
                live.due = None;
                *seq
            })
            .collect();
        for seq in due {
            self.go_on(seq);
        }
        self.repeat_kills();
        self.let_go_of_unused();
        self.repeat_removals();
        self.look_at_leases();
        self.audience_tick();
        self.approvals_tick();
        self.keys_tick();
        self.drive();
    }

    /// Goes on with a message whose time has come.
    fn go_on(&mut self, seq: i64) {
        let Some(live) = self.live.get(&seq) else { return };
        match live.phase {
            Phase::Accepted | Phase::Starting => {}
            Phase::Queued => self.lanes.clear(live.head.session, seq),
            Phase::Running(_) => self.overdue(seq),
            Phase::Fallen(_) => self.record_fall(seq),
            Phase::Ending(_) => self.close(seq),
        }
    }

    /// Whose share of the turns a user's messages take.
    pub(crate) fn whose(&self, user: UserId) -> Whose {
        Whose { user, owner: self.people.by_id(user).is_some_and(|person| person.role == UserRole::Owner) }
    }

    /// The next message that may be begun, or go on.
    pub(crate) fn next(&mut self) -> Option<i64> {
        let (live, pauses) = (&self.live, &self.pauses);
        self.lanes.next(|seq| live.get(&seq).is_none_or(|live| pauses.let_go(&live.head)))
    }

    /// Begins what can begin.
    pub(crate) fn drive(&mut self) {
        self.is_behind = false;
        self.admit_next();
        self.start_next();
        let waiting = u64::try_from(self.lanes.waiting()).unwrap_or(u64::MAX);
        self.depth.store(waiting, Ordering::Relaxed);
    }

    /// Asks for an event to be put on the record.
    pub(crate) fn record(&mut self, event: Event, then: impl FnOnce(&mut Self, bool) + Send + 'static) {
        let then: Then<bool> = Box::new(then);
        self.errands.push(Errand::Record(Box::new(event), then));
    }

    /// Takes in a message whose turn is not over.
    pub(crate) fn enter(&mut self, live: Live) {
        self.turns.insert(live.head.turn, live.head.seq);
        self.live.insert(live.head.seq, live);
    }

    /// Lets go of a message whose turn is over.
    pub(crate) fn depart(&mut self, seq: i64) -> Option<Live> {
        let live = self.live.remove(&seq)?;
        self.turns.remove(&live.head.turn);
        self.typings.forget(live.head.turn);
        Some(live)
    }

    pub(crate) fn live(&mut self, seq: i64) -> Option<&mut Live> {
        self.live.get_mut(&seq)
    }

    /// The message of a turn that is not over.
    pub(crate) fn live_turn(&mut self, turn: TurnId) -> Option<&mut Live> {
        let seq = self.turns.get(&turn)?;
        self.live.get_mut(seq)
    }

    /// Messages whose turn is not over and of which `which` holds.
    pub(crate) fn live_where(&self, which: impl Fn(&Live) -> bool) -> Vec<i64> {
        self.heads_where(which).map(|head| head.seq).collect()
    }

    /// The same with what is known of each.
    pub(crate) fn heads_where(&self, which: impl Fn(&Live) -> bool) -> impl Iterator<Item = &Head> {
        self.live.values().filter(move |live| which(live)).map(|live| &live.head)
    }

    /// Goes on with a message after a pause.
    pub(crate) fn later(&mut self, seq: i64, phase: Phase, pause: Duration) {
        let due = self.now.at + pause;
        if let Some(live) = self.live.get_mut(&seq) {
            live.phase = phase;
            live.due = Some(due);
        }
    }

    /// The answer that a turn gets which is not there.
    pub(crate) const fn no_turn<T>() -> Result<T, RouterError> {
        Err(RouterError::NoTurn)
    }
}

/// The bounds on turns that are configured.
fn bounds(config: &config::Router) -> Bounds {
    let number = |number: u32| usize::try_from(number).unwrap_or(usize::MAX);
    Bounds { at_once: number(config.turns_at_once), per_user: number(config.turns_per_user) }
}
