//! The position of an account, which router keeps as its cursor: the last message of each conversation that is stored. Pure.

use ipc_proto::Text;
use ipc_proto::channel::CURSOR;
use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

/// Conversations of a cursor. Those that were quiet the longest are left out: they are read from the floor.
const PLACES: usize = 64;
/// Bytes of an id, so that a cursor is within its bound.
const ID: usize = 24;
const MICROS: u64 = 1_000_000;

/// The account itself, by `auth.test`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Me {
    /// Its workspace.
    pub team: String,
    /// Its user.
    pub user: String,
    /// Its bot, where Slack names one.
    pub bot: String,
}

/// The time of a message, in microseconds. It is the message's id in its channel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Ts(u64);

impl Ts {
    /// Reads `seconds.micros`, as Slack writes it and in no other form.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let (seconds, micros) = text.split_once('.')?;
        let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        let well = (1..=11).contains(&seconds.len()) && micros.len() == 6;
        if !well || !digits(seconds) || !digits(micros) {
            return None;
        }
        let (seconds, micros): (u64, u64) = (seconds.parse().ok()?, micros.parse().ok()?);
        Some(Self(seconds.saturating_mul(MICROS).saturating_add(micros)))
    }

    /// The time now, less so much.
    pub(crate) fn ago(past: Duration) -> Self {
        let then = Duration::from_millis(kit::now_ms()).saturating_sub(past);
        Self(u64::try_from(then.as_micros()).unwrap_or(u64::MAX))
    }

    /// Unix milliseconds.
    pub(crate) const fn ms(self) -> u64 {
        self.0 / 1000
    }
}

impl fmt::Display for Ts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{:06}", self.0 / MICROS, self.0 % MICROS)
    }
}

/// Returns true for what Slack gives as an id.
pub(crate) fn is_id(text: &str) -> bool {
    (1..=ID).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_alphanumeric())
}

/// A channel, or a thread of it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Place {
    /// The channel.
    pub channel: String,
    /// The first message of the thread.
    pub thread: Option<Ts>,
}

impl Place {
    fn parse(text: &str) -> Option<Self> {
        let (channel, thread) = match text.split_once('/') {
            Some((channel, thread)) => (channel, Some(Ts::parse(thread)?)),
            None => (text, None),
        };
        is_id(channel).then(|| Self { channel: channel.to_owned(), thread })
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.thread {
            Some(thread) => write!(f, "{}/{thread}", self.channel),
            None => f.write_str(&self.channel),
        }
    }
}

/// A position.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Cursor {
    /// Grows with each batch, so that each has a cursor of its own.
    serial: u64,
    /// Everything before it is stored, in every conversation.
    floor: Ts,
    seen: BTreeMap<Place, Ts>,
}

impl Cursor {
    /// A position from which everything after `floor` is new.
    pub(crate) const fn new(floor: Ts) -> Self {
        Self { serial: 0, floor, seen: BTreeMap::new() }
    }

    /// Reads a cursor of this account; that of another is none.
    pub(crate) fn parse(text: &str, me: &Me) -> Option<Self> {
        let mut words = text.split(' ');
        if (words.next(), words.next()) != (Some(me.team.as_str()), Some(me.user.as_str())) {
            return None;
        }
        let serial = words.next()?.parse().ok()?;
        let floor = Ts::parse(words.next()?)?;
        let place = |word: &str| {
            let (place, ts) = word.split_once('=')?;
            Some((Place::parse(place)?, Ts::parse(ts)?))
        };
        let seen = words.map(place).collect::<Option<BTreeMap<_, _>>>()?;
        Some(Self { serial, floor, seen })
    }

    /// The text that router keeps.
    pub(crate) fn text(&self, me: &Me) -> Text<CURSOR> {
        let mut text = format!("{} {} {} {}", me.team, me.user, self.serial, self.floor);
        for (place, ts) in &self.seen {
            text.push_str(&format!(" {place}={ts}"));
        }
        Text::clip(&text)
    }

