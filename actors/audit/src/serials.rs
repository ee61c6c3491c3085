//! The entries that each reporter appended lately: a repeated append is one entry. It opens nothing.
//!
//! A repeat bears the serial of the first append. Only the end of a turn may be repeated with another serial: by a
//! reporter that crashed after it was recorded and before it learned of that.

use ipc_proto::Name;
use ipc_proto::audit::{Action, Event, Record, Result3, Serial};
use ipc_proto::ids::TurnId;
use std::collections::{HashMap, VecDeque};

/// Serials remembered per witness: a repeat comes at once or not at all.
pub(crate) const REMEMBERED: usize = 512;

/// The latest appends of each reporter.
#[derive(Debug, Default)]
pub(crate) struct Serials {
    witnesses: HashMap<Name, Recent>,
    /// The ends of turns among them, of all witnesses together.
    ends: VecDeque<Ended>,
}

/// The end of a turn.
#[derive(Debug)]
struct Ended {
    witness: Name,
    turn: TurnId,
    how: (Action, Result3),
    reason: Option<Name>,
    index: u64,
}

/// The entries of one witness: by serial, and in their order. Every append looks here, so it must not take longer for
/// how many are remembered.
#[derive(Debug, Default)]
struct Recent {
    indices: HashMap<(u64, u64), u64>,
    order: VecDeque<(u64, u64)>,
}

impl Serials {
    /// Remembers an entry.
    pub(crate) fn keep(&mut self, record: &Record) {
        let Record { witness, serial, event, index, .. } = record;
        match self.witnesses.get_mut(witness) {
            Some(recent) => recent.keep(*serial, *index),
            None => self.witnesses.entry(witness.clone()).or_default().keep(*serial, *index),
        }
        if let Some(turn) = ended(event) {
            let (how, reason) = ((event.action, event.result), event.reason.clone());
            self.ends.push_back(Ended { witness: witness.clone(), turn, how, reason, index: *index });
            if self.ends.len() > REMEMBERED {
                self.ends.pop_front();
            }
        }
    }

    /// The index of an entry that is there already.
    pub(crate) fn index(&self, witness: &Name, serial: Serial, event: &Event) -> Option<u64> {
        let by_serial = || self.witnesses.get(witness)?.indices.get(&(serial.life, serial.number)).copied();
        by_serial().or_else(|| {
            let turn = ended(event)?;
            let is_it = |end: &&Ended| {
                end.turn == turn
                    && end.how == (event.action, event.result)
                    && end.reason == event.reason
                    && end.witness == *witness
            };
            self.ends.iter().rev().find(is_it).map(|end| end.index)
        })
    }
}

/// The turn that an event is the end of.
fn ended(event: &Event) -> Option<TurnId> {
    let is_end = matches!(
        event.action,
        Action::TurnEnded
            | Action::MessageBlocked
            | Action::MessageRecalled
            | Action::MessageQuarantined
            | Action::MessageTakenIn
    );
    event.turn.filter(|_| is_end)
}

impl Recent {
    fn keep(&mut self, serial: Serial, index: u64) {
        let key = (serial.life, serial.number);
        if self.indices.insert(key, index).is_none() {
            self.order.push_back(key);
        }
        if self.order.len() > REMEMBERED
            && let Some(oldest) = self.order.pop_front()
        {
            self.indices.remove(&oldest);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(witness: &str, serial: Serial, index: u64, event: Event) -> Record {
        Record { index, time_ms: 1, witness: Name::clip(witness), serial, event, hash: [0; 32] }
    }

    #[test]
    fn the_latest_of_each_witness_are_known_and_no_more_are_kept() {
        let mut serials = Serials::default();
        let [gate, router] = ["gate", "router"].map(Name::clip);
        let serial = |number| Serial { life: 7, number };
        let event = || Event::new(Action::ToolEnded, Result3::Success);
        for number in 0..2000 {
            serials.keep(&record("gate", serial(number), number + 10, event()));
        }
        let index = |witness, number| serials.index(witness, serial(number), &event());
        assert_eq!(index(&gate, 1999), Some(2009));
        assert_eq!(index(&gate, 2000 - REMEMBERED as u64), Some(2010 - REMEMBERED as u64));
        assert_eq!(index(&gate, 1999 - REMEMBERED as u64), None);
        assert_eq!((index(&router, 1999), index(&gate, 9999)), (None, None));
        let kept = serials.witnesses.values().map(|recent| (recent.indices.len(), recent.order.len()));
        assert_eq!(kept.collect::<Vec<_>>(), [(REMEMBERED, REMEMBERED)]);
        assert!(serials.ends.is_empty());
    }

    // Holds P7-03.
    #[test]
    fn the_end_of_a_turn_is_recognised_after_a_restart() {
        let mut serials = Serials::default();
        let of = |action, turn: u8, reason: &str| {
            let (session, turn) =
                (ipc_proto::ids::SessionId::from_bytes([0; 16]), TurnId::from_bytes([turn; 16]));
            Event::new(action, Result3::Error).because(reason).in_turn(session, turn)
        };
        for (index, action) in [(0, Action::TurnEnded), (1, Action::TurnRetried)] {
            serials.keep(&record(
                "router",
                Serial { life: 1, number: index + 1 },
                index,
                of(action, 1, "why"),
            ));
        }
        for number in 0..1000 {
            let event = of(Action::TurnRetried, 9, "why");
            serials.keep(&record("router", Serial { life: 1, number: number + 3 }, number + 2, event));
        }
        for (witness, event, known) in [
            ("router", of(Action::TurnEnded, 1, "why"), Some(0)),
            ("router", of(Action::TurnRetried, 1, "why"), None),
            ("router", of(Action::TurnEnded, 1, "another"), None),
            ("router", of(Action::TurnEnded, 2, "why"), None),
            ("router", of(Action::MessageBlocked, 1, "why"), None),
            ("gate", of(Action::TurnEnded, 1, "why"), None),
        ] {
            let serial = Serial { life: 2, number: 1 };
            assert_eq!(serials.index(&Name::clip(witness), serial, &event), known, "{witness} {event:?}");
        }
    }
}
