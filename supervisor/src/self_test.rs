//! The host's self-test: once every process is ready and before a runner is served, probes of every row try the few acts that tell
//! most. Until it is over turns wait for their runners; if an act was not refused, the host serves none until it is started
//! again, and says why.
//!
//! A probe that does not end in time proves nothing. On a busy machine it is tried again; an act that cannot be tried at all counts
//! as failed. A probe that cannot be launched is tried again after the next look at the disk, and not while that is full, so that
//! a host on a full disk heals when there is room.

use crate::probes::{Outcome, Probe};
use manifest::Process as Name;
use manifest::acts::{self, Act, Expected, Seen};
use manifest::command::{Ended, Frame, Mode, SelfCheck, check_words};
use nix::libc::EAGAIN;
use std::time::Instant;

/// Repetitions of probes that did not end in time or were not launched, of all rows together.
const AGAIN: u32 = 24;
/// Launches that wait for the end; router asks for no more than there are slots.
const WAITING: usize = 256;

/// The state of the self-test.
#[derive(Debug, Default)]
pub(crate) struct SelfTest {
    state: State,
    waiting: Vec<Frame>,
    /// Probes that could not be launched, until the next look at the disk.
    held: Vec<Probe>,
}

#[derive(Debug, Default)]
enum State {
    #[default]
    NotBegun,
    Running {
        began: Instant,
        left: usize,
        again: u32,
    },
    Passed {
        ms: u64,
    },
    Failed(Finding),
}

/// An act that was not refused, or could not be tried.
#[derive(Clone, Copy, Debug)]
struct Finding {
    row: Name,
    act: u16,
    ended: Ended,
    code: u64,
}

/// The next step after a probe.
#[derive(Debug)]
pub(crate) enum Step {
    /// None.
    Wait,
    /// Launch this probe.
    Again(Probe),
    /// The self-test is over. The line is for the log.
    Over(String),
}

/// The answer to a request for a runner.
#[derive(Debug)]
pub(crate) enum Admission {
    /// It is launched now.
    Launch,
    /// It waits for the end of the self-test.
    Wait,
    /// It is refused, with an errno or the number of the act.
    Refuse(Ended, i32),
}

impl SelfTest {
    /// Every act was refused as it must be.
    pub(crate) const fn passed(&self) -> bool {
        matches!(self.state, State::Passed { .. })
    }

    /// An act was not.
    pub(crate) const fn failed(&self) -> bool {
        matches!(self.state, State::Failed(_))
    }

    /// The words that report it to control, from the first of [`check_words`] on.
    pub(crate) fn words(&self) -> [u64; 5] {
        match self.state {
            State::NotBegun | State::Running { .. } => [SelfCheck::Pending as u64, 0, 0, 0, 0],
            State::Passed { ms } => [SelfCheck::Passed as u64, ms, 0, 0, 0],
            State::Failed(found) => {
                let row = found.row.number().into();
                [SelfCheck::Failed as u64, row, found.act.into(), found.ended as u64, found.code]
            }
        }
    }

    /// Returns true before its begin.
    pub(crate) const fn is_due(&self) -> bool {
        matches!(self.state, State::NotBegun)
    }

    /// Begins it. Returns the probes to launch.
    pub(crate) fn begin(&mut self, rows: impl Iterator<Item = Name>, mode: Mode) -> Vec<Probe> {
        let probes = rows.map(|row| Probe { row, acts: refused(row, mode), token: None });
        let probes: Vec<Probe> = probes.filter(|probe| !probe.acts.is_empty()).collect();
        self.state = State::Running { began: Instant::now(), left: probes.len(), again: 0 };
        probes
    }

    /// Takes the outcome of one of its probes.
    pub(crate) fn take(&mut self, outcome: Outcome) -> Step {
        let State::Running { began, left, again } = &mut self.state else { return Step::Wait };
        let Outcome { probe, ended, code } = outcome;
        let code = u64::from(code.unsigned_abs());
        let seen = Seen::of(ended, code);
        if matches!(seen, Seen::TimedOut | Seen::NotLaunched(_)) && *again < AGAIN {
            *again += 1;
            if seen == Seen::TimedOut {
                return Step::Again(probe);
            }
            self.held.push(probe);
            return Step::Wait;
        }
        if !seen.fits(Expected::Refused) {
            // The exit status says which of several acts succeeded.
            let nth = code.checked_sub(acts::status::SUCCEEDED.into()).filter(|_| seen == Seen::Succeeded);
            let at = nth.and_then(|at| usize::try_from(at).ok()).unwrap_or(0);
            let act = probe.acts.get(at).or(probe.acts.first()).copied().unwrap_or(u16::MAX);
            return self.fail(Finding { row: probe.row, act, ended, code });
        }
        *left = left.saturating_sub(1);
        if *left > 0 {
            return Step::Wait;
        }
        let ms = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.state = State::Passed { ms };
        Step::Over(format!("self-check passed in {ms} ms"))
    }

