//! The model's reasoning before its calls, which goes back to the model and never to the runner.

use ipc_proto::List;
use ipc_proto::ids::CallId;
use ipc_proto::model::{HANDED_BACK, Message, Role, THOUGHTS, Thought};
use std::collections::{HashMap, VecDeque};

/// The reasoning of one turn, by the first call of each reply; at most `HANDED_BACK` bytes, the oldest are dropped.
#[derive(Default)]
pub(crate) struct Reasoning(VecDeque<(CallId, List<Thought, THOUGHTS>)>);

impl Reasoning {
    /// Keeps the reasoning before calls of which `first` is the first.
    pub(crate) fn keep(&mut self, first: Option<CallId>, thoughts: List<Thought, THOUGHTS>) {
        if let Some(call) = first.filter(|_| !thoughts.is_empty()) {
            self.0.push_back((call, thoughts));
        }
        let bytes = |all: &List<Thought, THOUGHTS>| all.iter().map(Thought::bytes).sum::<usize>();
        while self.0.iter().map(|(_, all)| bytes(all)).sum::<usize>() > HANDED_BACK {
            self.0.pop_front();
        }
    }

    /// Puts the reasoning back into the messages that it came with, in place of whatever the runner put there. Each goes back
    /// once: otherwise a runner that repeats a message a thousand times would have it copied as often.
    pub(crate) fn restore(&self, messages: &mut [Message]) {
        let mut left: HashMap<_, _> = self.0.iter().map(|(call, thoughts)| (*call, thoughts)).collect();
        for message in messages {
            let first = message.calls.first().map(|call| call.id).filter(|_| message.role == Role::Assistant);
            let kept = first.and_then(|call| left.remove(&call));
            message.thoughts = kept.cloned().unwrap_or_default();
        }
    }
}
