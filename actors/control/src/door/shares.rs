//! Shares of something bounded: so much for one uid, so much for everybody, and what root and the host's owner
//! have is kept for them. Nobody waits for a share: it is there, or it is not.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

/// The uid that stands for root and the host's owner.
const OWN: u32 = 0;

/// Something bounded.
pub(crate) struct Shares {
    owner: u32,
    each: usize,
    others: usize,
    taken: RefCell<HashMap<u32, usize>>,
}

/// A share, given back when it is dropped.
pub(crate) struct Lease {
    shares: Rc<Shares>,
    uid: u32,
    amount: usize,
}

impl Shares {
    /// `each` for one uid, `others` for all but root and `owner` together.
    pub(crate) fn new(owner: u32, each: usize, others: usize) -> Rc<Self> {
        Rc::new(Self { owner, each, others, taken: RefCell::default() })
    }

    /// A share of this amount; `None` if there is not so much.
    pub(crate) fn lease(self: &Rc<Self>, uid: u32, amount: usize) -> Option<Lease> {
        let uid = if uid == self.owner { OWN } else { uid };
        let mut taken = self.taken.borrow_mut();
        let others: usize = taken.iter().filter(|(uid, _)| **uid != OWN).map(|(_, amount)| amount).sum();
        let mine = taken.get(&uid).copied().unwrap_or_default();
        let fits = mine.saturating_add(amount) <= self.each
            && (uid == OWN || others.saturating_add(amount) <= self.others);
        if !fits {
            return None;
        }
        taken.insert(uid, mine + amount);
        Some(Lease { shares: Rc::clone(self), uid, amount })
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        let mut taken = self.shares.taken.borrow_mut();
        let left = taken.remove(&self.uid).unwrap_or_default().saturating_sub(self.amount);
        // A uid that has nothing is forgotten, or the map would grow with every uid ever seen.
        if left > 0 {
            taken.insert(self.uid, left);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Holds B-165.
    #[test]
    fn one_uid_gets_its_own_share_and_everybody_together_no_more_than_theirs() {
        let shares = Shares::new(1000, 2, 3);
        let held: Vec<_> = [7, 7, 8].iter().map(|uid| shares.lease(*uid, 1).unwrap()).collect();
        assert!(shares.lease(7, 1).is_none(), "its own share is used up");
        assert!(shares.lease(9, 1).is_none(), "everybody's is");
        drop(held);
        assert!(shares.lease(9, 1).is_some());
        assert!(shares.taken.borrow().is_empty());
    }

    // Holds B-165.
    #[test]
    fn root_and_the_owner_always_get_in_and_share_one_share() {
        let shares = Shares::new(1000, 2, 2);
        let _others = (shares.lease(7, 2).unwrap(), ());
        let _own = (shares.lease(0, 1).unwrap(), shares.lease(1000, 1).unwrap());
        assert!(shares.lease(0, 1).is_none() && shares.lease(1000, 1).is_none());
    }

    #[test]
    fn an_amount_that_would_overflow_is_not_there() {
        let shares = Shares::new(0, 10, 10);
        let _one = shares.lease(5, 1).unwrap();
        assert!(shares.lease(5, usize::MAX).is_none() && shares.lease(6, usize::MAX).is_none());
    }
}
