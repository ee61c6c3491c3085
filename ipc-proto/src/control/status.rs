//! The host and its processes as `agentctl status` shows them, and the outcome of an act that a probe tried.

use crate::{List, Name, Text};
use manifest::acts::Seen;
use manifest::command::Ended;
use serde::{Deserialize, Serialize};

/// One process as `status` shows it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcessStatus {
    /// Its name.
    pub name: Name,
    /// `starting`, `ready`, `waiting`, `held` or `stopped`.
    pub state: Name,
    /// Its pid; 0 when it does not run.
    pub pid: u32,
    /// The uid it runs as.
    pub uid: u32,
    /// How often it was started.
    pub generation: u64,
    /// How often it was restarted since the host started.
    pub restarts: u64,
    /// How long it has been running, ms.
    pub uptime_ms: u64,
    /// Proportional set size at its last beat, KiB.
    pub pss_kib: u64,
    /// Resident set size at its last beat, KiB.
    pub rss_kib: u64,
    /// Calls served.
    pub calls: u64,
    /// Calls refused by the table, and connections ended for what they sent.
    pub refused: u64,
    /// Median time of a call, us.
    pub p50_us: u64,
    /// 99th percentile, us.
    pub p99_us: u64,
    /// Calls being served.
    pub in_flight: u64,
    /// The length of its own queue.
    pub queue: u64,
}

/// The host as `status` shows it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostStatus {
    /// `starting`, `ready`, `degraded` or `stopping`.
    pub state: Name,
    /// `system`, `user` or `flat`.
    pub mode: Name,
    /// The mechanism that enforces the limits of a jail as a whole: `cgroup` or `watch`.
    pub limits: Name,
    /// How the check came out that the host makes of itself before it serves a runner: `pending`, `passed` and in what
    /// time, or `failed` and by what.
    pub self_check: Text<256>,
    /// Cordon's version.
    pub version: Name,
    /// Pid of agentd.
    pub pid: u32,
    /// How long it has been running, ms.
    pub uptime_ms: u64,
    /// Why it is degraded besides processes that are not ready; empty if there is no such reason.
    pub reason: Text<256>,
    /// The state directory.
    pub state_dir: Text<4096>,
    /// The configuration file that it read; empty where there was none and the defaults hold.
    pub config: Text<4096>,
    /// Every process.
    pub processes: List<ProcessStatus, 32>,
}

/// The outcome of an act that a probe tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Probed {
    /// How its process ended: the number of an [`Ended`].
    pub ended: u64,
    /// The code of that.
    pub code: u64,
}

impl Probed {
    /// The outcome that the numbers stand for.
    #[must_use]
    pub fn seen(self) -> Seen {
        Seen::of(Ended::from_number(self.ended).unwrap_or(Ended::NotLaunched), self.code)
    }
}
