//! Numbers of a session, counted from the record, so that no other count can differ from it. Entries that retention has
//! removed are not counted.
//!
//! The record is read backwards until every message of the session was found, up to a bound: the time to show a session
//! must not grow with the age of the host.

use crate::app::App;
use crate::link::Trouble;
use ipc_proto::audit::{Action, Filter, Record, Result3};
use ipc_proto::config::UserRole;
use ipc_proto::control::{Answer, ControlClient, method};
use ipc_proto::ids::{CallId, SessionId, TurnId};
use ipc_proto::router::SessionInfo;
use serde_json::{Value, json};
use std::collections::{HashMap, HashSet};
use std::ops::Range;
use tarpc::context::Context;

/// Entries that are read at once, the latest first.
const WINDOW: u64 = 4096;
/// Entries of the record that are read at most.
const MOST: u64 = 32 * WINDOW;

/// The outcome of a tool call.
#[derive(Clone, Copy, PartialEq, Eq)]
enum CallOutcome {
    /// It was released and has no outcome yet.
    Open,
    Well,
    Failed,
    Refused,
}

/// A session in numbers.
#[derive(Default)]
pub(crate) struct Statistics {
    /// Turns of the messages that were accepted.
    accepted: HashSet<TurnId>,
    turns: HashSet<TurnId>,
    calls: HashMap<CallId, CallOutcome>,
    model_calls: u64,
    tokens: (u64, u64),
    errors: u64,
    /// Time of its first and its latest entry, unix ms.
    span: Option<(u64, u64)>,
    /// The time of its turns from acceptance to end, ms.
    turns_ms: u64,
    /// The first entry that was read, if there may be more of the session before it.
    since: Option<u64>,
}

impl Statistics {
    /// Returns true if the record has no entry of the session.
    const fn is_empty(&self) -> bool {
        self.span.is_none()
    }
}

/// Counts a session's entries.
///
/// # Errors
/// The reason why they cannot be read, such as that only the owner sees the record.
pub(crate) async fn of(app: &App, session: &SessionInfo) -> Result<Statistics, String> {
    // A user who may not see the record does not ask for it: each refusal is an entry, and several raise an alert.
    let whoami = async |c: ControlClient, cx: Context| c.whoami(cx).await;
    if let Ok(Ok(me)) = app.link.once(&method::whoami, &whoami).await
        && me.role != UserRole::Owner
    {
        return Err("they come from the record, which only the owner sees".to_owned());
    }
    let mut end = entries(app).await?;
    let (least, mut counted) = (end.saturating_sub(MOST), Statistics::default());
    while end > least && counted.accepted.len() < usize::try_from(session.messages).unwrap_or(usize::MAX) {
        let begin = end.saturating_sub(WINDOW).max(least);
        let later = std::mem::replace(&mut counted, window(app, session.id, begin..end).await?);
        counted.go_on_with(later);
        end = begin;
    }
    let whole = end == 0 || counted.accepted.len() >= usize::try_from(session.messages).unwrap_or(usize::MAX);
    counted.since = (!whole).then_some(end);
    Ok(counted)
}

/// Returns true if the latest entries have one of the session.
///
/// # Errors
/// As [`of`].
pub(crate) async fn has_just_recorded(app: &App, session: SessionId) -> Result<bool, String> {
    let end = entries(app).await?;
    Ok(!window(app, session, end.saturating_sub(WINDOW)..end).await?.is_empty())
}

/// The number of the record's entries.
async fn entries(app: &App) -> Result<u64, String> {
    let stats = async |c: ControlClient, cx: Context| c.audit_stats(cx).await;
    Ok(once(app.link.once(&method::audit_stats, &stats).await)?.entries)
}

/// Counts a session's entries among these.
async fn window(app: &App, session: SessionId, entries: Range<u64>) -> Result<Statistics, String> {
    let filter = Filter { session: Some(session), ..Filter::default() };
    let (mut counted, mut next) = (Statistics::default(), Some(entries.start));
    while let Some(from) = next.filter(|from| *from < entries.end) {
        let query = async |c: ControlClient, cx: Context| c.audit_query(cx, from, filter.clone()).await;
        let page = once(app.link.once(&method::audit_query, &query).await)?;
        let within = page.records.iter().filter(|record| record.index < entries.end);
        within.for_each(|record| counted.count(record));
        next = page.next;
    }
    Ok(counted)
}

/// The result of a call without retries: a session is shown even if the record cannot be read.
fn once<T>(asked: Result<Answer<T>, Trouble>) -> Result<T, String> {
    asked.map_err(|trouble| why(&trouble))?.map_err(|error| error.to_string())
}

