//! Everything that the router knows. It is driven from outside, by requests, by effects that come back and by ticks, and holds no clock
//! and no peer of its own: a test can play any life of it, crashes included. Whatever it knows beyond the store can be rebuilt from
//! the store.
//!
//! Each part owns its data. This module joins them, and the modules above it hold the rules.

pub(crate) mod admission;
pub(crate) mod approvals;
pub(crate) mod attachments;
pub(crate) mod channels;
pub(crate) mod effects;
pub(crate) mod keys;
pub(crate) mod lease;
pub(crate) mod live;
pub(crate) mod moment;
pub(crate) mod pauses;
pub(crate) mod pending_end;
pub(crate) mod people;
pub(crate) mod postponed;
pub(crate) mod removals;
pub(crate) mod requests;
pub(crate) mod runner_exit;
pub(crate) mod runners;
pub(crate) mod subscribers;
pub(crate) mod terminal_input;
pub(crate) mod uploads;

use crate::events::Events;
use crate::gauges::Gauges;
use crate::lanes::{Bounds, LaneUser, Lanes};
use crate::store::{Head, Store};
use admission::Admission;
use approvals::Approvals;
use attachments::Attachments;
use channels::Channels;
use effects::{Effect, Recorded};
use ipc_proto::audit::Event;
use ipc_proto::config::{self, UserRole};
use ipc_proto::ids::{TurnId, UserId, WorkspaceId};
use ipc_proto::router::RouterError;
use keys::Keys;
use live::{Live, LiveMessages, Phase};
use manifest::command::{Room, attached_owner};
use moment::Moment;
use pauses::Pauses;
use people::People;
use removals::Removals;
use requests::PendingSteering;
use runners::Runners;
use std::sync::Arc;
use std::time::{Duration, Instant};
use subscribers::Subscribers;
use terminal_input::TerminalInputs;
use uploads::Uploads;

/// The state of the router.
pub(crate) struct RouterState {
    pub(crate) now: Moment,
    pub(crate) config: config::Router,
    pub(crate) store: Store,
    pub(crate) people: People,
    pub(crate) keys: Keys,
    pub(crate) lanes: Lanes,
    pub(crate) live: LiveMessages,
    pub(crate) admission: Admission,
    pub(crate) runners: Runners,
    pub(crate) subscribers: Subscribers,
    pub(crate) approvals: Approvals,
    pub(crate) pauses: Pauses,
    pub(crate) terminal_inputs: TerminalInputs,
    pub(crate) events: Events,
    /// The room on the disk, as agentd reported it last.
    pub(crate) disk: Room,
    /// Ends that were decided and not done when this process began. A stop that is asked again counts them.
    pub(crate) ends_at_start: Vec<(Head, String)>,
    pub(crate) pending_steering: PendingSteering,
    pub(crate) attached: Attachments,
    pub(crate) removals: Removals,
    pub(crate) channels: Channels,
    pub(crate) uploads: Uploads,
    /// When files that are kept no longer are dropped next.
    pub(crate) files_due: Instant,
    /// When the leases were checked last.
    pub(crate) leases_checked: Instant,
    /// Work for the rest of the host, in order.
    pub(crate) effects: Vec<Effect>,
    /// Something changed that may let a message go on: the queue is to be driven at once.
    pub(crate) drive_now: bool,
    /// A message was accepted, or a place may be free: the queue is to be driven once the request under way is answered.
    pub(crate) drive_after_reply: bool,
    /// Numbers for operators.
    pub(crate) gauges: Arc<Gauges>,
    /// When those that are read from the store are read again.
    pub(crate) gauges_due: Instant,
}

impl RouterState {
    /// The state over this store, with no message in it yet.
    pub(crate) fn new(
        store: Store,
        people: People,
        keys: Keys,
        pauses: Pauses,
        config: config::Router,
        now: Moment,
    ) -> Self {
        Self {
            now,
            lanes: Lanes::new(bounds(&config)),
            config,
            store,
            people,
            keys,
            live: LiveMessages::default(),
            admission: Admission::default(),
            runners: Runners::default(),
            subscribers: Subscribers::default(),
            approvals: Approvals::default(),
            pauses,
            terminal_inputs: TerminalInputs::default(),
            events: Events::default(),
            disk: Room::default(),
            ends_at_start: Vec::new(),
            pending_steering: PendingSteering::default(),
            attached: Attachments::default(),
            removals: Removals::new(now.at),
            channels: Channels::default(),
            uploads: Uploads::default(),
            files_due: now.at,
            leases_checked: now.at,
            effects: Vec::new(),
            drive_now: false,
            drive_after_reply: false,
            gauges: Arc::default(),
            gauges_due: now.at,
        }
    }

