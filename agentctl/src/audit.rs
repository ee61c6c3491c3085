//! `agentctl audit`: the record, and whether it holds.
//!
//! Without a host (`verify --dir`) the audit process's own program reads the record, so that one code decides.

use crate::app::{App, Outcome};
use crate::failure::Failure;
use crate::{sibling, text, view};
use ipc_proto::audit::{Record, Report, TAIL};
use ipc_proto::control::method;
use serde_json::{Value, json};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// The audit process's program.
const PROGRAM: &str = "audit";
/// Entries shown when no first one is named.
const LATEST: u64 = 20;
/// How long a look for new entries waits, ms.
const WAIT_MS: u32 = 20_000;

/// The commands of `audit`.
#[derive(clap::Subcommand)]
pub(crate) enum Audit {
    /// Show the latest entries of the record
    Tail {
        /// Go on with entries as they are made
        #[arg(long, short)]
        follow: bool,
        /// Begin with this entry
        #[arg(long, value_name = "INDEX")]
        from: Option<u64>,
    },
    /// Check every hash of the record
    Verify {
        /// Check the record in this folder, without a host
        #[arg(long, value_name = "DIR")]
        dir: Option<PathBuf>,
    },
}

/// Shows entries.
pub(crate) async fn tail(app: &App, follow: bool, from: Option<u64>) -> Outcome {
    let mut from = match from {
        Some(from) => from,
        None => length(app).await?.saturating_sub(LATEST),
    };
    let mut records = Vec::new();
    loop {
        let more = entries(app, from, 0).await?;
        let Some(last) = more.last() else { break };
        from = last.index + 1;
        records.extend(more);
    }
    if app.out.json && !follow {
        app.out.document(json!({ "records": records.iter().map(view::record).collect::<Vec<_>>() }))?;
        return Ok(ExitCode::SUCCESS);
    }
    print(app, &records, true)?;
    if !follow {
        return Ok(ExitCode::SUCCESS);
    }
    loop {
        let more = entries(app, from, WAIT_MS).await?;
        from = more.last().map_or(from, |last| last.index + 1);
        print(app, &more, false)?;
    }
}

async fn entries(app: &App, from: u64, wait_ms: u32) -> Result<Vec<Record>, Failure> {
    let most = u16::try_from(TAIL).unwrap_or(u16::MAX);
    let found =
        app.link.ask(&method::audit_tail, async |c, cx| c.audit_tail(cx, from, most, wait_ms).await).await?;
    Ok(found.into_vec())
}

/// How many entries there are, found by doubling and then halving: one entry is asked for at each step.
async fn length(app: &App) -> Result<u64, Failure> {
    let there = async |index: u64| -> Result<bool, Failure> {
        let one =
            app.link.ask(&method::audit_tail, async |c, cx| c.audit_tail(cx, index, 1, 0).await).await?;
        Ok(!one.is_empty())
    };
    let (mut known, mut beyond) = (0, 1);
    while beyond < u64::MAX / 2 && there(beyond - 1).await? {
        known = beyond;
        beyond *= 2;
    }
    while beyond - known > 1 {
        let middle = known + (beyond - known) / 2;
        if there(middle - 1).await? { known = middle } else { beyond = middle }
    }
    Ok(known)
}

fn print(app: &App, records: &[Record], head: bool) -> std::io::Result<()> {
    if app.out.json {
        return records.iter().try_for_each(|record| app.out.json_line(&view::record(record)));
    }
    let names = ["INDEX", "TIME", "WITNESS", "ACTION", "RESULT", "SUBJECT", "REASON", "LABEL"];
    let rows = records.iter().map(|record| {
        let event = &record.event;
        let name =
            |name: &Option<ipc_proto::Name>| name.as_ref().map(ToString::to_string).unwrap_or_default();
        vec![
            record.index.to_string(),
            text::utc(record.time_ms),
            record.witness.to_string(),
            view::word(event.action),
            view::word(event.result),
            name(&event.subject),
            name(&event.reason),
            event.label.as_ref().map(view::label).unwrap_or_default(),
        ]
    });
    app.out.table(if head { &names } else { &[] }, rows.collect())
}

/// Has control verify the record.
pub(crate) async fn verify(app: &App) -> Outcome {
    let report = app.link.ask(&method::audit_verify, async |c, cx| c.audit_verify(cx).await).await?;
    let mut document = view::report(&report);
    if report.broken_at.is_none() && report.fault.is_none() {
        return Ok(app.out.facts(document, &facts(&report))?);
    }
    let message = format!(
        "the record does not hold{}: {}",
        report.broken_at.map(|index| format!(" at entry {index}")).unwrap_or_default(),
        report.fault.as_ref().map_or("no reason given", |fault| fault.as_str()),
    );
    if app.out.json {
        if let Some(map) = document.as_object_mut() {
            map.insert("ok".to_owned(), Value::Bool(false));
            map.insert("error".to_owned(), json!({ "type": "broken", "message": message }));
        }
        app.out.json_line(&document)?;
    } else {
        app.out.complain("broken", &message);
    }
    Ok(ExitCode::FAILURE)
}

fn facts(report: &Report) -> [(&'static str, String); 3] {
    [
        ("record", "holds".to_owned()),
        ("entries", report.entries.to_string()),
        ("head", text::hex(&report.head)),
    ]
}

/// Has the audit program verify a record without a host.
pub(crate) fn verify_offline(app: &App, folder: &Path) -> Outcome {
    let arguments = ["--offline", "verify", "--dir"].map(OsStr::new);
    let arguments = [&arguments[..], &[folder.as_os_str(), OsStr::new("--json")]].concat();
    let output = sibling::run(PROGRAM, &arguments)?;
    let document: Value = serde_json::from_slice(&output.stdout).map_err(|_| {
        let said = String::from_utf8_lossy(&output.stderr);
        Failure::Program { name: PROGRAM, why: text::begin(&said, 300) }
    })?;
    let holds = output.status.success();
    if app.out.json {
        app.out.json_line(&document)?;
    } else if holds {
        app.out.pairs(&lines(&document))?;
    } else {
        let message = document.pointer("/error/message").and_then(Value::as_str);
        app.out.complain("broken", message.unwrap_or("the record does not hold"));
    }
    Ok(if holds { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// What the program found, as names and values.
fn lines(document: &Value) -> Vec<(&'static str, String)> {
    let text =
        |key: &str| document.get(key).map(|value| value.as_str().map_or(value.to_string(), str::to_owned));
    let known = ["entries", "head"].into_iter().filter_map(|key| Some((key, text(key)?)));
    std::iter::once(("record", "holds".to_owned())).chain(known).collect()
}
