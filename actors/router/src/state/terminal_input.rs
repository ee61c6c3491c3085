//! Input that a person types for a program in a jail. It is held in memory until the gate has fetched it: a restart of this process loses
//! the rest. It goes to the gate only, and is never looked into.

use crate::port::Reply;
use ipc_proto::List;
use ipc_proto::ids::TurnId;
use ipc_proto::router::{Input, Typed};
use std::collections::{HashMap, VecDeque};

/// Bytes that wait for one program before more is refused.
const BYTES: usize = 256 * 1024;
/// Pieces that wait for one.
const PIECES: usize = 1024;

/// Takes the input that the gate fetches.
pub(crate) type InputPort = Reply<Input>;

/// Input for each turn that has a program.
#[derive(Default)]
pub(crate) struct TerminalInputs(HashMap<TurnId, TerminalInput>);

#[derive(Default)]
struct TerminalInput {
    /// The number of the first piece that waits.
    first: u64,
    pieces: VecDeque<Typed>,
    bytes: usize,
    /// The gate's call that waits for more.
    waiting: Option<InputPort>,
}

impl TerminalInputs {
    /// Forgets the input of a turn that is over.
    pub(crate) fn forget(&mut self, turn: TurnId) {
        self.0.remove(&turn);
    }

    pub(crate) fn contains(&self, turn: TurnId) -> bool {
        self.0.contains_key(&turn)
    }

    /// Adds a piece of input for this turn. Returns false if the sender has to send it again later.
    pub(crate) fn push(&mut self, turn: TurnId, number: u64, piece: Typed) -> bool {
        self.0.entry(turn).or_default().push(number, piece)
    }

    /// Answers the gate's call with the input from piece `from` on, once there is some.
    pub(crate) fn fetch(&mut self, turn: TurnId, from: u64, port: InputPort) {
        self.0.entry(turn).or_default().fetch(from, port);
    }
}

impl TerminalInput {
    fn next(&self) -> u64 {
        self.first + self.pieces.len() as u64
    }

    /// Adds a piece if it is the next one. Returns false if the gate must fetch earlier pieces first. A piece that was added before is
    /// passed over.
    fn push(&mut self, number: u64, typed: Typed) -> bool {
        if number == u64::MAX {
            // No number comes after it.
            return false;
        }
        if self.pieces.is_empty() {
            // Another client goes on above the numbers of the one before it, and so does one that this process, started
            // again, does not know.
            self.first = self.first.max(number);
        }
        if number < self.next() {
            return true;
        }
        if number > self.next() || self.bytes >= BYTES || self.pieces.len() >= PIECES {
            return false;
        }
        self.bytes += size(&typed);
        self.pieces.push_back(typed);
        self.answer_waiting();
        true
    }

    /// Drops the pieces before `from`, and gives out those that follow as soon as there are some.
    fn fetch(&mut self, from: u64, port: InputPort) {
        self.drop_before(from);
        // The gate has fetched up to there what this process knew before it was started again.
        self.first = self.first.max(from);
        self.waiting = Some(port);
        self.answer_waiting();
    }

    fn drop_before(&mut self, from: u64) {
        while self.first < from
            && let Some(typed) = self.pieces.pop_front()
        {
            self.bytes -= size(&typed);
            self.first += 1;
        }
    }

    fn answer_waiting(&mut self) {
        if self.pieces.is_empty() {
            return;
        }
        if let Some(port) = self.waiting.take() {
            drop(port.send(Ok(Input { from: self.first, typed: List::clip(self.pieces.iter().cloned()) })));
        }
    }
}

fn size(typed: &Typed) -> usize {
    match typed {
        Typed::Bytes(bytes) => bytes.len(),
        Typed::Size(_) | Typed::End => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ipc_proto::Blob;

    fn piece(bytes: usize) -> Typed {
        Typed::Bytes(Blob::new(vec![b'a'; bytes]).unwrap())
    }

    // Holds P1-26.
    #[test]
    fn input_sent_twice_is_taken_once_and_a_gap_waits() {
        let mut input = TerminalInput::default();
        assert!(input.push(7, piece(1)), "a client begins above whatever was before");
        assert!(input.push(7, piece(1)));
        assert!(!input.push(9, piece(1)));
        assert!(input.push(8, Typed::End));
        assert_eq!((input.first, &input.pieces), (7, &VecDeque::from([piece(1), Typed::End])));
        assert!(!input.push(100, piece(1)), "another client waits until what is there was fetched");
    }

    #[test]
    fn numbers_end_where_numbers_do() {
        let mut input = TerminalInput::default();
        assert!(!input.push(u64::MAX, piece(1)));
        assert!(input.push(u64::MAX - 1, piece(1)));
        assert!(!input.push(u64::MAX, piece(1)));
        input.drop_before(u64::MAX);
        assert_eq!((input.next(), input.pieces.len()), (u64::MAX, 0));
    }

    // Holds P1-26.
    #[test]
    fn input_that_waits_is_bounded_and_a_fetch_makes_room() {
        let mut input = TerminalInput::default();
        let taken = (0..100).take_while(|number| input.push(*number, piece(16 * 1024))).count();
        assert_eq!(taken, 16);
        assert!(!input.push(16, piece(1)));
        input.drop_before(4);
        assert!(input.push(16, piece(1)));
        input.drop_before(u64::MAX);
        assert_eq!((input.bytes, input.pieces.len()), (0, 0));
    }
}
