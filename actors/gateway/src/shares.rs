//! Shares of a thing of which there is a fixed amount. Owners may have all of it. Any other user may have no more than is left to users
//! without any, and a part is kept for owners: however many users take what they can, one more gets some.

use crate::lock::lock;
use ipc_proto::api::Holder;
use ipc_proto::ids::UserId;
use std::collections::HashMap;
use std::sync::{Arc, Mutex};

/// The amount, and how much of it each user has.
pub(crate) struct Shares {
    total: usize,
    /// The part that is kept for owners.
    owners: usize,
    taken: Arc<Mutex<HashMap<UserId, usize>>>,
}

/// A part of it, which is given back when this is dropped.
pub(crate) struct Permit {
    user: UserId,
    amount: usize,
    taken: Arc<Mutex<HashMap<UserId, usize>>>,
}

impl Shares {
    pub(crate) fn new(total: usize, owners: usize) -> Self {
        Self { total, owners, taken: Arc::default() }
    }

    /// Takes so much of it for this client's user; `None` if that is more than this user may have now.
    pub(crate) fn take(&self, holder: &Holder, amount: usize) -> Option<Permit> {
        let mut taken = lock(&self.taken);
        let used: usize = taken.values().sum();
        let theirs = taken.get(&holder.user).copied().unwrap_or_default();
        let fits = if holder.owner {
            used.saturating_add(amount) <= self.total
        } else {
            let left = self.total.saturating_sub(self.owners).saturating_sub(used);
            theirs.saturating_add(amount) <= left
        };
        if !fits {
            return None;
        }
        taken.insert(holder.user, theirs.saturating_add(amount));
        Some(Permit { user: holder.user, amount, taken: Arc::clone(&self.taken) })
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        let mut taken = lock(&self.taken);
        if let Some(theirs) = taken.get_mut(&self.user) {
            *theirs = theirs.saturating_sub(self.amount);
            if *theirs == 0 {
                taken.remove(&self.user);
            }
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use ipc_proto::api::KeyScope;
    use ipc_proto::{List, Name};

    /// A client of user number `user`.
    pub(crate) fn client(user: u8, owner: bool) -> Holder {
        Holder {
            key: None,
            name: Name::clip("peer"),
            user: UserId::from_bytes([user; 16]),
            user_name: Name::default(),
            owner,
            scope: KeyScope::default(),
            agents: List::default(),
        }
    }

    fn all(shares: &Shares, client: &Holder) -> Vec<Permit> {
        std::iter::from_fn(|| shares.take(client, 1)).collect()
    }

    // Holds B-159.
    #[test]
    fn each_user_leaves_as_much_as_they_have_and_owners_have_the_rest() {
        let shares = Shares::new(160, 16);
        let had: Vec<Vec<Permit>> = (1..=4).map(|user| all(&shares, &client(user, false))).collect();
        assert_eq!(had.iter().map(Vec::len).collect::<Vec<_>>(), [72, 36, 18, 9]);
        let own = all(&shares, &client(0, true));
        assert_eq!(own.len(), 25, "the owner has all that is left");
        drop(had);
        assert_eq!(lock(&shares.taken).len(), 1, "users who have nothing are forgotten");
        assert!(shares.take(&client(5, false), 200).is_none());
    }
}
