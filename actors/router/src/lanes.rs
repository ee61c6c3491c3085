//! Who is next: one lane a session, one turn at a time in it, and a bound on turns over all lanes. Pure data; it
//! knows neither the store nor the clock, and never drops what waits in it.

use ipc_proto::ids::SessionId;
use std::collections::{HashMap, VecDeque};

/// The lanes of all sessions.
pub(crate) struct Lanes {
    lanes: HashMap<SessionId, Lane>,
    /// Lanes whose first message can go, in turn, so that a busy session does not keep others waiting.
    ready: VecDeque<SessionId>,
    busy: usize,
    waiting: usize,
    at_once: usize,
}

#[derive(Default)]
struct Lane {
    waiting: VecDeque<Waiting>,
    busy: Option<i64>,
    /// It stands in `ready`.
    listed: bool,
}

struct Waiting {
    seq: i64,
    cleared: bool,
}

impl Lanes {
    /// Lanes on which at most `at_once` turns are under way.
    pub(crate) fn new(at_once: u32) -> Self {
        let at_once = usize::try_from(at_once).unwrap_or(usize::MAX);
        Self { lanes: HashMap::new(), ready: VecDeque::new(), busy: 0, waiting: 0, at_once }
    }

    /// A message waits at the end of its lane, and cannot go yet.
    pub(crate) fn join(&mut self, session: SessionId, seq: i64) {
        self.lane(session).waiting.push_back(Waiting { seq, cleared: false });
        self.waiting += 1;
    }

    /// A turn that is under way without having been taken from here: one found at the start.
    pub(crate) fn found(&mut self, session: SessionId, seq: i64) {
        self.lane(session).busy = Some(seq);
        self.busy += 1;
    }

    /// A waiting message can go when its turn comes.
    pub(crate) fn clear(&mut self, session: SessionId, seq: i64) {
        if let Some(it) = self.lane(session).waiting.iter_mut().find(|it| it.seq == seq) {
            it.cleared = true;
        }
        self.offer(session);
    }

    /// Takes the next message that can go and that is let go; its lane is busy from now on. A lane whose first
    /// message is not let go keeps its place.
    pub(crate) fn next(&mut self, let_go: impl Fn(i64) -> bool) -> Option<i64> {
        if self.busy >= self.at_once {
            return None;
        }
        let mut at = 0;
        while let Some(session) = self.ready.get(at).copied() {
            let Some(lane) = self.lanes.get_mut(&session) else {
                self.ready.remove(at);
                continue;
            };
            if lane.can_go() && lane.waiting.front().is_some_and(|it| !let_go(it.seq)) {
                at += 1;
                continue;
            }
            self.ready.remove(at);
            lane.listed = false;
            if let Some(seq) = lane.take() {
                self.busy += 1;
                self.waiting -= 1;
                return Some(seq);
            }
            self.offer(session);
        }
        None
    }

    /// A busy lane's message goes back to the front, and cannot go before it is cleared anew.
    pub(crate) fn again(&mut self, session: SessionId, seq: i64) {
        let lane = self.lane(session);
        if lane.busy == Some(seq) {
            lane.busy = None;
            lane.waiting.push_front(Waiting { seq, cleared: false });
            self.busy -= 1;
            self.waiting += 1;
        }
    }

    /// A message is over, wherever it was.
    pub(crate) fn leave(&mut self, session: SessionId, seq: i64) {
        let Some(lane) = self.lanes.get_mut(&session) else { return };
        if lane.busy == Some(seq) {
            lane.busy = None;
            self.busy -= 1;
        } else if let Some(at) = lane.waiting.iter().position(|it| it.seq == seq) {
            lane.waiting.remove(at);
            self.waiting -= 1;
        }
        self.offer(session);
    }

    /// Messages that wait in all lanes.
    pub(crate) const fn waiting(&self) -> usize {
        self.waiting
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

    fn lane(&mut self, session: SessionId) -> &mut Lane {
        self.lanes.entry(session).or_default()
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

    /// A random life of lanes: each number picks one of the things that can happen.
    fn live(
        choices: &[u16],
        at_once: u32,
        mut check: impl FnMut(&Lanes, &[(u8, i64)], &[(u8, i64)]),
    ) -> Lanes {
        let mut lanes = Lanes::new(at_once);
        let mut waiting: Vec<(u8, i64)> = vec![];
        let mut busy: Vec<(u8, i64)> = vec![];
        for (seq, choice) in (1..).zip(choices) {
            let pick = usize::from(choice / 8);
            match choice % 8 {
                0..=2 => {
                    let n = u8::try_from(pick % usize::from(SESSIONS)).unwrap();
                    lanes.join(session(n), seq);
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
        let mut lanes = Lanes::new(4);
        lanes.join(session(1), 1);
        lanes.join(session(1), 2);
        lanes.clear(session(1), 2);
        lanes.join(session(2), 3);
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
        let mut lanes = Lanes::new(1);
        for seq in 1..=3 {
            lanes.join(session(1), seq);
            lanes.clear(session(1), seq);
        }
        lanes.join(session(2), 4);
        lanes.clear(session(2), 4);
        assert_eq!(lanes.next(|_| true), Some(1));
        lanes.leave(session(1), 1);
        assert_eq!(lanes.next(|_| true), Some(4));
    }

    #[test]
    fn a_lane_that_is_not_let_go_keeps_its_place_and_holds_nobody_up() {
        let mut lanes = Lanes::new(4);
        for (n, seq) in [(1, 1), (2, 2), (1, 3), (3, 4)] {
            lanes.join(session(n), seq);
            lanes.clear(session(n), seq);
        }
        assert_eq!((lanes.next(|seq| seq != 1), lanes.next(|seq| seq != 1)), (Some(2), Some(4)));
        assert_eq!((lanes.next(|seq| seq != 1), lanes.waiting()), (None, 2));
        lanes.leave(session(1), 3);
        assert_eq!((lanes.next(|_| true), lanes.next(|_| true)), (Some(1), None));
    }

    #[test]
    fn a_turn_found_under_way_keeps_its_lane_until_it_is_over() {
        let mut lanes = Lanes::new(2);
        lanes.found(session(1), 1);
        lanes.join(session(1), 2);
        lanes.clear(session(1), 2);
        assert_eq!(lanes.next(|_| true), None);
        lanes.again(session(1), 1);
        assert_eq!(lanes.next(|_| true), None, "the earlier message goes first");
        lanes.clear(session(1), 1);
        assert_eq!(lanes.next(|_| true), Some(1));
    }
}
