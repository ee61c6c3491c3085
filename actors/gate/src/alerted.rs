//! Alerts that are on the record lately: the same one again says nothing new, and what is on the record as an alert stays there
//! for ever. It keeps names alone, and puts nothing on the record itself.

use ipc_proto::Name;
use ipc_proto::audit::Event;
use ipc_proto::ids::SessionId;
use std::collections::HashMap;
use std::time::{Duration, Instant};

/// How long the same is quiet after an alert.
const QUIET: Duration = Duration::from_secs(15 * 60);
/// Alerts that are remembered; beyond them all others of a session are one, and beyond twice as many all others are.
const MOST: usize = 256;

/// What is the same: in a session, about the same, for the same reason.
type Same = (Option<SessionId>, Option<Name>, Option<Name>);

/// The last alert of the same, and how many were kept quiet about since.
#[derive(Debug)]
struct Last {
    at: Instant,
    quiet: u64,
}

/// Alerts that are on the record lately.
#[derive(Debug, Default)]
pub(crate) struct Alerted(HashMap<Same, Last>);

impl Alerted {
    /// The alert as it is to be put on the record, with how many like it were not since the last, where one is remembered;
    /// `None` if it is one of those.
    pub(crate) fn due(&mut self, mut event: Event, now: Instant) -> Option<Event> {
        let same = self.same(&event, now);
        let quiet = match self.0.get_mut(&same) {
            Some(last) if now.duration_since(last.at) < QUIET => {
                last.quiet += 1;
                return None;
            }
            last => last.map(|last| last.quiet),
        };
        self.0.insert(same, Last { at: now, quiet: 0 });
        if let Some(quiet) = quiet {
            let why = event.reason.as_ref().map_or("", Name::as_str);
            event.reason = Some(Name::clip(&format!("{why}, {quiet} more kept quiet")));
        }
        Some(event)
    }

    /// An alert could not be put on the record: the next like it is.
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
        // What one session does must not keep those of another quiet.
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

/// All others of its session.
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
    fn the_same_in_a_session_is_one_alert_in_a_quarter_of_an_hour_and_the_next_says_how_many_there_were() {
        let (mut alerted, now) = (Alerted::default(), Instant::now());
        assert_eq!(alerted.due(alert(1, "web_fetch"), now), Some(alert(1, "web_fetch")));
        assert!((1..12).all(|n| alerted.due(alert(1, "web_fetch"), now + MINUTE * n).is_none()));
        for other in [alert(2, "web_fetch"), alert(1, "http_call")] {
            assert_eq!(alerted.due(other.clone(), now), Some(other));
        }
        let next = alerted.due(alert(1, "web_fetch"), now + QUIET).unwrap();
        assert_eq!(next.reason.unwrap().as_str(), "blocked, 11 more kept quiet");
        let next = alerted.due(alert(1, "web_fetch"), now + 2 * QUIET).unwrap();
        assert_eq!(next.reason.unwrap().as_str(), "blocked, 0 more kept quiet");
    }

    // Holds P6-20.
    #[test]
    fn one_that_is_not_on_the_record_is_raised_again() {
        let (mut alerted, now) = (Alerted::default(), Instant::now());
        let raised = alerted.due(alert(1, "web_fetch"), now).unwrap();
        alerted.forget(&raised);
        assert!(alerted.due(alert(1, "web_fetch"), now).is_some());
    }

    // Holds B-147.
    #[test]
    fn memory_does_not_grow_with_what_is_refused_and_what_is_over_makes_room() {
        let (mut alerted, now) = (Alerted::default(), Instant::now());
        let tools: Vec<String> = (0..2000).map(|n| format!("tool {n}")).collect();
        let raised = tools.iter().filter(|tool| alerted.due(alert(1, tool), now).is_some()).count();
        assert_eq!((raised, alerted.0.len()), (MOST + 1, MOST + 1));
        assert!(alerted.due(alert(2, "another"), now).is_some(), "one session keeps no other quiet");
        assert!(alerted.due(alert(1, "another"), now + QUIET).is_some());
        assert_eq!(alerted.0.len(), 1);
    }
}
