//! `agentctl inspect NAME`: one process with its figures, its calls by method and edge, its actors, its ends and its latest
//! log lines; with `--table` also its row of the table.

mod usage;

use crate::app::{App, Outcome};
use crate::commands::rows;
use crate::failure::Failure;
use crate::log_line::{self, Level, LogLine};
use crate::{host, text, view};
use ipc_proto::Name;
use ipc_proto::control::{
    CallFigures, ControlError, EndFigures, HostStatus, Inspection, ProcessStatus, WorkerFigures, method,
};
use manifest::{Process, Row, TABLE};
use serde_json::{Value, json};
use std::process::ExitCode;
use std::sync::LazyLock;
use usage::Usage;

/// The processes that can be inspected, in the order of the list.
static NAMES: LazyLock<String> = LazyLock::new(|| Process::ALL.map(Process::name).join(", "));

/// The arguments of `inspect`.
#[derive(clap::Args)]
pub(crate) struct Inspect {
    /// The process
    #[arg(value_parser = crate::arguments::text::<64>)]
    name: Name,
    /// Show its row of the table too: the resources it may use and its callers
    #[arg(long)]
    table: bool,
}

/// One process, as far as it is known.
struct Seen<'a> {
    status: Option<&'a ProcessStatus>,
    pid: u32,
    figures: Inspection,
    usage: Usage,
    log: Vec<LogLine>,
}

