//! The calls of a turn: how often each was requested, how often each tool failed, and the results.

use ipc_proto::ids::CallId;
use ipc_proto::router::{CallVerdict, Released};
use ipc_proto::runner_gate::GateError;
use ipc_proto::tool::{ToolCall, ToolResult};
use serde_json::Value;
use sha2::{Digest, Sha256};
use std::collections::{HashMap, HashSet};

/// The calls of one turn, earlier attempts included.
#[derive(Default)]
pub(crate) struct CallLog {
    /// Released calls, and their results once they are in.
    released: HashMap<CallId, (Released, Option<ToolResult>)>,
    /// The number of requested calls.
    asked: u32,
    /// The count of each call, by its identity.
    repeats: HashMap<[u8; 32], u32>,
    /// Calls that were refused as repeats, and of which the model was told, since it last requested a new one.
    refused_repeats: HashSet<[u8; 32]>,
    /// Failures in a row, by tool.
    failures: HashMap<String, u32>,
}

/// A released call.
pub(crate) enum Pending {
    /// It has no result yet.
    Open(Released),
    /// Its result is known, and is returned again on request.
    Done(ToolResult),
}

impl CallLog {
    /// Counts a requested call; returns how often this turn has requested it by now.
    pub(crate) fn count(&mut self, call: &ToolCall) -> u32 {
        self.asked = self.asked.saturating_add(1);
        let times = self.repeats.entry(identity(call)).or_default();
        *times = times.saturating_add(1);
        *times
    }

    /// The number of requested calls.
    pub(crate) const fn asked(&self) -> u32 {
        self.asked
    }

    /// Returns true if the model requests this call again although it was told, just now, that it is refused.
    pub(crate) fn repeats_refused(&self, call: &ToolCall) -> bool {
        !self.refused_repeats.is_empty() && self.refused_repeats.contains(&identity(call))
    }

    /// Notes which calls of a reply were refused as repeats, each beyond `most` times; the model is told of these. They stand
    /// until it requests something else, so that a circle of several such calls is found as well.
    pub(crate) fn note_repeats<'a>(&mut self, calls: impl Iterator<Item = &'a ToolCall>, most: u32) {
        let over = |id: &[u8; 32]| self.repeats.get(id).is_some_and(|times| *times > most);
        let (refused, others): (Vec<_>, Vec<_>) = calls.map(identity).partition(over);
        if refused.is_empty() || !others.is_empty() {
            self.refused_repeats.clear();
        }
        self.refused_repeats.extend(refused);
    }

    /// Stores a decided call, with its result once there is one.
    pub(crate) fn insert(&mut self, released: Released, result: Option<ToolResult>) {
        self.released.insert(released.call.id, (released, result));
    }

    /// A call of this turn that was released.
    ///
    /// # Errors
    /// There is no such call, or it was not permitted.
    pub(crate) fn pending(&self, call: CallId) -> Result<Pending, GateError> {
        match self.released.get(&call) {
            Some((_, Some(result))) => Ok(Pending::Done(result.clone())),
            Some((released, None)) if released.verdict == CallVerdict::Run => {
                Ok(Pending::Open(released.clone()))
            }
            _ => Err(GateError::OutOfTurn),
        }
    }

    /// Counts a result towards the bound of consecutive failures.
    pub(crate) fn count_result(&mut self, tool: &str, failed: bool) {
        let failures = self.failures.entry(tool.to_owned()).or_default();
        *failures = if failed { *failures + 1 } else { 0 };
    }

    /// The failures of a tool in a row.
    pub(crate) fn failures(&self, tool: &str) -> u32 {
        self.failures.get(tool).copied().unwrap_or(0)
    }
}

/// The identity of a call: its tool and its arguments, however these are spelled.
fn identity(call: &ToolCall) -> [u8; 32] {
    match toolset::parse_args(&call.args) {
        Ok(Value::Object(args)) => {
            policy::scope(&call.tool, &args.keys().cloned().collect::<Vec<_>>(), &args)
        }
        // Such a call is refused in any case, so its spelling is enough.
        _ => Sha256::digest(call.args.as_bytes()).into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ipc_proto::{Name, Text};

    // Holds B-16.
    #[test]
    fn a_call_is_the_same_however_its_arguments_are_spelled() {
        let mut calls = CallLog::default();
        let mut asked = |tool: &str, args: &str| {
            let call = ToolCall { id: CallId::random(), tool: Name::clip(tool), args: Text::clip(args) };
            calls.count(&call)
        };
        assert_eq!(asked("bash", r#"{"command":"ls","timeout":1}"#), 1);
        assert_eq!(asked("bash", r#"{ "timeout": 1, "command": "ls" }"#), 2);
        assert_eq!(asked("bash", r#"{"command":"ls","timeout":2}"#), 1);
        assert_eq!(asked("read", r#"{"command":"ls","timeout":1}"#), 1);
        assert_eq!((asked("read", "{"), asked("read", "{")), (1, 2));
        assert_eq!(calls.asked(), 6);
    }

    // Holds B-16.
    #[test]
    fn a_refused_repeat_is_known_in_the_next_reply_and_in_no_later_one() {
        let mut calls = CallLog::default();
        let call =
            |args: &str| ToolCall { id: CallId::random(), tool: Name::clip("bash"), args: Text::clip(args) };
        let (same, other) = (call(r#"{"command":"ls"}"#), call(r#"{"command":"pwd"}"#));
        let mut reply = |asked: &[&ToolCall]| {
            let knew = asked.iter().any(|call| calls.repeats_refused(call));
            for call in asked {
                calls.count(call);
            }
            calls.note_repeats(asked.iter().copied(), 3);
            knew
        };
        assert!(!reply(&[&same, &same]));
        assert!(
            !reply(&[&same, &same, &other]),
            "however often it stands in one reply, that is the first word of it"
        );
        assert!(reply(&[&other, &call(r#"{ "command": "ls" }"#)]), "and it is asked for again");
        assert!(!reply(&[&other]));
        assert!(!reply(&[&same]), "something else was done since");
    }

    // Holds B-16.
    #[test]
    fn refused_repeats_that_alternate_are_a_circle_as_well() {
        let mut calls = CallLog::default();
        let call =
            |args: &str| ToolCall { id: CallId::random(), tool: Name::clip("bash"), args: Text::clip(args) };
        let (one, two, new) = (call("1"), call("2"), call("3"));
        let mut reply = |call: &ToolCall| {
            let knew = calls.repeats_refused(call);
            calls.count(call);
            calls.note_repeats(std::iter::once(call), 3);
            knew
        };
        for call in [&one, &two].repeat(3) {
            assert!(!reply(call), "as often as a call may be asked for");
        }
        assert!(!reply(&one), "the first word of it");
        assert!(!reply(&new), "something else was done since");
        assert!(!reply(&one));
        assert!(!reply(&two), "the first word of this one");
        assert!(reply(&one), "and nothing else was done since its own");
    }

    // Holds B-14.
    #[test]
    fn a_success_forgets_the_failures_before_it() {
        let mut calls = CallLog::default();
        calls.count_result("bash", true);
        assert_eq!(calls.failures("bash"), 1);
        calls.count_result("bash", false);
        assert_eq!(calls.failures("bash"), 0);
    }
}
