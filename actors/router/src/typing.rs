//! What a person types for a program that runs in a jail: kept in memory until the gate has fetched it, so that a restart
//! of this process loses what it had not. It is given to nobody but the gate, and never looked into.

use crate::desk::{Desk, Phase};
use crate::queue::Port;
use ipc_proto::List;
use ipc_proto::ids::{TurnId, UserId};
use ipc_proto::router::{Input, RouterError, Typed};
use std::collections::{HashMap, VecDeque};

/// Bytes that wait for one program before more is put off.
const BYTES: usize = 256 * 1024;
/// Pieces that wait for one.
const PIECES: usize = 1024;

/// Where what was typed goes.
pub(crate) type TypedPort = Port<Result<Input, RouterError>>;

/// What was typed for each turn that has a program.
#[derive(Default)]
pub(crate) struct Typings(HashMap<TurnId, Typing>);

#[derive(Default)]
struct Typing {
    /// The number of the first piece that is kept.
    first: u64,
    pieces: VecDeque<Typed>,
    bytes: usize,
    /// The gate waits for more.
    waiting: Option<TypedPort>,
}

impl Typings {
    /// A turn is over.
    pub(crate) fn forget(&mut self, turn: TurnId) {
        self.0.remove(&turn);
    }
}

impl Typing {
    fn next(&self) -> u64 {
        self.first + self.pieces.len() as u64
    }

    /// Takes a piece, if it is the next one; false if what is before it must be fetched first. What was taken before is
    /// passed over.
    fn take(&mut self, number: u64, typed: Typed) -> bool {
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
        self.give();
        true
    }

    /// Lets go of what is before `from`, and gives out what follows as soon as there is something.
    fn fetch(&mut self, from: u64, port: TypedPort) {
        self.let_go(from);
        // What this process knew before it was started again was fetched up to there.
        self.first = self.first.max(from);
        self.waiting = Some(port);
        self.give();
    }

    fn let_go(&mut self, from: u64) {
        while self.first < from
            && let Some(typed) = self.pieces.pop_front()
        {
            self.bytes -= size(&typed);
            self.first += 1;
        }
    }

    fn give(&mut self) {
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

impl Desk {
    /// A person types for the program of a turn of theirs.
    pub(crate) fn type_in(
        &mut self,
        user: Option<UserId>,
        turn: TurnId,
        number: u64,
        typed: Typed,
    ) -> Result<bool, RouterError> {
        let Some(live) = self.live_turn(turn) else { return Self::no_turn() };
        let seq = live.head.seq;
        let theirs = user.is_none_or(|user| user == live.head.user);
        if !theirs || matches!(live.phase, Phase::Ending(_)) {
            return Self::no_turn();
        }
        if !self.typings.0.contains_key(&turn) && !self.runs(seq)? {
            return Self::no_turn();
        }
        Ok(self.typings.0.entry(turn).or_default().take(number, typed))
    }

    /// The gate fetches what was typed.
    pub(crate) fn typed(&mut self, turn: TurnId, from: u64, port: TypedPort) {
        self.heard_of(turn);
        match self.live_turn(turn).map(|live| live.head.seq) {
            Some(seq) if self.runs(seq).unwrap_or(false) => {
                self.typings.0.entry(turn).or_default().fetch(from, port);
            }
            _ => drop(port.send(Self::no_turn())),
        }
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
    fn what_is_typed_twice_is_typed_once_and_what_is_left_out_waits() {
        let mut typing = Typing::default();
        assert!(typing.take(7, piece(1)), "a client begins above whatever was before");
        assert!(typing.take(7, piece(1)));
        assert!(!typing.take(9, piece(1)));
        assert!(typing.take(8, Typed::End));
        assert_eq!((typing.first, &typing.pieces), (7, &VecDeque::from([piece(1), Typed::End])));
        assert!(!typing.take(100, piece(1)), "another client waits until what is there was fetched");
    }

    #[test]
    fn numbers_end_where_numbers_do() {
        let mut typing = Typing::default();
        assert!(!typing.take(u64::MAX, piece(1)));
        assert!(typing.take(u64::MAX - 1, piece(1)));
        assert!(!typing.take(u64::MAX, piece(1)));
        typing.let_go(u64::MAX);
        assert_eq!((typing.next(), typing.pieces.len()), (u64::MAX, 0));
    }

    // Holds P1-26.
    #[test]
    fn what_is_not_fetched_is_bounded_and_what_was_makes_room() {
        let mut typing = Typing::default();
        let taken = (0..100).take_while(|number| typing.take(*number, piece(16 * 1024))).count();
        assert_eq!(taken, 16);
        assert!(!typing.take(16, piece(1)));
        typing.let_go(4);
        assert!(typing.take(16, piece(1)));
        typing.let_go(u64::MAX);
        assert_eq!((typing.bytes, typing.pieces.len()), (0, 0));
    }
}
