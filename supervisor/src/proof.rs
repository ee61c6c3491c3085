//! The check that the host makes of itself once every process is ready and before it serves a runner: twins of every
//! row try the few acts that tell most. Until it is over turns wait for their runners; if anything was not refused, the
//! host serves none until it is started again, and says why.
//!
//! A twin that does not end in time proves nothing. On a machine that is busy the whole is tried again, a second at a
//! time; what cannot be shown at all counts as failed. A twin that cannot be launched is tried again with the next look at the
//! disk, and not while that is full: a host that finds it so heals when there is room.

use crate::binding;
use crate::host::Host;
use crate::runners;
use crate::tell;
use crate::twins::{self, Wanted};
use manifest::Process as Name;
use manifest::acts::{self, Act, Expected, Seen};
use manifest::command::{Ended, Frame, HostState, SelfCheck, check_words};
use nix::libc::EAGAIN;
use std::time::Instant;

/// How often what did not end in time is tried again, of all rows together.
const AGAIN: u32 = 24;
/// Launches that wait for it; router asks for no more than there are slots.
const WAITING: usize = 256;

/// How far it has come.
#[derive(Debug, Default)]
pub(crate) struct Proof {
    state: State,
    waiting: Vec<Frame>,
    /// What could not be launched, until the next look at the disk.
    held: Vec<Wanted>,
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

/// What was not refused, or could not be tried.
#[derive(Clone, Copy, Debug)]
struct Finding {
    row: Name,
    act: u16,
    ended: Ended,
    code: u64,
}

impl Proof {
    /// Everything was refused as it must be.
    pub(crate) const fn passed(&self) -> bool {
        matches!(self.state, State::Passed { .. })
    }

    /// Something was not.
    pub(crate) const fn failed(&self) -> bool {
        matches!(self.state, State::Failed(_))
    }

    /// What control is told of it: [`check_words`] from the first on.
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
}

const _: () = assert!(check_words::CODE - check_words::STATE == 4, "as many words as there are");

/// Begins it when every process has been ready for the first time, even if one is not any more.
pub(crate) fn begin(host: &mut Host) {
    let was_ready = matches!(host.state, HostState::Ready | HostState::Degraded);
    if !was_ready || !matches!(host.proof.state, State::NotBegun) {
        return;
    }
    let rows: Vec<Name> = host
        .processes
        .iter()
        .map(|process| process.row.process)
        .chain([Name::Runner, Name::AgentRunner])
        .collect();
    let mut left = 0;
    for row in rows {
        let acts = refused(host, row);
        if !acts.is_empty() {
            left += 1;
            host.twins.want(Wanted { row, acts, token: None });
        }
    }
    host.proof.state = State::Running { began: Instant::now(), left, again: 0 };
    twins::go_on(host);
}

/// The acts that this row is to be refused in this mode.
fn refused(host: &Host, name: Name) -> Vec<u16> {
    let Some(row) = manifest::row(name) else { return Vec::new() };
    let known = acts::self_check(name).iter().filter_map(|id| Act::named(id));
    known
        .filter(|(_, act)| act.expected(row, host.mode) == Some(Expected::Refused))
        .map(|(number, _)| number)
        .collect()
}

/// A twin of the check has ended.
pub(crate) fn heard(host: &mut Host, wanted: Wanted, ended: Ended, code: i32) {
    let State::Running { began, left, again } = &mut host.proof.state else { return };
    let code = u64::from(code.unsigned_abs());
    let seen = Seen::of(ended, code);
    if matches!(seen, Seen::TimedOut | Seen::NotLaunched(_)) && *again < AGAIN {
        *again += 1;
        match seen {
            Seen::TimedOut => host.twins.want(wanted),
            _ => host.proof.held.push(wanted),
        }
        return;
    }
    if !seen.fits(Expected::Refused) {
        // Which of several it was that succeeded, the exit status says.
        let which = code.checked_sub(acts::status::SUCCEEDED.into()).filter(|_| seen == Seen::Succeeded);
        let at = which.and_then(|at| usize::try_from(at).ok()).unwrap_or(0);
        let act = wanted.acts.get(at).or(wanted.acts.first()).copied().unwrap_or(u16::MAX);
        return fail(host, Finding { row: wanted.row, act, ended, code });
    }
    *left = left.saturating_sub(1);
    if *left == 0 {
        let ms = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
        host.proof.state = State::Passed { ms };
        host.logs.write("agentd", &format!("self-check passed in {ms} ms"));
        over(host);
    }
}

/// The disk was looked at: what could not be launched is tried again where there is room.
pub(crate) fn go_on(host: &mut Host) {
    if host.disk.room.low || host.proof.held.is_empty() {
        return;
    }
    for wanted in std::mem::take(&mut host.proof.held) {
        host.twins.want(wanted);
    }
}

fn fail(host: &mut Host, found: Finding) {
    let id = Act::numbered(found.act).map_or("an act", |act| act.id);
    let row = found.row.name();
    let what = match Seen::of(found.ended, found.code) {
        Seen::Succeeded => "succeeded and must not".to_owned(),
        Seen::NotLaunched(errno) => format!("could not be tried: it could not be launched (errno {errno})"),
        _ => "could not be tried".to_owned(),
    };
    host.logs.write(
        "agentd",
        &format!("self-check failed: {id} in the jail of {row} {what}; no runner is served until agentd is started again"),
    );
    host.proof.held.clear();
    host.proof.state = State::Failed(found);
    over(host);
}

/// Says how it came out, and answers the launches that waited for it.
fn over(host: &mut Host) {
    tell::checked(host);
    for frame in std::mem::take(&mut host.proof.waiting) {
        launch(host, &frame);
    }
}

/// Router wants a runner: it gets one now, when the check is over, or never.
pub(crate) fn launch(host: &mut Host, frame: &Frame) {
    match host.proof.state {
        State::Passed { .. } => binding::launch(host, frame),
        State::Failed(found) => {
            runners::refuse(host, frame, Ended::Unproven, i32::from(found.act));
        }
        State::NotBegun | State::Running { .. } if host.proof.waiting.len() < WAITING => {
            host.proof.waiting.push(*frame);
        }
        State::NotBegun | State::Running { .. } => runners::refuse(host, frame, Ended::NotLaunched, EAGAIN),
    }
}

/// Takes back a launch that waits; its turn hears that its runner was ended.
pub(crate) fn take_back(host: &mut Host, turn: [u8; 16]) {
    let waiting = std::mem::take(&mut host.proof.waiting);
    let (taken, left): (Vec<Frame>, Vec<Frame>) = waiting.into_iter().partition(|frame| frame.id(0) == turn);
    host.proof.waiting = left;
    for frame in taken {
        runners::refuse(host, &frame, Ended::Killed, nix::libc::SIGKILL);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(state: State) -> [u64; 5] {
        Proof { state, ..Proof::default() }.words()
    }

    #[test]
    fn what_is_told_of_a_check_says_whether_runners_are_served_and_what_was_found() {
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
    fn only_a_check_that_is_over_and_well_serves_runners() {
        let proof = |state| Proof { state, ..Proof::default() };
        let found = Finding { row: Name::Gate, act: 0, ended: Ended::TimedOut, code: 9 };
        for (state, passed, failed) in [
            (State::NotBegun, false, false),
            (State::Running { began: Instant::now(), left: 1, again: 0 }, false, false),
            (State::Passed { ms: 1 }, true, false),
            (State::Failed(found), false, true),
        ] {
            let proof = proof(state);
            assert_eq!((proof.passed(), proof.failed()), (passed, failed), "{proof:?}");
        }
    }
}
