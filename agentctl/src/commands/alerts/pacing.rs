//! When an alert is handed on: alerts of one cause once in a span of time, and none in quiet times.

use std::collections::{HashMap, VecDeque};

/// A minute, ms.
const MINUTE: u64 = 60_000;
/// Minutes of a day.
const DAY: u64 = 1440;
/// Alerts that wait; of further ones the oldest is counted as suppressed with the next of its cause.
const MOST: usize = 1000;

/// An alert of the record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Alert {
    /// Unix ms.
    pub(super) at_ms: u64,
    /// Its entry of the record.
    pub(super) record: u64,
    /// The alert and its object, such as `attest drift: gate`.
    pub(super) cause: String,
    /// Why, in the host's words.
    pub(super) reason: String,
    /// Alerts of the same cause before it that were not handed on.
    pub(super) suppressed: u64,
}

/// Times of day in which nothing is handed on, UTC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Quiet {
    /// Minutes since midnight.
    from: u64,
    until: u64,
}

impl Quiet {
    /// Reads `HH:MM-HH:MM`. The second may be before the first: then midnight lies between them.
    ///
    /// # Errors
    /// It is none.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let wrong = || format!("{text:?} is no span of a day; such as 22:00-07:00, in UTC");
        let minutes = |time: &str| {
            let (hour, minute) = time.split_once(':')?;
            let number = |text: &str, most: u64| {
                let plain = text.len() == 2 && text.bytes().all(|byte| byte.is_ascii_digit());
                text.parse::<u64>().ok().filter(|number| plain && *number <= most)
            };
            Some(number(hour, 23)? * 60 + number(minute, 59)?)
        };
        let (from, until) = text.split_once('-').ok_or_else(wrong)?;
        let (from, until) = minutes(from).zip(minutes(until)).ok_or_else(wrong)?;
        if from == until { Err(wrong()) } else { Ok(Self { from, until }) }
    }

    const fn holds(self, now_ms: u64) -> bool {
        let minute = now_ms / MINUTE % DAY;
        if self.from < self.until {
            self.from <= minute && minute < self.until
        } else {
            self.from <= minute || minute < self.until
        }
    }
}

/// The last alert of one cause, and those of it that were suppressed since.
#[derive(Default)]
struct Last {
    sent_ms: Option<u64>,
    suppressed: u64,
}

/// Alerts that wait, and the causes that were handed on lately.
pub(super) struct Pacing {
    quiet: Option<Quiet>,
    once_in_ms: u64,
    waiting: VecDeque<Alert>,
    causes: HashMap<String, Last>,
}

impl Pacing {
    pub(super) fn new(quiet: Option<Quiet>, once_in_ms: u64) -> Self {
        Self { quiet, once_in_ms, waiting: VecDeque::new(), causes: HashMap::new() }
    }

    /// Adds an alert. One whose cause waits already, or was handed on lately, is counted.
    pub(super) fn add(&mut self, alert: Alert) {
        if let Some(waiting) = self.waiting.iter_mut().find(|waiting| waiting.cause == alert.cause) {
            waiting.suppressed += 1;
            waiting.reason = alert.reason;
            return;
        }
        let last = self.causes.entry(alert.cause.clone()).or_default();
        if last.sent_ms.is_some_and(|sent| alert.at_ms < sent.saturating_add(self.once_in_ms)) {
            last.suppressed += 1;
            return;
        }
        if self.waiting.len() >= MOST {
            self.suppress_oldest();
        }
        self.waiting.push_back(alert);
    }

    fn suppress_oldest(&mut self) {
        if let Some(oldest) = self.waiting.pop_front() {
            self.causes.entry(oldest.cause).or_default().suppressed += 1 + oldest.suppressed;
        }
    }

    /// The next alert to hand on, with the number of those of its cause that were not.
    pub(super) fn due(&mut self, now_ms: u64) -> Option<Alert> {
        if self.quiet.is_some_and(|quiet| quiet.holds(now_ms)) {
            return None;
        }
        let mut alert = self.waiting.pop_front()?;
        let before = self.causes.get_mut(&alert.cause).map(|last| std::mem::take(&mut last.suppressed));
        alert.suppressed += before.unwrap_or(0);
        Some(alert)
    }

