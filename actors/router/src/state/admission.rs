//! The messages on their way through the record and the scanner.

use ipc_proto::Text;
use ipc_proto::ids::SessionId;
use std::collections::{HashMap, VecDeque};
use std::time::Instant;

/// Messages that are with audit or the scanner at once.
const AT_ONCE: usize = 4;

/// The messages that wait for the scanner.
#[derive(Default)]
pub(crate) struct Admission {
    waiting: VecDeque<i64>,
    /// Messages that are with audit or the scanner, with their sessions. It is one of a session at a time, since each is judged after the
    /// conversation before it.
    out: HashMap<i64, SessionId>,
    /// Notices to senders whose messages were flagged and go on.
    flagged: HashMap<i64, Text<512>>,
    /// Nothing is sent before then: a peer or the disk was away.
    not_before: Option<Instant>,
}

impl Admission {
    /// Appends a message to those that wait for the scanner.
    pub(crate) fn join(&mut self, seq: i64) {
        self.waiting.push_back(seq);
    }

    /// The messages that are sent now. `session_of` gives the session of a message that is still to be admitted.
    pub(crate) fn next(&mut self, now: Instant, session_of: impl Fn(i64) -> Option<SessionId>) -> Vec<i64> {
        if self.not_before.is_some_and(|at| at > now) {
            return Vec::new();
        }
        self.not_before = None;
        let (mut at, mut next) = (0, Vec::new());
        while self.out.len() < AT_ONCE {
            let Some(seq) = self.waiting.get(at).copied() else { break };
            match session_of(seq) {
                Some(session) if self.out.values().any(|it| *it == session) => at += 1,
                Some(session) => {
                    self.waiting.remove(at);
                    self.out.insert(seq, session);
                    next.push(seq);
                }
                None => drop(self.waiting.remove(at)),
            }
        }
        next
    }

    /// A message has been judged: its place is free.
    pub(crate) fn done(&mut self, seq: i64) {
        self.out.remove(&seq);
    }

    /// Puts a message back to the front, and sends nothing before `until`.
    pub(crate) fn put_off(&mut self, seq: i64, until: Instant) {
        self.out.remove(&seq);
        self.waiting.push_front(seq);
        self.not_before = Some(until);
    }

    /// Removes a message that is over, wherever it was: its place is free.
    pub(crate) fn leave(&mut self, seq: i64) {
        self.out.remove(&seq);
        self.flagged.remove(&seq);
        self.waiting.retain(|it| *it != seq);
    }

    /// Sets the notice for the sender of a message.
    pub(crate) fn set_flag(&mut self, seq: i64, notice: Text<512>) {
        self.flagged.insert(seq, notice);
    }

    /// Takes the notice for the sender of a message.
    pub(crate) fn flag(&mut self, seq: i64) -> Option<Text<512>> {
        self.flagged.remove(&seq)
    }
}
