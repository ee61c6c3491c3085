//! Slots for connections, shared among peers so that no peer keeps the others out. A peer without a connection gets one
//! as long as another peer has two, and connections whose sender is unknown yet are closed before any other.

use std::cell::RefCell;
use std::collections::HashMap;
use std::hash::Hash;
use std::rc::Rc;
use tokio::sync::oneshot;

/// The bounds on the number of connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Room {
    /// The bound for all peers together.
    pub total: usize,
    /// The bound for one peer.
    pub each: usize,
    /// The part of the total that only privileged peers may use.
    pub reserve: usize,
}

/// The reason why a connection gets no slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoPlace {
    /// The peer has the most connections that one peer may have.
    #[error("you have {0} connections open, as many as one user may have; close one")]
    Yours(usize),
    /// All slots are in use, and none is to be closed for this connection.
    #[error("{0} connections are open, as many as there may be; try again in a moment")]
    All(usize),
}

/// The slots, and their holders.
pub struct Connections<P> {
    state: Rc<RefCell<State<P>>>,
}

struct State<P> {
    room: Room,
    next: u64,
    /// By age, since the numbers grow.
    open: std::collections::BTreeMap<u64, Open<P>>,
}

struct Open<P> {
    peer: P,
    privileged: bool,
    known: bool,
    close: oneshot::Sender<()>,
}

/// A slot, released when it is dropped.
pub struct Slot<P> {
    number: u64,
    state: Rc<RefCell<State<P>>>,
}

impl<P> Slot<P> {
    /// The sender of this connection is known by now: it is not closed for one that is only more urgent.
    pub fn identified(&self) {
        if let Some(open) = self.state.borrow_mut().open.get_mut(&self.number) {
            open.known = true;
        }
    }
}

impl<P: Copy + Eq + Hash> Slot<P> {
    /// The sender of this connection is known by now as this peer, for whom it counts from then on. Where the peer has as many
    /// connections as it may have, this one stays as it was: it is served, and gives way before those whose sender is known.
    pub fn identified_as(&self, peer: P, privileged: bool) {
        let mut state = self.state.borrow_mut();
        let theirs = state.open.iter().filter(|(number, open)| **number != self.number && open.peer == peer);
        if theirs.count() >= state.room.each {
            return;
        }
        if let Some(open) = state.open.get_mut(&self.number) {
            (open.peer, open.privileged, open.known) = (peer, privileged, true);
        }
    }
}

impl<P> Drop for Slot<P> {
    fn drop(&mut self) {
        self.state.borrow_mut().open.remove(&self.number);
    }
}

impl<P: Copy + Eq + Hash> Connections<P> {
    /// No connection yet.
    #[must_use]
    pub fn new(room: Room) -> Self {
        let state = State { room, next: 0, open: std::collections::BTreeMap::new() };
        Self { state: Rc::new(RefCell::new(state)) }
    }

    /// A slot for a connection of this peer, and a receiver that fires when another connection takes the slot. The
    /// connection is to be closed then.
    ///
    /// # Errors
    /// There is no slot for it.
    pub fn enter(&self, peer: P, privileged: bool) -> Result<(Slot<P>, oneshot::Receiver<()>), NoPlace> {
        let mut state = self.state.borrow_mut();
        let mine = state.open.values().filter(|open| open.peer == peer).count();
        if mine >= state.room.each {
            let oldest = state.oldest(|open| open.peer == peer && !open.known);
            let Some(number) = oldest else { return Err(NoPlace::Yours(mine)) };
            state.close(number);
        } else if !state.fits(privileged) {
            let Some(number) = state.to_give_way(mine) else { return Err(NoPlace::All(state.open.len())) };
            state.close(number);
        }
        let (close, closed) = oneshot::channel();
        let number = state.next;
        state.next += 1;
        state.open.insert(number, Open { peer, privileged, known: false, close });
        drop(state);
        Ok((Slot { number, state: Rc::clone(&self.state) }, closed))
    }
}

impl<P: Copy + Eq + Hash> State<P> {
    fn fits(&self, privileged: bool) -> bool {
        let others = self.open.values().filter(|open| !open.privileged).count();
        let most_of_others = self.room.total.saturating_sub(self.room.reserve);
        self.open.len() < self.room.total && (privileged || others < most_of_others)
    }

    fn oldest(&self, which: impl Fn(&Open<P>) -> bool) -> Option<u64> {
        self.open.iter().find(|(_, open)| which(open)).map(|(number, _)| *number)
    }

    /// The connection that gives way to one of a peer that has `mine`: the oldest unknown one, of the peer that has most
    /// of those; else the oldest of the peer that has most, if that has two more. No privileged one does.
    fn to_give_way(&self, mine: usize) -> Option<u64> {
        let others = || self.open.values().filter(|open| !open.privileged);
        let unknown = most(others().filter(|open| !open.known).map(|open| open.peer));
        if let Some((peer, _)) = unknown {
            return self.oldest(|open| open.peer == peer && !open.privileged && !open.known);
        }
        let (peer, has) = most(others().map(|open| open.peer))?;
        if has < mine + 2 {
            return None;
        }
        self.oldest(|open| open.peer == peer && !open.privileged)
    }