    /// The numbers for operators.
    pub(crate) fn gauges(&self) -> Arc<Gauges> {
        Arc::clone(&self.gauges)
    }

    /// Asks for an event to be put on the record, and for `then` afterwards.
    pub(crate) fn record(&mut self, event: Event, then: Recorded) {
        self.effects.push(Effect::Record(Box::new(event), then));
    }

    /// Has agentd end a runner, and asks again until agentd reports its end.
    pub(crate) fn kill(&mut self, turn: TurnId) {
        self.runners.end(turn);
        self.effects.push(Effect::Kill(turn));
    }

    /// The user of a message's lane, with the rights of that user. A task whose depth cannot be read counts as one at the top.
    pub(crate) fn lane_user(&self, head: &Head) -> LaneUser {
        let depth = match self.delegation(head) {
            Ok(task) => task.map_or(0, |task| task.terms.depth()),
            Err(fault) => {
                tracing::error!(%fault, "the depth of a task cannot be read");
                1
            }
        };
        LaneUser { id: head.user, owner: self.is_owner(head.user), depth }
    }

    /// Returns true for the host's owners.
    pub(crate) fn is_owner(&self, user: UserId) -> bool {
        self.people.role(user) == UserRole::Owner
    }

    /// Returns true if the uid that owns an attached directory is this user's.
    pub(crate) fn owns(&self, user: UserId, workspace: WorkspaceId) -> bool {
        self.people.by_uid(attached_owner(workspace.bytes())).is_some_and(|person| person.id == user)
    }

    /// Fails if the disk has no room for one more message.
    pub(crate) const fn disk_has_room(&self) -> Result<(), RouterError> {
        let Room { low, free_mib, kept_mib } = self.disk;
        if low { Err(RouterError::NoRoom { free_mib, kept_mib }) } else { Ok(()) }
    }

    pub(crate) fn live(&mut self, seq: i64) -> Option<&mut Live> {
        self.live.get_mut(seq)
    }

    /// The message of a turn that is not over.
    pub(crate) fn live_turn(&mut self, turn: TurnId) -> Option<&mut Live> {
        self.live.of_turn(turn)
    }

    /// Live messages of which `which` holds.
    pub(crate) fn live_where(&self, which: impl Fn(&Live) -> bool) -> Vec<i64> {
        self.heads_where(which).map(|head| head.seq).collect()
    }

    /// The heads of live messages of which `which` holds.
    pub(crate) fn heads_where(&self, which: impl Fn(&Live) -> bool) -> impl Iterator<Item = &Head> {
        self.live.all().filter(move |live| which(live)).map(|live| &live.head)
    }

    /// The message of a turn that has begun and has not ended.
    pub(crate) fn under_way(&mut self, turn: TurnId) -> Result<Head, RouterError> {
        self.live.under_way(turn).cloned().ok_or(RouterError::NoTurn)
    }

    /// Renews the lease of a turn of which something was heard.
    pub(crate) fn renew_lease(&mut self, turn: TurnId) {
        self.live.renew_lease(turn, self.now.at);
    }

    /// Removes a message whose turn is over.
    pub(crate) fn remove_live(&mut self, seq: i64) -> Option<Live> {
        let live = self.live.remove(seq)?;
        self.terminal_inputs.forget(live.head.turn);
        Some(live)
    }

    /// Puts a message into this phase, and goes on with it after a pause.
    pub(crate) fn delay(&mut self, seq: i64, phase: Phase, pause: Duration) {
        let due = self.now.at + pause;
        if let Some(live) = self.live.get_mut(seq) {
            live.phase = phase;
            live.due = Some(due);
        }
    }
}

/// The configured bounds on turns.
fn bounds(config: &config::Router) -> Bounds {
    let number = |number: u32| usize::try_from(number).unwrap_or(usize::MAX);
    Bounds {
        at_once: number(config.turns_at_once),
        per_user: number(config.turns_per_user),
        asking: number(config.turns_asking),
        delegated: number(config.turns_delegated),
    }
}
