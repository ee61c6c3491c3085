//! Alerts: too many events of one kind within a span of time. Each alert is raised once, then is quiet for a while and
//! counts the events that it suppressed. It looks at records alone, and opens nothing.

use ipc_proto::audit::{Action, Event, Record, Result3};
use ipc_proto::config::{self, AlertRule};
use std::collections::{HashMap, VecDeque};

/// The number of sources (people or processes) that are counted apart; further ones are counted as one.
const KEYS: usize = 64;
/// The name under which further sources are counted.
const OTHERS: &str = "others";
const MINUTE: u64 = 60_000;

/// When an alert is raised.
struct Rule {
    /// Its name; with the key, the subject of the alert.
    name: &'static str,
    /// Returns true if the event belongs to this alert.
    counts: fn(&Event) -> bool,
    /// The key by which events are grouped; events of different keys are counted apart.
    key: fn(&Event) -> String,
    bounds: AlertRule,
}

/// The rules; no event counts for two.
fn rules(config: &config::Alerts) -> [Rule; 7] {
    [
        Rule {
            name: "auth failures",
            counts: is_auth_failure,
            key: |event| text(event.reason.as_ref()),
            bounds: config.auth_failures,
        },
        Rule {
            name: "network refusals",
            counts: is_network_refusal,
            key: |event| text(event.subject.as_ref()),
            bounds: config.network_refusals,
        },
        Rule {
            name: "secret misdirected",
            counts: |event| event.action == Action::SecretMisdirected,
            key: |event| text(event.subject.as_ref()),
            bounds: config.secret_misdirected,
        },
        Rule {
            name: "attest drift",
            counts: |event| matches!(event.action, Action::AttestDrift | Action::ProbeSurprise),
            key: |event| text(event.subject.as_ref()),
            bounds: config.attest_drift,
        },
        Rule {
            name: "message quarantined",
            counts: |event| event.action == Action::MessageQuarantined,
            key: |event| text(event.session.as_ref()),
            bounds: config.quarantined,
        },
        Rule {
            name: "disk low",
            counts: |event| event.action == Action::DiskLow && event.result == Result3::Blocked,
            key: |event| text(event.subject.as_ref()),
            bounds: config.disk_low,
        },
        Rule {
            name: "job failed",
            counts: |event| event.action == Action::JobFailed,
            key: |event| text(event.subject.as_ref()),
            bounds: config.job_failed,
        },
    ]
}

fn text(value: Option<&impl ToString>) -> String {
    value.map_or_else(String::new, ToString::to_string)
}

/// An operator, a client of the API or a passphrase of the vault was refused.
const fn is_auth_failure(event: &Event) -> bool {
    matches!(event.action, Action::OperatorRefused | Action::ApiRefused | Action::VaultUnlockFailed)
}

/// A tool that would reach the web or a service was refused.
fn is_network_refusal(event: &Event) -> bool {
    let reaches = |tool: &str| tool.starts_with("web_") || matches!(tool, "http_call" | "oauth_call");
    let outward = event.subject.as_ref().is_some_and(|subject| reaches(subject));
    let tool = matches!(event.action, Action::ToolDecided | Action::ToolEnded) && outward;
    event.result == Result3::Blocked && tool
}

/// The events of one key.
#[derive(Default)]
struct KeyState {
    /// When, unix ms; no more than raise an alert.
    times: VecDeque<u64>,
    /// The last alert.
    raised: Option<u64>,
    /// Alerts since then that were not raised.
    quiet: u64,
}

/// The alerts and the events that were counted for them lately.
pub(crate) struct Alerts {
    rules: [Rule; 7],
    seen: HashMap<(&'static str, String), KeyState>,
}

impl Alerts {
    pub(crate) fn new(config: &config::Alerts) -> Self {
        Self { rules: rules(config), seen: HashMap::new() }
    }

    /// Looks at a record; the alert that it raises.
    pub(crate) fn see(&mut self, record: &Record) -> Option<Event> {
        let rule = self.rules.iter().find(|rule| (rule.counts)(&record.event))?;
        let mut key = (rule.name, (rule.key)(&record.event));
        if self.seen.len() >= KEYS && !self.seen.contains_key(&key) {
            let bounds = |name| self.rules.iter().find(|rule| rule.name == name).map(|rule| rule.bounds);
            self.seen
                .retain(|(name, _), seen| bounds(*name).is_some_and(|it| seen.matters(record.time_ms, it)));
        }
        if self.seen.len() >= KEYS && !self.seen.contains_key(&key) {
            key.1 = OTHERS.to_owned();
        }
        let of = key.1.clone();
        let quiet = self.seen.entry(key).or_default().count(record.time_ms, rule.bounds)?;
        Some(alert(rule, &of, quiet, &record.event))
    }
}

impl KeyState {
    /// Counts one; if it raises an alert, how many were kept quiet about since the last, where there was one.
    fn count(&mut self, now: u64, bounds: AlertRule) -> Option<Option<u64>> {
        let number = usize::try_from(bounds.number).unwrap_or(usize::MAX);
        self.times.push_back(now);
        while self.times.len() > number
            || self.times.front().is_some_and(|at| is_over(now, *at, bounds.minutes))
        {
            self.times.pop_front();
        }
        if self.times.len() < number {
            return None;
        }
        if self.raised.is_some_and(|at| !is_over(now, at, bounds.quiet_minutes)) {
            self.quiet += 1;
            return None;
        }
        let before = self.raised.replace(now);
        self.times.clear();
        let quiet = std::mem::take(&mut self.quiet);
        Some(before.map(|_| quiet))
    }

