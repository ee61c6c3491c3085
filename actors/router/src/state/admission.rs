//! The messages on their way through the record and the scanner.

use ipc_proto::Text;
use ipc_proto::ids::{SessionId, UserId};
use std::collections::{HashMap, VecDeque};
use std::time::Instant;

/// Messages that are with audit or the scanner at once.
const AT_ONCE: usize = 4;

/// The session and the user of a message.
type Place = (SessionId, UserId);

/// The messages that wait for the scanner.
#[derive(Default)]
pub(crate) struct Admission {
    waiting: VecDeque<i64>,
    /// Messages that are with audit or the scanner, with their sessions and users. It is one of a session at a time, since each is judged
    /// after the conversation before it.
    out: HashMap<i64, Place>,
    /// Users whose messages were sent, the latest last. Users who are not here come first.
    served: VecDeque<UserId>,
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

    /// The messages that are sent now, of each user in turn: much of one user's keeps nobody else's back. `place_of` gives session and
    /// user of a message that is still to be admitted.
    pub(crate) fn next(&mut self, now: Instant, place_of: impl Fn(i64) -> Option<Place>) -> Vec<i64> {
        if self.not_before.is_some_and(|at| at > now) {
            return Vec::new();
        }
        self.not_before = None;
        let mut next = Vec::new();
        while self.out.len() < AT_ONCE {
            let Some((at, seq, place)) = self.first(&place_of) else { break };
            self.waiting.remove(at);
            self.out.insert(seq, place);
            self.served.retain(|user| *user != place.1);
            self.served.push_back(place.1);
            next.push(seq);
        }
        if self.waiting.is_empty() {
            self.served.clear();
        }
        next
    }

    /// The oldest message of the user whose turn it is, and where it waits. Messages that are over are dropped on the way.
    fn first(&mut self, place_of: impl Fn(i64) -> Option<Place>) -> Option<(usize, i64, Place)> {
        self.waiting.retain(|seq| place_of(*seq).is_some());
        let mut first: Option<(Option<usize>, (usize, i64, Place))> = None;
        for (at, seq) in self.waiting.iter().copied().enumerate() {
            let Some(place) = place_of(seq) else { continue };
            if self.out.values().any(|(session, _)| *session == place.0) {
                continue;
            }
            let turn = self.served.iter().position(|user| *user == place.1);
            if first.is_none_or(|(least, ..)| turn < least) {
                first = Some((turn, (at, seq, place)));
            }
            if turn.is_none() {
                break;
            }
        }
        first.map(|(_, first)| first)
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

#[cfg(test)]
mod tests {
    use super::*;

    // Holds P7-93.
    #[test]
    fn much_of_one_user_keeps_no_other_users_message_back() {
        let (session, user) = (|n: u8| SessionId::from_bytes([n; 16]), |n: u8| UserId::from_bytes([n; 16]));
        // User 1 has a hundred messages in twenty sessions, users 2 and 3 one each.
        let place = |seq: i64| {
            let n = u8::try_from(seq).unwrap();
            Some(if n < 100 { (session(n % 20), user(1)) } else { (session(n), user(n - 98)) })
        };
        let (mut admission, now) = (Admission::default(), Instant::now());
        (0..102).for_each(|seq| admission.join(seq));
        assert_eq!(admission.next(now, place), [0, 100, 101, 1]);
        let mut order = Vec::new();
        for done in [0, 100, 101, 1] {
            admission.done(done);
        }
        while let [seq, ..] = admission.next(now, place)[..] {
            order.push(seq);
            admission.out.clear();
        }
        assert!(order.is_sorted(), "of one user the oldest comes first: {order:?}");
    }
}
