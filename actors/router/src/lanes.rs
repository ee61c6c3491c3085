//! The order of turns: one lane for each session, one turn at a time in a lane, and bounds on the running turns of all lanes and of
//! each user. A turn that waits for a person holds no place. Pure data: it knows neither the store nor the clock, and never drops a
//! message that waits.

#[cfg(test)]
mod tests;

use ipc_proto::ids::{SessionId, UserId};
use ipc_proto::router::DEPTH;
use std::collections::{HashMap, VecDeque};

/// The user whose messages wait in a lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LaneUser {
    pub(crate) id: UserId,
    /// True for the host's owner, for whom one place is always left.
    pub(crate) owner: bool,
    /// How many turns stand above that of the message: 0 of a person's own, more of a task.
    pub(crate) depth: u8,
}

/// The bounds on running turns.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bounds {
    /// Turns of all users that hold a place.
    pub(crate) at_once: usize,
    /// Turns of one user other than the owner that hold a place.
    pub(crate) per_user: usize,
    /// Turns that wait for a person and hold no place. Each keeps its runner, for which agentd must have a slot.
    pub(crate) asking: usize,
    /// Turns that work on tasks of other turns. They hold places of their own, so that a turn which waits for its tasks keeps none of
    /// them from starting.
    pub(crate) delegated: usize,
}

/// The lanes of all sessions.
pub(crate) struct Lanes {
    lanes: HashMap<SessionId, Lane>,
    /// Lanes whose first message can start, in round-robin order: a busy session does not keep others waiting.
    ready: VecDeque<SessionId>,
    /// Users with a running turn or a waiting message.
    users: HashMap<UserId, Share>,
    /// Turns that hold a place, and those of them that are not the owner's.
    busy: usize,
    busy_of_others: usize,
    /// Turns that hold a place of those for tasks.
    delegated: usize,
    /// Turns that wait for a person and hold no place.
    asking: usize,
    waiting: usize,
    bounds: Bounds,
}

/// The turns and messages of a user.
#[derive(Default)]
struct Share {
    busy: usize,
    delegated: usize,
    asking: usize,
    waiting: usize,
}

struct Lane {
    user: LaneUser,
    waiting: VecDeque<Waiting>,
    busy: Option<i64>,
    /// True while its turn waits for a person and holds no place.
    asking: bool,
    /// True while it stands in `ready`.
    listed: bool,
}

struct Waiting {
    seq: i64,
    cleared: bool,
}

impl Lanes {
    /// Lanes with these bounds.
    pub(crate) fn new(bounds: Bounds) -> Self {
        Self {
            lanes: HashMap::new(),
            ready: VecDeque::new(),
            users: HashMap::new(),
            busy: 0,
            busy_of_others: 0,
            delegated: 0,
            asking: 0,
            waiting: 0,
            bounds,
        }
    }

    /// Appends a message to its lane. It cannot start before it is cleared.
    pub(crate) fn join(&mut self, session: SessionId, user: LaneUser, seq: i64) {
        self.lane(session, user).waiting.push_back(Waiting { seq, cleared: false });
        self.add_waiting(user);
    }

    /// Registers a turn that runs already: one that was found at the start of the process.
    pub(crate) fn add_running(&mut self, session: SessionId, user: LaneUser, seq: i64) {
        self.lane(session, user).busy = Some(seq);
        self.take_place(user);
    }

    /// Lets a waiting message start when its turn comes.
    pub(crate) fn clear(&mut self, session: SessionId, seq: i64) {
        let Some(lane) = self.lanes.get_mut(&session) else { return };
        if let Some(it) = lane.waiting.iter_mut().find(|it| it.seq == seq) {
            it.cleared = true;
        }
        self.offer(session);
    }

    /// Says whether a running turn waits for a person. While it does, it gives its place up, unless as many as may wait so do already. Once
    /// it goes on it takes a place again, which may be one more than the bound until another turn ends.
    pub(crate) fn set_asking(&mut self, session: SessionId, seq: i64, asking: bool) {
        let full = self.asking >= self.bounds.asking;
        let Some(lane) = self.lanes.get_mut(&session).filter(|lane| lane.busy == Some(seq)) else { return };
        let user = lane.user;
        let full = full || self.users.get(&user.id).is_some_and(|share| share.asking >= self.bounds.at_once);
        if lane.asking == asking || (asking && full) {
            return;
        }
        lane.asking = asking;
        if asking {
            self.free_place(user);
            self.asking += 1;
            self.users.entry(user.id).or_default().asking += 1;
        } else {
            self.stop_asking(user);
            self.take_place(user);
        }
    }

