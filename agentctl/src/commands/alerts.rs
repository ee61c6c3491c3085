//! `agentctl alerts`: alerts of the record, listed, or handed on to a program or a webhook as they are raised.

mod deliver;
mod pacing;

use crate::app::{App, Outcome};
use crate::failure::Failure;
use crate::{atomic_file, text};
use deliver::Target;
use ipc_proto::audit::{Action, Filter, Record};
use ipc_proto::control::method;
use pacing::{Alert, Pacing, Quiet};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The pause between two looks at the record.
const LOOK: Duration = Duration::from_secs(2);
/// The first and the longest pause after a delivery that failed.
const RETRY: (Duration, Duration) = (Duration::from_secs(5), Duration::from_secs(300));

/// The commands of `alerts`.
#[derive(clap::Subcommand)]
pub(crate) enum Alerts {
    /// List alerts of the record, oldest first
    List {
        /// Only alerts since this time: a day such as 2026-11-22, or a span of time such as 7d
        #[arg(long, value_name = "TIME", value_parser = text::moment)]
        since: Option<u64>,
        /// Only the last alerts, this many
        #[arg(short = 'n', long, value_name = "COUNT")]
        lines: Option<usize>,
    },
    /// Hand each alert to a program or a webhook, and go on until it is ended
    Send(SendOptions),
}

/// The arguments of `alerts send`.
#[derive(clap::Args)]
pub(crate) struct SendOptions {
    /// Run this through the shell for each alert, which is a JSON document on its standard input
    #[arg(long, value_name = "COMMAND", required_unless_present_any = ["webhook", "webhook_file"])]
    command: Option<String>,
    /// Send each alert to this address by curl, as a JSON document
    #[arg(long, value_name = "URL", conflicts_with = "command")]
    webhook: Option<String>,
    /// The same with the address on the first line of this file
    #[arg(long, value_name = "FILE", conflicts_with_all = ["command", "webhook"])]
    webhook_file: Option<PathBuf>,
    /// Send nothing between these times of day in UTC; alerts of that time are sent at its end
    #[arg(long, value_name = "HH:MM-HH:MM", value_parser = Quiet::parse)]
    quiet: Option<Quiet>,
    /// Send alerts of one cause at most once in this span of time
    #[arg(long, value_name = "SPAN", default_value = "1h", value_parser = text::seconds)]
    once_in: u64,
    /// Remember in this file which alerts were handed on, and go on from there
    #[arg(long, value_name = "FILE")]
    position: Option<PathBuf>,
}

/// Runs the command.
pub(crate) async fn run(app: &App, command: Alerts) -> Outcome {
    match command {
        Alerts::List { since, lines } => list(app, since, lines).await,
        Alerts::Send(arguments) => send(app, arguments).await,
    }
}

async fn list(app: &App, since: Option<u64>, lines: Option<usize>) -> Outcome {
    let (mut alerts, _) = alerts_from(app, 0).await?;
    alerts.retain(|alert| since.is_none_or(|since| alert.at_ms >= since));
    let surplus = lines.map_or(0, |most| alerts.len().saturating_sub(most));
    let alerts = alerts.split_off(surplus);
    let head = ["TIME", "RECORD", "ALERT", "REASON"];
    Ok(app.out.list("alerts", &alerts, document, &head, |alert| {
        vec![text::utc(alert.at_ms), alert.record.to_string(), alert.cause.clone(), alert.reason.clone()]
    })?)
}

/// Hands alerts on for as long as it may.
async fn send(app: &App, arguments: SendOptions) -> Outcome {
    let target = target(&arguments)?;
    let mut pacing = Pacing::new(arguments.quiet, arguments.once_in.saturating_mul(1000));
    let mut from = match arguments.position.as_deref().map(read_position).transpose()?.flatten() {
        Some(from) => from,
        // Without a position only alerts of the future are news.
        None => entries(app).await?,
    };
    let mut pause = RETRY.0;
    loop {
        let (alerts, next) = alerts_from(app, from).await?;
        alerts.into_iter().for_each(|alert| pacing.add(alert));
        from = next;
        while let Some(alert) = pacing.due(text::now_ms()) {
            match target.deliver(&document(&alert)).await {
                Ok(()) => {
                    pacing.delivered(alert, text::now_ms());
                    pause = RETRY.0;
                }
                Err(why) => {
                    app.out.hint(&format!("an alert was not handed on, and is tried again: {why}"));
                    pacing.put_back(alert);
                    tokio::time::sleep(pause).await;
                    pause = (pause * 2).min(RETRY.1);
                }
            }
        }
        if let Some(path) = &arguments.position {
            // Alerts that wait are read again after a restart.
            write_position(path, pacing.oldest().unwrap_or(from))?;
        }
        tokio::time::sleep(LOOK).await;
    }
}

