//! The runners that agentd has.

use ipc_proto::ids::TurnId;
use std::collections::{HashMap, HashSet};

/// How often agentd is asked to end a runner whose end it does not report.
const KILLS: u8 = 5;

/// The runners, as agentd has reported them.
#[derive(Default)]
pub(crate) struct Runners {
    /// agentd has reported which are alive.
    known: bool,
    /// Those that it has reported so far as alive, until the report is complete.
    alive: HashSet<TurnId>,
    /// Those that are to end, and how often agentd was asked.
    ending: HashMap<TurnId, u8>,
}

impl Runners {
    /// Returns true once agentd has reported which runners are alive.
    pub(crate) const fn are_known(&self) -> bool {
        self.known
    }

    /// agentd reports a live runner. It does so for each before its report is complete.
    pub(crate) fn add_alive(&mut self, turn: TurnId) {
        self.alive.insert(turn);
    }

    /// The report of live runners is complete. Returns them; `None` if it was complete before.
    pub(crate) fn complete(&mut self) -> Option<HashSet<TurnId>> {
        let before = std::mem::replace(&mut self.known, true);
        (!before).then(|| std::mem::take(&mut self.alive))
    }

    /// A runner is to end.
    pub(crate) fn end(&mut self, turn: TurnId) {
        self.ending.insert(turn, 1);
    }

    /// A runner has ended.
    pub(crate) fn ended(&mut self, turn: TurnId) {
        self.alive.remove(&turn);
        self.ending.remove(&turn);
    }

    /// The runners that agentd is asked to end once more.
    pub(crate) fn kill_again(&mut self) -> Vec<TurnId> {
        self.ending.retain(|_, asked| *asked < KILLS);
        self.ending.values_mut().for_each(|asked| *asked += 1);
        self.ending.keys().copied().collect()
    }
}
