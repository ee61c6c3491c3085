//! Trying the jails: agentd has a probe try an act in a process's jail, and an unexpected outcome is on the record at
//! once, even if the caller has gone.

use crate::caller::Caller;
use crate::state::{OperatorState, down, to_the_end};
use ipc_proto::audit::{Action, Event, Result3};
use ipc_proto::control::{Answer, ControlError, Probed};
use ipc_proto::{Name, Text};
use manifest::acts::{Act, Expected, Seen};
use manifest::command::{Frame, Kind};
use manifest::{Process, Row};
use std::rc::Rc;

/// How often a probe is repeated that did not end in time: a busy machine is no finding.
const AGAIN: u32 = 3;

impl Caller {
    /// Has an act tried in the jail of a process.
    pub(crate) async fn try_act(self, name: Name, act: Name) -> Answer<Probed> {
        let state = self.state;
        let row = row(&state, &name)?;
        let (number, act) = Act::named(&act).ok_or_else(|| no_act(act.as_str(), row))?;
        let mode = state.board.borrow().mode().ok_or_else(|| down(Process::Agentd))?;
        let expected = act.expected(row, mode).ok_or_else(|| no_act(act.id, row))?;
        to_the_end(async move {
            let frame = Frame::new(Kind::Probe, row.process).with(&[number.into()]);
            let probed = patiently(&state, frame).await?;
            if !probed.seen().fits(expected) {
                state.record(surprise(row, act, probed.seen(), expected)).await?;
            }
            Ok(probed)
        })
        .await
    }

    /// Puts on the record that the jails were tried, and how it came out.
    pub(crate) async fn report_probes(self, acts: u32, surprises: u32) -> Answer<()> {
        let event = tried(self.uid, acts, surprises);
        to_the_end(async move { self.state.record(event).await }).await
    }
}

async fn patiently(state: &Rc<OperatorState>, frame: Frame) -> Answer<Probed> {
    let mut probed = state.agentd.probe(frame).await?;
    for _ in 0..AGAIN {
        if !matches!(probed.seen(), Seen::TimedOut | Seen::NotLaunched(_)) {
            break;
        }
        probed = state.agentd.probe(frame).await?;
    }
    Ok(probed)
}

/// The row of a process of this host, or of its runners.
fn row(state: &OperatorState, name: &str) -> Answer<&'static Row> {
    let names: Vec<Process> =
        state.board.borrow().processes().chain(Process::RUNNERS.iter().copied()).collect();
    let found =
        names.iter().find(|process| process.name() == name).and_then(|process| manifest::row(*process));
    let all = || names.iter().map(|process| process.name()).collect::<Vec<_>>().join(", ");
    found.ok_or_else(|| ControlError::NoProcess(Text::clip(&all())))
}

fn no_act(act: &str, row: &Row) -> ControlError {
    ControlError::NoAct(Text::clip(&format!("{act} is not tried by {} in this mode", row.process.name())))
}

fn surprise(row: &Row, act: &Act, seen: Seen, expected: Expected) -> Event {
    let wanted = if expected == Expected::Refused { "is to be refused" } else { "is contained" };
    let reason = format!("{} {wanted} and {}", act.id, word(seen));
    Event::new(Action::ProbeSurprise, Result3::Error).about(row.process.name()).because(&reason)
}

fn word(seen: Seen) -> String {
    match seen {
        Seen::Succeeded => "succeeded".to_owned(),
        Seen::Killed(signal) => format!("ended by signal {signal}"),
        Seen::TimedOut => "did not end".to_owned(),
        Seen::Unprepared => "could not be made ready".to_owned(),
        Seen::NotLaunched(errno) => format!("was not launched: errno {errno}"),
        Seen::Refused(_) | Seen::NotHere => "was not".to_owned(),
    }
}

fn tried(uid: u32, acts: u32, surprises: u32) -> Event {
    let result = if surprises == 0 { Result3::Success } else { Result3::Error };
    let reason = format!("{acts} acts tried by uid {uid}, {surprises} surprises");
    let mut event = Event::new(Action::HostProbed, result).about(Process::Agentd.name()).because(&reason);
    event.bytes = acts.into();
    event
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_surprise_names_the_process_the_act_and_what_was_seen() {
        let row = manifest::row(Process::Memory).unwrap();
        let (_, act) = Act::named("chroot-jailed").unwrap();
        let event = surprise(row, act, Seen::Succeeded, Expected::Refused);
        assert_eq!((event.action, event.result), (Action::ProbeSurprise, Result3::Error));
        assert_eq!(event.subject.as_deref(), Some("memory"));
        assert_eq!(event.reason.as_deref(), Some("chroot-jailed is to be refused and succeeded"));
    }

    #[test]
    fn a_run_is_an_error_if_anything_surprised() {
        for (surprises, result) in [(0, Result3::Success), (2, Result3::Error)] {
            let event = tried(1000, 900, surprises);
            assert_eq!((event.action, event.result, event.bytes), (Action::HostProbed, result, 900));
        }
    }
}
