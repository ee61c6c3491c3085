//! Figures of a process, one a frame: numbers alone. agentd passes them on unread to control and gateway, which show them.

use super::{Frame, Kind};
use crate::process::Process;

/// Bytes of a name in a frame.
pub const LABEL: usize = 24;

/// A figure of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Measure {
    /// Calls of one method by one caller.
    Calls(MethodCalls),
    /// CPU time of the process since it started, and its threads.
    Cpu {
        /// ms of CPU time.
        ms: u64,
        /// Threads.
        threads: u64,
    },
    /// A number that the process keeps about its subject.
    Gauge(Gauge, u64),
    /// One of the actors inside the process.
    Worker(Worker),
    /// The host's jails, which agentd counts.
    Jails {
        /// Runners that work on a turn.
        running: u64,
        /// Runners that wait for work.
        ready: u64,
    },
}

/// Calls of one method by one caller since the callee started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MethodCalls {
    /// The calling process; control itself for the calls of people.
    pub caller: Process,
    /// The method's place among the callee's methods.
    pub method: u16,
    /// Calls that were answered.
    pub calls: u64,
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
    /// Time to all answers, us.
    pub total_us: u64,
}

/// One of the actors inside a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Worker {
    /// Its name, padded with zeros.
    pub name: [u8; LABEL],
    /// Messages in its mailbox.
    pub mailbox: u64,
    /// Messages that it has handled since the process started.
    pub handled: u64,
    /// The kind of the message that it works on, padded with zeros; empty if it is idle.
    pub task: [u8; LABEL],
    /// How long it has worked on that, ms.
    pub since_ms: u64,
}

/// Numbers that processes keep about their subjects.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u64)]
pub enum Gauge {
    /// Entries of the record.
    RecordEntries = 1,
    /// Approvals that wait for a person.
    ApprovalsPending = 3,
    /// Turns that were answered since the router started.
    TurnsAnswered = 4,
    /// Turns that ended in another way since the router started.
    TurnsFailed = 5,
    /// Millionths of a dollar that were spent since model started.
    Spent = 6,
    /// Dead letters.
    DeadLetters = 7,
    /// Messages that wait.
    MessagesWaiting = 8,
    /// Turns under way.
    TurnsRunning = 9,
}

from_number!(Gauge: RecordEntries, ApprovalsPending, TurnsAnswered, TurnsFailed, Spent, DeadLetters,
    MessagesWaiting, TurnsRunning);

impl Gauge {
    /// The process whose number it is; from another it says nothing.
    #[must_use]
    pub const fn process(self) -> Process {
        match self {
            Self::RecordEntries => Process::Audit,
            Self::Spent => Process::Model,
            Self::ApprovalsPending
            | Self::TurnsAnswered
            | Self::TurnsFailed
            | Self::DeadLetters
            | Self::MessagesWaiting
            | Self::TurnsRunning => Process::Router,
        }
    }
}

const CALLS: u64 = 1;
const CPU: u64 = 2;
const GAUGE: u64 = 3;
const WORKER: u64 = 4;
const JAILS: u64 = 5;

impl Measure {
    /// The frame that carries it, about `process`.
    #[must_use]
    pub fn frame(&self, process: Process) -> Frame {
        let frame = Frame::new(Kind::Measure, process);
        match self {
            Self::Calls(it) => frame.with(&[
                CALLS,
                u64::from(it.caller.number()) | u64::from(it.method) << 8,
                it.calls,
                it.errors,
                it.refused,
                it.abandoned,
                it.in_flight,
                it.oldest_ms,
                it.p50_us,
                it.p99_us,
                it.total_us,
            ]),
            Self::Cpu { ms, threads } => frame.with(&[CPU, *ms, *threads]),
            Self::Gauge(gauge, value) => frame.with(&[GAUGE, *gauge as u64, *value]),
            Self::Worker(it) => {
                let head = [WORKER, it.mailbox, it.handled, it.since_ms];
                let text = label_words(it.name).into_iter().chain(label_words(it.task));
                frame.with(&head.into_iter().chain(text).collect::<Vec<_>>())
            }
            Self::Jails { running, ready } => frame.with(&[JAILS, *running, *ready]),
        }
    }

