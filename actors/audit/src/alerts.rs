//! Alerts: too many of the same refusals in a span of time. Each says so once, then is quiet for a while and counts
//! what it kept quiet about. It looks at records alone, and opens nothing.

use ipc_proto::audit::{Action, Event, Record, Result3};
use std::collections::{HashMap, VecDeque};

/// Who or what refusals are counted for; further ones are summed up as one.
const KEYS: usize = 64;
/// What is summed up when there are more.
const OTHERS: &str = "others";

/// When an alert is raised.
struct Rule {
    /// Its name, the subject of the alert.
    name: &'static str,
    counts: fn(&Event) -> bool,
    /// What is the same: refusals of one are not added to those of another.
    key: fn(&Event) -> String,
    /// So many in `span_ms`.
    number: usize,
    span_ms: u64,
    /// Not again for so long.
    quiet_ms: u64,
}

const MINUTE: u64 = 60_000;

const RULES: &[Rule] = &[
    Rule {
        name: "auth failures",
        counts: |event| event.action == Action::OperatorRefused,
        key: |event| event.reason.as_ref().map_or_else(String::new, ToString::to_string),
        number: 5,
        span_ms: 5 * MINUTE,
        quiet_ms: 15 * MINUTE,
    },
    Rule {
        name: "network refusals",
        counts: is_network_refusal,
        key: |event| event.subject.as_ref().map_or_else(String::new, ToString::to_string),
        number: 10,
        span_ms: 60 * MINUTE,
        quiet_ms: 60 * MINUTE,
    },
];

/// A tool that would reach the web was refused, or a secret was asked for a host that it is not bound to.
fn is_network_refusal(event: &Event) -> bool {
    let web = event.subject.as_ref().is_some_and(|subject| subject.starts_with("web_"));
    let tool = matches!(event.action, Action::ToolDecided | Action::ToolEnded) && web;
    event.result == Result3::Blocked && (tool || event.action == Action::SecretMisdirected)
}

#[derive(Default)]
struct Seen {
    times: VecDeque<u64>,
    raised: Option<u64>,
    quiet: u64,
}

/// What was seen lately.
#[derive(Default)]
pub(crate) struct Alerts(HashMap<(&'static str, String), Seen>);

impl Alerts {
    /// Looks at a record; the alert that it raises.
    pub(crate) fn see(&mut self, record: &Record) -> Option<Event> {
        RULES.iter().find(|rule| (rule.counts)(&record.event)).and_then(|rule| self.count(rule, record))
    }

    fn count(&mut self, rule: &Rule, record: &Record) -> Option<Event> {
        let mut key = (rule.name, (rule.key)(&record.event));
        if self.0.len() >= KEYS && !self.0.contains_key(&key) {
            key.1 = OTHERS.to_owned();
        }
        let (now, seen) = (record.time_ms, self.0.entry(key).or_default());
        seen.times.push_back(now);
        while seen.times.len() > rule.number
            || seen.times.front().is_some_and(|at| now.saturating_sub(*at) > rule.span_ms)
        {
            seen.times.pop_front();
        }
        if seen.times.len() < rule.number {
            return None;
        }
        if seen.raised.is_some_and(|at| now.saturating_sub(at) < rule.quiet_ms) {
            seen.quiet += 1;
            return None;
        }
        seen.raised = Some(now);
        let quiet = std::mem::take(&mut seen.quiet);
        seen.times.clear();
        let reason = format!("{} in {} min, {quiet} more kept quiet", rule.number, rule.span_ms / MINUTE);
        Some(Event::new(Action::Alert, Result3::Blocked).about(rule.name).because(&reason))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ipc_proto::Name;
    use ipc_proto::audit::Serial;

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

    #[test]
    fn the_fifth_failure_of_one_in_five_minutes_raises_one_alert_and_then_it_is_quiet_and_counts() {
        let mut alerts = Alerts::default();
        let raised = (0..20).filter_map(|n| see(&mut alerts, n * MINUTE / 2, refusal("uid 7"))).count();
        assert_eq!(raised, 1);
        let later = (60..66).find_map(|n| see(&mut alerts, n * MINUTE / 2, refusal("uid 7"))).unwrap();
        assert_eq!(later.reason.unwrap().as_str(), "5 in 5 min, 11 more kept quiet");
    }

    #[test]
    fn failures_of_several_or_far_apart_raise_none() {
        let mut alerts = Alerts::default();
        assert!((0..4).all(|n| see(&mut alerts, n, refusal(&format!("uid {n}"))).is_none()));
        assert!((0..20).all(|n| see(&mut alerts, n * 2 * MINUTE, refusal("uid 9")).is_none()));
    }

    #[test]
    fn refusals_of_the_web_count_and_other_tools_do_not() {
        let mut alerts = Alerts::default();
        let blocked = |tool: &str| Event::new(Action::ToolDecided, Result3::Blocked).about(tool);
        assert!((0..30).all(|n| see(&mut alerts, n, blocked("bash")).is_none()));
        let raised = (0..10).filter_map(|n| see(&mut alerts, n, blocked("web_fetch"))).count();
        assert_eq!(raised, 1);
    }

    #[test]
    fn memory_does_not_grow_with_who_is_refused() {
        let mut alerts = Alerts::default();
        for n in 0..10_000_u64 {
            let _ = see(&mut alerts, n, refusal(&format!("uid {n}")));
        }
        assert!(alerts.0.len() <= KEYS + RULES.len());
    }
}