fn why(trouble: &Trouble) -> String {
    match trouble {
        Trouble::Slow => "audit does not answer in time".to_owned(),
        _ => "the record cannot be asked just now".to_owned(),
    }
}

impl Statistics {
    fn count(&mut self, record: &Record) {
        let event = &record.event;
        let (first, last) = self.span.unwrap_or((record.time_ms, record.time_ms));
        self.span = Some((first.min(record.time_ms), last.max(record.time_ms)));
        if event.result == Result3::Error {
            self.errors += 1;
        }
        match event.action {
            Action::MessageAccepted => self.accepted.extend(event.turn),
            Action::TurnStarted => self.turns.extend(event.turn),
            Action::TurnEnded | Action::MessageBlocked | Action::MessageQuarantined => {
                self.turns_ms = self.turns_ms.saturating_add(event.duration_ms.into());
            }
            Action::ModelEnded => {
                self.model_calls += 1;
                let (input, output) = event.tokens;
                self.tokens =
                    (self.tokens.0.saturating_add(input.into()), self.tokens.1.saturating_add(output.into()));
            }
            Action::ToolDecided | Action::ToolEnded => {
                // A call that is decided again after a crash is one call, and its outcome stands.
                if let Some(call) = event.call {
                    let outcome = outcome(event.action, event.result);
                    let known = self.calls.entry(call).or_insert(outcome);
                    if outcome != CallOutcome::Open {
                        *known = outcome;
                    }
                }
            }
            _ => {}
        }
    }

    /// Adds what was counted of later entries.
    fn go_on_with(&mut self, later: Self) {
        self.accepted.extend(later.accepted);
        self.turns.extend(later.turns);
        for (call, outcome) in later.calls {
            let known = self.calls.entry(call).or_insert(outcome);
            if outcome != CallOutcome::Open {
                *known = outcome;
            }
        }
        self.model_calls += later.model_calls;
        self.tokens.0 = self.tokens.0.saturating_add(later.tokens.0);
        self.tokens.1 = self.tokens.1.saturating_add(later.tokens.1);
        self.errors += later.errors;
        self.turns_ms = self.turns_ms.saturating_add(later.turns_ms);
        self.span = match (self.span, later.span) {
            (Some((a, b)), Some((c, d))) => Some((a.min(c), b.max(d))),
            (one, other) => one.or(other),
        };
    }

    fn calls_with(&self, outcome: CallOutcome) -> usize {
        self.calls.values().filter(|it| **it == outcome).count()
    }

    fn duration_ms(&self) -> u64 {
        self.span.map_or(0, |(first, last)| last - first)
    }

    /// As JSON.
    pub(crate) fn json(&self) -> Value {
        json!({
            "turns": self.turns.len(),
            "model_calls": self.model_calls,
            "tool_calls": {
                "ok": self.calls_with(CallOutcome::Well),
                "failed": self.calls_with(CallOutcome::Failed),
                "refused": self.calls_with(CallOutcome::Refused),
                "open": self.calls_with(CallOutcome::Open),
            },
            "tokens": { "input": self.tokens.0, "output": self.tokens.1 },
            "errors": self.errors,
            "duration_ms": self.duration_ms(),
            "turns_ms": self.turns_ms,
            "since_entry": self.since,
        })
    }

