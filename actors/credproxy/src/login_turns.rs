//! Renewals one at a time: each login is renewed by one request, and one whose server is slow holds up no other.

use ipc_proto::Name;
use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;
use tokio::sync::Mutex;

/// A lock for each login that is being renewed.
#[derive(Default)]
pub(crate) struct Turns(RefCell<HashMap<Name, Rc<Mutex<()>>>>);

impl Turns {
    /// The lock of this login.
    pub(crate) fn of(&self, name: &Name) -> Rc<Mutex<()>> {
        let mut turns = self.0.borrow_mut();
        // A lock that nobody has or waits for is made again when it is asked for.
        turns.retain(|_, turn| Rc::strong_count(turn) > 1);
        Rc::clone(turns.entry(name.clone()).or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_login_is_renewed_by_one_at_a_time_and_holds_up_no_other() {
        let (turns, one, other) = (Turns::default(), Name::clip("one"), Name::clip("other"));
        let turn = turns.of(&one);
        let held = turn.lock().await;
        assert!(turns.of(&one).try_lock().is_err());
        assert!(turns.of(&other).try_lock().is_ok());
        drop(held);
        drop(turn);
        assert!(turns.of(&one).try_lock().is_ok());
        assert_eq!(turns.0.borrow().len(), 1, "those that nobody has are forgotten");
    }
}
