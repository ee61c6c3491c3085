//! `agentctl events`: the named events of the router, starts and stops of processes, and refused attempts.
//!
//! Process events are the differences of two readings of the state: a process that was restarted in between has a higher
//! count of starts.

use crate::app::{App, Outcome};
use crate::failure::Failure;
use crate::{host, text, view};
use ipc_proto::Name;
use ipc_proto::audit::{Action, Event, Filter, Record};
use ipc_proto::control::{ControlClient, HostStatus, ProcessStatus, method};
use ipc_proto::router::NamedEvent;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::process::ExitCode;
use tarpc::context::Context;

/// The longest wait for a named event, ms.
const LOOK_MS: u32 = 1000;

/// A change of a process's state.
struct Change {
    at_ms: u64,
    process: Name,
    state: Name,
    pid: u32,
    generation: u64,
}

/// The last known generation and state of each process.
type Seen = BTreeMap<String, (u64, Name)>;

/// The arguments of `events`.
#[derive(clap::Args)]
pub(crate) struct Events {
    /// Follow events as they happen
    #[arg(long, short)]
    follow: bool,
    /// Only events since this time: a day such as 2026-11-22, or a span of time such as 2h
    #[arg(long, value_name = "TIME", value_parser = text::moment)]
    since: Option<u64>,
    /// Only the last events, this many
    #[arg(short = 'n', long, value_name = "COUNT")]
    lines: Option<usize>,
    /// Only events of this process or tool
    #[arg(long, value_name = "NAME")]
    process: Option<String>,
    /// Only events whose name begins so, such as `process.` or `turn`
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
}

impl Events {
    /// The events that these arguments admit; `lines` is a matter of the first look alone.
    fn admitted(&self, mut events: Vec<Shown>) -> Vec<Shown> {
        events.retain(|(at_ms, value, _)| {
            let of = |key: &str| value.get(key).and_then(Value::as_str).unwrap_or_default();
            let about = |process: &String| of("process") == process || of("subject") == process;
            self.since.is_none_or(|since| *at_ms >= since)
                && self.process.as_ref().is_none_or(about)
                && self.name.as_ref().is_none_or(|name| of("name").starts_with(name.as_str()))
        });
        events
    }

    /// The last ones of them.
    fn last(&self, mut events: Vec<Shown>) -> Vec<Shown> {
        let surplus = self.lines.map_or(0, |most| events.len().saturating_sub(most));
        events.split_off(surplus)
    }
}

/// An event: its time, its document and its cells.
type Shown = (u64, Value, Vec<String>);

/// Shows past events, and with `follow` new ones.
pub(crate) async fn events(app: &App, arguments: &Events) -> Outcome {
    let follow = arguments.follow;
    let host = host::status(app).await?;
    let mut seen = Seen::new();
    let mut after = 0;
    let named = all(app, &mut after).await?;
    let changes = changes(&host, &mut seen, true);
    let mut from = 0;
    let tried = violations(app, &mut from).await;
    let events = arguments.last(arguments.admitted(in_order(&named, &changes, &tried)));
    if app.out.json && !follow {
        app.out
            .document(json!({ "events": events.iter().map(|(_, event, _)| event).collect::<Vec<_>>() }))?;
        return Ok(ExitCode::SUCCESS);
    }
    print(app, events)?;
    if !follow {
        return Ok(ExitCode::SUCCESS);
    }
    loop {
        let named = since(app, after, LOOK_MS).await?;
        after = named.last().map_or(after, |event| event.number);
        let host = host::status(app).await?;
        let changed = changes_of(&host, &mut seen);
        if changed.iter().any(|change| change.process.as_str() == "router") {
            // A new router counts from 1 again.
            after = 0;
        }
        let tried = violations(app, &mut from).await;
        print(app, arguments.admitted(in_order(&named, &changed, &tried)))?;
    }
}

/// Every named event that the router still has.
async fn all(app: &App, after: &mut u64) -> Result<Vec<NamedEvent>, Failure> {
    let mut named = Vec::new();
    loop {
        let more = since(app, *after, 0).await?;
        let Some(last) = more.last().map(|event| event.number).filter(|last| last > after) else {
            return Ok(named);
        };
        *after = last;
        named.extend(more);
    }
}

/// Violations on the record from this entry on. While the record cannot be read there are none; they are shown later.
async fn violations(app: &App, from: &mut u64) -> Vec<Record> {
    // Entries that are appended after this come with the next call; those before it are looked at once.
    let ask = async |c: ControlClient, cx: Context| c.audit_stats(cx).await;
    let Ok(Ok(stats)) = app.link.once(&method::audit_stats, &ask).await else { return Vec::new() };
    let mut tried: Vec<Record> = Vec::new();
    for action in [Action::ProcessViolation, Action::SandboxViolation] {
        let filter = Filter { action: Some(action), ..Filter::default() };
        let mut next = Some(*from);
        while let Some(index) = next {
            let ask = async |c: ControlClient, cx: Context| c.audit_query(cx, index, filter.clone()).await;
            let Ok(Ok(page)) = app.link.once(&method::audit_query, &ask).await else {
                return Vec::new();
            };
            next = page.next;
            tried.extend(page.records);
        }
    }
    tried.retain(|record| record.index < stats.entries);
    *from = stats.entries;
    tried
}

