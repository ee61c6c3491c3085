//! The laws of the record: what stands on it of every turn, and in what order.

use crate::asker::{Asker, Trouble};
use crate::laws::Broken;
use crate::promises::Promises;
use ipc_proto::audit::{Action, Record, Result3};
use ipc_proto::control::method;
use ipc_proto::ids::{CallId, SessionId, TurnId};
use ipc_proto::label::Label;
use std::collections::{HashMap, HashSet};
use std::time::{Duration, Instant};

/// Entries of one answer.
const PAGE: u16 = 256;
/// How long a page may take.
const PATIENCE: Duration = Duration::from_secs(60);

/// The contents of the record.
#[derive(Debug, Default)]
pub(crate) struct Facts {
    /// Its entries.
    pub(crate) entries: u64,
    /// Entries that say how a turn ended.
    ends: HashMap<TurnId, Vec<(Action, Result3)>>,
    started: HashMap<TurnId, u32>,
    /// Calls that were released.
    pub(crate) released: HashMap<TurnId, HashSet<CallId>>,
    labels: HashMap<SessionId, Label>,
    seen: HashSet<(String, u64, u64)>,
    broken: Vec<Broken>,
}

/// Reads the whole record.
pub(crate) fn read(asker: &mut Asker) -> Result<Facts, Broken> {
    let mut facts = Facts::default();
    loop {
        let (from, until) = (facts.entries, Instant::now() + PATIENCE);
        let page = asker.patiently(
            &method::audit_tail,
            || Instant::now() < until,
            async |control, context| control.audit_tail(context, from, PAGE, 0).await,
        );
        match page {
            Ok(page) if page.is_empty() => return Ok(facts),
            Ok(page) => page.iter().for_each(|record| facts.take(record)),
            Err(Trouble::Away(why)) => return Err(Broken::new("the record can be read", why)),
            Err(Trouble::Refused(why)) => return Err(Broken::new("the record can be read", why.to_string())),
        }
    }
}

impl Facts {
    fn take(&mut self, record: &Record) {
        if record.index != self.entries {
            let what = format!("entry {} where {} is due", record.index, self.entries);
            self.broken.push(Broken::new("the record has no hole", what));
        }
        self.entries = record.index + 1;
        let serial = (record.witness.to_string(), record.serial.life, record.serial.number);
        if !self.seen.insert(serial) {
            let what = format!("entry {} of {}", record.index, record.witness);
            self.broken.push(Broken::new("what a witness says twice is one entry", what));
        }
        let event = &record.event;
        let Some(turn) = event.turn else { return };
        match event.action {
            Action::TurnEnded
            | Action::MessageBlocked
            | Action::MessageRecalled
            | Action::MessageQuarantined => {
                self.ends.entry(turn).or_default().push((event.action, event.result));
            }
            Action::TurnStarted => {
                *self.started.entry(turn).or_default() += 1;
                if let (Some(session), Some(label)) = (event.session, &event.label) {
                    self.rise(session, label, record.index);
                }
            }
            Action::ToolDecided if event.result == Result3::Success => {
                self.released.entry(turn).or_default().extend(event.call);
            }
            _ => {}
        }
    }

    /// Each start of a turn shows what its session has come to.
    fn rise(&mut self, session: SessionId, label: &Label, index: u64) {
        if let Some(before) = self.labels.insert(session, label.clone())
            && before.join(label) != *label
        {
            let what = format!("session {session}, entry {index}: {before:?} became {label:?}");
            self.broken.push(Broken::new("a label never falls", what));
        }
    }

    /// The laws that it breaks: its own, and the promises.
    pub(crate) fn laws(&self, promises: &Promises) -> Vec<Broken> {
        let mut broken = self.broken.clone();
        for (said, accepted) in promises.accepted() {
            let ends = self.ends.get(&accepted.turn).map_or(&[][..], Vec::as_slice);
            if ends.len() != 1 {
                let what = format!("{} (turn {}): {ends:?}", said.token, accepted.turn);
                broken.push(Broken::new("one end of every turn is on the record", what));
            }
        }
        broken
    }

    /// How often a turn was started.
    pub(crate) fn starts(&self, turn: TurnId) -> u32 {
        self.started.get(&turn).copied().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ipc_proto::Name;
    use ipc_proto::audit::{Event, Serial};
    use ipc_proto::label::Trust;

    fn record(index: u64, event: Event) -> Record {
        let serial = Serial { life: 1, number: index };
        Record { index, time_ms: 0, witness: Name::clip("router"), serial, event, hash: [0; 32] }
    }

    fn started(session: SessionId, trust: Trust) -> Event {
        let mut event = Event::new(Action::TurnStarted, Result3::Success).in_turn(session, TurnId::random());
        event.label = Some(Label { trust, ..Label::bottom() });
        event
    }

    fn broken(records: &[Record]) -> Vec<String> {
        let mut facts = Facts::default();
        records.iter().for_each(|record| facts.take(record));
        facts.broken.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_label_that_falls_in_its_session_is_found_and_one_that_rises_is_not() {
        let (one, other) = (SessionId::random(), SessionId::random());
        let rising = [started(one, Trust::User), started(other, Trust::User), started(one, Trust::Untrusted)];
        let mut records: Vec<Record> = (0..).zip(rising).map(|(index, event)| record(index, event)).collect();
        assert_eq!(broken(&records), [""; 0]);
        records.push(record(3, started(one, Trust::User)));
        let found = broken(&records);
        assert!(found.len() == 1 && found.iter().all(|it| it.contains("a label never falls")), "{found:?}");
    }

    #[test]
    fn a_hole_and_an_entry_that_stands_twice_are_found() {
        let event = || Event::new(Action::TurnEnded, Result3::Success);
        assert!(broken(&[record(0, event()), record(2, event())]).iter().any(|it| it.contains("no hole")));
        let twice = Record { index: 1, ..record(0, event()) };
        assert!(broken(&[record(0, event()), twice]).iter().any(|it| it.contains("twice is one entry")));
    }
}