    /// Takes the next message that can start and that `allowed` lets start; its lane is busy from now on. A lane whose first message
    /// is not allowed keeps its position. Users with fewer running turns go first.
    pub(crate) fn next(&mut self, allowed: impl Fn(i64) -> bool) -> Option<i64> {
        if !self.owner_may_begin() && self.delegated >= self.bounds.delegated {
            return None;
        }
        let (mut at, mut chosen) = (0, None);
        while let Some(session) = self.ready.get(at).copied() {
            let Some(lane) = self.lanes.get_mut(&session).filter(|lane| lane.is_ready()) else {
                self.ready.remove(at);
                if let Some(lane) = self.lanes.get_mut(&session) {
                    lane.listed = false;
                }
                self.offer(session);
                continue;
            };
            let user = lane.user;
            if lane.waiting.front().is_some_and(|it| allowed(it.seq)) && self.may_begin(user) {
                let has = self.users.get(&user.id).map_or(0, |share| share.busy + share.delegated);
                if chosen.is_none_or(|(_, least)| has < least) {
                    chosen = Some((at, has));
                }
                if has == 0 {
                    break;
                }
            }
            at += 1;
        }
        let (at, _) = chosen?;
        let session = self.ready.remove(at)?;
        let lane = self.lanes.get_mut(&session)?;
        lane.listed = false;
        let (seq, user) = (lane.take()?, lane.user);
        self.remove_waiting(user);
        self.take_place(user);
        Some(seq)
    }

    /// Returns true if one more turn of this user may begin: there is a runner slot for it, and a place.
    fn may_begin(&self, user: LaneUser) -> bool {
        if user.depth > 0 {
            return self.task_may_begin(user);
        }
        let has = self.users.get(&user.id).map_or(0, |share| share.busy);
        let fits = has < self.bounds.per_user && self.busy_of_others < self.for_others();
        self.owner_may_begin() && (user.owner || fits)
    }

    /// The same for a task: whoever waits for a task that is handed on finds places left for it, in all and among the user's own, which
    /// are half of them for others than the owner.
    fn task_may_begin(&self, user: LaneUser) -> bool {
        let deeper = usize::from(DEPTH.saturating_sub(user.depth));
        let has = self.users.get(&user.id).map_or(0, |share| share.delegated);
        let own = if user.owner {
            self.bounds.delegated
        } else {
            self.bounds.delegated.div_ceil(2).max(usize::from(DEPTH))
        };
        self.delegated + deeper < self.bounds.delegated && has + deeper < own
    }

    /// The same for the owner; where the owner may not begin, nobody may. Turns of others never hold the place that is left for the owner,
    /// not even those that went on after a person's answer.
    fn owner_may_begin(&self) -> bool {
        let Bounds { at_once, asking, .. } = self.bounds;
        let own = self.busy.saturating_sub(self.busy_of_others);
        self.busy + self.asking < at_once + asking
            && own + self.busy_of_others.min(self.for_others()) < at_once
    }

    /// Places that turns of others than the owner may hold.
    fn for_others(&self) -> usize {
        self.bounds.at_once.saturating_sub(1).max(1)
    }

    /// Puts a busy lane's message back to the front. It cannot start before it is cleared anew.
    pub(crate) fn put_back(&mut self, session: SessionId, seq: i64) {
        let Some(lane) = self.lanes.get_mut(&session).filter(|lane| lane.busy == Some(seq)) else { return };
        lane.busy = None;
        lane.waiting.push_front(Waiting { seq, cleared: false });
        let (user, asking) = (lane.user, std::mem::take(&mut lane.asking));
        self.end_turn(user, asking);
        self.add_waiting(user);
    }

