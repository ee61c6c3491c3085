//! What agentd is asked to have tried: each answer carries the number of its question, since twins end in an order of
//! their own.

use manifest::command::Frame;
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use tokio::sync::oneshot;

/// Questions that may wait for their answers: as many as agentd keeps.
const WAITING: usize = 64;

/// Who waits for what became of an act.
#[derive(Default)]
pub(super) struct Probes {
    last: Cell<u64>,
    waiting: RefCell<BTreeMap<u64, oneshot::Sender<[u64; 2]>>>,
}

impl Probes {
    /// A number for a question, and where its answer comes; `None` while too many wait.
    pub(super) fn join(&self) -> Option<(u64, oneshot::Receiver<[u64; 2]>)> {
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

    /// Takes an answer. One to a question of an earlier life of this process is nobody's.
    pub(super) fn answer(&self, frame: &Frame) {
        let [_, ended, code, number, ..] = frame.words;
        let asker = self.waiting.borrow_mut().remove(&number);
        let _ = asker.map(|asker| asker.send([ended, code]));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use manifest::Process;
    use manifest::command::Kind;

    #[test]
    fn an_answer_goes_to_its_question_in_whatever_order_they_come() {
        let probes = Probes::default();
        let (first, mut one) = probes.join().unwrap();
        let (second, mut two) = probes.join().unwrap();
        let answer = |number: u64, code: u64| {
            probes.answer(&Frame::new(Kind::Probed, Process::Memory).with(&[5, 0, code, number]));
        };
        for (number, code) in [(second, 2), (99, 9), (first, 1), (first, 7)] {
            answer(number, code);
        }
        assert_eq!((one.try_recv(), two.try_recv()), (Ok([0, 1]), Ok([0, 2])));
    }

    #[test]
    fn questions_are_bounded_and_those_that_nobody_waits_for_make_room() {
        let probes = Probes::default();
        let mut held: Vec<_> = (0..WAITING).map(|_| probes.join().unwrap()).collect();
        assert!(probes.join().is_none());
        held.pop();
        assert!(probes.join().is_some());
    }
}
