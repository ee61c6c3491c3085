//! `agentctl inspect NAME`: one process with its row, its edges, its counters and its latest log lines.

use crate::app::{App, Outcome};
use crate::commands::rows;
use crate::failure::Failure;
use crate::{host, text, view};
use ipc_proto::Name;
use ipc_proto::control::{ControlError, ProcessStatus, method};
use manifest::{Process, Row, TABLE};
use serde_json::{Value, json};
use std::process::ExitCode;

/// The processes that can be inspected.
const NAMES: &str = "audit, dialer, credproxy, scanner, memory, web, model, router, embedder, gate, curator, gateway, control, \
     runner, runner@agent";

/// The latest log lines of a process.
#[derive(Default)]
struct RecentLog {
    line: Option<String>,
    error: Option<String>,
}

/// Shows one process.
pub(crate) async fn inspect(app: &App, name: Name) -> Outcome {
    let row = manifest::row_named(&name).ok_or(Failure::NoProcess(NAMES))?;
    let host = host::status(app).await?;
    let process = host.processes.iter().find(|process| process.name == name);
    let recent = recent(app, name.clone()).await?;
    if app.out.json {
        app.out.document(json!({
            "process": process.map(view::process),
            "row": rows::row(row),
            "edges": { "calls": edges(row, true), "called_by": edges(row, false) },
            "last_line": recent.line,
            "last_error": recent.error,
        }))?;
    } else {
        print(app, row, process, &recent)?;
    }
    Ok(ExitCode::SUCCESS)
}

fn print(app: &App, row: &Row, process: Option<&ProcessStatus>, recent: &RecentLog) -> std::io::Result<()> {
    if let Some(process) = process {
        app.out.pairs(&[
            ("state", process.state.to_string()),
            ("pid", process.pid.to_string()),
            ("uid", process.uid.to_string()),
            ("up", text::span(process.uptime_ms)),
            ("started", format!("{} times, {} restarts", process.generation, process.restarts)),
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
            ("last line", recent.line.clone().unwrap_or_else(|| "-".to_owned())),
            ("last error", recent.error.clone().unwrap_or_else(|| "-".to_owned())),
        ])?;
        app.out.line("")?;
    }
    let names = |calls: bool| peers(row, calls).map(Process::name).collect::<Vec<_>>().join(", ");
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

/// The last line and the last error or warning. Only the owner may see logs; other users get none.
async fn recent(app: &App, name: Name) -> Result<RecentLog, Failure> {
    let chunk = app.link.ask(&method::logs, async |c, cx| c.logs(cx, name.clone(), None, 0).await).await;
    match chunk {
        Ok(chunk) => Ok(last(&chunk.text)),
        Err(Failure::Control(ControlError::NotAllowed(_) | ControlError::NoProcess(_))) => {
            Ok(RecentLog::default())
        }
        Err(failure) => Err(failure),
    }
}

fn last(text: &str) -> RecentLog {
    let lines = || text.lines().filter(|line| !line.trim().is_empty());
    let bad = |line: &&str| ["ERROR", "WARN"].iter().any(|level| line.contains(level));
    RecentLog { line: lines().next_back().map(str::to_owned), error: lines().rfind(bad).map(str::to_owned) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_error_is_found_behind_lines_that_are_none() {
        let recent = last("t ERROR disk full\nt WARN slow\nt INFO fine\n\n");
        assert_eq!(recent.line.as_deref(), Some("t INFO fine"));
        assert_eq!(recent.error.as_deref(), Some("t WARN slow"));
        assert!(last("").line.is_none());
    }

    #[test]
    fn edges_are_those_of_the_table() {
        let gate = manifest::row(Process::Gate).unwrap();
        let calls = json!(edges(gate, true)).to_string();
        assert!(calls.contains("hold_back") && !calls.contains("append_nothing"));
        let callers: Vec<_> = peers(gate, false).map(Process::name).collect();
        assert_eq!(callers, ["curator", "gateway", "control", "runner", "runner@agent"]);
    }

    #[test]
    fn the_list_of_names_is_the_table() {
        let names: Vec<_> = TABLE.iter().map(|row| row.process.name()).collect();
        assert_eq!(NAMES, names.join(", "));
    }
}