    /// Removes a message that is over, wherever it was.
    pub(crate) fn leave(&mut self, session: SessionId, seq: i64) {
        let Some(lane) = self.lanes.get_mut(&session) else { return };
        let user = lane.user;
        if lane.busy == Some(seq) {
            lane.busy = None;
            let asking = std::mem::take(&mut lane.asking);
            self.end_turn(user, asking);
        } else if let Some(at) = lane.waiting.iter().position(|it| it.seq == seq) {
            lane.waiting.remove(at);
            self.remove_waiting(user);
        }
        self.forget_idle(user.id);
        self.offer(session);
    }

    /// Messages that wait in all lanes.
    pub(crate) const fn waiting(&self) -> usize {
        self.waiting
    }

    /// Messages of this user that wait.
    pub(crate) fn waiting_of(&self, user: UserId) -> usize {
        self.users.get(&user).map_or(0, |share| share.waiting)
    }

    /// Messages that wait in this lane.
    pub(crate) fn waiting_in(&self, session: SessionId) -> usize {
        self.lanes.get(&session).map_or(0, |lane| lane.waiting.len())
    }

    /// Messages before this one in its lane, the running one included.
    pub(crate) fn before(&self, session: SessionId, seq: i64) -> usize {
        let Some(lane) = self.lanes.get(&session) else { return 0 };
        let at = lane.waiting.iter().position(|it| it.seq == seq);
        at.map_or(0, |at| at + usize::from(lane.busy.is_some()))
    }

    fn take_place(&mut self, user: LaneUser) {
        let share = self.users.entry(user.id).or_default();
        if user.depth > 0 {
            self.delegated += 1;
            share.delegated += 1;
            return;
        }
        self.busy += 1;
        self.busy_of_others += usize::from(!user.owner);
        share.busy += 1;
    }

    fn free_place(&mut self, user: LaneUser) {
        let share = self.users.entry(user.id).or_default();
        if user.depth > 0 {
            self.delegated = self.delegated.saturating_sub(1);
            share.delegated = share.delegated.saturating_sub(1);
            return;
        }
        self.busy = self.busy.saturating_sub(1);
        self.busy_of_others = self.busy_of_others.saturating_sub(usize::from(!user.owner));
        share.busy = share.busy.saturating_sub(1);
    }

    fn stop_asking(&mut self, user: LaneUser) {
        self.asking = self.asking.saturating_sub(1);
        let share = self.users.entry(user.id).or_default();
        share.asking = share.asking.saturating_sub(1);
    }

    fn end_turn(&mut self, user: LaneUser, asking: bool) {
        if asking { self.stop_asking(user) } else { self.free_place(user) }
    }

    fn add_waiting(&mut self, user: LaneUser) {
        self.waiting += 1;
        self.users.entry(user.id).or_default().waiting += 1;
    }

    fn remove_waiting(&mut self, user: LaneUser) {
        self.waiting = self.waiting.saturating_sub(1);
        let share = self.users.entry(user.id).or_default();
        share.waiting = share.waiting.saturating_sub(1);
    }

    /// Forgets a user without turns and messages.
    fn forget_idle(&mut self, user: UserId) {
        if self
            .users
            .get(&user)
            .is_some_and(|share| share.busy + share.delegated + share.asking + share.waiting == 0)
        {
            self.users.remove(&user);
        }
    }

    fn lane(&mut self, session: SessionId, user: LaneUser) -> &mut Lane {
        let new = || Lane { user, waiting: VecDeque::new(), busy: None, asking: false, listed: false };
        self.lanes.entry(session).or_insert_with(new)
    }

    /// Lists a lane whose first message can start, and forgets an empty one.
    fn offer(&mut self, session: SessionId) {
        let Some(lane) = self.lanes.get_mut(&session) else { return };
        if lane.is_ready() && !lane.listed {
            lane.listed = true;
            self.ready.push_back(session);
        } else if lane.busy.is_none() && lane.waiting.is_empty() && !lane.listed {
            self.lanes.remove(&session);
        }
    }
}

impl Lane {
    fn is_ready(&self) -> bool {
        self.busy.is_none() && self.waiting.front().is_some_and(|it| it.cleared)
    }

    fn take(&mut self) -> Option<i64> {
        if !self.is_ready() {
            return None;
        }
        self.busy = self.waiting.pop_front().map(|it| it.seq);
        self.busy
    }
}