    /// The content of such a frame; `None` for a frame of another kind, with an unknown number, or with a number that is not
    /// its process's to report.
    #[must_use]
    pub fn of(frame: &Frame) -> Option<Self> {
        if frame.kind != Kind::Measure {
            return None;
        }
        let [kind, a, b, c, d, e, f, g, h, i, j, ..] = frame.words;
        Some(match kind {
            CALLS => Self::Calls(MethodCalls {
                caller: Process::from_number(u8::try_from(a & 0xff).ok()?)?,
                method: u16::try_from(a >> 8).ok()?,
                calls: b,
                errors: c,
                refused: d,
                abandoned: e,
                in_flight: f,
                oldest_ms: g,
                p50_us: h,
                p99_us: i,
                total_us: j,
            }),
            CPU => Self::Cpu { ms: a, threads: b },
            GAUGE => Self::Gauge(Gauge::from_number(a).filter(|gauge| gauge.process() == frame.peer)?, b),
            WORKER => Self::Worker(Worker {
                mailbox: a,
                handled: b,
                since_ms: c,
                name: label_bytes([d, e, f]),
                task: label_bytes([g, h, i]),
            }),
            JAILS if frame.peer == Process::Runner => Self::Jails { running: a, ready: b },
            _ => return None,
        })
    }
}

/// A name as it stands in a frame: its first bytes, padded with zeros.
#[must_use]
pub fn label(name: &str) -> [u8; LABEL] {
    let mut bytes = [0; LABEL];
    for (slot, byte) in bytes.iter_mut().zip(name.bytes()) {
        *slot = byte;
    }
    bytes
}

/// The name that stands in a frame; printable ASCII alone.
#[must_use]
pub fn label_text(bytes: [u8; LABEL]) -> String {
    bytes
        .iter()
        .take_while(|byte| byte.is_ascii_graphic() || **byte == b' ')
        .map(|byte| char::from(*byte))
        .collect()
}

fn label_words(bytes: [u8; LABEL]) -> [u64; 3] {
    let mut words = [0; 3];
    for (word, chunk) in words.iter_mut().zip(bytes.chunks_exact(8)) {
        *word = chunk.try_into().map(u64::from_le_bytes).unwrap_or_default();
    }
    words
}

fn label_bytes(words: [u64; 3]) -> [u8; LABEL] {
    let mut bytes = [0; LABEL];
    for (chunk, word) in bytes.chunks_exact_mut(8).zip(words) {
        chunk.copy_from_slice(&word.to_le_bytes());
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_figure_comes_back_as_it_was_sent() {
        let calls = MethodCalls {
            caller: Process::Gate,
            method: 300,
            calls: 1,
            errors: 2,
            refused: 3,
            abandoned: 4,
            in_flight: 5,
            oldest_ms: 6,
            p50_us: 7,
            p99_us: 8,
            total_us: u64::MAX,
        };
        let worker =
            Worker { name: label("writer"), mailbox: 1, handled: 2, task: label("append"), since_ms: 3 };
        for (process, measure) in [
            (Process::Audit, Measure::Calls(calls)),
            (Process::Audit, Measure::Cpu { ms: 1, threads: 2 }),
            (Process::Router, Measure::Gauge(Gauge::DeadLetters, 9)),
            (Process::Audit, Measure::Worker(worker)),
            (Process::Runner, Measure::Jails { running: 3, ready: 4 }),
        ] {
            let frame = Frame::decode(&measure.frame(process).encode()).unwrap();
            assert_eq!((Measure::of(&frame), frame.peer), (Some(measure), process));
        }
    }

    // Holds B-05.
    #[test]
    fn a_frame_of_another_kind_or_with_an_unknown_number_is_no_figure() {
        assert_eq!(Measure::of(&Frame::new(Kind::HostState, Process::Agentd).with(&[CPU])), None);
        for words in [[0, 0, 0], [99, 0, 0], [CALLS, 0xff, 0], [CALLS, u64::MAX, 0], [GAUGE, 0, 1]] {
            assert_eq!(
                Measure::of(&Frame::new(Kind::Measure, Process::Audit).with(&words)),
                None,
                "{words:?}"
            );
        }
    }

    #[test]
    fn a_number_that_is_not_a_process_s_to_report_is_none() {
        for (process, measure) in [
            (Process::Scanner, Measure::Gauge(Gauge::Spent, 9)),
            (Process::Gate, Measure::Jails { running: 3, ready: 4 }),
        ] {
            assert_eq!(Measure::of(&measure.frame(process)), None, "{measure:?}");
        }
    }

    #[test]
    fn a_name_in_a_frame_steers_no_terminal() {
        assert_eq!(label_text(label("writer")), "writer");
        assert_eq!(label_text(label("a\u{1b}[2J")), "a");
        assert_eq!(label_text(label(&"x".repeat(40))).len(), LABEL);
    }
}
