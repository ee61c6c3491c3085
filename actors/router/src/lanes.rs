//! Who is next: one lane a session, one turn at a time in it, and bounds on the turns under way of all lanes and of each user's. A turn
//! that waits for a person holds no place. Pure data; it knows neither the store nor the clock, and never drops what waits in it.

use ipc_proto::ids::{SessionId, UserId};
use std::collections::{HashMap, VecDeque};

/// Turns that wait for a person and hold no place, as a multiple of those that may be under way; each keeps its runner.
const ASKING: usize = 3;

/// The user that a lane's messages are of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Whose {
    pub(crate) user: UserId,
    /// The user is the host's owner, for whom one place is always left.
    pub(crate) owner: bool,
}

/// Turns that may be under way.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bounds {
    pub(crate) at_once: usize,
    /// Of one user who is not the owner.
    pub(crate) per_user: usize,
}

/// The lanes of all sessions.
pub(crate) struct Lanes {
    lanes: HashMap<SessionId, Lane>,
    /// Lanes whose first message can go, in turn, so that a busy session does not keep others waiting.
    ready: VecDeque<SessionId>,
    /// Users with a turn or a message.
    users: HashMap<UserId, Share>,
    /// Turns that hold a place, and those of them that are not the owner's.
    busy: usize,
    busy_of_others: usize,
    /// Turns that wait for a person and hold none.
    asking: usize,
    waiting: usize,
    bounds: Bounds,
}

/// The turns and messages of a user.
#[derive(Default)]
struct Share {
    busy: usize,
    asking: usize,
    waiting: usize,
}

struct Lane {
    whose: Whose,
    waiting: VecDeque<Waiting>,
    busy: Option<i64>,
    /// Its turn waits for a person and holds no place.
    asking: bool,
    /// It stands in `ready`.
    listed: bool,
}

struct Waiting {
    seq: i64,
    cleared: bool,
}

impl Lanes {
    /// Lanes with these bounds.
    pub(crate) fn new(bounds: Bounds) -> Self {
        let (lanes, users) = (HashMap::new(), HashMap::new());
        Self {
            lanes,
            ready: VecDeque::new(),
            users,
            busy: 0,
            busy_of_others: 0,
            asking: 0,
            waiting: 0,
            bounds,
        }
    }

    /// A message waits at the end of its lane, and cannot go yet.
    pub(crate) fn join(&mut self, session: SessionId, whose: Whose, seq: i64) {
        self.lane(session, whose).waiting.push_back(Waiting { seq, cleared: false });
        self.waits(whose, 1);
    }

    /// A turn that is under way without having been taken from here: one found at the start.
    pub(crate) fn found(&mut self, session: SessionId, whose: Whose, seq: i64) {
        self.lane(session, whose).busy = Some(seq);
        self.takes_place(whose);
    }

    /// A waiting message can go when its turn comes.
    pub(crate) fn clear(&mut self, session: SessionId, seq: i64) {
        let Some(lane) = self.lanes.get_mut(&session) else { return };
        if let Some(it) = lane.waiting.iter_mut().find(|it| it.seq == seq) {
            it.cleared = true;
        }
        self.offer(session);
    }

    /// A turn under way waits for a person from now on and gives its place up, or does so no longer and takes one again, which may be one
    /// more than there are until another turn ends. Where too many wait so, it keeps its place.
    pub(crate) fn asks(&mut self, session: SessionId, seq: i64, asks: bool) {
        let full = self.asking >= ASKING.saturating_mul(self.bounds.at_once);
        let Some(lane) = self.lanes.get_mut(&session).filter(|lane| lane.busy == Some(seq)) else { return };
        let whose = lane.whose;
        let full =
            full || self.users.get(&whose.user).is_some_and(|share| share.asking >= self.bounds.at_once);
        if lane.asking == asks || (asks && full) {
            return;
        }
        lane.asking = asks;
        if asks {
            self.gives_place_up(whose);
            self.asking += 1;
            self.users.entry(whose.user).or_default().asking += 1;
        } else {
            self.asks_no_more(whose);
            self.takes_place(whose);
        }
    }

