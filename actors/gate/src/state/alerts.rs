//! Recent alerts. A repeated alert says nothing new, and an alert stays on the record for ever, so repeats are counted instead.
//! This keeps names alone, and records nothing itself.

use ipc_proto::Name;
use ipc_proto::audit::Event;
use ipc_proto::ids::SessionId;
use std::collections::HashMap;
use std::time::{Duration, Instant};

/// The time in which a repeated alert is suppressed.
const QUIET: Duration = Duration::from_secs(15 * 60);

/// Alerts that are remembered. Beyond them all others of a session count as one, and beyond twice as many all others do.
const MOST: usize = 256;

/// The identity of an alert: session, subject and reason.
type Same = (Option<SessionId>, Option<Name>, Option<Name>);

/// The ordinary refusals of one identity after which they are an alert.
const REPEATED: u64 = 3;

/// The last alert of one identity, and the number suppressed since. Before the first alert `at` is the time of the first refusal.
#[derive(Debug)]
struct Last {
    at: Instant,
    quiet: u64,
    raised: bool,
}

/// The recent alerts.
#[derive(Debug, Default)]
pub(crate) struct AlertLimiter(HashMap<Same, Last>);

impl AlertLimiter {
    /// The alert to record, with the number suppressed since the last one; `None` if it is suppressed.
    pub(crate) fn due(&mut self, mut event: Event, now: Instant) -> Option<Event> {
        let same = self.same(&event, now);
        let quiet = match self.0.get_mut(&same) {
            Some(last) if now.duration_since(last.at) < QUIET => {
                last.quiet += 1;
                return None;
            }
            last => last.map(|last| last.quiet),
        };
        self.0.insert(same, Last { at: now, quiet: 0, raised: true });
        if let Some(quiet) = quiet {
            let why = event.reason.as_ref().map_or("", Name::as_str);
            event.reason = Some(Name::clip(&format!("{why}, {quiet} more kept quiet")));
        }
        Some(event)
    }

    /// The alert to record about an ordinary refusal: none before the third within the quiet time.
    pub(crate) fn due_repeated(&mut self, event: Event, now: Instant) -> Option<Event> {
        let same = self.same(&event, now);
        let refusals = match self.0.get(&same) {
            Some(last) if last.raised => return self.due(event, now),
            Some(last) if now.duration_since(last.at) < QUIET => last.quiet + 1,
            _ => 1,
        };
        let at = self.0.get(&same).filter(|_| refusals > 1).map_or(now, |last| last.at);
        let raised = refusals >= REPEATED;
        let last =
            if raised { Last { at: now, quiet: 0, raised } } else { Last { at, quiet: refusals, raised } };
        self.0.insert(same, last);
        raised.then_some(event)
    }

    /// Forgets an alert that could not be recorded, so that the next one is.
    pub(crate) fn forget(&mut self, event: &Event) {
        if self.0.remove(&same(event)).is_none() {
            self.0.remove(&rest(event));
        }
    }

    fn same(&mut self, event: &Event, now: Instant) -> Same {
        let same = same(event);
        if self.0.len() >= MOST && !self.0.contains_key(&same) {
            self.0.retain(|_, last| now.duration_since(last.at) < QUIET);
        }
        // One session must not suppress the alerts of another.
        let rest = rest(event);
        let fits = |one: &Same, most: usize| self.0.len() < most || self.0.contains_key(one);
        if fits(&same, MOST) {
            same
        } else if fits(&rest, 2 * MOST) {
            rest
        } else {
            (None, None, None)
        }
    }
}

fn same(event: &Event) -> Same {
    (event.session, event.subject.clone(), event.reason.clone())
}

/// The identity of all others of its session.
const fn rest(event: &Event) -> Same {
    (event.session, None, None)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ipc_proto::audit::{Action, Result3};
    use ipc_proto::ids::TurnId;

    const MINUTE: Duration = Duration::from_secs(60);

    fn alert(session: u8, about: &str) -> Event {
        let (session, turn) = (SessionId::from_bytes([session; 16]), TurnId::from_bytes([9; 16]));
        Event::new(Action::Alert, Result3::Blocked).about(about).because("blocked").in_turn(session, turn)
    }

    // Holds P6-20.
    #[test]
    fn a_repeated_alert_is_recorded_every_quarter_of_an_hour_with_a_count() {
        let (mut alerts, now) = (AlertLimiter::default(), Instant::now());
        assert_eq!(alerts.due(alert(1, "web_fetch"), now), Some(alert(1, "web_fetch")));
        assert!((1..12).all(|n| alerts.due(alert(1, "web_fetch"), now + MINUTE * n).is_none()));
        for other in [alert(2, "web_fetch"), alert(1, "http_call")] {
            assert_eq!(alerts.due(other.clone(), now), Some(other));
        }
        let next = alerts.due(alert(1, "web_fetch"), now + QUIET).unwrap();
        assert_eq!(next.reason.unwrap().as_str(), "blocked, 11 more kept quiet");
        let next = alerts.due(alert(1, "web_fetch"), now + 2 * QUIET).unwrap();
        assert_eq!(next.reason.unwrap().as_str(), "blocked, 0 more kept quiet");
    }

    // Holds P6-20.
    #[test]
    fn an_ordinary_refusal_is_an_alert_from_the_third_on() {
        let (mut alerts, now) = (AlertLimiter::default(), Instant::now());
        let mut raised = |event: Event, at: Instant| alerts.due_repeated(event, at).is_some();
        assert_eq!(
            [0, 1, 2, 3].map(|n| raised(alert(1, "web_fetch"), now + MINUTE * n)),
            [false, false, true, false]
        );
        assert!(!raised(alert(2, "web_fetch"), now), "another session has its own");
        assert!(!raised(alert(2, "web_fetch"), now + QUIET), "the first one is long past");
    }

    // Holds P6-20.
    #[test]
    fn one_that_is_not_on_the_record_is_raised_again() {
        let (mut alerts, now) = (AlertLimiter::default(), Instant::now());
        let raised = alerts.due(alert(1, "web_fetch"), now).unwrap();
        alerts.forget(&raised);
        assert!(alerts.due(alert(1, "web_fetch"), now).is_some());
    }

    // Holds B-147.
    #[test]
    fn memory_does_not_grow_with_what_is_refused_and_what_is_over_makes_room() {
        let (mut alerts, now) = (AlertLimiter::default(), Instant::now());
        let tools: Vec<String> = (0..2000).map(|n| format!("tool {n}")).collect();
        let raised = tools.iter().filter(|tool| alerts.due(alert(1, tool), now).is_some()).count();
        assert_eq!((raised, alerts.0.len()), (MOST + 1, MOST + 1));
        assert!(alerts.due(alert(2, "another"), now).is_some(), "one session keeps no other quiet");
        assert!(alerts.due(alert(1, "another"), now + QUIET).is_some());
        assert_eq!(alerts.0.len(), 1);
    }
}
