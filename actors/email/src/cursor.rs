//! The position in a mailbox: its UIDVALIDITY, the last UID that was looked at, and the latest arrival until then. After a change of
//! UIDVALIDITY the arrival alone says which mail is new; the keys of messages keep it from being taken in twice.

use chrono::DateTime;
use std::fmt;

/// Seconds of a day.
const DAY_S: i64 = 86_400;

/// A position.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Position {
    /// The mailbox's UIDVALIDITY.
    pub(crate) validity: u32,
    /// The last UID.
    pub(crate) uid: u32,
    /// The latest arrival, unix seconds.
    pub(crate) arrival: i64,
}

impl Position {
    /// The position in a cursor.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let mut fields = text.split(':');
        let validity = fields.next()?.parse().ok()?;
        let uid = fields.next()?.parse().ok()?;
        let arrival = fields.next()?.parse().ok()?;
        fields.next().is_none().then_some(Self { validity, uid, arrival })
    }

    /// The position behind a message. No arrival is believed that is later than now.
    pub(crate) fn behind(self, uid: u32, arrival: i64, now: i64) -> Self {
        Self { uid: self.uid.max(uid), arrival: self.arrival.max(arrival.min(now)), ..self }
    }

    /// Returns true if a message was in the mailbox long before this position, such as one that was moved there.
    pub(crate) const fn is_long_past(self, arrival: i64) -> bool {
        arrival < self.arrival.saturating_sub(DAY_S)
    }

    /// The day from which on mail may be new, as a search writes it.
    pub(crate) fn since(self) -> String {
        let day = DateTime::from_timestamp(self.arrival.saturating_sub(DAY_S), 0).unwrap_or_default();
        day.format("%-d-%b-%Y").to_string()
    }
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}", self.validity, self.uid, self.arrival)
    }
}

/// The unix seconds of an IMAP date, such as `17-Jul-1996 02:44:25 -0700`.
pub(crate) fn arrival(date: &str) -> Option<i64> {
    let date = DateTime::parse_from_str(date.trim(), "%d-%b-%Y %H:%M:%S %z").ok()?;
    Some(date.timestamp())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_is_read_back_and_another_text_is_none() {
        let position = Position { validity: 7, uid: 9, arrival: 837_596_665 };
        assert_eq!(Position::parse(&position.to_string()), Some(position));
        for text in ["", "1:2", "1:2:3:4", "a:2:3", "4294967296:1:1"] {
            assert_eq!(Position::parse(text), None, "{text}");
        }
    }

    #[test]
    fn dates_of_a_mailbox_are_read_and_written() {
        assert_eq!(arrival("17-Jul-1996 02:44:25 -0700"), Some(837_596_665));
        assert_eq!(arrival(" 7-Jul-1996 02:44:25 -0700"), Some(836_732_665));
        assert_eq!(arrival("yesterday"), None);
        let position = Position { validity: 1, uid: 1, arrival: 837_596_665 };
        assert_eq!(position.since(), "16-Jul-1996");
    }

    #[test]
    fn mail_is_old_a_day_before_the_latest_and_no_date_lies_ahead() {
        let position = Position { validity: 1, uid: 1, arrival: 1_000_000 };
        assert!(!position.is_long_past(1_000_000 - 80_000) && position.is_long_past(1_000_000 - 90_000));
        assert_eq!(
            position.behind(2, i64::MAX, 1_000_500),
            Position { uid: 2, arrival: 1_000_500, ..position }
        );
    }
}
