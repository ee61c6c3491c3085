//! The order of turns, by example and by random lives.

use super::*;
use proptest::prelude::*;

const SESSIONS: u8 = 4;

fn session(n: u8) -> SessionId {
    SessionId::from_bytes([n; 16])
}

/// The owner, who has no share.
fn own() -> LaneUser {
    LaneUser { id: UserId::from_bytes([0; 16]), owner: true, depth: 0 }
}

fn guest(n: u8) -> LaneUser {
    LaneUser { id: UserId::from_bytes([n; 16]), owner: false, depth: 0 }
}

fn lanes(at_once: usize) -> Lanes {
    Lanes::new(Bounds { at_once, per_user: at_once.div_ceil(2), asking: 3 * at_once, delegated: 0 })
}

fn ready(lanes: &mut Lanes, n: u8, user: LaneUser, seq: i64) {
    lanes.join(session(n), user, seq);
    lanes.clear(session(n), seq);
}

/// A random life of lanes: each number picks one of the things that can happen.
fn live(choices: &[u16], at_once: u32, mut check: impl FnMut(&Lanes, &[(u8, i64)], &[(u8, i64)])) -> Lanes {
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
                lanes.put_back(session(n), seq);
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
    lanes.add_running(session(1), own(), 1);
    lanes.join(session(1), own(), 2);
    lanes.clear(session(1), 2);
    assert_eq!(lanes.next(|_| true), None);
    lanes.put_back(session(1), 1);
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
    lanes.set_asking(session(1), 1, true);
    assert_eq!(lanes.next(|_| true), Some(2));
    lanes.set_asking(session(1), 1, false);
    assert_eq!((lanes.busy, lanes.asking), (2, 0), "an answered turn goes on beside it");
    ready(&mut lanes, 3, guest(3), 3);
    assert_eq!(lanes.next(|_| true), None);
    for (n, seq) in [(1, 1), (2, 2)] {
        lanes.leave(session(n), seq);
    }
    assert_eq!(lanes.next(|_| true), Some(3));
    lanes.leave(session(3), 3);
    assert!(lanes.users.is_empty() && lanes.busy == 0);
}

#[test]
fn only_so_many_turns_of_a_user_wait_for_a_person_without_a_place() {
    let mut lanes = lanes(2);
    for n in 1..=9 {
        ready(&mut lanes, n, guest(1), i64::from(n));
        if let Some(seq) = lanes.next(|_| true) {
            lanes.set_asking(session(n), seq, true);
        }
    }
    assert_eq!((lanes.asking, lanes.busy), (2, 1));
}

// Holds B-12.
#[test]
fn a_turn_keeps_its_place_where_no_slot_is_left_for_one_that_waits() {
    let mut lanes = Lanes::new(Bounds { at_once: 1, per_user: 1, asking: 0, delegated: 0 });
    ready(&mut lanes, 1, own(), 1);
    ready(&mut lanes, 2, own(), 2);
    assert_eq!(lanes.next(|_| true), Some(1));
    lanes.set_asking(session(1), 1, true);
    assert_eq!(lanes.next(|_| true), None);
}

/// One thing that happens to lanes of several users; numbers pick a lane or a turn.
#[derive(Clone, Copy, Debug)]
enum Event {
    Arrives(u8),
    Starts,
    Asks(usize),
    GoesOn(usize),
    IsPutBack(usize),
    Ends(usize),
}

fn event() -> impl Strategy<Value = Event> {
    let pick = || 0usize..64;
    prop_oneof![
        4 => (0u8..12).prop_map(Event::Arrives),
        4 => Just(Event::Starts),
        2 => pick().prop_map(Event::Asks),
        2 => pick().prop_map(Event::GoesOn),
        1 => pick().prop_map(Event::IsPutBack),
        2 => pick().prop_map(Event::Ends),
    ]
}

/// The user of a session: sessions of the owner and of three guests alternate.
fn user_of(n: u8) -> LaneUser {
    if n.is_multiple_of(4) { own() } else { guest(n % 4) }
}