fn target(arguments: &SendOptions) -> Result<Target, Failure> {
    if let Some(command) = &arguments.command {
        return Ok(Target::Command(command.clone()));
    }
    let url = match (&arguments.webhook, &arguments.webhook_file) {
        (Some(url), _) => url.clone(),
        (None, Some(path)) => {
            let read = std::fs::read_to_string(path).map_err(|cause| at(path, cause))?;
            read.lines().next().unwrap_or_default().trim().to_owned()
        }
        (None, None) => String::new(),
    };
    let plain = url.chars().all(|c| c.is_ascii_graphic() && !matches!(c, '"' | '\\'));
    if !plain || !(url.starts_with("https://") || url.starts_with("http://")) {
        return Err(Failure::Usage("a webhook's address begins with https:// or http://".to_owned()));
    }
    Ok(Target::Webhook(url))
}

/// The alerts from this entry of the record on, and the entry to go on with.
async fn alerts_from(app: &App, from: u64) -> Result<(Vec<Alert>, u64), Failure> {
    let filter = Filter { action: Some(Action::Alert), ..Filter::default() };
    // Entries that are appended after this come with the next call; those before it are looked at once.
    let end = entries(app).await?;
    let (mut alerts, mut next) = (Vec::new(), from);
    loop {
        let start = next;
        let page = app
            .link
            .ask(&method::audit_query, async |c, cx| c.audit_query(cx, start, filter.clone()).await)
            .await?;
        next = page.records.last().map_or(next, |last| last.index + 1);
        alerts.extend(page.records.iter().map(alert));
        match page.next {
            Some(further) => next = further,
            None => return Ok((alerts, next.max(end))),
        }
    }
}

/// The length of the record.
async fn entries(app: &App) -> Result<u64, Failure> {
    Ok(app.link.ask(&method::audit_stats, async |c, cx| c.audit_stats(cx).await).await?.entries)
}

fn alert(record: &Record) -> Alert {
    let event = &record.event;
    let text = |name: Option<&str>| name.unwrap_or_default().to_owned();
    Alert {
        at_ms: record.time_ms,
        record: record.index,
        cause: text(event.subject.as_deref()),
        reason: text(event.reason.as_deref()),
        suppressed: 0,
    }
}

/// An alert as it is handed on. The texts are the host's own words and names.
fn document(alert: &Alert) -> Value {
    json!({
        "source": "cordon",
        "time": text::utc(alert.at_ms),
        "at_ms": alert.at_ms,
        "record": alert.record,
        "alert": alert.cause,
        "reason": alert.reason,
        "suppressed": alert.suppressed,
        "text": format!("Cordon: {}: {}", alert.cause, alert.reason),
    })
}

/// The position that was written; none before the first.
fn read_position(path: &Path) -> Result<Option<u64>, Failure> {
    match std::fs::read_to_string(path) {
        Ok(text) => Ok(text.trim().parse().ok()),
        Err(cause) if cause.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(cause) => Err(at(path, cause)),
    }
}

fn write_position(path: &Path, from: u64) -> Result<(), Failure> {
    if read_position(path)? == Some(from) {
        return Ok(());
    }
    let mut file = atomic_file::beside(path).map_err(|cause| at(path, cause))?;
    let written = std::io::Write::write_all(&mut file, format!("{from}\n").as_bytes());
    written.map_err(|cause| at(path, cause))?;
    file.persist(path).map_err(|error| at(path, error.error))?;
    Ok(())
}

fn at(path: &Path, cause: std::io::Error) -> Failure {
    Failure::File { path: path.to_owned(), cause }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arguments(webhook: &str) -> SendOptions {
        SendOptions {
            command: None,
            webhook: Some(webhook.to_owned()),
            webhook_file: None,
            quiet: None,
            once_in: 60,
            position: None,
        }
    }

    #[test]
    fn only_an_address_of_the_web_is_a_webhook() {
        assert!(target(&arguments("https://hooks.example.com/a?b=c")).is_ok());
        for wrong in ["", "ftp://a", "file:///etc/passwd", "https://a\"\nurl=file:///x", "https://a b"] {
            assert!(target(&arguments(wrong)).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_position_outlives_the_program() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("position");
        assert_eq!(read_position(&path).unwrap(), None);
        for from in [7, 7, 9] {
            write_position(&path, from).unwrap();
            assert_eq!(read_position(&path).unwrap(), Some(from));
        }
    }
}
