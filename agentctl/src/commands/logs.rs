//! `agentctl logs`: log lines of processes. agentd has escaped them; they are escaped here again.

use crate::app::{App, Outcome};
use crate::failure::Failure;
use crate::host;
use ipc_proto::control::{LogChunk, method};
use ipc_proto::{Name, Text};
use serde_json::json;
use std::process::ExitCode;
use std::time::Duration;

/// The longest wait for new lines of one process, ms.
const WAIT_MS: u32 = 20_000;
/// The pause between two readings of all processes.
const ROUND: Duration = Duration::from_millis(300);
/// Chunks of one process's log that are shown without `-f`: bounds the cost of a log that grows fast.
const CHUNKS: usize = 64;

/// One process's log, and the position of the reader.
struct Log {
    name: Name,
    next: Option<u64>,
}

/// Shows logs, and with `follow` new lines.
pub(crate) async fn logs(app: &App, name: Option<Name>, follow: bool) -> Outcome {
    let single = name.is_some();
    let mut logs: Vec<Log> =
        names(app, name).await?.into_iter().map(|name| Log { name, next: None }).collect();
    let mut document = Vec::new();
    for log in &mut logs {
        let lines = read(app, log).await?;
        if app.out.json && !follow {
            document.push(json!({ "process": log.name, "lines": lines }));
        } else {
            print(app, log, &lines, single)?;
        }
    }
    if app.out.json && !follow {
        app.out.document(json!({ "logs": document }))?;
    }
    if !follow {
        return Ok(ExitCode::SUCCESS);
    }
    loop {
        for log in &mut logs {
            let chunk = chunk(app, log, if single { WAIT_MS } else { 0 }).await?;
            let lines: Vec<String> = chunk.text.lines().map(str::to_owned).collect();
            print(app, log, &lines, single)?;
        }
        if !single {
            tokio::time::sleep(ROUND).await;
        }
    }
}

/// The log of every process, for a report.
///
/// # Errors
/// No host answers, or this user may not see it.
pub(crate) async fn last(app: &App) -> Result<Vec<(String, Vec<String>)>, Failure> {
    let mut all = Vec::new();
    for name in names(app, None).await? {
        let mut log = Log { name, next: None };
        let lines = read(app, &mut log).await?;
        all.push((log.name.to_string(), lines));
    }
    Ok(all)
}

/// The one that was named, else all of them and agentd.
async fn names(app: &App, name: Option<Name>) -> Result<Vec<Name>, Failure> {
    if let Some(name) = name {
        return Ok(vec![name]);
    }
    let host = host::status(app).await?;
    let agentd = Text::clip(manifest::Process::Agentd.name());
    Ok(std::iter::once(agentd).chain(host.processes.iter().map(|process| process.name.clone())).collect())
}

/// The lines that are there now.
async fn read(app: &App, log: &mut Log) -> Result<Vec<String>, Failure> {
    let mut lines = Vec::new();
    for _ in 0..CHUNKS {
        let chunk = chunk(app, log, 0).await?;
        if chunk.text.is_empty() {
            break;
        }
        lines.extend(chunk.text.lines().map(str::to_owned));
    }
    Ok(lines)
}

async fn chunk(app: &App, log: &mut Log, wait_ms: u32) -> Result<LogChunk, Failure> {
    let (name, from) = (&log.name, log.next);
    let chunk =
        app.link.ask(&method::logs, async |c, cx| c.logs(cx, name.clone(), from, wait_ms).await).await?;
    log.next = Some(chunk.next);
    Ok(chunk)
}

fn print(app: &App, log: &Log, lines: &[String], single: bool) -> std::io::Result<()> {
    for line in lines {
        if app.out.json {
            app.out.json_line(&json!({ "process": log.name, "line": line }))?;
        } else if single {
            app.out.line(line)?;
        } else {
            app.out.line(&format!("{:<10}{line}", log.name.as_str()))?;
        }
    }
    Ok(())
}
