//! Violations: calls that a process's filter refused and that are not on the record yet. Each is sent to control, which records
//! it. One that control has not confirmed is sent again after control's next start; beyond a bound they are only counted.

use crate::clock::now_ms;
use crate::processes::Processes;
use manifest::Process as Name;
use manifest::command::{Frame, Kind, WORDS, id_words, violation_words as at};
use std::collections::VecDeque;

/// Violations that wait to be recorded.
const STORED: usize = 256;
/// Arguments that are reported: the first ones say what was tried.
const ARGUMENTS: usize = 3;
/// Stands for the number of a call that agentd was not notified of: the kernel killed its caller.
pub(crate) const UNKNOWN: u64 = u64::MAX;
/// Stands for the number where a jail has used up its share of reports.
pub(crate) const USED_UP: u64 = u64::MAX - 1;

/// Violations that are not on the record yet.
#[derive(Debug, Default)]
pub(crate) struct Violations {
    last: u64,
    sent: u64,
    waiting: VecDeque<Frame>,
    dropped: u64,
}

/// The turn and the session that a runner works for, both zero without one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Owner {
    pub(crate) turn: [u8; 16],
    pub(crate) session: [u8; 16],
}

/// A refused call.
pub(crate) struct Violation {
    pub(crate) process: Name,
    pub(crate) owner: Owner,
    pub(crate) pid: i32,
    /// The number of the system call.
    pub(crate) number: u64,
    pub(crate) arguments: [u64; 6],
    /// The errno that the caller got; `None` if it was killed.
    pub(crate) errno: Option<u32>,
}

impl Violations {
    /// Everything up to this number is on the record.
    pub(crate) fn recorded(&mut self, number: u64) {
        self.waiting.retain(|frame| sequence(frame) > number);
    }

    /// Control has started and knows of none: all are to be sent again.
    pub(crate) const fn begin_again(&mut self) {
        self.sent = 0;
    }

    /// Stores one and sends to control what it was not sent yet.
    pub(crate) fn report(&mut self, violation: &Violation, processes: &Processes) {
        self.add(violation);
        self.send(processes);
    }

    /// Reports a process that the kernel killed for a call that agentd was not notified of: it had not passed its listener yet,
    /// or the call is one that passing it needs and the last filter takes away.
    pub(crate) fn report_killed(&mut self, process: Name, owner: Owner, pid: i32, processes: &Processes) {
        let violation = Violation { process, owner, pid, number: UNKNOWN, arguments: [0; 6], errno: None };
        self.report(&violation, processes);
    }

    /// Sends to control what it was not sent yet. One that does not fit into its socket now is sent later.
    pub(crate) fn send(&mut self, processes: &Processes) {
        for frame in &self.waiting {
            if sequence(frame) <= self.sent {
                continue;
            }
            if !processes.send(Name::Control, *frame, &[]) {
                break;
            }
            self.sent = sequence(frame);
        }
    }

    fn add(&mut self, violation: &Violation) {
        if self.waiting.len() >= STORED {
            self.dropped += 1;
            return;
        }
        self.last += 1;
        let mut words = [0; WORDS];
        let ids = [(at::TURN, violation.owner.turn), (at::SESSION, violation.owner.session)];
        let ids = ids.into_iter().flat_map(|(at, id)| (at..).zip(id_words(id)));
        let facts = [
            (at::NUMBER, violation.number),
            (at::PID, u64::from(violation.pid.unsigned_abs())),
            (at::ERRNO, violation.errno.map_or(0, u64::from)),
            (at::SEQUENCE, self.last),
            (at::AT, now_ms()),
            (at::UNTOLD, std::mem::take(&mut self.dropped)),
        ];
        let arguments = (at::ARGUMENTS..).zip(violation.arguments).take(ARGUMENTS);
        for (index, word) in facts.into_iter().chain(arguments).chain(ids) {
            if let Some(slot) = words.get_mut(index) {
                *slot = word;
            }
        }
        self.waiting.push_back(Frame::new(Kind::Violation, violation.process).with(&words));
    }
}

fn sequence(frame: &Frame) -> u64 {
    frame.words.get(at::SEQUENCE).copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tried(number: u64) -> Violation {
        Violation {
            process: Name::Web,
            owner: Owner { turn: [1; 16], session: [2; 16] },
            pid: 7,
            number,
            arguments: [1, 2, 3, 4, 5, 6],
            errno: None,
        }
    }

    #[test]
    fn unrecorded_violations_are_stored_up_to_a_bound_and_the_rest_counted() {
        let mut violations = Violations::default();
        for number in 0..300 {
            violations.add(&tried(number));
        }
        assert_eq!((violations.waiting.len(), violations.dropped), (STORED, 44));
        violations.recorded(10);
        assert_eq!(violations.waiting.front().map(sequence), Some(11));
        violations.add(&tried(59));
        let last = violations.waiting.back().unwrap();
        assert_eq!((sequence(last), last.words[at::UNTOLD], violations.dropped), (257, 44, 0));
        assert_eq!(last.words[at::ARGUMENTS..at::SESSION], [1, 2, 3, 0]);
        assert_eq!((last.id(at::TURN / 2), last.id(at::SESSION / 2)), ([1; 16], [2; 16]));
        violations.recorded(u64::MAX);
        assert!(violations.waiting.is_empty());
    }
}