fn starting(lanes: &mut Lanes, sessions: &HashMap<i64, u8>, running: &mut Vec<i64>) -> Option<LaneUser> {
    let seq = lanes.next(|_| true)?;
    running.push(seq);
    Some(user_of(sessions[&seq]))
}

proptest! {
    // Holds B-12.
    #[test]
    fn places_and_slots_are_shared_fairly_whatever_happens(
        events in prop::collection::vec(event(), 0..200),
        (at_once, per_user, asking) in (1usize..5, 1usize..4, 0usize..5),
    ) {
        let mut lanes = Lanes::new(Bounds { at_once, per_user, asking, delegated: 0 });
        let (mut sessions, mut running) = (HashMap::new(), Vec::<i64>::new());
        let picked = |running: &[i64], n: usize| running.get(n % running.len().max(1)).copied();
        for (seq, event) in (1..).zip(events) {
            match event {
                Event::Arrives(n) => {
                    sessions.insert(seq, n);
                    ready(&mut lanes, n, user_of(n), seq);
                }
                Event::Starts => {
                    let owner_waits = lanes.ready.iter().any(|it| {
                        let lane = &lanes.lanes[it];
                        lane.user.owner && lane.is_ready()
                    });
                    let owner_runs = lanes.lanes.values().any(|it| it.user.owner && it.busy.is_some());
                    let slots = at_once + asking - lanes.busy - lanes.asking;
                    let began = starting(&mut lanes, &sessions, &mut running);
                    if let Some(user) = began.filter(|user| !user.owner) {
                        prop_assert!(lanes.users[&user.id].busy <= per_user, "a guest has a share");
                        prop_assert!(lanes.busy <= at_once);
                    }
                    if began.is_none() {
                        let free = |lane: &Lane| lane.is_ready() && lanes.may_begin(lane.user);
                        prop_assert!(!lanes.lanes.values().any(free), "a place is free and a lane starves");
                        let kept = owner_waits && !owner_runs && at_once > 1 && slots > 0;
                        prop_assert!(!kept, "the owner's place is held by another");
                    }
                }
                Event::Asks(n) | Event::GoesOn(n) => {
                    let Some(seq) = picked(&running, n) else { continue };
                    lanes.set_asking(session(sessions[&seq]), seq, matches!(event, Event::Asks(_)));
                }
                Event::IsPutBack(n) => {
                    let Some(seq) = picked(&running, n) else { continue };
                    running.retain(|it| *it != seq);
                    lanes.put_back(session(sessions[&seq]), seq);
                    lanes.clear(session(sessions[&seq]), seq);
                }
                Event::Ends(n) => {
                    let Some(seq) = picked(&running, n) else { continue };
                    running.retain(|it| *it != seq);
                    lanes.leave(session(sessions[&seq]), seq);
                }
            }
            prop_assert_eq!(lanes.busy + lanes.asking, running.len());
            prop_assert!(running.len() <= at_once + asking, "each running turn has a runner slot");
        }
        while lanes.waiting() > 0 {
            while starting(&mut lanes, &sessions, &mut running).is_some() {}
            prop_assert!(!running.is_empty(), "a message waits and nothing runs");
            let seq = running.remove(0);
            lanes.leave(session(sessions[&seq]), seq);
        }
    }
}

// Holds B-12.
#[test]
fn the_owner_starts_beside_guests_who_went_on_after_an_answer() {
    let mut lanes = Lanes::new(Bounds { at_once: 2, per_user: 2, asking: 1, delegated: 0 });
    ready(&mut lanes, 1, guest(1), 1);
    ready(&mut lanes, 2, guest(2), 2);
    assert_eq!(lanes.next(|_| true), Some(1));
    lanes.set_asking(session(1), 1, true);
    assert_eq!(lanes.next(|_| true), Some(2));
    lanes.set_asking(session(1), 1, false);
    ready(&mut lanes, 3, guest(3), 3);
    assert_eq!(lanes.next(|_| true), None);
    ready(&mut lanes, 4, own(), 4);
    assert_eq!(lanes.next(|_| true), Some(4));
}