/// One of them, as JSON and as cells.
fn violation(record: &Record) -> (u64, Value, Vec<String>) {
    let Event { action, subject, reason, turn, .. } = &record.event;
    let name = if *action == Action::ProcessViolation { "process.violation" } else { "sandbox.violation" };
    let text = |name: &Option<Name>| name.as_ref().map(ToString::to_string).unwrap_or_default();
    let value = json!({
        "at_ms": record.time_ms, "name": name, "process": subject, "reason": reason,
        "turn": turn.map(|id| id.to_string()),
        "record": record.index,
    });
    let turn = turn.map(|id| format!("turn {id}")).unwrap_or_default();
    let cells = vec![text::utc(record.time_ms), name.to_owned(), text(subject), text(reason), turn];
    (record.time_ms, value, cells)
}

async fn since(app: &App, after: u64, wait_ms: u32) -> Result<Vec<NamedEvent>, Failure> {
    let found = app.link.ask(&method::events, async |c, cx| c.events(cx, after, wait_ms).await).await?;
    Ok(found.into_vec())
}

fn changes_of(host: &HostStatus, seen: &mut Seen) -> Vec<Change> {
    changes(host, seen, false)
}

/// The changes since the last call; at the first, the start of each process.
fn changes(host: &HostStatus, seen: &mut Seen, first: bool) -> Vec<Change> {
    let now = text::now_ms();
    let mut found = Vec::new();
    for process in &host.processes {
        let is = (process.generation, process.state.clone());
        if seen.insert(process.name.to_string(), is.clone()) != Some(is) {
            let at_ms = if first { now.saturating_sub(process.uptime_ms) } else { now };
            found.push(change(process, at_ms));
        }
    }
    found
}

fn change(process: &ProcessStatus, at_ms: u64) -> Change {
    Change {
        at_ms,
        process: process.name.clone(),
        state: process.state.clone(),
        pid: process.pid,
        generation: process.generation,
    }
}

/// All kinds by time, as JSON and as cells.
fn in_order(named: &[NamedEvent], changes: &[Change], tried: &[Record]) -> Vec<Shown> {
    let named = named.iter().map(|event| (event.at_ms, view::event(event), cells(event)));
    let changes = changes.iter().map(|change| {
        let name = format!("process.{}", change.state);
        let cells = vec![
            text::utc(change.at_ms),
            name.clone(),
            change.process.to_string(),
            format!("start {}", change.generation),
            String::new(),
        ];
        let value = json!({
            "at_ms": change.at_ms, "name": name, "process": change.process, "state": change.state,
            "pid": change.pid, "generation": change.generation,
        });
        (change.at_ms, value, cells)
    });
    let mut events: Vec<_> = named.chain(changes).chain(tried.iter().map(violation)).collect();
    events.sort_by_key(|(at_ms, ..)| *at_ms);
    events
}

fn cells(event: &NamedEvent) -> Vec<String> {
    let text = |name: &Option<Name>| name.as_ref().map(ToString::to_string).unwrap_or_default();
    let turn = event.turn.map(|id| format!("turn {id}"));
    let session = event.session.map(|id| format!("session {id}"));
    vec![
        text::utc(event.at_ms),
        view::word(event.name),
        text(&event.subject),
        text(&event.detail),
        turn.or(session).unwrap_or_default(),
    ]
}

fn print(app: &App, events: Vec<Shown>) -> std::io::Result<()> {
    if app.out.json {
        return events.iter().try_for_each(|(_, event, _)| app.out.json_line(event));
    }
    app.out.table(&[], events.into_iter().map(|(_, _, cells)| cells).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn host(state: &str, generation: u64) -> HostStatus {
        host::tests::host("router", state, generation)
    }

    #[test]
    fn events_are_chosen_by_time_process_and_name() {
        let all = || -> Vec<Shown> {
            let event = |at: u64, name: &str, process: &str| {
                (at, json!({ "name": name, "process": process }), vec![name.to_owned()])
            };
            vec![
                event(1, "process.ready", "gate"),
                event(2, "process.held", "web"),
                event(3, "turn_ended", ""),
            ]
        };
        let none = || Events { follow: false, since: None, lines: None, process: None, name: None };
        let names = |events: Events| -> Vec<u64> {
            events.last(events.admitted(all())).iter().map(|(at, ..)| *at).collect()
        };
        assert_eq!(names(Events { since: Some(2), ..none() }), [2, 3]);
        assert_eq!(names(Events { process: Some("gate".to_owned()), ..none() }), [1]);
        assert_eq!(names(Events { name: Some("process.".to_owned()), ..none() }), [1, 2]);
        assert_eq!(names(Events { lines: Some(1), ..none() }), [3]);
    }

    #[test]
    fn a_restart_between_two_looks_is_an_event_and_no_change_is_none() {
        let mut seen = Seen::new();
        assert_eq!(changes(&host("ready", 1), &mut seen, true).len(), 1);
        assert!(changes_of(&host("ready", 1), &mut seen).is_empty());
        let change = changes_of(&host("ready", 2), &mut seen);
        assert_eq!(change.first().map(|c| c.generation), Some(2));
        assert_eq!(changes_of(&host("held", 2), &mut seen).len(), 1);
    }
}