    /// Returns true if the next event would be counted together with the earlier ones.
    fn matters(&self, now: u64, bounds: AlertRule) -> bool {
        self.times.back().is_some_and(|at| !is_over(now, *at, bounds.minutes))
            || self.raised.is_some_and(|at| !is_over(now, at, bounds.quiet_minutes))
    }
}

const fn is_over(now: u64, at: u64, minutes: u32) -> bool {
    now.saturating_sub(at) > minutes as u64 * MINUTE
}

/// The alert, with its subject and the session of the event that raised it. The number of suppressed events is given
/// only where it is known: the first alert that this process raises may follow others of an earlier process.
fn alert(rule: &Rule, of: &str, quiet: Option<u64>, raised_by: &Event) -> Event {
    let AlertRule { number, minutes, .. } = rule.bounds;
    let quiet = quiet.map_or_else(String::new, |quiet| format!(", {quiet} more kept quiet"));
    let mut event = Event::new(Action::Alert, Result3::Blocked)
        .about(&format!("{}: {of}", rule.name))
        .because(&format!("{number} in {minutes} min{quiet}"));
    (event.session, event.turn) = (raised_by.session, raised_by.turn);
    event
}

#[cfg(test)]
mod tests {
    use super::*;
    use ipc_proto::Name;
    use ipc_proto::audit::Serial;
    use ipc_proto::config::Audit;
    use ipc_proto::ids::{SessionId, TurnId};

    fn alerts() -> Alerts {
        Alerts::new(&Audit::DEFAULT.alerts)
    }

    fn see(alerts: &mut Alerts, time_ms: u64, event: Event) -> Option<Event> {
        let serial = Serial { life: 1, number: 1 };
        alerts.see(&Record {
            index: 0,
            time_ms,
            witness: Name::clip("control"),
            serial,
            event,
            hash: [0; 32],
        })
    }

    fn refusal(who: &str) -> Event {
        Event::new(Action::OperatorRefused, Result3::Blocked).because(who)
    }

    // Holds P6-19.
    #[test]
    fn the_fifth_failure_in_five_minutes_raises_one_alert() {
        let mut alerts = alerts();
        let raised = (0..20).filter_map(|n| see(&mut alerts, n * MINUTE / 2, refusal("uid 7"))).count();
        assert_eq!(raised, 1);
        let later = (60..66).find_map(|n| see(&mut alerts, n * MINUTE / 2, refusal("uid 7"))).unwrap();
        assert_eq!(later.subject.unwrap().as_str(), "auth failures: uid 7");
        assert_eq!(later.reason.unwrap().as_str(), "5 in 5 min, 11 more kept quiet");
    }

    // Holds P6-20.
    #[test]
    fn an_alert_tells_suppressed_events_only_after_the_first() {
        let drift = || Event::new(Action::AttestDrift, Result3::Error).about("gate");
        let reason = |alert: Option<Event>| alert.unwrap().reason.unwrap().to_string();
        let mut alerts = alerts();
        assert_eq!(reason(see(&mut alerts, 0, drift())), "1 in 60 min");
        assert_eq!(reason(see(&mut alerts, 62 * MINUTE, drift())), "1 in 60 min, 0 more kept quiet");
        assert!(see(&mut alerts, 63 * MINUTE, drift()).is_none());
        // After a restart, nobody knows the events that the previous process did not report.
        let mut alerts = self::alerts();
        assert_eq!(reason(see(&mut alerts, 64 * MINUTE, drift())), "1 in 60 min");
    }

    #[test]
    fn failures_of_several_or_far_apart_raise_none() {
        let mut alerts = alerts();
        assert!((0..4).all(|n| see(&mut alerts, n, refusal(&format!("uid {n}"))).is_none()));
        assert!((0..20).all(|n| see(&mut alerts, n * 2 * MINUTE, refusal("uid 9")).is_none()));
    }

    #[test]
    fn wrong_passphrases_of_the_vault_are_failures_too() {
        let mut alerts = alerts();
        let wrong = || Event::new(Action::VaultUnlockFailed, Result3::Blocked).because("unlock");
        let raised: Vec<_> = (0..5).filter_map(|n| see(&mut alerts, n, wrong())).collect();
        assert_eq!(raised.len(), 1);
        assert_eq!(raised[0].subject.as_ref().unwrap().as_str(), "auth failures: unlock");
    }

