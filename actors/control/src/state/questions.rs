//! Questions to agentd whose answers come in an order of their own: each answer carries the number of its question.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use tokio::sync::oneshot;

/// Questions that may wait for their answers: as many as agentd keeps.
const WAITING: usize = 64;

/// The questions that wait for an answer of so many words.
pub(super) struct Questions<const WORDS: usize> {
    last: Cell<u64>,
    waiting: RefCell<BTreeMap<u64, oneshot::Sender<[u64; WORDS]>>>,
}

impl<const WORDS: usize> Default for Questions<WORDS> {
    fn default() -> Self {
        Self { last: Cell::new(0), waiting: RefCell::default() }
    }
}

impl<const WORDS: usize> Questions<WORDS> {
    /// A number for a question, and where its answer comes; `None` while too many wait.
    pub(super) fn join(&self) -> Option<(u64, oneshot::Receiver<[u64; WORDS]>)> {
        let mut waiting = self.waiting.borrow_mut();
        waiting.retain(|_, asker| !asker.is_closed());
        if waiting.len() >= WAITING {
            return None;
        }
        let number = self.last.get().wrapping_add(1);
        self.last.set(number);
        let (sender, receiver) = oneshot::channel();
        waiting.insert(number, sender);
        Some((number, receiver))
    }

    /// Takes an answer. An answer to a question of an earlier life of this process is dropped.
    pub(super) fn answer(&self, number: u64, words: [u64; WORDS]) {
        let asker = self.waiting.borrow_mut().remove(&number);
        let _ = asker.map(|asker| asker.send(words));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_goes_to_its_question_in_whatever_order_they_come() {
        let questions = Questions::<2>::default();
        let (first, mut one) = questions.join().unwrap();
        let (second, mut two) = questions.join().unwrap();
        let answer = |number: u64, code: u64| questions.answer(number, [0, code]);
        for (number, code) in [(second, 2), (99, 9), (first, 1), (first, 7)] {
            answer(number, code);
        }
        assert_eq!((one.try_recv(), two.try_recv()), (Ok([0, 1]), Ok([0, 2])));
    }

    #[test]
    fn questions_are_bounded_and_those_that_nobody_waits_for_make_room() {
        let questions = Questions::<2>::default();
        let mut held: Vec<_> = (0..WAITING).map(|_| questions.join().unwrap()).collect();
        assert!(questions.join().is_none());
        held.pop();
        assert!(questions.join().is_some());
    }
}