    /// As short lines.
    pub(crate) fn facts(&self) -> [(&'static str, String); 5] {
        let [well, failed, refused, open] =
            [CallOutcome::Well, CallOutcome::Failed, CallOutcome::Refused, CallOutcome::Open]
                .map(|outcome| self.calls_with(outcome));
        let span = crate::text::span;
        let since = self
            .since
            .map_or_else(String::new, |entry| format!("; counted since entry {entry} of the record"));
        [
            ("turns", format!("{}, taking {}", self.turns.len(), span(self.turns_ms))),
            ("model calls", self.model_calls.to_string()),
            ("tool calls", format!("{well} ok, {failed} failed, {refused} refused, {open} open")),
            ("tokens", format!("{} in, {} out", self.tokens.0, self.tokens.1)),
            ("in all", format!("{}, {} errors{since}", span(self.duration_ms()), self.errors)),
        ]
    }
}

const fn outcome(action: Action, result: Result3) -> CallOutcome {
    match (action, result) {
        (_, Result3::Blocked) => CallOutcome::Refused,
        (Action::ToolDecided, _) => CallOutcome::Open,
        (_, Result3::Success) => CallOutcome::Well,
        (_, Result3::Error) => CallOutcome::Failed,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ipc_proto::Name;
    use ipc_proto::audit::{Event, Serial};

    const SESSION: SessionId = SessionId::from_bytes([1; 16]);

    fn record(index: u64, turn: u8, action: Action, result: Result3, change: impl Fn(&mut Event)) -> Record {
        let mut event = Event::new(action, result).in_turn(SESSION, TurnId::from_bytes([turn; 16]));
        change(&mut event);
        let serial = Serial { life: 1, number: index };
        Record {
            index,
            time_ms: 1_000 + index * 10,
            witness: Name::clip("gate"),
            serial,
            event,
            hash: [0; 32],
        }
    }

    fn counted(records: &[Record]) -> Value {
        let mut statistics = Statistics::default();
        records.iter().for_each(|record| statistics.count(record));
        statistics.json()
    }

    #[test]
    fn a_session_is_counted_by_its_turns_its_calls_and_its_tokens() {
        let call = |number: u8| move |event: &mut Event| event.call = Some(CallId::from_bytes([number; 16]));
        let tokens = |event: &mut Event| event.tokens = (40, 4);
        let took = |event: &mut Event| event.duration_ms = 70;
        let found = counted(&[
            record(0, 1, Action::TurnStarted, Result3::Success, |_| {}),
            record(1, 1, Action::ModelEnded, Result3::Success, tokens),
            record(2, 1, Action::ToolDecided, Result3::Success, call(1)),
            record(3, 1, Action::ToolEnded, Result3::Success, call(1)),
            record(4, 1, Action::ToolDecided, Result3::Blocked, call(2)),
            record(5, 1, Action::ToolDecided, Result3::Success, call(3)),
            record(6, 1, Action::ToolEnded, Result3::Error, call(3)),
            record(7, 1, Action::ToolDecided, Result3::Success, call(4)),
            record(8, 1, Action::ModelEnded, Result3::Error, tokens),
            record(9, 1, Action::TurnEnded, Result3::Success, took),
        ]);
        assert_eq!((&found["turns"], &found["model_calls"]), (&json!(1), &json!(2)), "{found}");
        assert_eq!(found["tool_calls"], json!({ "ok": 1, "failed": 1, "refused": 1, "open": 1 }));
        assert_eq!(found["tokens"], json!({ "input": 80, "output": 8 }));
        assert_eq!(
            (&found["errors"], &found["duration_ms"], &found["turns_ms"]),
            (&json!(2), &json!(90), &json!(70))
        );
    }

    // Holds P9-08.
    #[test]
    fn what_is_counted_in_parts_is_what_is_counted_at_once() {
        let call = |number: u8| move |event: &mut Event| event.call = Some(CallId::from_bytes([number; 16]));
        let records = [
            record(0, 1, Action::MessageAccepted, Result3::Success, |_| {}),
            record(1, 1, Action::TurnStarted, Result3::Success, |_| {}),
            record(2, 1, Action::ToolDecided, Result3::Success, call(1)),
            record(3, 1, Action::ToolEnded, Result3::Error, call(1)),
            record(4, 1, Action::ToolDecided, Result3::Success, call(1)),
            record(5, 1, Action::ToolDecided, Result3::Blocked, call(2)),
            record(6, 1, Action::ModelEnded, Result3::Success, |event| event.tokens = (4, 2)),
            record(7, 1, Action::TurnEnded, Result3::Success, |event| event.duration_ms = 9),
        ];
        for at in 0..=records.len() {
            let (early, late) = records.split_at(at);
            let part = |records: &[Record]| {
                let mut counted = Statistics::default();
                records.iter().for_each(|record| counted.count(record));
                counted
            };
            let mut both = part(early);
            both.go_on_with(part(late));
            assert_eq!(both.json(), counted(&records), "{at}");
            assert_eq!(both.accepted.len(), 1);
        }
    }

    #[test]
    fn a_resumed_turn_and_a_repeated_call_count_once() {
        let call = |event: &mut Event| event.call = Some(CallId::from_bytes([1; 16]));
        let found = counted(&[
            record(0, 1, Action::TurnStarted, Result3::Success, |_| {}),
            record(1, 1, Action::ToolDecided, Result3::Success, call),
            record(2, 1, Action::TurnRetried, Result3::Error, |_| {}),
            record(3, 1, Action::TurnStarted, Result3::Success, |_| {}),
            record(4, 1, Action::ToolEnded, Result3::Error, call),
            record(5, 1, Action::ToolDecided, Result3::Success, call),
        ]);
        assert_eq!(
            (&found["turns"], &found["tool_calls"]["failed"], &found["tool_calls"]["open"]),
            (&json!(1), &json!(1), &json!(0)),
            "{found}"
        );
    }
}