    #[test]
    fn refusals_of_the_web_count_and_other_tools_do_not() {
        let mut alerts = alerts();
        let blocked = |tool: &str| Event::new(Action::ToolDecided, Result3::Blocked).about(tool);
        assert!((0..30).all(|n| see(&mut alerts, n, blocked("bash")).is_none()));
        for tool in ["web_fetch", "http_call"] {
            assert_eq!((0..10).filter_map(|n| see(&mut alerts, n, blocked(tool))).count(), 1, "{tool}");
        }
    }

    // Holds P6-22.
    #[test]
    fn misuse_of_a_secret_alerts_once_an_hour_for_each_secret() {
        let mut alerts = alerts();
        let misdirected = |of: &str| Event::new(Action::SecretMisdirected, Result3::Blocked).about(of);
        for secret in ["mail", "bank"] {
            let alert = see(&mut alerts, 0, misdirected(secret)).unwrap();
            assert_eq!(alert.subject.unwrap().as_str(), format!("secret misdirected: {secret}"));
        }
        assert!((1..60).all(|n| see(&mut alerts, n * MINUTE, misdirected("mail")).is_none()));
        assert!(see(&mut alerts, 62 * MINUTE, misdirected("mail")).is_some());
    }

    // Holds P6-22.
    #[test]
    fn the_first_drift_of_each_process_alerts_at_once() {
        let mut alerts = alerts();
        let drift = |of: &str| Event::new(Action::AttestDrift, Result3::Error).about(of);
        for process in ["gate", "audit"] {
            let alert = see(&mut alerts, MINUTE, drift(process)).unwrap();
            assert_eq!((alert.action, alert.result), (Action::Alert, Result3::Blocked));
            assert_eq!(alert.subject.unwrap().as_str(), format!("attest drift: {process}"));
        }
        assert!((2..60).all(|n| see(&mut alerts, n * MINUTE, drift("gate")).is_none()));
        let again = see(&mut alerts, 62 * MINUTE, drift("gate")).unwrap();
        assert_eq!(again.reason.unwrap().as_str(), "1 in 60 min, 58 more kept quiet");
    }

    // Holds P6-22.
    #[test]
    fn a_message_given_up_alerts_once_a_quarter_hour_for_each_session() {
        let mut alerts = alerts();
        let of = |n| {
            Event::new(Action::MessageQuarantined, Result3::Error)
                .in_turn(SessionId::from_bytes([n; 16]), TurnId::from_bytes([9; 16]))
        };
        let first = see(&mut alerts, 0, of(1)).unwrap();
        assert_eq!((first.session, first.turn), (of(1).session, of(1).turn));
        assert!(see(&mut alerts, MINUTE, of(1)).is_none());
        assert!(see(&mut alerts, MINUTE, of(2)).is_some());
        assert!(see(&mut alerts, 16 * MINUTE, of(1)).is_some());
    }

    // Holds P9-05.
    #[test]
    fn a_disk_that_runs_low_is_an_alert_and_one_that_has_room_again_is_none() {
        let mut alerts = alerts();
        let disk = |result| Event::new(Action::DiskLow, result).about("state");
        let alert = see(&mut alerts, 0, disk(Result3::Blocked)).unwrap();
        assert_eq!(alert.subject.unwrap().as_str(), "disk low: state");
        assert!(see(&mut alerts, MINUTE, disk(Result3::Success)).is_none());
        assert!(see(&mut alerts, 2 * MINUTE, disk(Result3::Blocked)).is_none(), "of the same, for a while");
        assert!(see(&mut alerts, 20 * MINUTE, disk(Result3::Blocked)).is_some());
    }

    // Holds P6-22.
    #[test]
    fn the_bounds_are_those_that_were_configured() {
        let mut bounds = Audit::DEFAULT.alerts;
        bounds.auth_failures = AlertRule { number: 2, minutes: 1, quiet_minutes: 3 };
        let mut alerts = Alerts::new(&bounds);
        let raised = [0, 2, 3, 4, 5, 7].map(|n| see(&mut alerts, n * MINUTE, refusal("uid 7")).is_some());
        assert_eq!(raised, [false, false, true, false, false, false]);
        assert!(see(&mut alerts, 8 * MINUTE, refusal("uid 7")).is_some());
    }

    // Holds B-146.
    #[test]
    fn memory_does_not_grow_with_who_is_refused() {
        let mut alerts = alerts();
        for n in 0..10_000_u64 {
            let _ = see(&mut alerts, n, refusal(&format!("uid {n}")));
        }
        assert!(alerts.seen.len() <= KEYS + alerts.rules.len());
        // Keys whose period is over make room for new ones.
        assert!((0..5).any(|n| {
            let alert = see(&mut alerts, 60 * MINUTE + n, refusal("uid 10001"));
            alert.is_some_and(|alert| alert.subject.unwrap().as_str() == "auth failures: uid 10001")
        }));
    }
}