    /// The position after another batch with these messages.
    #[must_use]
    pub(crate) fn after(&self, messages: impl IntoIterator<Item = (Place, Ts)>) -> Self {
        let mut next = self.clone();
        next.serial = next.serial.wrapping_add(1);
        for (place, ts) in messages {
            let last = next.seen.entry(place).or_insert(ts);
            *last = ts.max(*last);
        }
        while next.seen.len() > PLACES {
            let oldest = next.seen.iter().min_by_key(|(_, ts)| **ts).map(|(place, _)| place.clone());
            let Some(oldest) = oldest else { break };
            next.seen.remove(&oldest);
        }
        next
    }

    /// Raises the floor: every conversation was read up to there.
    pub(crate) fn raise(&mut self, floor: Ts) {
        self.floor = self.floor.max(floor);
    }

    /// The time from which a conversation is read.
    pub(crate) fn from(&self, place: &Place) -> Ts {
        self.seen.get(place).map_or(self.floor, |ts| self.floor.max(*ts))
    }

    /// Its conversations, the one with the newest message first.
    pub(crate) fn places(&self) -> Vec<Place> {
        let mut all: Vec<(&Place, &Ts)> = self.seen.iter().collect();
        all.sort_by_key(|(_, ts)| std::cmp::Reverse(**ts));
        all.into_iter().map(|(place, _)| place.clone()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn me() -> Me {
        Me { team: "T1".into(), user: "U1".into(), bot: "B1".into() }
    }

    fn ts(text: &str) -> Ts {
        Ts::parse(text).unwrap()
    }

    fn place(text: &str) -> Place {
        Place::parse(text).unwrap()
    }

    #[test]
    fn a_cursor_is_read_back_and_is_of_its_account_alone() {
        let cursor = Cursor::new(ts("100.000000")).after([
            (place("D1"), ts("1700000000.000100")),
            (place("C1/1700000000.000000"), ts("1700000001.000100")),
            (place("D1"), ts("1600000000.000100")),
        ]);
        let text = cursor.text(&me());
        assert_eq!(
            text.as_str(),
            "T1 U1 1 100.000000 C1/1700000000.000000=1700000001.000100 D1=1700000000.000100"
        );
        assert_eq!(Cursor::parse(&text, &me()), Some(cursor));
        let other = Me { user: "U2".into(), ..me() };
        assert_eq!(Cursor::parse(&text, &other), None);
    }

    #[test]
    fn a_conversation_is_read_from_its_last_message_or_the_floor() {
        let mut cursor = Cursor::new(ts("100.000000")).after([(place("D1"), ts("200.000000"))]);
        assert_eq!(cursor.from(&place("D1")), ts("200.000000"));
        assert_eq!(cursor.from(&place("D2")), ts("100.000000"));
        cursor.raise(ts("300.000000"));
        cursor.raise(ts("50.000000"));
        assert_eq!(cursor.from(&place("D1")), ts("300.000000"));
    }

    #[test]
    fn a_time_has_one_form() {
        for bad in ["", "1", "1.5", "1.0000000", ".000000", "1.00000a", "+1.000000", "123456789012.000000"] {
            assert_eq!(Ts::parse(bad), None, "{bad}");
        }
        assert_eq!(ts("1700000000.000100").to_string(), "1700000000.000100");
    }

    proptest! {
        #[test]
        fn the_longest_cursor_is_within_its_bound_and_keeps_the_newest(times in prop::collection::vec(any::<u32>(), 0..200)) {
            let messages = times.iter().enumerate().map(|(at, time)| {
                let channel = format!("C{at:023}");
                (Place { channel, thread: Some(Ts(99_999_999_999_999_999)) }, Ts(u64::from(*time)))
            });
            let cursor = Cursor::new(Ts(99_999_999_999_999_999)).after(messages);
            let text = cursor.text(&Me { team: "T".repeat(24), user: "U".repeat(24), bot: String::new() });
            let owner = Me { team: "T".repeat(24), user: "U".repeat(24), bot: String::new() };
            prop_assert_eq!(Cursor::parse(&text, &owner), Some(cursor.clone()));
            let newest = times.iter().max().copied().map(|time| Ts(time.into()));
            prop_assert_eq!(cursor.seen.values().max().copied(), newest);
        }

        #[test]
        fn a_cursor_of_any_text_is_read_or_refused(text in "(T1 U1 )?[ -~]{0,40}") {
            drop(Cursor::parse(&text, &me()));
        }
    }
}
