//! The counts of recorded events, in all and on the day of the latest entry. They are stored in a signed note beside
//! the log so that a start need not read the whole log; they save time, and are no evidence.

use crate::note::{self, PublicKey, SecretKey};
use ipc_proto::audit::{Action, Count, Record, Result3};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// The note's file.
pub(crate) const FILE: &str = "counts";
/// The note's first line.
const TITLE: &str = "cordon.audit counts";
/// Milliseconds of a day.
pub(crate) const DAY: u64 = 86_400_000;

/// The counts of recorded events.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    /// Entries that were counted.
    pub(crate) size: u64,
    /// Days since 1970-01-01 (UTC) of the latest of them.
    pub(crate) day: u32,
    pub(crate) counts: Vec<Count>,
}

/// A day that is over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Closed {
    pub(crate) day: u32,
    /// Entries up to its end.
    pub(crate) size: u64,
    /// The events that were recorded on that day.
    pub(crate) counts: Vec<Count>,
}

impl Counts {
    /// Counts an entry; the day that it ends, if it does.
    pub(crate) fn add(&mut self, record: &Record) -> Option<Closed> {
        self.tally(record.time_ms, record.event.action, record.event.result)
    }

    /// Counts an entry by its action and result. A clock that steps back counts to the later day.
    pub(crate) fn tally(&mut self, time_ms: u64, action: Action, result: Result3) -> Option<Closed> {
        let day = u32::try_from(time_ms / DAY).unwrap_or(u32::MAX);
        let closed = (day > self.day && !self.counts.is_empty()).then(|| Closed {
            day: self.day,
            size: self.size,
            counts: self.counts.clone(),
        });
        if day > self.day {
            self.day = day;
            self.counts.iter_mut().for_each(|count| count.today = 0);
        }
        self.count(action, result);
        self.size += 1;
        closed
    }

    fn count(&mut self, action: Action, result: Result3) {
        match self.counts.iter_mut().find(|count| (count.action, count.result) == (action, result)) {
            Some(count) => (count.total, count.today) = (count.total + 1, count.today + 1),
            None => self.counts.push(Count { action, result, total: 1, today: 1 }),
        }
    }

    /// The note.
    pub(crate) fn note(&self, key: &SecretKey) -> String {
        let lines = self.counts.iter().map(|count| {
            format!("{} {} {} {}\n", word(count.action), word(count.result), count.total, count.today)
        });
        let head = format!("{TITLE}\n{}\n{} {}\n", key.public.name, self.size, self.day);
        note::sign(&lines.fold(head, |text, line| text + &line), &[key])
    }

    /// Reads a note that one of `keys` signed.
    pub(crate) fn read(note: &str, keys: &[PublicKey]) -> Option<Self> {
        let mut lines = note::open(note, keys).ok()?.lines();
        (lines.next()? == TITLE).then_some(())?;
        lines.next()?;
        let (size, day) = lines.next()?.split_once(' ')?;
        let counts: Option<Vec<Count>> = lines.map(count).collect();
        Some(Self { size: size.parse().ok()?, day: day.parse().ok()?, counts: counts? })
    }
}

fn count(line: &str) -> Option<Count> {
    let mut words = line.split(' ');
    let (action, result) = (value(words.next()?)?, value(words.next()?)?);
    Some(Count { action, result, total: words.next()?.parse().ok()?, today: words.next()?.parse().ok()? })
}

/// The meanings of entries' action and result. Each pair is parsed once: a million entries have a few dozen pairs.
#[derive(Default)]
pub(crate) struct Meanings(Vec<Meaning>);

struct Meaning {
    words: [Vec<u8>; 2],
    values: (Action, Result3),
}

impl Meanings {
    /// The meaning of this action and result, or none if they are unknown.
    pub(crate) fn of(&mut self, action: &[u8], result: &[u8]) -> Option<(Action, Result3)> {
        let words = [action, result];
        if let Some(known) = self.0.iter().find(|known| known.words == words) {
            return Some(known.values);
        }
        let read = |word| std::str::from_utf8(word).ok();
        // Unknown pairs, whose number is unbounded, are not cached.
        let values = (value(read(action)?)?, value(read(result)?)?);
        self.0.push(Meaning { words: words.map(<[u8]>::to_vec), values });
        Some(values)
    }
}

/// The word that a value of a closed set has on the record.
pub(crate) fn word(value: impl Serialize) -> String {
    serde_json::to_value(value).ok().and_then(|value| value.as_str().map(str::to_owned)).unwrap_or_default()
}

/// The value of a closed set that has this word.
pub(crate) fn value<T: DeserializeOwned>(word: &str) -> Option<T> {
    serde_json::from_value(serde_json::Value::String(word.to_owned())).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use ipc_proto::Name;
    use ipc_proto::audit::{Event, Serial};

    fn record(day: u64, action: Action) -> Record {
        let event = Event::new(action, Result3::Success);
        let serial = Serial { life: 1, number: 1 };
        Record { index: 0, time_ms: day * DAY, witness: Name::clip("gate"), serial, event, hash: [0; 32] }
    }

    #[test]
    fn a_day_ends_with_the_first_entry_of_a_later_one_and_the_note_reads_back() {
        let mut counts = Counts::default();
        for (day, action) in [(5, Action::TurnStarted), (5, Action::TurnStarted), (4, Action::TurnEnded)] {
            assert_eq!(counts.add(&record(day, action)), None);
        }
        let closed = counts.add(&record(7, Action::TurnStarted)).unwrap();
        assert_eq!((closed.day, closed.size), (5, 3));
        assert_eq!(closed.counts.iter().map(|count| count.today).collect::<Vec<_>>(), [2, 1]);
        assert_eq!(
            counts.counts.iter().map(|count| (count.total, count.today)).collect::<Vec<_>>(),
            [(3, 1), (1, 0)]
        );
        let key = SecretKey::new("cordon/test", &[1; 32]);
        assert_eq!(Counts::read(&counts.note(&key), std::slice::from_ref(&key.public)), Some(counts));
    }
}
