//! agentd's reports of acts that a process may not do: each is put on the record, in order, and agentd is told when it
//! is. While audit is away they wait here, and agentd has them too: nothing is lost with this process, though one that
//! was recorded the moment before its end may be recorded once more, under the same number.

use super::OperatorState;
use ipc_proto::audit::{Action, Event, Result3};
use ipc_proto::control::ControlError;
use ipc_proto::ids::{SessionId, TurnId};
use manifest::Process;
use manifest::command::{Frame, Kind, violation_words as at};
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::fmt::Write;
use std::rc::Rc;
use std::time::Duration;

/// How long it is until audit is asked again.
const AGAIN: Duration = Duration::from_secs(1);
/// Arguments that are shown: flags, numbers of options, families. A longer one is an address and carries no
/// information.
const SHOWN: u64 = u32::MAX as u64;

/// Violations that are not recorded yet. Bounded by the number that agentd stores; agentd repeats them only to another
/// life of this process.
#[derive(Default)]
pub(crate) struct Violations {
    last: Cell<u64>,
    waiting: RefCell<VecDeque<Frame>>,
    recording: Cell<bool>,
}

/// Takes agentd's report; a repeated one is recognised by its number.
pub(crate) fn heard(state: &Rc<OperatorState>, frame: Frame) {
    let violations = &state.violations;
    let number = word(&frame, at::SEQUENCE);
    if number <= violations.last.replace(number.max(violations.last.get())) {
        return;
    }
    tracing::warn!(process = frame.peer.name(), reason = reason(&frame), "a violation");
    violations.waiting.borrow_mut().push_back(frame);
    if !violations.recording.replace(true) {
        tokio::task::spawn_local(record(Rc::clone(state)));
    }
}

async fn record(state: Rc<OperatorState>) {
    loop {
        let next = state.violations.waiting.borrow_mut().pop_front();
        let Some(frame) = next else { break };
        while let Err(fault) = state.record(event(&frame)).await {
            if matches!(fault, ControlError::Audit(_)) {
                tracing::error!(%fault, "a violation is not on the record");
                break;
            }
            tokio::time::sleep(AGAIN).await;
        }
        let recorded = Frame::new(Kind::Recorded, Process::Control).with(&[word(&frame, at::SEQUENCE)]);
        // One that does not arrive is made good by the next, or by telling it again after the next start.
        drop(state.agentd.tell(recorded));
    }
    state.violations.recording.set(false);
}

fn event(frame: &Frame) -> Event {
    let jail = frame.peer.is_runner();
    let action = if jail { Action::SandboxViolation } else { Action::ProcessViolation };
    let mut event = Event::new(action, Result3::Blocked).about(frame.peer.name()).because(&reason(frame));
    let id = |at: usize| Some(frame.id(at / 2)).filter(|id| *id != [0; 16]);
    event.turn = id(at::TURN).map(TurnId::from_bytes);
    event.session = id(at::SESSION).map(SessionId::from_bytes);
    event
}

/// The attempt and its outcome, at most 64 bytes: the number comes first, since it identifies a repeat.
fn reason(frame: &Frame) -> String {
    let mut said = format!("no. {}: ", word(frame, at::SEQUENCE));
    let untold = word(frame, at::UNTOLD);
    if untold > 0 {
        let _ = write!(said, "({untold} untold) ");
    }
    let errno = word(frame, at::ERRNO);
    match word(frame, at::NUMBER) {
        u64::MAX => said.push_str("killed by its filter, call not known"),
        number if number == u64::MAX - 1 => said.push_str("its share of reports is used up"),
        number => {
            let _ = write!(said, "{} {}", call(number, frame), outcome(errno));
        }
    }
    said
}

fn call(number: u64, frame: &Frame) -> String {
    let name = i32::try_from(number).ok().and_then(confine::notices::name);
    let name = name.map_or_else(|| format!("call {number}"), str::to_owned);
    let arguments: Vec<String> = (at::ARGUMENTS..at::ARGUMENTS + 3)
        .map(|index| word(frame, index))
        .map(|value| if value <= SHOWN { format!("{value:#x}") } else { "-".to_owned() })
        .collect();
    format!("{name}({})", arguments.join(","))
}

fn outcome(errno: u64) -> String {
    if errno == 0 { "killed".to_owned() } else { format!("errno {errno}") }
}

fn word(frame: &Frame, index: usize) -> u64 {
    frame.words.get(index).copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(who: Process, number: u64, errno: u64) -> Frame {
        let words = [1, 0, number, 77, errno, 9, 0, 0, 2, u64::MAX, 0, 0, 3, 0];
        Frame::new(Kind::Violation, who).with(&words)
    }

    #[test]
    fn an_entry_names_process_call_outcome_number_turn_and_session() {
        let event = event(&frame(Process::Runner, 41, 97));
        assert_eq!((event.action, event.result), (Action::SandboxViolation, Result3::Blocked));
        assert_eq!(event.reason.unwrap().as_str(), "no. 9: socket(0x2,-,0x0) errno 97");
        assert!(
            event.turn.is_some()
                && event.session.is_some()
                && event.session.map(SessionId::bytes) != event.turn.map(TurnId::bytes)
        );
    }

    #[test]
    fn what_nobody_knows_is_said_to_be_unknown() {
        for (number, words) in
            [(u64::MAX, "not known"), (u64::MAX - 1, "used up"), (9999, "call 9999(0x2,-,0x0) killed")]
        {
            let said = reason(&frame(Process::Web, number, 0));
            assert!(said.contains(words), "{said}");
        }
    }
}
