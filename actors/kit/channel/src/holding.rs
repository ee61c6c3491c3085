//! The pieces in this process's hands, from the moment it is told of one until that one has an outcome. Router is told of them with each
//! call for work: a piece of which this process says nothing is in nobody's hands.

use ipc_proto::channel::PieceId;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;
use tokio::sync::{Mutex, OwnedMutexGuard};

#[derive(Default)]
struct Held {
    /// Grips of it. It may be due again before its last outcome has come back from router.
    grips: u32,
    turn: Arc<Mutex<()>>,
}

/// All of them.
#[derive(Clone, Default)]
pub(crate) struct Holding(Rc<RefCell<BTreeMap<PieceId, Held>>>);

/// A hold on a piece, which ends with it.
pub(crate) struct Grip {
    piece: PieceId,
    turn: Arc<Mutex<()>>,
    holding: Holding,
}

impl Holding {
    /// Takes a piece into this process's hands.
    pub(crate) fn grip(&self, piece: PieceId) -> Grip {
        let mut all = self.0.borrow_mut();
        let held = all.entry(piece).or_default();
        held.grips += 1;
        Grip { piece, turn: Arc::clone(&held.turn), holding: self.clone() }
    }

    /// The pieces.
    pub(crate) fn pieces(&self) -> Vec<PieceId> {
        self.0.borrow().keys().copied().collect()
    }
}

impl Grip {
    /// Waits until no other grip is at work on the piece.
    pub(crate) async fn alone(&self) -> OwnedMutexGuard<()> {
        Arc::clone(&self.turn).lock_owned().await
    }
}

impl Drop for Grip {
    fn drop(&mut self) {
        let mut all = self.holding.0.borrow_mut();
        let Some(held) = all.get_mut(&self.piece) else { return };
        held.grips = held.grips.saturating_sub(1);
        if held.grips == 0 {
            all.remove(&self.piece);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ipc_proto::channel::DeliveryId;

    const PIECE: PieceId = PieceId { delivery: DeliveryId(1), number: 0 };

    #[tokio::test]
    async fn a_piece_that_is_due_again_is_held_throughout_and_sent_in_turn() {
        let holding = Holding::default();
        let (first, again) = (holding.grip(PIECE), holding.grip(PIECE));
        let at_work = first.alone().await;
        assert!(again.turn.try_lock().is_err(), "not at the same time");
        drop((at_work, first));
        assert_eq!(holding.pieces(), [PIECE], "router is told of it all the time");
        drop(again.alone().await);
        drop(again);
        assert!(holding.pieces().is_empty());
    }
}