    /// Takes the probes that could not be launched. To be called after a look at the disk that found room.
    pub(crate) fn take_held(&mut self) -> Vec<Probe> {
        std::mem::take(&mut self.held)
    }

    /// Decides on router's request for a runner, and stores it if it has to wait.
    pub(crate) fn admit(&mut self, frame: &Frame) -> Admission {
        match self.state {
            State::Passed { .. } => Admission::Launch,
            State::Failed(found) => Admission::Refuse(Ended::Unproven, i32::from(found.act)),
            State::NotBegun | State::Running { .. } if self.waiting.len() < WAITING => {
                self.waiting.push(*frame);
                Admission::Wait
            }
            State::NotBegun | State::Running { .. } => Admission::Refuse(Ended::NotLaunched, EAGAIN),
        }
    }

    /// Takes the requests that waited for the end.
    pub(crate) fn take_waiting(&mut self) -> Vec<Frame> {
        std::mem::take(&mut self.waiting)
    }

    /// Takes back the requests for this turn that wait.
    pub(crate) fn take_back(&mut self, turn: [u8; 16]) -> Vec<Frame> {
        self.waiting.extract_if(.., |frame| frame.id(0) == turn).collect()
    }

    fn fail(&mut self, found: Finding) -> Step {
        let id = Act::numbered(found.act).map_or("an act", |act| act.id);
        let row = found.row.name();
        let what = match Seen::of(found.ended, found.code) {
            Seen::Succeeded => "succeeded and must not".to_owned(),
            Seen::NotLaunched(errno) => {
                format!("could not be tried: it could not be launched (errno {errno})")
            }
            _ => "could not be tried".to_owned(),
        };
        self.held.clear();
        self.state = State::Failed(found);
        Step::Over(format!(
            "self-check failed: {id} in the jail of {row} {what}; no runner is served until agentd is started again"
        ))
    }
}

const _: () = assert!(check_words::CODE - check_words::STATE == 4, "as many words as there are");

/// The acts of the self-test that this row must be refused in this mode.
fn refused(name: Name, mode: Mode) -> Vec<u16> {
    let Some(row) = manifest::row(name) else { return Vec::new() };
    let known = acts::self_check(name).iter().filter_map(|id| Act::named(id));
    known
        .filter(|(_, act)| act.expected(row, mode) == Some(Expected::Refused))
        .map(|(number, _)| number)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(state: State) -> [u64; 5] {
        SelfTest { state, ..SelfTest::default() }.words()
    }

    #[test]
    fn a_report_says_if_runners_are_served_and_the_finding() {
        let running = State::Running { began: Instant::now(), left: 3, again: 0 };
        assert_eq!((words(State::NotBegun), words(running)), ([0; 5], [0; 5]));
        assert_eq!(words(State::Passed { ms: 84 }), [SelfCheck::Passed as u64, 84, 0, 0, 0]);
        let found = Finding { row: Name::Memory, act: 7, ended: Ended::Exited, code: 200 };
        let row = Name::Memory.number().into();
        assert_eq!(
            words(State::Failed(found)),
            [SelfCheck::Failed as u64, row, 7, Ended::Exited as u64, 200]
        );
    }

    #[test]
    fn only_a_test_that_has_passed_serves_runners() {
        let test = |state| SelfTest { state, ..SelfTest::default() };
        let found = Finding { row: Name::Gate, act: 0, ended: Ended::TimedOut, code: 9 };
        for (state, passed, failed) in [
            (State::NotBegun, false, false),
            (State::Running { began: Instant::now(), left: 1, again: 0 }, false, false),
            (State::Passed { ms: 1 }, true, false),
            (State::Failed(found), false, true),
        ] {
            let test = test(state);
            assert_eq!((test.passed(), test.failed()), (passed, failed), "{test:?}");
        }
    }
}
