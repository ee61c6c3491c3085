//! Entries on their way to the disk, in their final form. It opens nothing.

use crate::entry::{self, NoEntry, USUAL};
use crate::hash;
use crate::tile;
use ipc_proto::Name;
use ipc_proto::audit::{Event, Record, Serial};

/// Entries that room is made for when the first comes.
const FEW: usize = 64;

/// Entries with the indices that follow each other, not durable yet.
#[derive(Debug, Default)]
pub(crate) struct Batch {
    /// As a bundle has them.
    bytes: Vec<u8>,
    /// The serial of each, and where it ends there. Every append looks through them.
    marks: Vec<(Serial, usize)>,
    records: Vec<Record>,
}

impl Batch {
    pub(crate) const fn len(&self) -> usize {
        self.records.len()
    }

    pub(crate) const fn is_empty(&self) -> bool {
        self.records.is_empty()
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    pub(crate) fn records(&self) -> &[Record] {
        &self.records
    }

    /// The index of an entry that is among them.
    pub(crate) fn index(&self, witness: &Name, serial: Serial) -> Option<u64> {
        let same = self.marks.iter().zip(&self.records).rev().filter(|((its, _), _)| *its == serial);
        same.map(|(_, record)| record).find(|record| record.witness == *witness).map(|record| record.index)
    }

    /// Adds an entry, behind `before` others of the log and those that are here; gives its index.
    pub(crate) fn add(
        &mut self,
        before: u64,
        time_ms: u64,
        witness: Name,
        serial: Serial,
        event: Event,
    ) -> Result<u64, NoEntry> {
        if self.is_empty() {
            self.bytes.reserve(FEW * USUAL);
            self.marks.reserve(FEW);
            self.records.reserve(FEW);
        }
        let index = before + self.len() as u64;
        let mut record = Record { index, time_ms, witness, serial, event, hash: [0; 32] };
        let entry = tile::push(&mut self.bytes, |to| entry::put(&record, to))?;
        record.hash = self.bytes.get(entry).map(hash::leaf).ok_or(NoEntry)?;
        self.marks.push((serial, self.bytes.len()));
        self.records.push(record);
        Ok(index)
    }

    /// Takes the first `count` out.
    pub(crate) fn split(&mut self, count: usize) -> Self {
        let end = count.checked_sub(1).and_then(|last| self.marks.get(last)).map(|(_, end)| *end);
        let Some(end) = end.filter(|_| count < self.len()) else {
            return if count == 0 { Self::default() } else { std::mem::take(self) };
        };
        let mut rest = Self {
            bytes: self.bytes.split_off(end),
            marks: self.marks.split_off(count),
            records: self.records.split_off(count),
        };
        rest.marks.iter_mut().for_each(|(_, at)| *at -= end);
        std::mem::replace(self, rest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ipc_proto::audit::{Action, Result3};

    fn batch(entries: u64) -> Batch {
        let mut batch = Batch::default();
        for number in 0..entries {
            let longer = "1".repeat(usize::try_from(number).unwrap() + 1);
            let event = Event::new(Action::ToolEnded, Result3::Success).about(&longer);
            let index = batch.add(7, 1, Name::clip("gate"), Serial { life: 1, number }, event);
            assert_eq!(index, Ok(7 + number));
        }
        batch
    }

    #[test]
    fn what_is_taken_out_and_what_is_left_are_together_what_was_there() {
        let whole = batch(9);
        for count in 0..12 {
            let mut rest = batch(9);
            let some = rest.split(count);
            assert_eq!(some.len(), count.min(9));
            assert_eq!([some.bytes(), rest.bytes()].concat(), whole.bytes());
            let mut again = rest.split(2);
            assert_eq!(again.len(), 2.min(9 - count.min(9)));
            again.bytes.extend(rest.bytes());
            assert_eq!([some.bytes(), again.bytes()].concat(), whole.bytes());
            for record in some.records().iter().chain(again.records()) {
                assert_eq!(record.index, 7 + record.serial.number);
            }
        }
        let gate = Name::clip("gate");
        assert_eq!(whole.index(&gate, Serial { life: 1, number: 4 }), Some(11));
        assert_eq!(whole.index(&Name::clip("model"), Serial { life: 1, number: 4 }), None);
    }
}