    /// Takes the next message that can go and that is let go; its lane is busy from now on. A lane whose first
    /// message is not let go keeps its place. Users with fewer turns under way go first.
    pub(crate) fn next(&mut self, let_go: impl Fn(i64) -> bool) -> Option<i64> {
        if self.busy >= self.bounds.at_once {
            return None;
        }
        let (mut at, mut chosen) = (0, None);
        while let Some(session) = self.ready.get(at).copied() {
            let Some(lane) = self.lanes.get_mut(&session).filter(|lane| lane.can_go()) else {
                self.ready.remove(at);
                if let Some(lane) = self.lanes.get_mut(&session) {
                    lane.listed = false;
                }
                self.offer(session);
                continue;
            };
            let whose = lane.whose;
            if lane.waiting.front().is_some_and(|it| let_go(it.seq)) && self.may_begin(whose) {
                let has = self.users.get(&whose.user).map_or(0, |share| share.busy);
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
        let (seq, whose) = (lane.take()?, lane.whose);
        self.waits_no_more(whose);
        self.takes_place(whose);
        Some(seq)
    }

    fn may_begin(&self, whose: Whose) -> bool {
        if whose.owner {
            return true;
        }
        let of_others = self.bounds.at_once.saturating_sub(1).max(1);
        let has = self.users.get(&whose.user).map_or(0, |share| share.busy);
        has < self.bounds.per_user && self.busy_of_others < of_others
    }

    /// A busy lane's message goes back to the front, and cannot go before it is cleared anew.
    pub(crate) fn again(&mut self, session: SessionId, seq: i64) {
        let Some(lane) = self.lanes.get_mut(&session).filter(|lane| lane.busy == Some(seq)) else { return };
        lane.busy = None;
        lane.waiting.push_front(Waiting { seq, cleared: false });
        let (whose, asking) = (lane.whose, std::mem::take(&mut lane.asking));
        self.ends_turn(whose, asking);
        self.waits(whose, 1);
    }

    /// A message is over, wherever it was.
    pub(crate) fn leave(&mut self, session: SessionId, seq: i64) {
        let Some(lane) = self.lanes.get_mut(&session) else { return };
        let whose = lane.whose;
        if lane.busy == Some(seq) {
            lane.busy = None;
            let asking = std::mem::take(&mut lane.asking);
            self.ends_turn(whose, asking);
        } else if let Some(at) = lane.waiting.iter().position(|it| it.seq == seq) {
            lane.waiting.remove(at);
            self.waits_no_more(whose);
        }
        self.forget(whose.user);
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

    /// Messages before this one in its lane, the one under way included.
    pub(crate) fn before(&self, session: SessionId, seq: i64) -> usize {
        let Some(lane) = self.lanes.get(&session) else { return 0 };
        let at = lane.waiting.iter().position(|it| it.seq == seq);
        at.map_or(0, |at| at + usize::from(lane.busy.is_some()))
    }

    fn takes_place(&mut self, whose: Whose) {
        self.busy += 1;
        self.busy_of_others += usize::from(!whose.owner);
        self.users.entry(whose.user).or_default().busy += 1;
    }

    fn gives_place_up(&mut self, whose: Whose) {
        self.busy = self.busy.saturating_sub(1);
        self.busy_of_others = self.busy_of_others.saturating_sub(usize::from(!whose.owner));
        let share = self.users.entry(whose.user).or_default();
        share.busy = share.busy.saturating_sub(1);
    }

    fn asks_no_more(&mut self, whose: Whose) {
        self.asking = self.asking.saturating_sub(1);
        let share = self.users.entry(whose.user).or_default();
        share.asking = share.asking.saturating_sub(1);
    }

    fn ends_turn(&mut self, whose: Whose, asking: bool) {
        if asking { self.asks_no_more(whose) } else { self.gives_place_up(whose) }
    }

    fn waits(&mut self, whose: Whose, messages: usize) {
        self.waiting += messages;
        self.users.entry(whose.user).or_default().waiting += messages;
    }

    fn waits_no_more(&mut self, whose: Whose) {
        self.waiting = self.waiting.saturating_sub(1);
        let share = self.users.entry(whose.user).or_default();
        share.waiting = share.waiting.saturating_sub(1);
    }

    /// Forgets a user of whom there is nothing.
    fn forget(&mut self, user: UserId) {
        if self.users.get(&user).is_some_and(|share| share.busy + share.asking + share.waiting == 0) {
            self.users.remove(&user);
        }
    }

    fn lane(&mut self, session: SessionId, whose: Whose) -> &mut Lane {
        let new = || Lane { whose, waiting: VecDeque::new(), busy: None, asking: false, listed: false };
        self.lanes.entry(session).or_insert_with(new)
    }

    /// Lists a lane whose first message can go, and forgets one in which nothing is left.
    fn offer(&mut self, session: SessionId) {
        let Some(lane) = self.lanes.get_mut(&session) else { return };
        if lane.can_go() && !lane.listed {
            lane.listed = true;
            self.ready.push_back(session);
        } else if lane.busy.is_none() && lane.waiting.is_empty() && !lane.listed {
            self.lanes.remove(&session);
        }
    }
}

impl Lane {
    fn can_go(&self) -> bool {
        self.busy.is_none() && self.waiting.front().is_some_and(|it| it.cleared)
    }

    fn take(&mut self) -> Option<i64> {
        if !self.can_go() {
            return None;
        }
        self.busy = self.waiting.pop_front().map(|it| it.seq);
        self.busy
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SESSIONS: u8 = 4;

    fn session(n: u8) -> SessionId {
        SessionId::from_bytes([n; 16])
    }

    /// The owner, who has no share.
    fn own() -> Whose {
        Whose { user: UserId::from_bytes([0; 16]), owner: true }
    }

    fn guest(n: u8) -> Whose {
        Whose { user: UserId::from_bytes([n; 16]), owner: false }
    }

    fn lanes(at_once: usize) -> Lanes {
        Lanes::new(Bounds { at_once, per_user: at_once.div_ceil(2) })
    }

    fn ready(lanes: &mut Lanes, n: u8, whose: Whose, seq: i64) {
        lanes.join(session(n), whose, seq);
        lanes.clear(session(n), seq);
    }

    /// A random life of lanes: each number picks one of the things that can happen.
    fn live(
        choices: &[u16],
        at_once: u32,
        mut check: impl FnMut(&Lanes, &[(u8, i64)], &[(u8, i64)]),
    ) -> Lanes {
        let mut lanes = lanes(usize::try_from(at_once).unwrap());
        let mut waiting: Vec<(u8, i64)> = vec![];
        let mut busy: Vec<(u8, i64)> = vec![];
        for (seq, choice) in (1..).zip(choices) {
            let pick = usize::from(choice / 8);
            match choice % 8 {
                0..=2 => {
                    let n = u8::try_from(pick % usize::from(SESSIONS)).unwrap();
                    lanes.join(session(n), own(), seq);
                    lanes.clear(session(n), seq);
                    waiting.push((n, seq));
                }
                3 | 4 => {
                    if let Some(seq) = lanes.next(|_| true) {
                        let at = waiting.iter().position(|it| it.1 == seq).unwrap();
                        busy.push(waiting.remove(at));
                    }
                }
                5 if !busy.is_empty() => {
                    let (n, seq) = busy.remove(pick % busy.len());
                    lanes.again(session(n), seq);
                    waiting.insert(0, (n, seq));
                    lanes.clear(session(n), seq);
                }
                6 if !busy.is_empty() => {
                    let (n, seq) = busy.remove(pick % busy.len());
                    lanes.leave(session(n), seq);
                }
                7 if !waiting.is_empty() => {
                    let (n, seq) = waiting.remove(pick % waiting.len());
                    lanes.leave(session(n), seq);
                }
                _ => {}
            }
            check(&lanes, &waiting, &busy);
        }
        lanes
    }

    proptest! {
        #[test]
        fn no_session_has_two_turns_and_no_more_than_allowed_are_under_way(
            choices in prop::collection::vec(any::<u16>(), 0..200), at_once in 1u32..4,
        ) {
            live(&choices, at_once, |lanes, waiting, busy| {
                assert!(busy.len() <= usize::try_from(at_once).unwrap());
                for n in 0..SESSIONS {
                    assert!(busy.iter().filter(|it| it.0 == n).count() <= 1);
                    assert_eq!(lanes.waiting_in(session(n)), waiting.iter().filter(|it| it.0 == n).count());
                }
                assert_eq!(lanes.waiting(), waiting.len());
            });
        }

        #[test]
        fn whatever_waits_gets_its_turn_in_the_order_it_was_accepted(
            choices in prop::collection::vec(any::<u16>(), 0..200), at_once in 1u32..4,
        ) {
            let (mut left, mut under_way) = (vec![], vec![]);
            let mut lanes = live(&choices, at_once, |_, waiting, busy| {
                left = waiting.to_vec();
                under_way = busy.to_vec();
            });
            let mut order: HashMap<u8, Vec<i64>> = HashMap::new();
            while !left.is_empty() || !under_way.is_empty() {
                while let Some(seq) = lanes.next(|_| true) {
                    let at = left.iter().position(|it| it.1 == seq).unwrap();
                    under_way.push(left.remove(at));
                }
                prop_assert!(!under_way.is_empty(), "something waits and nothing can go");
                let (n, seq) = under_way.remove(0);
                order.entry(n).or_default().push(seq);
                lanes.leave(session(n), seq);
            }
            for seqs in order.values() {
                prop_assert!(seqs.is_sorted(), "{seqs:?}");
            }
            prop_assert_eq!(lanes.next(|_| true), None);
            prop_assert!(lanes.lanes.is_empty(), "nothing is kept of lanes in which nothing waits");
        }
    }

    #[test]
    fn a_message_that_is_not_cleared_holds_up_its_own_lane_and_no_other() {
        let mut lanes = lanes(4);
        lanes.join(session(1), own(), 1);
        lanes.join(session(1), own(), 2);
        lanes.clear(session(1), 2);
        lanes.join(session(2), own(), 3);
        lanes.clear(session(2), 3);
        assert_eq!((lanes.next(|_| true), lanes.next(|_| true)), (Some(3), None));
        assert_eq!((lanes.before(session(1), 1), lanes.before(session(1), 2)), (0, 1));
        lanes.clear(session(1), 1);
        assert_eq!((lanes.next(|_| true), lanes.next(|_| true)), (Some(1), None));
        assert_eq!(lanes.before(session(1), 2), 1);
        lanes.leave(session(1), 1);
        assert_eq!(lanes.next(|_| true), Some(2));
    }

    #[test]
    fn sessions_take_turns_so_that_a_long_lane_does_not_starve_a_short_one() {
        let mut lanes = lanes(1);
        for seq in 1..=3 {
            lanes.join(session(1), own(), seq);
            lanes.clear(session(1), seq);
        }
        lanes.join(session(2), own(), 4);
        lanes.clear(session(2), 4);
        assert_eq!(lanes.next(|_| true), Some(1));
        lanes.leave(session(1), 1);
        assert_eq!(lanes.next(|_| true), Some(4));
    }

    #[test]
    fn a_lane_that_is_not_let_go_keeps_its_place_and_holds_nobody_up() {
        let mut lanes = lanes(4);
        for (n, seq) in [(1, 1), (2, 2), (1, 3), (3, 4)] {
            lanes.join(session(n), own(), seq);
            lanes.clear(session(n), seq);
        }
        assert_eq!((lanes.next(|seq| seq != 1), lanes.next(|seq| seq != 1)), (Some(2), Some(4)));
        assert_eq!((lanes.next(|seq| seq != 1), lanes.waiting()), (None, 2));
        lanes.leave(session(1), 3);
        assert_eq!((lanes.next(|_| true), lanes.next(|_| true)), (Some(1), None));
    }

    #[test]
    fn a_turn_found_under_way_keeps_its_lane_until_it_is_over() {
        let mut lanes = lanes(2);
        lanes.found(session(1), own(), 1);
        lanes.join(session(1), own(), 2);
        lanes.clear(session(1), 2);
        assert_eq!(lanes.next(|_| true), None);
        lanes.again(session(1), 1);
        assert_eq!(lanes.next(|_| true), None, "the earlier message goes first");
        lanes.clear(session(1), 1);
        assert_eq!(lanes.next(|_| true), Some(1));
    }

    // Holds B-12.
    #[test]
    fn a_guest_has_a_share_and_the_owner_always_a_place() {
        let mut lanes = lanes(4);
        for n in 1..=3 {
            ready(&mut lanes, n, guest(1), i64::from(n));
        }
        for n in 4..=6 {
            ready(&mut lanes, n, guest(2), i64::from(n));
        }
        let begun: Vec<_> = std::iter::from_fn(|| lanes.next(|_| true)).collect();
        assert_eq!(begun, [1, 4, 2], "in turn, up to a share each and one place less than there are");
        ready(&mut lanes, 7, own(), 7);
        assert_eq!(lanes.next(|_| true), Some(7));
        lanes.leave(session(4), 4);
        assert_eq!(lanes.next(|_| true), Some(5), "the user with fewer turns");
    }

    // Holds B-12.
    #[test]
    fn a_turn_that_waits_for_a_person_holds_no_place() {
        let mut lanes = lanes(2);
        ready(&mut lanes, 1, guest(1), 1);
        ready(&mut lanes, 2, guest(2), 2);
        assert_eq!((lanes.next(|_| true), lanes.next(|_| true)), (Some(1), None));
        lanes.asks(session(1), 1, true);
        assert_eq!(lanes.next(|_| true), Some(2));
        lanes.asks(session(1), 1, false);
        assert_eq!((lanes.busy, lanes.asking), (2, 0), "an answered turn goes on beside it");
        ready(&mut lanes, 3, own(), 3);
        assert_eq!(lanes.next(|_| true), None);
        lanes.leave(session(1), 1);
        assert_eq!(lanes.next(|_| true), Some(3));
        for (n, seq) in [(2, 2), (3, 3)] {
            lanes.leave(session(n), seq);
        }
        assert!(lanes.users.is_empty() && lanes.busy == 0);
    }

    #[test]
    fn only_so_many_turns_of_a_user_wait_for_a_person_without_a_place() {
        let mut lanes = lanes(2);
        for n in 1..=9 {
            ready(&mut lanes, n, guest(1), i64::from(n));
            if let Some(seq) = lanes.next(|_| true) {
                lanes.asks(session(n), seq, true);
            }
        }
        assert_eq!((lanes.asking, lanes.busy), (2, 1));
    }
}
