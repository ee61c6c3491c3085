//! One process as `agentctl inspect` shows it besides its state: its calls by method and caller, its actors, its ends.

use crate::{List, Name};
use manifest::command::{EndCause, Ended};
use serde::{Deserialize, Serialize};

/// The caller's name in figures of calls that people made.
pub const PEOPLE: &str = "people";

/// Figures of one process since it started. Figures of agentd are those of the jails, and the ends of every process.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Inspection {
    /// CPU time, ms; none until it is known.
    pub cpu_ms: Option<u64>,
    /// Threads.
    pub threads: Option<u64>,
    /// Calls to it and from it, each by method and edge.
    pub calls: List<CallFigures, 512>,
    /// The actors inside it.
    pub workers: List<WorkerFigures, 16>,
    /// Numbers about its subject.
    pub gauges: List<GaugeFigure, 16>,
    /// Its last ends, oldest first.
    pub ends: List<EndFigures, 64>,
}

/// Calls of one method by one caller since the callee started.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallFigures {
    /// The calling process, or [`PEOPLE`].
    pub caller: Name,
    /// The process that serves it.
    pub callee: Name,
    /// The method.
    pub method: Name,
    /// True if its time is no latency, since it waits for something to happen.
    pub waits: bool,
    /// Calls that were answered.
    pub calls: u64,
    /// Thousandths of a call a second, over the last one to two minutes.
    pub rate_milli: u64,
    /// Answers that were errors.
    pub errors: u64,
    /// Calls that the table refused.
    pub refused: u64,
    /// Calls that the caller gave up, or whose deadline passed.
    pub abandoned: u64,
    /// Calls being served.
    pub in_flight: u64,
    /// Age of the oldest of those, ms.
    pub oldest_ms: u64,
    /// Median time to the answer, us.
    pub p50_us: u64,
    /// 99th percentile, us.
    pub p99_us: u64,
}

/// An actor inside a process.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkerFigures {
    /// Its name.
    pub name: Name,
    /// Messages in its mailbox.
    pub mailbox: u64,
    /// Messages that it has handled.
    pub handled: u64,
    /// The kind of the message that it works on; none if it is idle.
    pub task: Option<Name>,
    /// How long it has worked on that, ms.
    pub since_ms: u64,
}

/// A number about a process's subject.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GaugeFigure {
    /// The subject that it counts.
    pub name: Name,
    /// The number.
    pub value: u64,
}

/// An end of a process.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EndFigures {
    /// The process.
    pub process: Name,
    /// When, unix ms.
    pub at_ms: u64,
    /// How long it had lived, ms.
    pub lived_ms: u64,
    /// The number of an [`Ended`].
    pub ended: u64,
    /// The code of that.
    pub code: u64,
    /// The number of an [`EndCause`].
    pub cause: u64,
}

impl EndFigures {
    /// How it ended, in words.
    #[must_use]
    pub fn manner(&self) -> String {
        match Ended::from_number(self.ended) {
            Some(Ended::Exited) => format!("exit status {}", self.code),
            Some(Ended::Killed) => format!("signal {}", self.code),
            _ => "unknown".to_owned(),
        }
    }

    /// Why it ended, in words.
    #[must_use]
    pub fn reason(&self) -> &'static str {
        match EndCause::from_number(self.cause) {
            Some(EndCause::Itself) => "by itself",
            Some(EndCause::Restarted) => "restarted by an operator",
            Some(EndCause::Held) => "held by an operator",
            Some(EndCause::Silent) => "sent no heartbeat for 10 s",
            Some(EndCause::Forbidden) => "sent a forbidden command",
            Some(EndCause::SystemCall) => "made a forbidden system call",
            Some(EndCause::Late) => "did not finish in time",
            None => "unknown",
        }
    }
}