    fn close(&mut self, number: u64) {
        if let Some(open) = self.open.remove(&number) {
            // A connection that has ended meanwhile is closed already.
            let _ = open.close.send(());
        }
    }
}

/// The peer that is there most often, and how often.
fn most<P: Copy + Eq + Hash>(peers: impl Iterator<Item = P>) -> Option<(P, usize)> {
    let mut counts: HashMap<P, usize> = HashMap::new();
    for peer in peers {
        *counts.entry(peer).or_default() += 1;
    }
    counts.into_iter().max_by_key(|(_, count)| *count)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const ROOM: Room = Room { total: 8, each: 3, reserve: 2 };

    // Holds B-164.
    #[test]
    fn a_peer_without_a_connection_gets_one_however_many_others_have() {
        let connections = Connections::new(ROOM);
        let mut held = Vec::new();
        for peer in [1, 1, 1, 2, 2, 2] {
            let (slot, closed) = connections.enter(peer, false).unwrap();
            slot.identified();
            held.push((slot, closed));
        }
        assert_eq!(connections.enter(1, false).err(), Some(NoPlace::Yours(3)));
        let (third, _) = connections.enter(3, false).unwrap();
        third.identified();
        assert_eq!(
            held.iter_mut().map(|(_, closed)| usize::from(closed.try_recv().is_ok())).sum::<usize>(),
            1
        );
        assert!(connections.enter(0, true).is_ok() && connections.enter(0, true).is_ok(), "the reserve");
    }

    // Holds B-164.
    #[test]
    fn the_oldest_connection_without_a_known_sender_gives_way_first() {
        let connections = Connections::new(ROOM);
        let mut held: Vec<_> = [1, 1, 1, 2, 2, 2].map(|peer| connections.enter(peer, false).unwrap()).into();
        for (slot, _) in held.iter().skip(3) {
            slot.identified();
        }
        let new = connections.enter(3, false).unwrap();
        assert!(held[0].1.try_recv().is_ok(), "the oldest of the peer with most unknown ones");
        assert!(held.iter_mut().skip(1).all(|(_, closed)| closed.try_recv().is_err()));
        drop(new);
    }

    // Holds B-201.
    #[test]
    fn a_peer_recognised_later_counts_for_itself_and_yields_to_no_stranger() {
        let connections = Connections::new(Room { total: 4, each: 2, reserve: 0 });
        let mut known: Vec<_> = (0..2)
            .map(|_| {
                let (slot, closed) = connections.enter(0, false).unwrap();
                slot.identified_as(9, false);
                (slot, closed)
            })
            .collect();
        // One more of the same sender is over that sender's share, and so gives way like a stranger's.
        let (third, mut third_closed) = connections.enter(0, false).unwrap();
        third.identified_as(9, false);
        let mut strangers: Vec<_> = (0..6).map(|peer| connections.enter(peer % 2, false).unwrap()).collect();
        assert!(known.iter_mut().all(|(_, closed)| closed.try_recv().is_err()));
        assert!(third_closed.try_recv().is_ok());
        let open = strangers.iter_mut().filter_map(|(_, closed)| closed.try_recv().err()).count();
        assert_eq!(open, 2, "strangers have the places that are left");
    }

    #[test]
    fn a_peer_with_a_full_share_closes_its_own_oldest_unknown_connection() {
        let connections = Connections::new(ROOM);
        let mut held: Vec<_> = (0..3).map(|_| connections.enter(1, false).unwrap()).collect();
        let fourth = connections.enter(1, false).unwrap();
        assert!(held[0].1.try_recv().is_ok() && held[1].1.try_recv().is_err());
        drop(fourth);
    }

    proptest! {
        // Holds B-164.
        #[test]
        fn no_bound_is_exceeded_and_a_first_connection_is_refused_to_nobody(
            moves in prop::collection::vec((0u32..6, any::<bool>(), any::<bool>()), 1..80),
        ) {
            let connections = Connections::new(ROOM);
            let mut held: Vec<(u32, Slot<u32>)> = Vec::new();
            for (peer, known, leaves) in moves {
                if leaves && !held.is_empty() {
                    held.remove(0);
                }
                let open = |held: &[(u32, Slot<u32>)]| {
                    let state = connections.state.borrow();
                    held.iter().filter(|(its, slot)| *its == peer && state.open.contains_key(&slot.number)).count()
                };
                let mine = open(&held);
                match connections.enter(peer, peer == 0) {
                    Ok((slot, _)) => {
                        if known {
                            slot.identified();
                        }
                        held.push((peer, slot));
                    }
                    Err(refused) => prop_assert!(mine > 0, "{peer} has none and hears {refused}"),
                }
                let state = connections.state.borrow();
                prop_assert!(state.open.len() <= ROOM.total);
                prop_assert!(state.open.values().filter(|open| open.peer == peer).count() <= ROOM.each);
                prop_assert!(state.open.values().filter(|open| !open.privileged).count() <= ROOM.total - ROOM.reserve);
            }
        }
    }
}