    /// It was handed on. Causes that were last heard of long ago are forgotten.
    pub(super) fn delivered(&mut self, alert: Alert, now_ms: u64) {
        let span = self.once_in_ms;
        self.causes.retain(|_, last| {
            last.suppressed > 0 || last.sent_ms.is_none_or(|sent| now_ms < sent.saturating_add(span))
        });
        self.causes.insert(alert.cause, Last { sent_ms: Some(now_ms), suppressed: 0 });
    }

    /// It was not handed on, and is the next again.
    pub(super) fn put_back(&mut self, alert: Alert) {
        self.waiting.push_front(alert);
    }

    /// The entry of the oldest alert that waits.
    pub(super) fn oldest(&self) -> Option<u64> {
        self.waiting.iter().map(|alert| alert.record).min()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: u64 = 60 * MINUTE;

    fn alert(record: u64, at_ms: u64, cause: &str) -> Alert {
        Alert { at_ms, record, cause: cause.to_owned(), reason: format!("reason {record}"), suppressed: 0 }
    }

    fn send(pacing: &mut Pacing, now_ms: u64) -> Vec<(u64, u64)> {
        let mut sent = Vec::new();
        while let Some(alert) = pacing.due(now_ms) {
            sent.push((alert.record, alert.suppressed));
            pacing.delivered(alert, now_ms);
        }
        sent
    }

    // Holds P8-64.
    #[test]
    fn one_cause_is_sent_once_in_a_span_and_the_next_says_how_many_were_not() {
        let mut pacing = Pacing::new(None, HOUR);
        pacing.add(alert(1, 0, "disk"));
        pacing.add(alert(2, 0, "drift"));
        assert_eq!(send(&mut pacing, 0), [(1, 0), (2, 0)]);
        for record in 3..6 {
            pacing.add(alert(record, MINUTE, "disk"));
        }
        assert_eq!(send(&mut pacing, MINUTE), []);
        pacing.add(alert(6, HOUR, "disk"));
        assert_eq!(send(&mut pacing, HOUR), [(6, 3)]);
    }

    // Holds P8-64.
    #[test]
    fn nothing_is_sent_in_quiet_times_and_nothing_is_lost_by_them() {
        let quiet = Quiet::parse("22:00-07:00").unwrap();
        let mut pacing = Pacing::new(Some(quiet), HOUR);
        for (record, cause) in [(1, "disk"), (2, "disk"), (3, "drift")] {
            pacing.add(alert(record, 23 * HOUR, cause));
        }
        for hour in [22, 23, 24, 30] {
            assert_eq!(send(&mut pacing, hour * HOUR), [], "{hour}");
        }
        assert_eq!(pacing.oldest(), Some(1));
        assert_eq!(send(&mut pacing, 31 * HOUR), [(1, 1), (3, 0)]);
        assert_eq!(pacing.oldest(), None);
    }

    #[test]
    fn an_alert_that_was_not_handed_on_is_the_next_again() {
        let mut pacing = Pacing::new(None, HOUR);
        pacing.add(alert(1, 0, "disk"));
        let first = pacing.due(0).unwrap();
        pacing.put_back(first);
        assert_eq!(pacing.oldest(), Some(1));
        assert_eq!(send(&mut pacing, MINUTE), [(1, 0)]);
    }

    #[test]
    fn alerts_that_wait_are_bounded_and_the_surplus_is_counted() {
        let mut pacing = Pacing::new(None, HOUR);
        for record in 0..=MOST as u64 {
            pacing.add(alert(record, 0, &format!("cause {record}")));
        }
        assert_eq!(pacing.waiting.len(), MOST);
        pacing.add(alert(5000, 0, "cause 0"));
        assert!(send(&mut pacing, 0).contains(&(5000, 1)));
    }

    #[test]
    fn a_span_of_a_day_is_read_and_anything_else_is_refused() {
        let day = Quiet::parse("09:00-17:30").unwrap();
        let at = |hour: u64, minute: u64| day.holds(hour * HOUR + minute * MINUTE);
        assert!(at(9, 0) && at(17, 29) && !at(17, 30) && !at(8, 59));
        for wrong in ["", "9:00-17:00", "09:00", "24:00-01:00", "09:60-10:00", "09:00-09:00", "+9:00-10:00"] {
            assert!(Quiet::parse(wrong).is_err(), "{wrong}");
        }
    }
}
