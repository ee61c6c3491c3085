//! `agentctl logs`: log lines of processes, by time and level. agentd has escaped them; they are escaped here again.

use crate::app::{App, Outcome};
use crate::failure::Failure;
use crate::host;
use crate::log_line::{Level, LogLine, LogReader};
use crate::text;
use ipc_proto::control::{LogChunk, method};
use ipc_proto::{Name, Text};
use serde_json::{Value, json};
use std::process::ExitCode;
use std::time::Duration;

/// The longest wait for new lines of one process, ms.
const WAIT_MS: u32 = 20_000;
/// The pause between two readings of all processes.
const ROUND: Duration = Duration::from_millis(300);
/// Chunks of one process's log that are read at most: bounds the cost of a log that grows fast.
const CHUNKS: usize = 1024;

/// The arguments of `logs`.
#[derive(clap::Args)]
pub(crate) struct Logs {
    /// The process; all by default
    #[arg(value_parser = crate::arguments::text::<64>)]
    name: Option<Name>,
    /// Follow lines as they are written
    #[arg(long, short)]
    follow: bool,
    /// Only lines since this time: a day such as 2026-11-22, or a span of time such as 2h
    #[arg(long, value_name = "TIME", value_parser = text::moment)]
    since: Option<u64>,
    /// Only the last lines, this many
    #[arg(short = 'n', long, value_name = "COUNT")]
    lines: Option<usize>,
    /// Only lines of this level and graver ones
    #[arg(long, value_name = "LEVEL")]
    level: Option<Level>,
}

/// One process's log, and the position of the reader.
struct Log {
    name: Name,
    next: Option<u64>,
    reader: LogReader,
}

impl Log {
    fn new(name: Name, next: Option<u64>) -> Self {
        Self { name, next, reader: LogReader::default() }
    }
}

/// Shows logs, and with `follow` new lines.
pub(crate) async fn logs(app: &App, arguments: Logs) -> Outcome {
    let single = arguments.name.is_some();
    // Without a bound in time or number the end of each log is shown, which is one piece of it.
    let whole = arguments.since.is_some() || arguments.lines.is_some() || arguments.level.is_some();
    let names = names(app, arguments.name.clone()).await?;
    let mut logs: Vec<Log> = names.into_iter().map(|name| Log::new(name, whole.then_some(0))).collect();
    let mut found = Vec::new();
    for log in &mut logs {
        let name = log.name.clone();
        let lines = admitted(&arguments, read(app, log).await?);
        found.extend(lines.into_iter().map(|line| (name.clone(), line)));
    }
    // The lines of one process keep their order: equal times, and lines without one, stay behind each other.
    found.sort_by_key(|(_, line)| line.at_ms);
    let surplus = arguments.lines.map_or(0, |most| found.len().saturating_sub(most));
    let found = found.split_off(surplus);
    if app.out.json && !arguments.follow {
        let lines: Vec<Value> = found.iter().map(|(name, line)| document(name, line)).collect();
        app.out.document(json!({ "lines": lines }))?;
        return Ok(ExitCode::SUCCESS);
    }
    for (name, line) in &found {
        print(app, name, line, single)?;
    }
    if !arguments.follow {
        return Ok(ExitCode::SUCCESS);
    }
    loop {
        for log in &mut logs {
            let chunk = chunk(app, log, if single { WAIT_MS } else { 0 }).await?;
            for line in admitted(&arguments, log.reader.lines(&chunk.text)) {
                print(app, &log.name, &line, single)?;
            }
        }
        if !single {
            tokio::time::sleep(ROUND).await;
        }
    }
}

/// The lines that these arguments admit.
fn admitted(arguments: &Logs, mut lines: Vec<LogLine>) -> Vec<LogLine> {
    lines.retain(|line| {
        arguments.since.is_none_or(|since| line.at_ms >= since)
            && arguments.level.is_none_or(|most| line.level <= most)
    });
    lines
}

/// The log of every process, for a report.
///
/// # Errors
/// No host answers, or this user may not see it.
pub(crate) async fn last(app: &App) -> Result<Vec<(String, Vec<String>)>, Failure> {
    let mut all = Vec::new();
    for name in names(app, None).await? {
        let mut log = Log::new(name, None);
        let lines = read(app, &mut log).await?;
        all.push((log.name.to_string(), lines.into_iter().map(|line| line.text).collect()));
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
async fn read(app: &App, log: &mut Log) -> Result<Vec<LogLine>, Failure> {
    let mut text = String::new();
    for _ in 0..CHUNKS {
        let chunk = chunk(app, log, 0).await?;
        if chunk.text.is_empty() {
            break;
        }
        text.push_str(&chunk.text);
    }
    Ok(log.reader.lines(&text))
}

async fn chunk(app: &App, log: &mut Log, wait_ms: u32) -> Result<LogChunk, Failure> {
    let (name, from) = (&log.name, log.next);
    let chunk =
        app.link.ask(&method::logs, async |c, cx| c.logs(cx, name.clone(), from, wait_ms).await).await?;
    log.next = Some(chunk.next);
    Ok(chunk)
}

fn document(name: &Name, line: &LogLine) -> Value {
    json!({
        "process": name,
        "at_ms": Some(line.at_ms).filter(|at| *at > 0),
        "level": line.level.name().to_ascii_lowercase(),
        "line": line.text,
    })
}

fn print(app: &App, name: &Name, line: &LogLine, single: bool) -> std::io::Result<()> {
    if app.out.json {
        app.out.json_line(&document(name, line))
    } else if single {
        app.out.line(&line.text)
    } else {
        app.out.line(&format!("{:<9} {}", name.as_str(), line.text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arguments(since: Option<u64>, level: Option<Level>) -> Logs {
        Logs { name: None, follow: false, since, lines: None, level }
    }

    #[test]
    fn lines_are_chosen_by_time_and_level() {
        let lines = || {
            LogReader::default().lines(
                "2026-11-28T02:03:33.000000Z  INFO a: one\n2026-11-28T02:03:34.000000Z  WARN a: two\n\
                 2026-11-28T02:03:35.000000Z ERROR a: three",
            )
        };
        let at = text::stamp("2026-11-28T02:03:34.000000Z");
        for (since, level, count) in [
            (None, None, 3),
            (at, None, 2),
            (None, Some(Level::Error), 1),
            (at, Some(Level::Info), 2),
            (Some(u64::MAX), None, 0),
        ] {
            assert_eq!(admitted(&arguments(since, level), lines()).len(), count, "{since:?} {level:?}");
        }
    }
}
