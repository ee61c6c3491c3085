//! Rates: how much each sender of each channel may send, and that a notice is sent once.

use std::collections::{HashMap, VecDeque};
use std::time::{Duration, Instant};

/// Messages of one sender in a minute and in an hour.
const MOST: [(usize, Duration); 2] = [(30, Duration::from_secs(60)), (500, Duration::from_secs(3600))];
/// Wrong codes of one sender in an hour; then no code of that sender is looked at.
const WRONG: usize = 5;
/// How long a notice is not repeated.
const ONCE: Duration = Duration::from_secs(3600);
/// Senders that are remembered. With more, those that were quiet longest are forgotten.
const SENDERS: usize = 4096;

/// Senders' latest messages, and notices that were sent.
#[derive(Default)]
pub(crate) struct Rates {
    messages: HashMap<String, VecDeque<Instant>>,
    notices: HashMap<String, Instant>,
    wrong_codes: HashMap<String, VecDeque<Instant>>,
}

impl Rates {
    /// Counts a message of this sender; false if the sender has sent too many.
    pub(crate) fn admit(&mut self, sender: &str, now: Instant) -> bool {
        forget(&mut self.messages, now);
        let sent = self.messages.entry(sender.to_owned()).or_default();
        while sent.front().is_some_and(|at| now.saturating_duration_since(*at) >= ONCE) {
            sent.pop_front();
        }
        let within = |time: Duration| {
            sent.iter().rev().take_while(|at| now.saturating_duration_since(**at) < time).count()
        };
        let admitted = MOST.iter().all(|(most, time)| within(*time) < *most);
        if admitted {
            sent.push_back(now);
        }
        admitted
    }

    /// Returns true if this notice was not sent within the last hour, and notes that it is sent now.
    pub(crate) fn once(&mut self, notice: &str, now: Instant) -> bool {
        self.notices.retain(|_, at| now.saturating_duration_since(*at) < ONCE);
        if self.notices.contains_key(notice) || self.notices.len() >= SENDERS {
            return false;
        }
        self.notices.insert(notice.to_owned(), now);
        true
    }

    /// Returns true if a code of this sender is looked at: fewer than five were wrong within the last hour.
    pub(crate) fn may_try_code(&mut self, sender: &str, now: Instant) -> bool {
        let Some(wrong) = self.wrong_codes.get_mut(sender) else { return true };
        wrong.retain(|at| now.saturating_duration_since(*at) < ONCE);
        wrong.len() < WRONG
    }

    /// Counts a wrong code of this sender.
    pub(crate) fn note_wrong_code(&mut self, sender: &str, now: Instant) {
        forget(&mut self.wrong_codes, now);
        self.wrong_codes.entry(sender.to_owned()).or_default().push_back(now);
    }
}

/// Makes room for one more sender.
fn forget(senders: &mut HashMap<String, VecDeque<Instant>>, now: Instant) {
    if senders.len() < SENDERS {
        return;
    }
    let quiet =
        |times: &VecDeque<Instant>| times.back().is_none_or(|at| now.saturating_duration_since(*at) >= ONCE);
    senders.retain(|_, times| !quiet(times));
    let latest = senders.iter().min_by_key(|(_, times)| times.back().copied());
    if senders.len() >= SENDERS
        && let Some(oldest) = latest.map(|(sender, _)| sender.clone())
    {
        senders.remove(&oldest);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Holds P11-05, B-180.
    #[test]
    fn thirty_messages_a_minute_and_five_hundred_an_hour_are_admitted() {
        let (mut rates, start) = (Rates::default(), Instant::now());
        let admitted = (0..40).filter(|_| rates.admit("a", start)).count();
        assert_eq!(admitted, 30);
        assert!(rates.admit("b", start), "another sender has a count of their own");
        assert!(rates.admit("a", start + Duration::from_secs(60)));
        let mut rates = Rates::default();
        let admitted =
            (0..3500).filter(|second| rates.admit("a", start + Duration::from_secs(*second))).count();
        assert_eq!(admitted, 500);
        assert!(rates.admit("a", start + Duration::from_secs(7200)));
    }

    // Holds P11-12.
    #[test]
    fn a_sender_of_five_wrong_codes_in_an_hour_is_not_heard_and_others_are() {
        let (mut rates, start) = (Rates::default(), Instant::now());
        for _ in 0..WRONG {
            assert!(rates.may_try_code("a", start));
            rates.note_wrong_code("a", start);
        }
        assert!(!rates.may_try_code("a", start) && rates.may_try_code("b", start));
        assert!(rates.may_try_code("a", start + ONCE));
        for sender in 0..2 * SENDERS {
            rates.note_wrong_code(&sender.to_string(), start);
        }
        assert!(rates.wrong_codes.len() <= SENDERS);
    }

    #[test]
    fn a_notice_is_sent_once_an_hour_and_senders_are_bounded() {
        let (mut rates, start) = (Rates::default(), Instant::now());
        assert!(rates.once("busy a", start) && !rates.once("busy a", start) && rates.once("busy b", start));
        assert!(rates.once("busy a", start + ONCE));
        for sender in 0..2 * SENDERS {
            rates.admit(&sender.to_string(), start);
        }
        assert!(rates.messages.len() <= SENDERS);
    }
}
