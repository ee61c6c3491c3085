//! Turns that wait in the queue for an obstacle, and how long each waits before it is tried again.

use ipc_proto::Name;
use ipc_proto::router::Obstacle;
use std::time::Duration;

/// The first wait. It doubles with each try.
const FIRST: Duration = Duration::from_secs(8);
/// The longest waits. A person who opens the vault or releases a process does not wait long for the next try.
const MOST_FOR_BUDGET: Duration = Duration::from_secs(600);
const MOST_FOR_KEY: Duration = Duration::from_secs(60);
const MOST_FOR_PROCESS: Duration = Duration::from_secs(30);
/// Doublings beyond which every wait is the longest.
const DOUBLINGS: u32 = 7;

/// An obstacle that holds a turn up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Postponed {
    pub(crate) obstacle: Obstacle,
    /// The agent whose turn it is: budgets and keys are those of its model.
    pub(crate) agent: Name,
    /// The reason in the host's words.
    pub(crate) why: String,
    /// The time until the obstacle is over, where that is known.
    pub(crate) over_in: Option<Duration>,
    /// Tries before this one that met an obstacle.
    pub(crate) tries: u32,
    /// True until the runner of this try has ended.
    pub(crate) pending: bool,
    /// True once another message has got further than this obstacle.
    pub(crate) over: bool,
}

impl Postponed {
    /// Returns true if the same obstacle holds up both still.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        !self.over && !other.over && self.obstacle == other.obstacle && self.agent == other.agent
    }

    /// The wait before the next try.
    pub(crate) fn pause(&self) -> Duration {
        let most = match self.obstacle {
            Obstacle::Budget => MOST_FOR_BUDGET,
            Obstacle::Key => MOST_FOR_KEY,
            Obstacle::Process(_) => MOST_FOR_PROCESS,
        };
        let most = self.over_in.map_or(most, |over_in| most.min(over_in.max(Duration::from_secs(1))));
        (FIRST * (1 << self.tries.min(DOUBLINGS))).min(most)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pause(obstacle: Obstacle, over_in_s: Option<u64>, tries: u32) -> u64 {
        let over_in = over_in_s.map(Duration::from_secs);
        let (agent, why) = (Name::clip("default"), String::new());
        Postponed { obstacle, agent, why, over_in, tries, pending: true, over: false }.pause().as_secs()
    }

    // Holds B-183.
    #[test]
    fn waits_double_up_to_their_bound_and_end_with_the_obstacle() {
        let process = || Obstacle::Process(Name::clip("model"));
        assert_eq!([0, 1, 2, 99].map(|tries| pause(Obstacle::Budget, None, tries)), [8, 16, 32, 600]);
        assert_eq!([0, 9].map(|tries| pause(Obstacle::Key, None, tries)), [8, 60]);
        assert_eq!([0, 9].map(|tries| pause(process(), None, tries)), [8, 30]);
        assert_eq!(pause(Obstacle::Budget, Some(20), 9), 20, "it resets then");
        assert_eq!(pause(Obstacle::Budget, Some(0), 9), 1, "and is not tried all the time");
    }
}