/// Shows one process.
pub(crate) async fn inspect(app: &App, arguments: Inspect) -> Outcome {
    let name = &arguments.name;
    let is_agentd = name.as_str() == Process::Agentd.name();
    let row = manifest::row_named(name);
    if row.is_none() && !is_agentd {
        return Err(Failure::NoProcess(&NAMES));
    }
    let host = host::status(app).await?;
    let status = host.processes.iter().find(|process| process.name == *name);
    let pid = if is_agentd { host.pid } else { status.map_or(0, |process| process.pid) };
    // A runner has no figures of its own: each lives for one turn.
    let figures = if status.is_some() || is_agentd {
        *app.link.ask(&method::inspect, async |c, cx| c.inspect(cx, name.clone()).await).await?
    } else {
        Inspection::default()
    };
    let seen = Seen { status, pid, figures, usage: Usage::of(pid), log: log(app, name.clone()).await? };
    let row = row.filter(|_| arguments.table);
    if app.out.json {
        app.out.document(document(name, &host, &seen, row))?;
    } else {
        print(app, &host, &seen)?;
        if let Some(row) = row {
            print_row(app, row)?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn document(name: &Name, host: &HostStatus, seen: &Seen<'_>, row: Option<&Row>) -> Value {
    let figures = &seen.figures;
    let end = |end: &EndFigures| {
        json!({
            "process": end.process, "at_ms": end.at_ms, "lived_ms": end.lived_ms, "how": end.manner(),
            "cause": end.reason(), "last_line": last_before(&seen.log, end.at_ms),
        })
    };
    let mut document = json!({
        "name": name,
        "process": seen.status.map(view::process),
        "uptime_ms": seen.status.map_or(host.uptime_ms, |process| process.uptime_ms),
        "cpu_ms": figures.cpu_ms.or(seen.usage.cpu_ms),
        "threads": figures.threads.or(seen.usage.threads),
        "descriptors": seen.usage.descriptors,
        "calls": figures.calls,
        "actors": figures.workers,
        "gauges": figures.gauges,
        "ends": figures.ends.iter().map(end).collect::<Vec<_>>(),
        "last_line": last(&seen.log),
        "last_error": last_error(&seen.log),
    });
    if let (Some(row), Some(map)) = (row, document.as_object_mut()) {
        map.insert("row".to_owned(), rows::row(row));
        map.insert("edges".to_owned(), json!({ "calls": edges(row, true), "called_by": edges(row, false) }));
    }
    document
}

fn print(app: &App, host: &HostStatus, seen: &Seen<'_>) -> std::io::Result<()> {
    let figures = &seen.figures;
    app.out.pairs(&facts(host, seen))?;
    let (served, made): (Vec<&CallFigures>, Vec<&CallFigures>) =
        figures.calls.iter().partition(|it| seen.status.is_some_and(|process| process.name == it.callee));
    let head = |edge| ["METHOD", edge, "CALLS", "A SECOND", "ERRORS", "REFUSED", "NOW", "P50", "P99"];
    section(app, "calls that it serves", &head("FROM"), served.iter().map(|it| calls(it, &it.caller)))?;
    section(app, "calls that it makes", &head("TO"), made.iter().map(|it| calls(it, &it.callee)))?;
    let head = ["ACTOR", "MAILBOX", "HANDLED", "WORKS ON", "FOR"];
    section(app, "actors inside it", &head, figures.workers.iter().map(worker))?;
    let head = ["ENDED", "PROCESS", "LIVED", "HOW", "WHY"];
    section(app, "ends", &head, figures.ends.iter().map(end))?;
    for end in &figures.ends {
        if let Some(line) = last_before(&seen.log, end.at_ms) {
            app.out.line(&format!("before {}: {line}", text::utc(end.at_ms)))?;
        }
    }
    Ok(())
}

/// A table with a title, if it has a row.
fn section(
    app: &App,
    title: &str,
    head: &[&str],
    rows: impl Iterator<Item = Vec<String>>,
) -> std::io::Result<()> {
    let rows: Vec<_> = rows.collect();
    if rows.is_empty() {
        return Ok(());
    }
    app.out.line(&format!("\n{title}:"))?;
    app.out.table(head, rows)
}

fn facts(host: &HostStatus, seen: &Seen<'_>) -> Vec<(&'static str, String)> {
    let or_none = |text: Option<String>| text.unwrap_or_else(|| "-".to_owned());
    let figures = &seen.figures;
    let up = seen.status.map_or(host.uptime_ms, |process| process.uptime_ms);
    let cpu = figures.cpu_ms.or(seen.usage.cpu_ms);
    let mut facts = Vec::new();
    if let Some(process) = seen.status {
        facts.extend([
            ("state", process.state.to_string()),
            ("uid", process.uid.to_string()),
            ("started", text::count(process.generation, "time", "times")),
            ("restarts", process.restarts.to_string()),
            (
                "memory",
                format!("{} MiB PSS, {} MiB RSS", text::mib(process.pss_kib), text::mib(process.rss_kib)),
            ),
            ("calls", format!("{}, {} refused", process.calls, process.refused)),
            (
                "a call takes",
                format!("{} p50, {} p99", text::micros(process.p50_us), text::micros(process.p99_us)),
            ),
            ("in flight", process.in_flight.to_string()),
            ("queue", process.queue.to_string()),
        ]);
    }
    facts.extend([
        ("pid", seen.pid.to_string()),
        ("up", text::span(up)),
        ("CPU time", or_none(cpu.map(|ms| format!("{}, {} of one core", text::span(ms), share(ms, up))))),
        ("threads", or_none(figures.threads.or(seen.usage.threads).map(|it| it.to_string()))),
        ("descriptors", or_none(seen.usage.descriptors.map(|it| it.to_string()))),
    ]);
    let gauges: Vec<String> = figures.gauges.iter().map(|it| format!("{} {}", it.value, it.name)).collect();
    facts.extend((!gauges.is_empty()).then(|| ("figures", gauges.join(", "))));
    facts.push(("last line", or_none(last(&seen.log).map(str::to_owned))));
    facts.push(("last error", or_none(last_error(&seen.log).map(str::to_owned))));
    facts
}

/// A part of a time, in per cent with one digit.
fn share(part_ms: u64, of_ms: u64) -> String {
    let tenths = part_ms.saturating_mul(1000) / of_ms.max(1);
    format!("{}.{} %", tenths / 10, tenths % 10)
}

fn calls(it: &CallFigures, peer: &Name) -> Vec<String> {
    // A call that waits for something to happen has no latency.
    let time = |us| if it.waits { "waits".to_owned() } else { text::micros(us) };
    let now = match it.in_flight {
        0 => "0".to_owned(),
        count => format!("{count} ({})", text::span(it.oldest_ms)),
    };
    let errors = it.errors.saturating_add(it.abandoned);
    vec![
        it.method.to_string(),
        peer.to_string(),
        it.calls.to_string(),
        format!("{}.{:02}", it.rate_milli / 1000, it.rate_milli % 1000 / 10),
        errors.to_string(),
        it.refused.to_string(),
        now,
        time(it.p50_us),
        time(it.p99_us),
    ]
}

fn worker(it: &WorkerFigures) -> Vec<String> {
    vec![
        it.name.to_string(),
        it.mailbox.to_string(),
        it.handled.to_string(),
        it.task.as_ref().map_or_else(|| "-".to_owned(), ToString::to_string),
        if it.task.is_some() { text::span(it.since_ms) } else { "-".to_owned() },
    ]
}

fn end(it: &EndFigures) -> Vec<String> {
    vec![
        text::utc(it.at_ms),
        it.process.to_string(),
        text::span(it.lived_ms),
        it.manner(),
        it.reason().to_owned(),
    ]
}

fn print_row(app: &App, row: &Row) -> std::io::Result<()> {
    let names = |calls: bool| peers(row, calls).map(Process::name).collect::<Vec<_>>().join(", ");
    app.out.line("")?;
    app.out.pairs(&[("calls", names(true)), ("is called by", names(false))])?;
    app.out.line("")?;
    app.out.pairs(&rows::facts(row))
}

/// The processes that `row` calls, or that call it.
fn peers(row: &Row, calls: bool) -> impl Iterator<Item = Process> {
    let me = row.process;
    TABLE
        .iter()
        .map(|other| other.process)
        .filter(move |other| if calls { manifest::edge(me, *other) } else { manifest::edge(*other, me) })
}

/// The edges with the methods that go over them.
fn edges(row: &Row, calls: bool) -> Vec<Value> {
    let me = row.process;
    let methods = |caller: Process, callee: Process| -> Vec<&str> {
        let methods = manifest::row(callee).into_iter().flat_map(manifest::Row::methods);
        methods.filter(|(_, callers)| callers.contains(&caller)).map(|(method, _)| method).collect()
    };
    peers(row, calls)
        .map(|peer| {
            let methods = if calls { methods(me, peer) } else { methods(peer, me) };
            json!({ "process": peer.name(), "methods": methods })
        })
        .collect()
}

/// The end of its log. Only the owner may see logs; other users get none.
async fn log(app: &App, name: Name) -> Result<Vec<LogLine>, Failure> {
    let chunk = app.link.ask(&method::logs, async |c, cx| c.logs(cx, name.clone(), None, 0).await).await;
    match chunk {
        Ok(chunk) => Ok(log_line::lines(&chunk.text)),
        Err(Failure::Control(ControlError::NotAllowed(_) | ControlError::NoProcess(_))) => Ok(Vec::new()),
        Err(failure) => Err(failure),
    }
}

fn last(log: &[LogLine]) -> Option<&str> {
    log.iter().map(|line| line.text.as_str()).rfind(|text| !text.trim().is_empty())
}

/// The last line of the level of a warning or graver.
fn last_error(log: &[LogLine]) -> Option<&str> {
    log.iter().rfind(|line| line.level <= Level::Warn).map(|line| line.text.as_str())
}

/// The last line that was written before this time.
fn last_before(log: &[LogLine], at_ms: u64) -> Option<&str> {
    let before = log.iter().rfind(|line| (1..=at_ms).contains(&line.at_ms));
    before.map(|line| line.text.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Vec<LogLine> {
        log_line::lines(
            "2026-11-28T02:03:33.000000Z ERROR a: disk full\n2026-11-28T02:03:34.000000Z  WARN a: slow\n\
             2026-11-28T02:03:35.000000Z  INFO a: fine\n\n",
        )
    }

    #[test]
    fn the_last_error_is_found_behind_lines_that_are_none() {
        let log = sample();
        assert!(last(&log).is_some_and(|line| line.ends_with("fine")));
        assert!(last_error(&log).is_some_and(|line| line.ends_with("slow")));
        assert_eq!((last(&[]), last_error(&[])), (None, None));
    }

    #[test]
    fn an_end_is_shown_with_the_last_line_before_it() {
        let (log, at) = (sample(), text::stamp("2026-11-28T02:03:34.500Z").unwrap());
        assert!(last_before(&log, at).is_some_and(|line| line.ends_with("slow")));
        assert_eq!(last_before(&log, 1), None);
    }

    #[test]
    fn edges_are_those_of_the_table() {
        let gate = manifest::row(Process::Gate).unwrap();
        let calls = json!(edges(gate, true)).to_string();
        assert!(calls.contains("hold_back") && !calls.contains("append_nothing"));
        let callers: Vec<_> = peers(gate, false).map(Process::name).collect();
        let jails = Process::RUNNERS.iter().map(|jail| jail.name());
        let expected: Vec<_> = ["curator", "gateway", "control"].into_iter().chain(jails).collect();
        assert_eq!(callers, expected);
    }

    #[test]
    fn a_call_that_waits_shows_no_latency() {
        let figures = |waits| CallFigures {
            caller: Name::clip("control"),
            callee: Name::clip("router"),
            method: Name::clip("events"),
            waits,
            calls: 3,
            rate_milli: 1250,
            errors: 1,
            refused: 0,
            abandoned: 1,
            in_flight: 1,
            oldest_ms: 2000,
            p50_us: 20_000_000,
            p99_us: 20_000_000,
        };
        let row = calls(&figures(true), &Name::clip("router"));
        assert_eq!(row.join(" "), "events router 3 1.25 2 0 1 (2s) waits waits");
        assert!(calls(&figures(false), &Name::clip("router")).last().unwrap().ends_with("ms"));
    }
}
